/* A wait without settings takes those of its client, and those of a call win. A poller's text has them. */
#include "support.h"

static void expect(const agentjob_client *client, const agentjob_call *call, const char *min_interval, const char *settle) {
    agentjob_error *err = NULL;
    agentjob_poller *poller = NULL;
    CHECK_OK(agentjob_poller_new(client, "job_demo", call, &poller, &err), err);
    CHECK_HOLDS(agentjob_poller_to_text(poller), min_interval);
    CHECK_HOLDS(agentjob_poller_to_text(poller), settle);
    agentjob_poller_free(poller);
}

int main(void) {
    emulator service = emulator_start("{\"work_ms\": 60000}");
    agentjob_error *err = NULL;
    agentjob_options *options = emulator_options(&service);
    CHECK_OK(agentjob_options_set_wait_timeout_ms(options, 200, &err), err);
    CHECK_OK(agentjob_options_set_poll_interval_ms(options, 20, 40, &err), err);
    CHECK_OK(agentjob_options_set_lateness(options, 0.5, &err), err);
    CHECK_OK(agentjob_options_set_settle_ms(options, 0, &err), err);
    agentjob_client *client = NULL;
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    expect(client, NULL, "\"min_interval_ms\":20,\"max_interval_ms\":40,\"lateness_millionths\":500000", "\"settle_ms\":0,");

    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_and_wait(client, service.job_id, "p", 1, NULL, &job, &err), AGENTJOB_ERR_WAIT_TIMEOUT);
    CHECK(agentjob_error_elapsed_ms(err) >= 200);
    agentjob_error_free(err);

    agentjob_call *call = agentjob_call_new();
    CHECK_OK(agentjob_call_set_poll_interval_ms(call, 30, 50, &err), err);
    CHECK_OK(agentjob_call_set_settle_ms(call, 70, &err), err);
    expect(client, call, "\"timeout_ms\":200,\"min_interval_ms\":30", "\"settle_ms\":70,");
    agentjob_call_free(call);
    agentjob_client_free(client);
    agentjob_options_free(options);

    /* Without options they come from the variables. */
    setenv("AGENTJOB_BASE_URL", service.base_url, 1);
    setenv("AGENTJOB_API_KEY", service.api_key, 1);
    setenv("AGENTJOB_PROJECT_ID", service.project_id, 1);
    setenv("AGENTJOB_MIN_INTERVAL", "0.06", 1);
    setenv("AGENTJOB_SETTLE", "0.08", 1);
    CHECK_OK(agentjob_client_new(NULL, &client, &err), err);
    expect(client, NULL, "\"min_interval_ms\":60", "\"settle_ms\":80,");
    agentjob_client_free(client);
    setenv("AGENTJOB_WAIT_TIMEOUT", "soon", 1);
    CHECK_INT(agentjob_client_new(NULL, &client, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "AGENTJOB_WAIT_TIMEOUT is soon");
    agentjob_error_free(err);
    emulator_stop(&service);
    return 0;
}
