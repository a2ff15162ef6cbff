/* A cancel token and functions are taken back with NULL, and a clone of an error outlives the original. */
#include "batch.h"

static int32_t stop(const agentjob_job *job, void *calls) {
    (void)job;
    ++*(int *)calls;
    return 1;
}

static void count(const agentjob_meta *meta, void *calls) {
    (void)meta;
    ++*(int *)calls;
}

int main(void) {
    emulator service = emulator_with_jobs(",\"work_ms\": 50");
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_cancel *cancelled = agentjob_cancel_new();
    agentjob_cancel_trigger(cancelled);
    int calls = 0;

    agentjob_call *call = agentjob_call_new();
    CHECK_OK(agentjob_call_set_poll_interval_ms(call, 20, 50, &err), err);
    CHECK_OK(agentjob_call_set_settle_ms(call, 0, &err), err);
    CHECK_OK(agentjob_call_set_cancel(call, cancelled, &err), err);
    CHECK_OK(agentjob_call_set_progress(call, stop, &calls, &err), err);
    CHECK_INT(agentjob_client_send_and_wait(client, "job_1", "p", 1, call, &job, &err), AGENTJOB_ERR_CANCELLED);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);

    agentjob_error *kept = agentjob_error_clone(err);
    agentjob_error_free(err);
    CHECK_INT(agentjob_error_code(kept), AGENTJOB_ERR_CANCELLED);
    CHECK_HOLDS(agentjob_error_message(kept), "job_1");
    agentjob_error_free(kept);
    CHECK(agentjob_error_clone(NULL) == NULL);

    CHECK_OK(agentjob_call_set_cancel(call, NULL, &err), err);
    CHECK_INT(agentjob_client_send_and_wait(client, "job_1", "p", 1, call, &job, NULL), AGENTJOB_ERR_CANCELLED);
    CHECK_INT(calls, 1); /* the message arrived, and the function ended the wait */
    CHECK_OK(agentjob_call_set_progress(call, NULL, NULL, &err), err);
    CHECK_OK(agentjob_client_wait(client, "job_1", call, &job, &err), err);
    CHECK_INT(calls, 1);
    CHECK_INT(agentjob_job_status(job), AGENTJOB_STATUS_COMPLETED);
    agentjob_job_free(job);

    int responses = 0;
    CHECK_OK(agentjob_call_set_meta(call, count, &responses, &err), err);
    CHECK_OK(agentjob_client_get_job(client, "job_1", call, &job, &err), err);
    agentjob_job_free(job);
    CHECK_OK(agentjob_call_set_meta(call, NULL, NULL, &err), err);
    CHECK_OK(agentjob_client_get_job(client, "job_1", call, &job, &err), err);
    agentjob_job_free(job);
    CHECK_INT(responses, 1);

    folder place = folder_new();
    agentjob_batch *batch = batch_of(client, &place, 1);
    CHECK_OK(agentjob_batch_set_cancel(batch, cancelled, &err), err);
    CHECK_OK(agentjob_batch_set_cancel(batch, NULL, &err), err);
    CHECK_INT(batch_run(batch).deliveries[AGENTJOB_DELIVERY_ACCEPTED], 1);

    agentjob_call_free(call);
    agentjob_cancel_free(cancelled);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
