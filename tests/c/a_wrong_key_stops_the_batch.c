/* A failure that every other message would have too stops a batch with that error. After a fix the batch resumes from its journal. */
#include "batch.h"

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_options *options = emulator_options(&service);
    agentjob_client *client = NULL;
    CHECK_OK(agentjob_options_set_api_key(options, "wrong", &err), err);
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    agentjob_batch *batch = batch_of(client, &place, 5);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    tally all = {{0}, {0}, 0};
    CHECK_INT(batch_finish(batch, &all, &err), AGENTJOB_ERR_AUTHENTICATION);
    CHECK_INT(agentjob_error_http_status(err), 401);
    CHECK_HOLDS(agentjob_error_message(err), "run it again with the same journal");
    agentjob_error_free(err);
    CHECK_INT(all.kinds[AGENTJOB_BATCH_KIND_OUTCOME], 0);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_LEFT), 5);

    client = emulator_client(&service);
    all = batch_run(batch_of(client, &place, 5));
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 5);
    CHECK_INT(all.earlier, 0);
    CHECK_INT(emulator_messages(&service), 5);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
