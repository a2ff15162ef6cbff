/* 404 and 429: the code to branch on, the service's text, and the Retry-After. */
#include "support.h"

static const char *const CONFIG =
    "{\"rules\": [{\"path\": \"/v2/agent/*/job/job_busy/message\", \"status\": 429, \"json\": {\"error\": \"slow down\"},"
    " \"headers\": {\"Retry-After\": \"300\", \"x-request-id\": \"req_7\"}}]}";

int main(void) {
    emulator service = emulator_start(CONFIG);
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_job *job = NULL;

    CHECK_INT(agentjob_client_send_message(client, "job_nowhere", "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err),
              AGENTJOB_ERR_NOT_FOUND);
    CHECK_INT(agentjob_error_http_status(err), 404);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_REJECTED);
    CHECK_INT(agentjob_error_retry_after_ms(err), -1);
    agentjob_error_free(err);

    CHECK_INT(agentjob_client_send_message(client, "job_busy", "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err),
              AGENTJOB_ERR_RATE_LIMIT);
    CHECK_INT(agentjob_error_http_status(err), 429);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_REJECTED);
    CHECK_INT(agentjob_error_retry_after_ms(err), 300000);
    CHECK_TEXT(agentjob_error_request_id(err), "req_7");
    size_t len = 0;
    CHECK_HOLDS(agentjob_error_body(err, &len), "slow down");
    CHECK_INT(strlen(agentjob_error_body(err, NULL)), len);
    CHECK_HOLDS(agentjob_error_message(err), "slow down");
    CHECK_HOLDS(agentjob_error_reason(err), "slow down");
    CHECK(agentjob_error_hint(err) == NULL || strlen(agentjob_error_hint(err)) > 0);
    agentjob_error_free(err);

    /* get_job delivers nothing, so its error has no verdict. */
    CHECK_INT(agentjob_client_get_job(client, "job_nowhere", NULL, &job, &err), AGENTJOB_ERR_NOT_FOUND);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NONE);
    agentjob_error_free(err);

    /* Without `err` the caller gets only the code and has nothing to free. */
    CHECK_INT(agentjob_client_get_job(client, "job_nowhere", NULL, &job, NULL), AGENTJOB_ERR_NOT_FOUND);
    CHECK(job == NULL);
    CHECK_INT(emulator_messages(&service), 0);

    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
