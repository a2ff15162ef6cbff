/* Two messages with the same job and prompt: the program can ask before it starts the batch, and the first event says it. */
#include "batch.h"

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    agentjob_error *err = NULL;
    agentjob_batch *batch = batch_of(client, &place, 3);
    uint64_t number = 9, first = 9;
    CHECK_INT(agentjob_batch_repeats(batch, &number, &first), 0);
    CHECK(number == 0 && first == 0);
    CHECK_OK(agentjob_batch_add(batch, "job_2", "message 2", AGENTJOB_NUL_TERMINATED, "again", 17, &err), err);
    batch_fill(batch, 1);
    CHECK_INT(agentjob_batch_repeats(batch, &number, &first), 2);
    CHECK(number == 4 && first == 2);
    CHECK_INT(emulator_messages(&service), 0);

    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_INT(agentjob_batch_repeats(batch, NULL, NULL), 0); /* only before the start */
    agentjob_batch_event *event = NULL;
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_REPEATED);
    CHECK_HOLDS(agentjob_batch_kind_name(AGENTJOB_BATCH_KIND_REPEATED), "repeated");
    CHECK_INT(agentjob_batch_event_repeats(event, &first), 2);
    CHECK(first == 2 && agentjob_batch_event_number(event) == 4 && agentjob_batch_event_line(event) == 17);
    agentjob_batch_event_free(event);
    tally it = {{0}, {0}, 0};
    CHECK_OK(batch_finish(batch, &it, &err), err);
    CHECK(it.kinds[AGENTJOB_BATCH_KIND_REPEATED] == 0 && it.deliveries[AGENTJOB_DELIVERY_ACCEPTED] == 5);
    CHECK_INT(emulator_messages(&service), 5);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
