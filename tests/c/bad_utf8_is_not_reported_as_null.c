/* Every text parameter of every function refuses text that is not UTF-8, and the error names the parameter and the byte. */
#include "support.h"

static agentjob_error *err;

#define NOT_UTF8(parameter, expression)                                                         \
    do {                                                                                        \
        CHECK_INT((expression), AGENTJOB_ERR_INVALID_ARGUMENT);                                 \
        CHECK_TEXT(agentjob_error_message(err), parameter " is not valid UTF-8 at byte 2");      \
        agentjob_error_free(err);                                                               \
    } while (0)

int main(void) {
    const char *bad = "ab\xff";
    emulator service = emulator_start("{}");
    agentjob_client *client = emulator_client(&service);
    agentjob_options *options = agentjob_options_new();
    NOT_UTF8("base_url", agentjob_options_set_base_url(options, bad, &err));
    NOT_UTF8("api_key", agentjob_options_set_api_key(options, bad, &err));
    NOT_UTF8("path", agentjob_options_set_api_key_file(options, bad, &err));
    NOT_UTF8("project_id", agentjob_options_set_project_id(options, bad, &err));
    NOT_UTF8("path", agentjob_options_set_ca_file(options, bad, &err));
    NOT_UTF8("path", agentjob_options_set_client_key(options, bad, &err));
    NOT_UTF8("path", agentjob_options_set_client_cert(options, bad, &err));
    NOT_UTF8("proxy", agentjob_options_set_proxy(options, bad, &err));
    NOT_UTF8("name", agentjob_options_set_header(options, bad, "a", &err));
    NOT_UTF8("value", agentjob_options_set_header(options, "X-Tenant", bad, &err));
    NOT_UTF8("suffix", agentjob_options_set_user_agent_suffix(options, bad, &err));
    agentjob_options_free(options);

    agentjob_job *job = NULL;
    agentjob_poller *poller = NULL;
    NOT_UTF8("job_id", agentjob_client_send_message(client, bad, "p", 1, NULL, &job, &err));
    NOT_UTF8("prompt", agentjob_client_send_message(client, "j", bad, AGENTJOB_NUL_TERMINATED, NULL, &job, &err));
    NOT_UTF8("prompt", agentjob_client_send_message(client, "j", bad, 3, NULL, &job, &err));
    NOT_UTF8("prompt", agentjob_client_create_job(client, bad, 3, NULL, &job, &err));
    NOT_UTF8("job_id", agentjob_client_send_and_wait(client, bad, "p", 1, NULL, &job, &err));
    NOT_UTF8("prompt", agentjob_client_send_and_wait(client, "j", bad, 3, NULL, &job, &err));
    NOT_UTF8("job_id", agentjob_client_get_job(client, bad, NULL, &job, &err));
    NOT_UTF8("job_id", agentjob_client_wait(client, bad, NULL, &job, &err));
    NOT_UTF8("job_id", agentjob_poller_new(client, bad, NULL, &poller, &err));
    NOT_UTF8("text", agentjob_poller_new_from_text(bad, &poller, &err));
    CHECK(job == NULL && poller == NULL);
    CHECK_INT(emulator_messages(&service), 0);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
