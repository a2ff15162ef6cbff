/* A program that must not block calls agentjob_batch_next() with a timeout of 0. A wrong timeout is refused. */
#include "batch.h"

int main(void) {
    emulator service = emulator_with_jobs(",\"rules\": [{\"method\": \"POST\", \"delay_ms\": 5000, \"status\": 200}]");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 3);
    agentjob_client_free(client); /* the batch keeps its own reference */
    agentjob_batch_event *event = NULL;

    CHECK_INT(agentjob_batch_next(batch, 0, &event, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "was not started");
    agentjob_error_free(err);
    CHECK(!agentjob_batch_is_over(batch));
    agentjob_batch_stop(batch); /* nothing to stop yet */

    CHECK_OK(agentjob_batch_set_rate(batch, "1000/s", &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    uint64_t began = now_ms();
    CHECK_OK(agentjob_batch_next(batch, 0, &event, &err), err);
    CHECK(event == NULL && !agentjob_batch_is_over(batch));
    CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_NOTHING);
    CHECK(now_ms() - began < 4900);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_LEFT), 3);

    const uint64_t wrong[] = {604800001, UINT64_MAX - 1};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(agentjob_batch_next(batch, wrong[i], &event, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_HOLDS(agentjob_error_message(err), "timeout_ms");
        agentjob_error_free(err);
        CHECK(!agentjob_batch_is_over(batch));
    }

    tally all = {{0}, {0}, 0};
    while (!agentjob_batch_is_over(batch)) {
        CHECK_OK(agentjob_batch_next(batch, 0, &event, &err), err);
        if (event == NULL) {
            sleep_ms(5); /* the program's other work */
        }
        tally_event(&all, event);
        agentjob_batch_event_free(event);
    }
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 3);
    CHECK(all.kinds[AGENTJOB_BATCH_KIND_NOTHING] > 1);

    /* A batch that is over stays over. */
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK(event == NULL && agentjob_batch_is_over(batch));
    agentjob_batch_stop(batch);
    agentjob_batch_free(batch);
    CHECK_INT(emulator_messages(&service), 3);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
