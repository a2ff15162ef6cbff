/* The wait's deadline is exceeded before the job is done: the error has the last record, and the message was accepted. */
#include "support.h"

int main(void) {
    emulator service = emulator_start("{\"work_ms\": 60000}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = impatient_call();
    CHECK_OK(agentjob_call_set_wait_timeout_ms(call, 150, &err), err);
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_and_wait(client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, call, &job, &err),
              AGENTJOB_ERR_WAIT_TIMEOUT);
    CHECK(job == NULL);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_ACCEPTED);
    CHECK_INT(agentjob_job_status(agentjob_error_job(err)), AGENTJOB_STATUS_ACTIVE);
    CHECK(agentjob_error_elapsed_ms(err) >= 150);
    CHECK(agentjob_error_attempts(err) >= 1);
    agentjob_error_free(err);
    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
