/* A cancel token of another thread or of a signal handler, and agentjob_client_close(), end a batch at once during a long pause. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "batch.h"

enum way { BY_TOKEN, BY_SIGNAL, BY_CLOSE };

static agentjob_cancel *token;
static agentjob_client *client;
static uint64_t ended_at;
static sem_t paused; /* posted after the batch reported its pause */

static void on_signal(int number) {
    (void)number;
    agentjob_cancel_trigger(token);
}

static void *end_soon(void *argument) {
    while (sem_wait(&paused) != 0) {
    }
    sleep_ms(50);
    ended_at = now_ms();
    switch (*(const enum way *)argument) {
    case BY_TOKEN: agentjob_cancel_trigger(token); break;
    case BY_SIGNAL: raise(SIGUSR1); break;
    case BY_CLOSE: agentjob_client_close(client); break;
    }
    return NULL;
}

/* With any timeout of agentjob_batch_next(), also 0, the batch reports its end. */
static void ended(enum way way, uint64_t timeout_ms, agentjob_code wanted, const char *part) {
    emulator service = emulator_with_jobs(
        ",\"rules\": [{\"method\": \"POST\", \"nth\": 2, \"status\": 429, \"headers\": {\"Retry-After\": \"600\"}}]");
    folder place = folder_new();
    agentjob_error *err = NULL;
    client = emulator_client(&service);
    token = agentjob_cancel_new();
    agentjob_batch *batch = batch_of(client, &place, 3);
    CHECK_OK(agentjob_batch_set_cancel(batch, token, &err), err);
    CHECK_OK(agentjob_batch_set_concurrency(batch, 1, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    pthread_t thread;
    CHECK(sem_init(&paused, 0, 0) == 0);
    CHECK(pthread_create(&thread, NULL, end_soon, &way) == 0);
    tally all = {{0}, {0}, 0};
    agentjob_batch_event *event = NULL;
    do {
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        tally_event(&all, event);
        agentjob_batch_event_free(event);
    } while (all.kinds[AGENTJOB_BATCH_KIND_PAUSED] == 0);
    CHECK(sem_post(&paused) == 0);
    agentjob_code code = AGENTJOB_OK;
    while (!agentjob_batch_is_over(batch)) {
        code = agentjob_batch_next(batch, timeout_ms, &event, &err);
        CHECK(code != AGENTJOB_OK || event == NULL);
        sleep_ms(1);
    }
    CHECK_INT(code, wanted);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(now_ms() - ended_at < 30000);
    CHECK_HOLDS(agentjob_error_message(err), part);
    CHECK_HOLDS(agentjob_error_message(err), "Run it again with the same journal");
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NONE);
    agentjob_error_free(err);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 1);
    CHECK_INT(all.kinds[AGENTJOB_BATCH_KIND_PAUSED], 1);

    /* The error comes once; then the batch is over. */
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK(event == NULL && agentjob_batch_is_over(batch));
    agentjob_batch_free(batch);
    agentjob_cancel_free(token);
    agentjob_client_free(client);
    CHECK_INT(emulator_messages(&service), 1);
    folder_remove(&place);
    emulator_stop(&service);
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    ended(BY_TOKEN, AGENTJOB_FOREVER, AGENTJOB_ERR_CANCELLED, "was cancelled with 2 messages left");
    ended(BY_SIGNAL, 1000, AGENTJOB_ERR_CANCELLED, "was cancelled with 2 messages left");
    ended(BY_TOKEN, 0, AGENTJOB_ERR_CANCELLED, "was cancelled with 2 messages left");
    ended(BY_CLOSE, 0, AGENTJOB_ERR_CLOSED, "the client was closed");
    return 0;
}
