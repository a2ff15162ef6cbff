/* Closing a client ends its calls on every thread; then it is freed. */
#include <pthread.h>

#include "support.h"

static uint64_t closed_at;

static void *close_soon(void *client) {
    sleep_ms(200);
    closed_at = now_ms();
    agentjob_client_close((const agentjob_client *)client);
    return NULL;
}

int main(void) {
    emulator service = emulator_start("{\"jobs\": [{\"id\": \"job_1\", \"status\": \"active\"}]}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    CHECK(!agentjob_client_is_closed(client));
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, close_soon, client) == 0);
    agentjob_call *patient = agentjob_call_new();
    CHECK_OK(agentjob_call_set_poll_interval_ms(patient, 60000, 60000, &err), err);
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_wait(client, "job_1", patient, &job, &err), AGENTJOB_ERR_CLOSED);
    uint64_t ended_at = now_ms();
    agentjob_error_free(err);
    agentjob_call_free(patient);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(ended_at - closed_at < 20000); /* the poll interval is a minute */

    CHECK(agentjob_client_is_closed(client));
    CHECK_INT(agentjob_client_send_message(client, "job_1", "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), AGENTJOB_ERR_CLOSED);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
    agentjob_error_free(err);
    agentjob_client_close(client);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
