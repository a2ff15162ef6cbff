/* The event function sees each request, never the key or the prompt; its user data goes with the last that could use it. */
#include "support.h"

struct heard {
    int events;
    int destroyed;
    char last[512];
};

static void hear(const char *json, void *user_data) {
    struct heard *heard = (struct heard *)user_data;
    heard->events++;
    snprintf(heard->last, sizeof heard->last, "%s", json);
}

static void destroy(void *user_data) {
    ((struct heard *)user_data)->destroyed++;
}

int main(void) {
    struct heard heard = {0, 0, ""}, unused = {0, 0, ""};
    emulator service = emulator_start("{}");
    agentjob_error *err = NULL;
    agentjob_options *options = emulator_options(&service);
    CHECK_OK(agentjob_options_set_on_event(options, hear, &unused, destroy, &err), err);
    CHECK_OK(agentjob_options_set_on_event(options, hear, &heard, destroy, &err), err);
    CHECK_INT(unused.destroyed, 1); /* another one took its place */
    agentjob_client *client = NULL;
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    CHECK_INT(heard.destroyed, 0);

    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_message(client, service.job_id, "a secret plan", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
    agentjob_job_free(job);
    CHECK_INT(heard.events, 1);
    CHECK_TEXT(heard.last, "{\"event\":\"attempt\",\"operation\":\"send_message\",\"job_id\":\"job_demo\",\"attempt\":1}");
    agentjob_client_free(client);
    CHECK_INT(heard.destroyed, 1);
    CHECK_INT(unused.events, 0);
    emulator_stop(&service);
    return 0;
}
