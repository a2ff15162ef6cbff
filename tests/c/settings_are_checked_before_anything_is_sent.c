/* The function that uses a wrong setting refuses it by name, and *out is not written. */
#include "support.h"

int main(void) {
    emulator service = emulator_start("{}");
    agentjob_error *err = NULL;
    agentjob_client *client = (agentjob_client *)&service; /* must not be written */

    agentjob_options *options = emulator_options(&service);
    CHECK_OK(agentjob_options_set_base_url(options, "http://example.com", &err), err);
    CHECK_INT(agentjob_client_new(options, &client, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "base_url");
    agentjob_error_free(err);
    CHECK(client == (agentjob_client *)&service);
    CHECK_OK(agentjob_options_set_base_url(options, service.base_url, &err), err);
    CHECK_INT(agentjob_options_set_timeout_ms(options, 0, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_TEXT(agentjob_error_message(err), "timeout_ms is 0. Give 1 to 604800000 milliseconds (7 days).");
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NONE);
    agentjob_error_free(err);
    agentjob_options_free(options);

    client = emulator_client(&service);
    agentjob_call *call = agentjob_call_new();
    CHECK_INT(agentjob_call_set_lateness(call, 7.0, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "lateness is 7");
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NONE); /* the call could also be a read */
    agentjob_error_free(err);
    CHECK_INT(emulator_messages(&service), 0);
    agentjob_call_free(call);
    agentjob_client_free(client);

    /* Without options every option comes from its AGENTJOB_ variable. */
    unsetenv("AGENTJOB_BASE_URL");
    CHECK_INT(agentjob_client_new(NULL, &client, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "AGENTJOB_BASE_URL");
    agentjob_error_free(err);
    setenv("AGENTJOB_BASE_URL", service.base_url, 1);
    setenv("AGENTJOB_API_KEY", service.api_key, 1);
    setenv("AGENTJOB_PROJECT_ID", service.project_id, 1);
    CHECK_OK(agentjob_client_new(NULL, &client, &err), err);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
