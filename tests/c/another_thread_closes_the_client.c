/* Closing a client ends its calls in every thread, and only then is it freed. */
#include <pthread.h>

#include "support.h"

static void *close_soon(void *client) {
    sleep_ms(200);
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
    uint64_t began = now_ms();
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_wait(client, "job_1", NULL, &job, &err), AGENTJOB_ERR_CLOSED);
    CHECK(now_ms() - began < 1500);
    agentjob_error_free(err);
    CHECK(pthread_join(thread, NULL) == 0);

    CHECK(agentjob_client_is_closed(client));
    CHECK_INT(agentjob_client_send_message(client, "job_1", "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), AGENTJOB_ERR_CLOSED);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
    agentjob_error_free(err);
    agentjob_client_close(client);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
