/*
 * Every call works on a thread whose stack is 64 KiB in all, including the thread's own data. With MEASURE=1 in the environment
 * it prints how much of it each call used.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <pthread.h>
#include <sys/mman.h>

#include "batch.h"
#include "raw_server.h"

#define STACK (64 << 10)
#define PAINT 0xA5

static emulator plain, secure;
static agentjob_client *client;

static void use(const char *base_url, const char *proxy) {
    agentjob_error *err = NULL;
    agentjob_options *options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_base_url(options, base_url, &err), err);
    CHECK_OK(agentjob_options_set_api_key(options, "k_secret", &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, "p", &err), err);
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    if (proxy != NULL)
        CHECK_OK(agentjob_options_set_proxy(options, proxy, &err), err);
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
}

static void *make_a_client(void *unused) {
    (void)unused;
    agentjob_client_free(emulator_client(&plain));
    return NULL;
}

static void *send_and_wait(void *unused) {
    (void)unused;
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    agentjob_call *call = impatient_call();
    CHECK_OK(agentjob_client_send_and_wait(client, "job_demo", "p", AGENTJOB_NUL_TERMINATED, call, &job, &err), err);
    CHECK(agentjob_job_is_terminal(job));
    CHECK(agentjob_job_json(job, NULL) != NULL);
    CHECK(agentjob_job_created_at_unix_ms(job) > 0);
    agentjob_job_free(job);
    agentjob_call_free(call);
    return NULL;
}

static void *get_a_deep_record(void *unused) {
    (void)unused;
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_get_job(client, "job_demo", NULL, &job, &err), err);
    CHECK_HOLDS(agentjob_job_json(job, NULL), "[[[[[[[[[[[[");
    agentjob_job_free(job);
    return NULL;
}

static void *be_refused_with_a_deep_body(void *unused) {
    (void)unused;
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_get_job(client, "job_demo", NULL, &job, &err), AGENTJOB_ERR_BAD_REQUEST);
    CHECK(agentjob_error_message(err) != NULL);
    agentjob_error_free(err);
    return NULL;
}

static void *be_refused_by_a_proxy(void *unused) {
    (void)unused;
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_message(client, "job_demo", "p", 1, NULL, &job, &err), AGENTJOB_ERR_CONNECT);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
    agentjob_error_free(err);
    return NULL;
}

static void *go_on_from_a_text(void *unused) {
    (void)unused;
    agentjob_error *err = NULL;
    agentjob_poller *poller = NULL, *resumed = NULL;
    CHECK_OK(agentjob_poller_new(client, "job_demo", NULL, &poller, &err), err);
    CHECK_OK(agentjob_poller_new_from_text(agentjob_poller_to_text(poller), &resumed, &err), err);
    bool done = false;
    CHECK_OK(agentjob_poller_poll(resumed, client, NULL, &done, &err), err);
    agentjob_poller_free(poller);
    agentjob_poller_free(resumed);
    char deep[2048];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    CHECK_INT(agentjob_poller_new_from_text(deep, &resumed, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    agentjob_error_free(err);
    return NULL;
}

static void *run_a_batch(void *unused) {
    (void)unused;
    agentjob_error *err = NULL;
    folder place = folder_new();
    agentjob_batch *batch = batch_of(client, &place, 5);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        agentjob_batch_event_free(event);
    }
    agentjob_batch_free(batch);
    folder_remove(&place);
    return NULL;
}

/* The size of a thread's stack. On ARM the smallest that a thread may have is larger than STACK; then only the top of it is usable. */
static size_t whole_stack(void) {
    long smallest = sysconf(_SC_THREAD_STACK_MIN);
    return smallest <= STACK ? STACK : ((size_t)smallest + 4095) / 4096 * 4096;
}

/* Runs it on its own stack, twice: the second time everything is set up, as for most calls. */
static void on_a_small_stack(const char *name, void *(*run)(void *)) {
    const size_t size = whole_stack(), guard = 4096 + size - STACK;
    for (int warm = 0; warm < 2; warm++) {
        unsigned char *stack = mmap(NULL, size + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(stack != MAP_FAILED);
        /* An overflow hits the guard. */
        CHECK(mprotect(stack, guard, PROT_NONE) == 0);
        unsigned char *bottom = stack + guard;
        memset(bottom, PAINT, STACK);
        pthread_attr_t attributes;
        pthread_t thread;
        CHECK(pthread_attr_init(&attributes) == 0);
        CHECK(pthread_attr_setstack(&attributes, stack + 4096, size) == 0);
        CHECK(pthread_create(&thread, &attributes, run, NULL) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        size_t untouched = 0;
        while (untouched < STACK && bottom[untouched] == PAINT)
            untouched++;
        if (getenv("MEASURE") != NULL)
            printf("%-28s %s %6zu bytes\n", name, warm ? "warm" : "cold", STACK - untouched);
        munmap(stack, size + 8192);
    }
}

static void *nothing(void *unused) {
    return unused;
}

int main(void) {
    if (is_instrumented()) {
        puts("SKIPPED: the stack below valgrind or a sanitizer");
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    plain = emulator_start("{\"work_ms\":300,\"hourly_limit\":100000}");
    secure = emulator_start_tls("{\"work_ms\":300}");
    on_a_small_stack("nothing", nothing);
    on_a_small_stack("a client", make_a_client);

    client = emulator_client(&plain);
    on_a_small_stack("send and wait", send_and_wait);
    on_a_small_stack("a poller", go_on_from_a_text);
    agentjob_client_free(client);

    emulator many = emulator_with_jobs("");
    client = emulator_client(&many);
    on_a_small_stack("a batch", run_a_batch);
    agentjob_client_free(client);
    emulator_stop(&many);

    client = emulator_client(&secure);
    on_a_small_stack("send and wait, TLS", send_and_wait);
    agentjob_client_free(client);

    char *deep = malloc(1024);
    CHECK(deep != NULL);
    char open[128], shut[128];
    memset(open, '[', 127);
    memset(shut, ']', 127);
    open[127] = shut[127] = '\0';
    snprintf(deep, 1024, "{\"id\":\"job_demo\",\"status\":\"active\",\"x\":%s%s}", open, shut);
    raw_server server = raw_server_start(200, deep);
    use(server.base_url, NULL);
    on_a_small_stack("a deep record", get_a_deep_record);
    agentjob_client_free(client);
    raw_server_stop(&server);

    char *body = malloc(8000);
    CHECK(body != NULL);
    body[0] = '\0';
    for (int depth = 0; depth < 120; depth++)
        strcat(body, "{\"error\":");
    strcat(body, "\"deep\"");
    for (int depth = 0; depth < 120; depth++)
        strcat(body, "}");
    server = raw_server_start(400, body);
    use(server.base_url, NULL);
    on_a_small_stack("deep body of an error", be_refused_with_a_deep_body);
    agentjob_client_free(client);
    raw_server_stop(&server);

    server = raw_server_start(407, "no");
    use("https://service.invalid", server.base_url);
    on_a_small_stack("a proxy that refuses", be_refused_by_a_proxy);
    agentjob_client_free(client);
    raw_server_stop(&server);
    free(body);
    free(deep);
    /* In reverse order: the last one holds the other's pipe. */
    emulator_stop(&secure);
    emulator_stop(&plain);
    return 0;
}
