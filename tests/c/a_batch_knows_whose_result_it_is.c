/* Messages to one job: each outcome has its own result, a busy job is waited for, and an unknown message holds those behind it. */
#include "batch.h"

/* A batch of these messages to `job`, in the order of the list. */
static agentjob_batch *to_one_job(const agentjob_client *client, const folder *place, const char *job, int n) {
    agentjob_error *err = NULL;
    agentjob_batch *batch = NULL;
    CHECK_OK(agentjob_batch_new(client, place->journal, &batch, &err), err);
    for (int number = 1; number <= n; number++) {
        char prompt[32];
        snprintf(prompt, sizeof prompt, "message %d", number);
        CHECK_OK(agentjob_batch_add(batch, job, prompt, AGENTJOB_NUL_TERMINATED, NULL, 0, &err), err);
    }
    agentjob_call *call = impatient_call();
    CHECK_OK(agentjob_batch_set_wait(batch, call, &err), err);
    agentjob_call_free(call);
    return batch;
}

static void each_outcome_has_its_own_result(void) {
    emulator service = emulator_with_jobs(",\"busy\": true, \"work_ms\": 300");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = to_one_job(client, &place, "job_1", 3);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    uint64_t seen = 0;
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        if (agentjob_batch_event_kind(event) == AGENTJOB_BATCH_KIND_OUTCOME) {
            /* Pull request 1 is from before the batch; then the service numbers them as the messages come. */
            char own[32];
            seen++;
            CHECK(agentjob_batch_event_number(event) == seen);
            snprintf(own, sizeof own, "/pull/%d", (int)seen + 1);
            const char *link = agentjob_job_pr_link(agentjob_batch_event_job(event));
            CHECK(link != NULL && strlen(link) > strlen(own));
            CHECK_TEXT(link + strlen(link) - strlen(own), own);
        }
        agentjob_batch_event_free(event);
    }
    CHECK(seen == 3);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
}

static void a_busy_job_is_waited_for_at_most_max_busy(void) {
    emulator service = emulator_start("{\"busy\": true, \"jobs\": [{\"id\": \"job_1\", \"status\": \"active\"}]}");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = to_one_job(client, &place, "job_1", 1);
    CHECK_OK(agentjob_batch_set_max_busy_ms(batch, 400, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    agentjob_batch_event *event = NULL;
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_BUSY);
    CHECK_TEXT(agentjob_batch_kind_name(AGENTJOB_BATCH_KIND_BUSY), "busy");
    CHECK(agentjob_batch_event_number(event) == 1);
    CHECK_TEXT(agentjob_batch_event_job_id(event), "job_1");
    CHECK_INT(agentjob_error_http_status(agentjob_batch_event_error(event)), 409);
    agentjob_batch_event_free(event);
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_OUTCOME);
    CHECK_INT(agentjob_batch_event_delivery(event), AGENTJOB_DELIVERY_REJECTED);
    CHECK_INT(agentjob_error_code(agentjob_batch_event_error(event)), AGENTJOB_ERR_CONFLICT);
    agentjob_batch_event_free(event);
    agentjob_batch_free(batch);

    /* A run that is stopped meanwhile leaves the message to the next one. */
    folder other = folder_new();
    batch = to_one_job(client, &other, "job_1", 2);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_BUSY);
    agentjob_batch_event_free(event);
    CHECK(batch_count(batch, AGENTJOB_COUNT_BUSY) == 1);
    agentjob_batch_free(batch);
    CHECK(journal_count(&other, AGENTJOB_COUNT_LEFT) == 2 && journal_count(&other, AGENTJOB_COUNT_UNKNOWN) == 0);
    CHECK(journal_count(&other, AGENTJOB_COUNT_BUSY) == 1);
    agentjob_client_free(client);
    folder_remove(&other);
    folder_remove(&place);
    emulator_stop(&service);
}

static void an_unknown_message_holds_the_others(void) {
    emulator service = emulator_with_jobs(
        ",\"rules\": [{\"method\": \"POST\", \"nth\": 1, \"fault\": {\"do\": \"close\", \"at\": \"request\", \"process\": true}}]");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    tally all = batch_run(to_one_job(client, &place, "job_1", 3));
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_UNKNOWN], 1);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_NOT_SENT], 2);
    CHECK(journal_count(&place, AGENTJOB_COUNT_LEFT) == 2);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
}

int main(void) {
    each_outcome_has_its_own_result();
    a_busy_job_is_waited_for_at_most_max_busy();
    an_unknown_message_holds_the_others();
    return 0;
}
