/* The progress function ends the wait: the call is cancelled, and the message stays accepted. */
#include "support.h"

struct enough {
    agentjob_client *client;
    agentjob_job *kept;
};

static int32_t enough(const agentjob_job *job, void *user_data) {
    struct enough *it = (struct enough *)user_data;
    /* No lock is held, so the client may be used here. */
    agentjob_job *polled = NULL;
    CHECK_INT(agentjob_client_get_job(it->client, agentjob_job_id(job), NULL, &polled, NULL), AGENTJOB_OK);
    agentjob_job_free(polled);
    it->kept = agentjob_job_clone(job);
    return 1;
}

int main(void) {
    emulator service = emulator_start("{\"work_ms\": 60000}");
    agentjob_error *err = NULL;
    struct enough it = {emulator_client(&service), NULL};
    agentjob_call *call = impatient_call();
    CHECK_OK(agentjob_call_set_progress(call, enough, &it, &err), err);

    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_and_wait(it.client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, call, &job, &err),
              AGENTJOB_ERR_CANCELLED);
    CHECK(job == NULL);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_ACCEPTED);
    CHECK_TEXT(agentjob_job_id(agentjob_error_job(err)), service.job_id);
    agentjob_error_free(err);
    CHECK_INT(agentjob_job_status(it.kept), AGENTJOB_STATUS_ACTIVE);
    CHECK_INT(emulator_messages(&service), 1);

    agentjob_job_free(it.kept);
    agentjob_call_free(call);
    agentjob_client_free(it.client);
    emulator_stop(&service);
    return 0;
}
