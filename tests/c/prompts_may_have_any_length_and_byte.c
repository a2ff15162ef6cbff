/* An empty prompt, in each way to pass one, is refused before anything is sent; a NUL byte in a prompt is sent like any other byte. */
#include "support.h"

int main(void) {
    emulator service = emulator_start("{}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_job *job = NULL;

    const char *const texts[] = {"", NULL, "unused"};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(agentjob_client_send_message(client, service.job_id, texts[i], 0, NULL, &job, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_HOLDS(agentjob_error_message(err), "prompt is empty");
        CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
        agentjob_error_free(err);
    }
    CHECK_INT(agentjob_client_send_message(client, service.job_id, "", AGENTJOB_NUL_TERMINATED, NULL, &job, &err),
              AGENTJOB_ERR_INVALID_ARGUMENT);
    agentjob_error_free(err);
    CHECK_INT(emulator_messages(&service), 0);

    CHECK_OK(agentjob_client_send_message(client, service.job_id, "a\0b", 3, NULL, &job, &err), err);
    agentjob_job_free(job);
    CHECK_HOLDS(emulator_ledger(&service), "\"a\\u0000b\"");
    CHECK_OK(agentjob_client_send_message(client, service.job_id, "first only", 5, NULL, &job, &err), err);
    agentjob_job_free(job);
    CHECK_HOLDS(emulator_ledger(&service), "\"first\"");

    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
