/* A journal that is in use, damaged, of another project, not a journal, or not readable is AGENTJOB_ERR_JOURNAL. */
#include "batch.h"

static agentjob_error *err;

static void refused(agentjob_batch *batch, const char *part) {
    CHECK_INT(agentjob_batch_start(batch, &err), AGENTJOB_ERR_JOURNAL);
    CHECK_TEXT(agentjob_error_kind(err), "journal");
    CHECK_HOLDS(agentjob_error_message(err), part);
    agentjob_error_free(err);
    agentjob_batch_free(batch);
}

/* Another process that tries to run the batch when the pipe signals it, and exits with 0 if that is refused. */
static pid_t rival(const agentjob_client *client, const folder *place, int *go) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char word;
        close(ends[1]);
        CHECK(read(ends[0], &word, 1) == 1);
        refused(batch_of(client, place, 4), "in use");
        _exit(0);
    }
    close(ends[0]);
    *go = ends[1];
    return child;
}

static void in_use(const agentjob_client *client, const folder *place) {
    int go = -1, ended = 1;
    pid_t other = rival(client, place, &go); /* before any thread starts */
    agentjob_batch *first = batch_of(client, place, 4);
    agentjob_batch_event *event = NULL;
    /* It sends one message, and is in use until it is stopped. */
    CHECK_OK(agentjob_batch_set_rate(first, "1/d", &err), err);
    CHECK_OK(agentjob_batch_start(first, &err), err);
    CHECK_OK(agentjob_batch_next(first, AGENTJOB_FOREVER, &event, &err), err);
    CHECK_INT(agentjob_batch_event_delivery(event), AGENTJOB_DELIVERY_ACCEPTED);
    agentjob_batch_event_free(event);
    refused(batch_of(client, place, 4), "in use");

    agentjob_batch_status *status = NULL;
    CHECK_OK(agentjob_batch_status_new(place->journal, &status, &err), err);
    CHECK(agentjob_batch_status_is_running(status));
    agentjob_batch_status_free(status);

    CHECK(write(go, "!", 1) == 1);
    CHECK(waitpid(other, &ended, 0) == other && WIFEXITED(ended));
    close(go);
    CHECK_INT(WEXITSTATUS(ended), 0);

    agentjob_batch_free(first);
}

static void another_project(const emulator *service, const folder *place) {
    agentjob_client *client = NULL;
    agentjob_options *options = emulator_options(service);
    CHECK_OK(agentjob_options_set_project_id(options, "another", &err), err);
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    refused(batch_of(client, place, 4), "another");
    agentjob_client_free(client);
}

static void written(const folder *place, const char *mode, const char *text) {
    FILE *file = fopen(place->journal, mode);
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void damaged(const agentjob_client *client, const folder *place) {
    agentjob_batch_status *status = NULL;
    char text[16384] = "";
    FILE *file = fopen(place->journal, "r");
    CHECK(file != NULL && fread(text, 1, sizeof text - 1, file) > 0 && fclose(file) == 0);
    char *second = strchr(text, '\n') + 1;
    CHECK(*second == '{');
    *second = '!';
    written(place, "w", text);
    refused(batch_of(client, place, 4), "line 2");
    CHECK_INT(agentjob_batch_status_new(place->journal, &status, &err), AGENTJOB_ERR_JOURNAL);
    CHECK_HOLDS(agentjob_error_message(err), "line 2");
    agentjob_error_free(err);

    written(place, "w", "job_1\tAdd tests\n");
    refused(batch_of(client, place, 4), "journal");
    unlink(place->journal);
    CHECK_INT(agentjob_batch_status_new(place->journal, &status, NULL), AGENTJOB_ERR_JOURNAL);
    CHECK(status == NULL);
}

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    in_use(client, &place);
    another_project(&service, &place);
    damaged(client, &place);
    CHECK_INT(emulator_messages(&service), 1);

    folder nowhere = place;
    snprintf(nowhere.journal, sizeof nowhere.journal, "%s/not/there", place.path);
    refused(batch_of(client, &nowhere, 1), "cannot be");
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
