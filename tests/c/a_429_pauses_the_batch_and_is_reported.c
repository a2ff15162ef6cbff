/* The rate limit is used up: the batch reports a pause, waits as long as the service asks, resumes, and loses no message. */
#include "batch.h"

int main(void) {
    emulator service =
        emulator_with_jobs(",\"rules\": [{\"method\": \"POST\", \"nth\": 3, \"status\": 429, \"headers\": {\"Retry-After\": \"4\"}}]");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 6);
    CHECK_OK(agentjob_batch_set_concurrency(batch, 1, &err), err);
    uint64_t began = now_ms(), pause_ms = 0;
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    tally all = {{0}, {0}, 0};
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        tally_event(&all, event);
        if (agentjob_batch_event_kind(event) == AGENTJOB_BATCH_KIND_PAUSED) {
            CHECK_INT(agentjob_batch_event_pause(event, &pause_ms), AGENTJOB_PAUSE_RATE_LIMIT);
            CHECK_TEXT(agentjob_pause_name(agentjob_batch_event_pause(event, NULL)), "rate_limit");
            CHECK_INT(agentjob_error_code(agentjob_batch_event_error(event)), AGENTJOB_ERR_RATE_LIMIT);
            CHECK_INT(agentjob_error_retry_after_ms(agentjob_batch_event_error(event)), 4000);
            CHECK_INT(agentjob_batch_event_number(event), 0);
            CHECK(agentjob_batch_event_job_id(event) == NULL && agentjob_batch_event_key(event) == NULL);
            CHECK(agentjob_batch_event_job(event) == NULL);
            CHECK_INT(agentjob_batch_event_delivery(event), AGENTJOB_DELIVERY_NONE);
            CHECK_INT(emulator_messages(&service), 2);

            /* The progress and the journal agree. */
            const agentjob_batch_progress *progress = agentjob_batch_get_progress(batch);
            uint64_t remaining_ms = 0;
            CHECK_INT(agentjob_batch_progress_pause(progress, &remaining_ms), AGENTJOB_PAUSE_RATE_LIMIT);
            CHECK(remaining_ms > 0 && remaining_ms <= pause_ms);
            CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_LEFT), 4);
            CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_ACCEPTED), 2);
            CHECK(agentjob_batch_progress_finishes_in_ms(progress) > 0);
            CHECK_INT(journal_count(&place, AGENTJOB_COUNT_LEFT), 4);
        }
        agentjob_batch_event_free(event);
    }
    CHECK_INT(all.kinds[AGENTJOB_BATCH_KIND_PAUSED], 1);
    CHECK_INT(all.kinds[AGENTJOB_BATCH_KIND_RESUMED], 1);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 6);
    CHECK(pause_ms > 0 && pause_ms <= 4000);
    CHECK(now_ms() - began >= 4000);
    CHECK_INT(emulator_messages(&service), 6);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
