/* The first poll after a message is refused for good: the wait ends, and its error says that the message was accepted. */
#include "support.h"

static const char *const CONFIG = "{\"work_ms\": 60000, \"rules\": [{\"method\": \"GET\", \"status\": 401, \"json\": {\"error\": \"unknown key\"}}]}";
static const char *const SENTENCE =
    "message to job job_demo was accepted, but waiting for its result ended: the service returned 401 (unknown key). Check the API key: it "
    "may be wrong or expired. Do not send it again.";

int main(void) {
    emulator service = emulator_start(CONFIG);
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = impatient_call();
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_and_wait(client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, call, &job, &err),
              AGENTJOB_ERR_AUTHENTICATION);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_ACCEPTED);
    CHECK_TEXT(agentjob_error_message(err), SENTENCE);
    agentjob_error_free(err);
    CHECK_INT(emulator_messages(&service), 1);
    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
