/*
 * pthread_cancel() of a thread in a call: the call ends as usual, with its result, and the thread is cancelled after it. In most calls
 * here the thread was cancelled before the call began, so the first cancellation point inside it would end the thread.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "batch.h"

typedef struct situation {
    const emulator *service;
    agentjob_client *client;
    folder place;
    int calls;                      /* groups of calls that returned with the expected result */
    int callbacks, polls, messages; /* what the callbacks and the handlers below did */
    pthread_t self, event_thread;
    atomic_bool is_ready, is_cancelled;
} situation;

static pthread_key_t at_end;

/* For functions whose variables must not be in the frame that is unwound: AddressSanitizer would take them for alive. */
#define OWN_FRAME __attribute__((noinline))

/* Waits, without a cancellation point, until the main thread has cancelled this one. */
static void be_cancelled(situation *it) {
    atomic_store(&it->is_ready, true);
    while (!atomic_load(&it->is_cancelled)) {
    }
}

/* Runs `body` in a thread, cancels it when it is ready, and checks that it ended by that. */
static void cancel_in(situation *it, void *(*body)(void *)) {
    pthread_t thread;
    void *result = NULL;
    atomic_store(&it->is_ready, false);
    atomic_store(&it->is_cancelled, false);
    CHECK(pthread_create(&thread, NULL, body, it) == 0);
    while (!atomic_load(&it->is_ready))
        sleep_ms(1);
    CHECK(pthread_cancel(thread) == 0);
    atomic_store(&it->is_cancelled, true);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
}

static void on_event(const char *json, void *user_data) {
    situation *it = (situation *)user_data;
    (void)json;
    if (pthread_equal(pthread_self(), it->self)) {
        sleep_ms(1); /* a cancellation point */
        it->callbacks++;
    }
}

static int32_t on_progress(const agentjob_job *job, void *user_data) {
    situation *it = (situation *)user_data;
    agentjob_job *seen = NULL;
    /* A call inside a call. */
    CHECK_INT(agentjob_client_get_job(it->client, agentjob_job_text(job, AGENTJOB_JOB_FIELD_ID, NULL), NULL, &seen, NULL), AGENTJOB_OK);
    agentjob_job_free(seen);
    sleep_ms(1);
    it->polls++;
    return 0;
}

/* Every kind of call that may block, in a thread that was cancelled before. */
OWN_FRAME static void call_everything(situation *it) {
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    agentjob_client *client = NULL;
    agentjob_poller *poller = NULL;
    bool done = false;
    it->self = pthread_self();
    agentjob_options *options = emulator_options(it->service);
    CHECK_OK(agentjob_options_set_on_event(options, on_event, it, NULL, &err), err);
    it->place = folder_new();
    be_cancelled(it);

    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    it->client = client;
    agentjob_call *call = impatient_call();
    CHECK_OK(agentjob_call_set_progress(call, on_progress, it, &err), err);

    CHECK_OK(agentjob_client_send_message(client, "job_1", "send", AGENTJOB_NUL_TERMINATED, call, &job, &err), err);
    CHECK(agentjob_job_status(job) == AGENTJOB_STATUS_ACTIVE);
    agentjob_job_free(job);
    CHECK_OK(agentjob_client_wait(client, "job_1", call, &job, &err), err);
    CHECK(agentjob_job_is_terminal(job));
    agentjob_job_free(job);
    /* The error of a failed message has its verdict. */
    CHECK_INT(agentjob_client_send_message(client, "nobody", "send", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), AGENTJOB_ERR_NOT_FOUND);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_REJECTED);
    agentjob_error_free(err);
    it->calls++;

    CHECK_OK(agentjob_poller_new(client, "job_1", NULL, &poller, &err), err);
    CHECK_OK(agentjob_poller_poll(poller, client, NULL, &done, &err), err);
    agentjob_poller_free(poller);
    CHECK_OK(agentjob_poller_new(client, "job_1", NULL, &poller, &err), err);
    CHECK_OK(agentjob_poller_start(poller, client, NULL, &err), err);
    CHECK_OK(agentjob_poller_finish(poller, &done, &err), err);
    agentjob_poller_free(poller);
    it->calls++;

    CHECK_INT(batch_run(batch_of(client, &it->place, 3)).deliveries[AGENTJOB_DELIVERY_ACCEPTED], 3);
    agentjob_batch *batch = batch_of(client, &it->place, 3);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    agentjob_batch_stop(batch);
    agentjob_batch_free(batch); /* waits for the batch's threads */
    CHECK_INT(journal_count(&it->place, AGENTJOB_COUNT_ACCEPTED), 3);
    it->calls++;

    agentjob_call_free(call);
    agentjob_client_close(client);
    agentjob_client_free(client);
    it->calls++;
    CHECK(it->callbacks > 0 && it->polls > 0);
}

