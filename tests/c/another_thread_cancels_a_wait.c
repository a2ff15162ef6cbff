/* Another thread's cancel token ends a wait without a deadline at once. */
#include <pthread.h>
#include <semaphore.h>

#include "support.h"

static uint64_t cancelled_at;
static sem_t seen; /* posted at the first record, so the wait's first pause begins soon after */

static int32_t post_seen(const agentjob_job *job, void *user_data) {
    (void)job, (void)user_data;
    CHECK(sem_post(&seen) == 0);
    return 0;
}

static void *cancel_soon(void *token) {
    while (sem_wait(&seen) != 0) {
    }
    sleep_ms(50);
    cancelled_at = now_ms();
    agentjob_cancel_trigger((const agentjob_cancel *)token);
    return NULL;
}

int main(void) {
    emulator service = emulator_start("{\"jobs\": [{\"id\": \"job_1\", \"status\": \"active\"}]}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_cancel *token = agentjob_cancel_new();
    agentjob_call *call = agentjob_call_new();
    CHECK_OK(agentjob_call_set_wait_timeout_ms(call, AGENTJOB_FOREVER, &err), err);
    CHECK_OK(agentjob_call_set_poll_interval_ms(call, 60000, 60000, &err), err);
    CHECK_OK(agentjob_call_set_progress(call, post_seen, NULL, &err), err);
    CHECK_OK(agentjob_call_set_cancel(call, token, &err), err);

    CHECK(sem_init(&seen, 0, 0) == 0);
    pthread_t thread;
    CHECK(!agentjob_cancel_is_triggered(token));
    CHECK(pthread_create(&thread, NULL, cancel_soon, token) == 0);
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_wait(client, "job_1", call, &job, &err), AGENTJOB_ERR_CANCELLED);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NONE);
    CHECK_INT(agentjob_job_status(agentjob_error_job(err)), AGENTJOB_STATUS_ACTIVE);
    agentjob_error_free(err);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(now_ms() - cancelled_at < 20000); /* the poll interval is a minute */

    /* The settings keep the token: every later call with them is cancelled and sends nothing. */
    CHECK(agentjob_cancel_is_triggered(token));
    agentjob_cancel_free(token);
    CHECK_INT(agentjob_client_send_message(client, "job_1", "Go on", AGENTJOB_NUL_TERMINATED, call, &job, &err),
              AGENTJOB_ERR_CANCELLED);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
    agentjob_error_free(err);
    CHECK_INT(emulator_messages(&service), 0);

    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
