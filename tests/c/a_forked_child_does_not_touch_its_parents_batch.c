/* After fork() the batch belongs to the parent: the child gets an error, frees its handle, and does not affect the parent's batch. */
#include "batch.h"

static agentjob_client *client;

static void in_the_child(agentjob_batch *batch) {
    agentjob_error *err = NULL;
    agentjob_batch_event *event = NULL;
    CHECK_INT(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "another process");
    agentjob_error_free(err);
    CHECK(event == NULL && agentjob_batch_is_over(batch)); /* in the child */
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_ITEMS), 0);
    agentjob_batch_stop(batch);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    /* The child does not have the parent's threads, so nothing frees their memory; valgrind would report it. */
    execlp("true", "true", (char *)NULL);
    _exit(127);
}

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_error *err = NULL;
    client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 10);
    /* It sends one message, and is in use until it is stopped. */
    CHECK_OK(agentjob_batch_set_rate(batch, "1/d", &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    agentjob_batch_event *event = NULL;
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    agentjob_batch_event_free(event);

    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        in_the_child(batch);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);

    /* The parent still holds the lock on the journal. */
    agentjob_batch *other = batch_of(client, &place, 10);
    CHECK(agentjob_batch_start(other, NULL) == AGENTJOB_ERR_JOURNAL);
    agentjob_batch_free(other);
    agentjob_batch_free(batch);
    other = batch_of(client, &place, 10);
    CHECK_OK(agentjob_batch_start(other, &err), err);
    tally all = {{0}, {0}, 0};
    CHECK_OK(batch_finish(other, &all, &err), err);
    CHECK_INT(all.earlier, 1);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 10);
    agentjob_batch_free(other);
    CHECK_INT(emulator_messages(&service), 10);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
