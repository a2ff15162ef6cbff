/* The service takes the message and dies before it responds: the verdict is unknown, and nothing is sent twice. */
#include "support.h"

int main(void) {
    emulator service = emulator_start("{\"rules\": [{\"method\": \"POST\", \"fault\": {\"do\": \"close\", \"at\": \"request\", \"process\": true}}]}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_message(client, service.job_id, "Once", AGENTJOB_NUL_TERMINATED, NULL, &job, &err),
              AGENTJOB_ERR_CONNECTION_LOST);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_UNKNOWN);
    CHECK_INT(agentjob_error_attempts(err), 1);
    CHECK_INT(emulator_messages(&service), 1);
    agentjob_error_free(err);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