static void *thread_that_calls_everything(void *argument) {
    call_everything((situation *)argument);
    pthread_testcancel();
    CHECK(!"a cancelled thread continues");
    return NULL;
}

OWN_FRAME static void make_a_call(situation *it) {
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_message(it->client, "job_1", "from a handler", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
    agentjob_job_free(job);
    it->messages++;
}

static void clean_up(void *argument) {
    make_a_call((situation *)argument);
}

static void end_of_thread(void *argument) {
    situation *it = (situation *)argument;
    make_a_call(it);
    agentjob_client_free(it->client);
}

/* The thread ends, and its handlers make calls of their own. */
static void *end_with_handlers(void *argument) {
    situation *it = (situation *)argument;
    CHECK(pthread_setspecific(at_end, it) == 0);
    make_a_call(it);
    pthread_cleanup_push(clean_up, it);
    be_cancelled(it);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

/* It is cancelled while its call waits for the job. */
OWN_FRAME static void wait_for_long(situation *it) {
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    agentjob_call *call = agentjob_call_new();
    CHECK_OK(agentjob_call_set_poll_interval_ms(call, 20, 20, &err), err);
    CHECK_OK(agentjob_call_set_wait_timeout_ms(call, 400, &err), err);
    atomic_store(&it->is_ready, true);
    CHECK_INT(agentjob_client_wait(it->client, "job_busy", call, &job, &err), AGENTJOB_ERR_WAIT_TIMEOUT);
    CHECK(agentjob_error_job(err) != NULL);
    agentjob_error_free(err);
    agentjob_call_free(call);
    it->calls++;
}

static void *thread_that_waits(void *argument) {
    wait_for_long((situation *)argument);
    while (pause() == -1) {
    }
    return NULL;
}

static void remember_thread(const char *json, void *user_data) {
    situation *it = (situation *)user_data;
    (void)json;
    if (!atomic_load(&it->is_ready) && !pthread_equal(pthread_self(), it->self)) {
        it->event_thread = pthread_self();
        atomic_store(&it->is_ready, true);
        while (!atomic_load(&it->is_cancelled))
            sleep_ms(1);
    }
}

/* A program that cancels a thread of a batch, whose event function gave it away, harms nothing. */
static void cancel_a_thread_of_ours(const emulator *service) {
    static situation it;
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    it.self = pthread_self();
    agentjob_options *options = emulator_options(service);
    CHECK_OK(agentjob_options_set_on_event(options, remember_thread, &it, NULL, &err), err);
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    it.place = folder_new();
    agentjob_batch *batch = batch_of(client, &it.place, 3);
    tally seen = {{0}, {0}, 0};
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    while (!atomic_load(&it.is_ready))
        sleep_ms(1);
    CHECK(pthread_cancel(it.event_thread) == 0);
    atomic_store(&it.is_cancelled, true);
    CHECK_OK(batch_finish(batch, &seen, &err), err);
    CHECK_INT(seen.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 3);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    folder_remove(&it.place);
}

int main(void) {
    emulator service = emulator_start("{\"work_ms\": 50, \"jobs\": [{\"id\": \"job_1\"}, {\"id\": \"job_2\"}, {\"id\": \"job_3\"},"
                                      " {\"id\": \"job_busy\", \"status\": \"active\"}]}");
    static situation it;
    it.service = &service;
    cancel_in(&it, thread_that_calls_everything);
    CHECK_INT(it.calls, 4);
    CHECK_INT(emulator_messages(&service), 4);
    folder_remove(&it.place);

    CHECK(pthread_key_create(&at_end, end_of_thread) == 0);
    it.client = emulator_client(&service);
    cancel_in(&it, end_with_handlers);
    CHECK_INT(it.messages, 3);

    it.client = emulator_client(&service);
    cancel_in(&it, thread_that_waits);
    CHECK_INT(it.calls, 5);
    agentjob_client_free(it.client);

    cancel_a_thread_of_ours(&service);
    CHECK_INT(emulator_messages(&service), 10);
    emulator_stop(&service);
    return 0;
}
