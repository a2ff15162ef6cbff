/* Metadata of a message, from a file's other columns or from the program: its outcome has it, in this run and the next. */
#include "batch.h"

static void write_file(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(content, file) >= 0 && fclose(file) == 0);
}

static void run(const agentjob_client *client, const folder *place, const char *csv, const char *own, bool earlier) {
    agentjob_error *err = NULL;
    agentjob_batch *batch = batch_of(client, place, 0);
    CHECK_OK(agentjob_batch_add_file(batch, csv, true, &err), err);
    CHECK_OK(agentjob_batch_add(batch, "job_3", "three", AGENTJOB_NUL_TERMINATED, NULL, 0, &err), err);
    CHECK_OK(agentjob_batch_set_item_extra(batch, own, &err), err);
    CHECK_OK(agentjob_batch_add(batch, "job_4", "four", AGENTJOB_NUL_TERMINATED, NULL, 0, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    const char *expected[] = {"{\"repo\":\"web\",\"due\":\"\"}", "{\"repo\":\"a \\\"b\\\"\",\"due\":\"1\"}", own, NULL};
    int outcomes = 0;
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        if (agentjob_batch_event_kind(event) == AGENTJOB_BATCH_KIND_OUTCOME) {
            const char *extra = agentjob_batch_event_extra(event), *wanted = expected[agentjob_batch_event_number(event) - 1];
            CHECK(wanted == NULL ? extra == NULL : strcmp(extra, wanted) == 0);
            CHECK_INT(agentjob_batch_event_is_earlier(event), earlier);
            outcomes++;
        }
        agentjob_batch_event_free(event);
    }
    CHECK_INT(outcomes, 4);
    agentjob_batch_free(batch);
}

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    agentjob_error *err = NULL;
    char csv[200];
    snprintf(csv, sizeof csv, "%s/messages.csv", place.path);
    write_file(csv, "repo,job_id,prompt,due\nweb,job_1,one,\n\"a \"\"b\"\"\",job_2,two,1\n");

    agentjob_batch *batch = batch_of(client, &place, 0);
    CHECK_INT(agentjob_batch_set_item_extra(batch, "{}", &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "the batch has no message yet");
    agentjob_error_free(err);
    CHECK_INT(agentjob_batch_add_file(batch, csv, false, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "unknown column \"repo\"");
    agentjob_error_free(err);
    batch_fill(batch, 1);
    CHECK_INT(agentjob_batch_set_item_extra(batch, "{,}", &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "extra is not JSON");
    agentjob_error_free(err);
    agentjob_batch_free(batch);

    run(client, &place, csv, "[1, 2.50, null]", false);
    run(client, &place, csv, "\"the list of the second run counts\"", true);
    CHECK_INT(emulator_messages(&service), 4);
    unlink(csv);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
