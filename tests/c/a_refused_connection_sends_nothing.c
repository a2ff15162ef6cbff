/* Nothing listens at the address: the message was not sent, so the program may send it again. */
#include "support.h"

int main(void) {
    emulator gone = emulator_start("{}");
    emulator_stop(&gone);

    agentjob_error *err = NULL;
    agentjob_options *options = emulator_options(&gone);
    CHECK_OK(agentjob_options_set_max_retries(options, 0, &err), err);
    agentjob_client *client = NULL;
    CHECK_OK(agentjob_client_new(options, &client, &err), err);

    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_message(client, "job_1", "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err),
              AGENTJOB_ERR_CONNECT);
    CHECK(job == NULL);
    CHECK_INT(agentjob_error_code(err), AGENTJOB_ERR_CONNECT);
    CHECK_TEXT(agentjob_error_kind(err), "connect");
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
    CHECK_TEXT(agentjob_delivery_name(agentjob_error_delivery(err)), "not_sent");
    CHECK_INT(agentjob_error_http_status(err), 0);
    CHECK_INT(agentjob_error_retry_after_ms(err), -1);
    CHECK_INT(agentjob_error_attempts(err), 1);
    CHECK(agentjob_error_body(err, NULL) == NULL);
    CHECK(agentjob_error_request_id(err) == NULL);
    CHECK(agentjob_error_job(err) == NULL);
    CHECK_HOLDS(agentjob_error_message(err), "job_1");
    CHECK_HOLDS(agentjob_error_reason(err), "no connection to 127.0.0.1:");
    CHECK(strstr(agentjob_error_reason(err), "job_1") == NULL);
    CHECK_HOLDS(agentjob_error_message(err), agentjob_error_reason(err));
    agentjob_error_free(err);

    agentjob_client_free(client);
    agentjob_options_free(options);
    return 0;
}
