/* A batch in an event loop: nothing but its descriptor and its due time says when to call agentjob_batch_next(). */

#include "batch.h"

/* Runs the batch by its descriptor and its due time alone, and returns how many events came. */
static int run(agentjob_batch *batch, agentjob_error **err) {
    int32_t fd = -1;
    int events = 0, idle = 0;
    CHECK_OK(agentjob_batch_fd(batch, &fd, err), *err);
    while (!agentjob_batch_is_over(batch)) {
        uint64_t due = agentjob_batch_due_in_ms(batch);
        struct pollfd one = {.fd = fd, .events = POLLIN};
        CHECK(poll(&one, 1, due < 60000 ? (int)due : 60000) >= 0);
        CHECK((one.revents != 0 && (one.revents & ~POLLIN) == 0) || due < 60000); /* no event is missed */
        agentjob_batch_event *event = NULL;
        do {
            CHECK_OK(agentjob_batch_next(batch, 0, &event, err), *err);
            events += event != NULL;
            idle += event == NULL;
            agentjob_batch_event_free(event);
        } while (event != NULL);
    }
    CHECK(idle < 100); /* it is silent while there is nothing */
    return events;
}

int main(void) {
    emulator service = emulator_with_jobs(",\"rules\": [{\"method\": \"POST\", \"nth\": 1, \"delay_ms\": 300, \"status\": 200},"
                                          "{\"method\": \"POST\", \"nth\": 11, \"delay_ms\": 60000, \"status\": 200}]");
    folder place = folder_new();
    agentjob_error *err = NULL;
    int32_t fd = -1;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 10);
    CHECK_INT(agentjob_batch_fd(batch, &fd, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "was not started");
    agentjob_error_free(err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_INT(run(batch, &err), 10);
    agentjob_batch_free(batch);

    /* The outcomes of the earlier run are events, too. */
    batch = batch_of(client, &place, 10);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_INT(run(batch, &err), 10);
    agentjob_batch_free(batch);

    /* Stopped with a message in flight: its grace ends when it is due, although nothing happens. */
    folder fresh = folder_new();
    batch = batch_of(client, &fresh, 1);
    CHECK_INT(agentjob_batch_due_in_ms(batch), AGENTJOB_FOREVER);
    CHECK_OK(agentjob_batch_set_grace_ms(batch, 300, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_INT(agentjob_batch_due_in_ms(batch), AGENTJOB_FOREVER);
    while (emulator_messages(&service) < 11) {
        sleep_ms(10);
    }
    agentjob_batch_stop(batch);
    CHECK(agentjob_batch_due_in_ms(batch) <= 300);
    CHECK_INT(run(batch, &err), 1); /* unknown */
    agentjob_batch_free(batch);
    folder_remove(&fresh);

    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
