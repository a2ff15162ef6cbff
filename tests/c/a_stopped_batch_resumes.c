/* A batch is stopped, or freed while it runs: the responses in flight are received, and the next run sends the rest once. */
#include "batch.h"

/* Responses are slow, so messages are in flight when the batch ends. */
static const char *slow = ",\"rules\": [{\"method\": \"POST\", \"delay_ms\": 1000, \"status\": 200}]";

static agentjob_batch *started(const agentjob_client *client, const folder *place) {
    agentjob_error *err = NULL;
    agentjob_batch *batch = batch_of(client, place, 12);
    agentjob_batch_event *event = NULL;
    CHECK_OK(agentjob_batch_set_grace_ms(batch, 60000, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_OUTCOME);
    agentjob_batch_event_free(event);
    return batch;
}

static void the_rest(const agentjob_client *client, const emulator *service, const folder *place, int earlier) {
    CHECK_INT(journal_count(place, AGENTJOB_COUNT_UNKNOWN), 0);
    CHECK_INT(journal_count(place, AGENTJOB_COUNT_ACCEPTED), earlier);
    CHECK_INT(emulator_messages(service), earlier);
    CHECK(earlier < 12);
    tally all = batch_run(batch_of(client, place, 12));
    CHECK_INT(all.earlier, earlier);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 12);
    CHECK_INT(emulator_messages(service), 12);
}

static void stopped(void) {
    emulator service = emulator_with_jobs(slow);
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = started(client, &place);
    agentjob_batch_stop(batch);
    agentjob_batch_stop(batch);
    tally all = {{0}, {0}, 0};
    CHECK_OK(batch_finish(batch, &all, &err), err); /* a stop is not an error */
    agentjob_batch_free(batch);
    the_rest(client, &service, &place, all.deliveries[AGENTJOB_DELIVERY_ACCEPTED] + 1);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
}

static void freed(void) {
    emulator service = emulator_with_jobs(slow);
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    agentjob_batch_free(started(client, &place));
    the_rest(client, &service, &place, (int)journal_count(&place, AGENTJOB_COUNT_ACCEPTED));
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
}

int main(void) {
    stopped();
    freed();
    return 0;
}
