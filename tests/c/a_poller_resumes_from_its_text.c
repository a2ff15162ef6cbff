/* A poller polls once, its text goes to another process, and the wait resumes there until the job is done. */
#include "support.h"

int main(void) {
    emulator service = emulator_start("{\"work_ms\": 3000}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = impatient_call();
    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_message(client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
    agentjob_job_free(job);

    agentjob_poller *poller = NULL;
    CHECK_OK(agentjob_poller_new(client, service.job_id, call, &poller, &err), err);
    CHECK(agentjob_poller_job(poller) == NULL);
    CHECK_TEXT(agentjob_poller_job_id(poller), service.job_id);
    CHECK(agentjob_poller_due_in_ms(poller) <= 40); /* not at once, because a message was just sent */
    bool done = true;
    CHECK_OK(agentjob_poller_poll(poller, client, NULL, &done, &err), err);
    CHECK(!done && !agentjob_poller_is_done(poller));
    CHECK_INT(agentjob_job_status(agentjob_poller_job(poller)), AGENTJOB_STATUS_ACTIVE);
    CHECK(agentjob_poller_due_in_ms(poller) <= 40);

    char text[2048];
    CHECK(snprintf(text, sizeof text, "%s", agentjob_poller_to_text(poller)) < (int)sizeof text);
    CHECK(strstr(text, service.api_key) == NULL);
    agentjob_poller_free(poller);
    poller = NULL;
    CHECK_OK(agentjob_poller_new_from_text(text, &poller, &err), err);
    CHECK_TEXT(agentjob_poller_job_id(poller), service.job_id);
    while (!done) {
        sleep_ms(agentjob_poller_due_in_ms(poller));
        CHECK_OK(agentjob_poller_poll(poller, client, NULL, &done, &err), err);
    }
    CHECK(agentjob_poller_is_done(poller));
    CHECK_INT(agentjob_poller_due_in_ms(poller), 0);
    CHECK_INT(agentjob_job_status(agentjob_poller_job(poller)), AGENTJOB_STATUS_COMPLETED);
    agentjob_poller_free(poller);

    poller = NULL;
    CHECK_INT(agentjob_poller_new_from_text("{}", &poller, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK(poller == NULL);
    agentjob_error_free(err);
    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
