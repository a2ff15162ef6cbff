/*
 * Eight threads use one client, one call, one token, one record and one error at once, as the header allows. The functions of the call are
 * called by the thread that makes it.
 */
#include <pthread.h>

#include "support.h"

enum { THREADS = 8, ROUNDS = 10 };

static struct {
    emulator service;
    agentjob_client *client;
    agentjob_call *call;
    agentjob_cancel *token;
    agentjob_job *job;
    agentjob_error *error;
    pthread_mutex_t lock; /* of the counts */
    pthread_barrier_t rounds_are_over;
    int events, metadata;
} shared;

/* Whether this thread makes a call with the shared functions. */
static _Thread_local bool calls;

static void hear(const char *json, void *user_data) {
    (void)json, (void)user_data;
    pthread_mutex_lock(&shared.lock);
    shared.events++;
    pthread_mutex_unlock(&shared.lock);
}

static int32_t go_on(const agentjob_job *job, void *user_data) {
    (void)user_data;
    CHECK(calls && agentjob_job_id(job) != NULL);
    return 0;
}

static void receive(const agentjob_meta *meta, void *user_data) {
    (void)user_data;
    CHECK(calls && agentjob_meta_http_status(meta) == 200);
    pthread_mutex_lock(&shared.lock);
    shared.metadata++;
    pthread_mutex_unlock(&shared.lock);
}

static void *work(void *number) {
    agentjob_error *err = NULL;
    char prompt[32];
    calls = true;
    for (int round = 0; round < ROUNDS; round++) {
        agentjob_job *job = NULL;
        int len = snprintf(prompt, sizeof prompt, "thread %d, round %d", *(const int *)number, round);
        CHECK_OK(agentjob_client_send_message(shared.client, "job_demo", prompt, (size_t)len, shared.call, &job, &err), err);
        agentjob_job_free(job);
        job = NULL;
        CHECK_OK(agentjob_client_get_job(shared.client, "job_demo", shared.call, &job, &err), err);
        agentjob_job_free(job);
        job = NULL;
        CHECK_INT(agentjob_client_get_job(shared.client, "job_nowhere", NULL, &job, &err), AGENTJOB_ERR_NOT_FOUND);
        agentjob_error_free(err);
        CHECK_OK(agentjob_client_wait(shared.client, "job_done", shared.call, &job, &err), err);
        agentjob_job_free(job);

        agentjob_job *clone = agentjob_job_clone(shared.job);
        CHECK_TEXT(agentjob_job_id(shared.job), agentjob_job_id(clone));
        agentjob_job_free(clone);
        CHECK_HOLDS(agentjob_error_message(shared.error), "job_nowhere");
        CHECK(!agentjob_cancel_is_triggered(shared.token) && !agentjob_client_is_closed(shared.client));
    }
    /* One thread cancels the last wait of all threads. */
    agentjob_job *job = NULL;
    pthread_barrier_wait(&shared.rounds_are_over);
    if (*(const int *)number == 0) {
        sleep_ms(50);
        agentjob_cancel_trigger(shared.token);
    }
    CHECK_INT(agentjob_client_wait(shared.client, "job_endless", shared.call, &job, &err), AGENTJOB_ERR_CANCELLED);
    agentjob_error_free(err);
    return NULL;
}

int main(void) {
    agentjob_error *err = NULL;
    shared.service = emulator_start("{\"hourly_limit\": 1000, \"work_ms\": 20, \"jobs\": [{\"id\": \"job_demo\", \"status\": \"completed\"},"
                                    " {\"id\": \"job_done\", \"status\": \"completed\"}, {\"id\": \"job_endless\", \"status\": \"active\"}]}");
    pthread_mutex_init(&shared.lock, NULL);
    pthread_barrier_init(&shared.rounds_are_over, NULL, THREADS);
    agentjob_options *options = emulator_options(&shared.service);
    CHECK_OK(agentjob_options_set_on_event(options, hear, NULL, NULL, &err), err);
    CHECK_OK(agentjob_client_new(options, &shared.client, &err), err);
    agentjob_options_free(options);
    shared.token = agentjob_cancel_new();
    shared.call = impatient_call();
    CHECK_OK(agentjob_call_set_cancel(shared.call, shared.token, &err), err);
    CHECK_OK(agentjob_call_set_progress(shared.call, go_on, NULL, &err), err);
    CHECK_OK(agentjob_call_set_meta(shared.call, receive, NULL, &err), err);
    CHECK_OK(agentjob_client_get_job(shared.client, "job_demo", NULL, &shared.job, &err), err);
    agentjob_job *none = NULL;
    CHECK_INT(agentjob_client_get_job(shared.client, "job_nowhere", NULL, &none, &shared.error), AGENTJOB_ERR_NOT_FOUND);

    pthread_t threads[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK_INT(emulator_messages(&shared.service), THREADS * ROUNDS);
    CHECK(shared.events >= THREADS * ROUNDS * 4);
    CHECK(shared.metadata >= THREADS * ROUNDS * 2);

    agentjob_error_free(shared.error);
    agentjob_job_free(shared.job);
    agentjob_call_free(shared.call);
    agentjob_cancel_free(shared.token);
    agentjob_client_free(shared.client);
    pthread_barrier_destroy(&shared.rounds_are_over);
    pthread_mutex_destroy(&shared.lock);
    emulator_stop(&shared.service);
    return 0;
}
