/* The event function gets each request, never the API key or the prompt. Its user data is released with its last user. */
#include "support.h"

struct received {
    int events;
    int destroyed;
    char first[512];
    char last[512];
};

static void receive(const char *json, void *user_data) {
    struct received *received = (struct received *)user_data;
    if (received->events++ == 0) {
        snprintf(received->first, sizeof received->first, "%s", json);
    }
    snprintf(received->last, sizeof received->last, "%s", json);
}

static void destroy(void *user_data) {
    ((struct received *)user_data)->destroyed++;
}

int main(void) {
    struct received received = {0, 0, "", ""}, unused = {0, 0, "", ""};
    emulator service = emulator_start("{\"rules\": [{\"method\": \"GET\", \"from\": 6}, {\"method\": \"GET\", \"status\": 200, \"body\": \"<html>\"}]}");
    agentjob_error *err = NULL;
    agentjob_options *options = emulator_options(&service);
    CHECK_OK(agentjob_options_set_on_event(options, receive, &unused, destroy, &err), err);
    CHECK_OK(agentjob_options_set_on_event(options, receive, &received, destroy, &err), err);
    CHECK_INT(unused.destroyed, 1); /* replaced by another function */
    agentjob_client *client = NULL;
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    CHECK_INT(received.destroyed, 0);

    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_message(client, service.job_id, "a secret plan", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
    agentjob_job_free(job);
    CHECK_INT(received.events, 2);
    CHECK_TEXT(received.first, "{\"event\":\"attempt\",\"operation\":\"send_message\",\"job_id\":\"job_demo\",\"attempt\":1}");
    CHECK_HOLDS(received.last, "{\"event\":\"response\",\"operation\":\"send_message\",\"job_id\":\"job_demo\",\"attempt\":1,\"status\":200,");
    CHECK_HOLDS(received.last, "\"timings\":{\"connect\":");
    CHECK_HOLDS(received.last, "\"first_byte\":");
    CHECK(strstr(received.last, "secret plan") == NULL);

    /* Of polls that fail alike, the events say how many in a row. */
    agentjob_poller *poller = NULL;
    bool done = false;
    CHECK_OK(agentjob_poller_new(client, service.job_id, NULL, &poller, &err), err);
    for (int polls = 0; polls < 5; polls++) {
        CHECK_OK(agentjob_poller_poll(poller, client, NULL, &done, &err), err);
    }
    CHECK_HOLDS(received.last, "\"polls\":5,\"status\":null,\"reason\":\"the record in the response (200) cannot be used: it is not JSON");
    CHECK_HOLDS(received.last, "\"consecutive_failures\":5,");
    agentjob_poller_free(poller);
    agentjob_client_free(client);
    CHECK_INT(received.destroyed, 1);
    CHECK_INT(unused.events, 0);
    emulator_stop(&service);
    return 0;
}
