/* With agentjob_batch_set_wait() each outcome comes when its job is done, and the events before it are reported, too. */
#include "batch.h"

static void to_the_end(void) {
    emulator service = emulator_with_jobs(",\"work_ms\": 2500, \"stale_ms\": 100");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = impatient_call();
    agentjob_batch *batch = batch_of(client, &place, 5);
    CHECK_OK(agentjob_batch_set_wait(batch, call, &err), err);
    agentjob_call_free(call); /* copied */
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    tally all = {{0}, {0}, 0};
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        tally_event(&all, event);
        const agentjob_job *job = agentjob_batch_event_job(event);
        if (event != NULL) {
            CHECK_TEXT(agentjob_job_id(job), agentjob_batch_event_job_id(event));
            CHECK(agentjob_batch_event_number(event) >= 1 && agentjob_batch_event_number(event) <= 5);
        }
        if (agentjob_batch_event_kind(event) == AGENTJOB_BATCH_KIND_OUTCOME) {
            CHECK_INT(agentjob_job_status(job), AGENTJOB_STATUS_COMPLETED);
            CHECK(agentjob_job_pr_link(job) != NULL); /* the new result */
        } else {
            CHECK_INT(agentjob_batch_event_delivery(event), AGENTJOB_DELIVERY_NONE);
        }
        agentjob_batch_event_free(event);
    }
    CHECK_INT(all.kinds[AGENTJOB_BATCH_KIND_ACCEPTED], 5);
    CHECK(all.kinds[AGENTJOB_BATCH_KIND_JOB] >= 1); /* the previous record, then an active one */
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 5);
    agentjob_batch_free(batch);

    agentjob_batch_status *status = NULL;
    CHECK_OK(agentjob_batch_status_new(place.journal, &status, &err), err);
    CHECK(agentjob_batch_status_waits(status));
    agentjob_batch_status_free(status);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
}

/* If a wait times out, its message is accepted, with the wait's error and the last record. */
static void not_so_long(void) {
    emulator service = emulator_with_jobs(",\"work_ms\": 60000");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = impatient_call();
    CHECK_OK(agentjob_call_set_wait_timeout_ms(call, 200, &err), err);
    agentjob_batch *batch = batch_of(client, &place, 1);
    CHECK_OK(agentjob_batch_set_wait(batch, call, &err), err);
    agentjob_call_free(call);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    agentjob_batch_event *event = NULL;
    do {
        agentjob_batch_event_free(event);
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    } while (agentjob_batch_event_kind(event) != AGENTJOB_BATCH_KIND_OUTCOME);
    CHECK_INT(agentjob_batch_event_delivery(event), AGENTJOB_DELIVERY_ACCEPTED);
    CHECK_INT(agentjob_error_code(agentjob_batch_event_error(event)), AGENTJOB_ERR_WAIT_TIMEOUT);
    CHECK_INT(agentjob_error_delivery(agentjob_batch_event_error(event)), AGENTJOB_DELIVERY_ACCEPTED);
    CHECK_INT(agentjob_job_status(agentjob_batch_event_job(event)), AGENTJOB_STATUS_ACTIVE);
    agentjob_batch_free(batch);
    agentjob_batch_event_free(event); /* after its batch was freed */
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
}

int main(void) {
    to_the_end();
    not_so_long();
    return 0;
}
