/*
 * A record of 8 MB takes at most four times its size, including its JSON and its texts for C. If there is no memory to read it, the
 * call fails with an error that has its verdict; the process does not end.
 */
#include <sys/resource.h>
#ifdef __linux__
#include <malloc.h>
#endif

#include "raw_server.h"

#define MIB (1L << 20)

static agentjob_client *client_of(const raw_server *server) {
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    agentjob_options *options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_base_url(options, server->base_url, &err), err);
    CHECK_OK(agentjob_options_set_api_key(options, "k_secret", &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, "p", &err), err);
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    return client;
}

/* A line of /proc/self/status in bytes. */
static long memory(const char *line) {
    char text[256];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(text, sizeof text, status) != NULL) {
        if (strncmp(text, line, strlen(line)) == 0)
            kb = atol(text + strlen(line));
    }
    fclose(status);
    CHECK(kb >= 0);
    return kb * 1024;
}

static bool forget_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool forgotten = file != NULL && fputs("5", file) >= 0;
    return (file != NULL && fclose(file) == 0) && forgotten;
}

static void read_all_of_it(const agentjob_job *job) {
    CHECK_TEXT(agentjob_job_id(job), "job_demo");
    CHECK_TEXT(agentjob_job_status_name(job), "active");
    CHECK(agentjob_job_model(job) != NULL);
    CHECK(agentjob_job_source_ref(job) == NULL);
}

static void the_peak_is_at_most_four_times_the_response(const char *name, const raw_server *server, long size) {
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    agentjob_client *client = client_of(server);
    long before = memory("VmRSS:");
    if (!forget_peak()) {
        puts("SKIPPED: the peak memory, for /proc/self/clear_refs cannot be written here");
        agentjob_client_free(client);
        return;
    }
    CHECK_OK(agentjob_client_get_job(client, "job_demo", NULL, &job, &err), err);
    read_all_of_it(job);
    size_t len = 0;
    CHECK(agentjob_job_json(job, &len) != NULL && len > 0);
    long grew = memory("VmHWM:") - before;
    printf("%s: %.1f times the response\n", name, (double)grew / (double)size);
    CHECK(grew <= 4 * size);
    agentjob_job_free(job);
    agentjob_client_free(client);
}

/* qemu, which runs programs for other processors, accepts a limit and does not apply it. */
static bool memory_can_be_limited(void) {
    struct rlimit all;
    CHECK(getrlimit(RLIMIT_AS, &all) == 0);
    struct rlimit little = all;
    little.rlim_cur = (rlim_t)(memory("VmSize:") + 2 * MIB);
    CHECK(setrlimit(RLIMIT_AS, &little) == 0);
    void *much = malloc(64 * MIB);
    CHECK(setrlimit(RLIMIT_AS, &all) == 0);
    free(much);
    if (much != NULL)
        puts("SKIPPED: calls without memory, because a limit has no effect here");
    return much == NULL;
}

/* If the response does not fit into memory, the process survives and the verdict is true. */
static void what_memory_has_no_room_for_is_an_error(const raw_server *server) {
    struct rlimit all;
    CHECK(getrlimit(RLIMIT_AS, &all) == 0);
    for (long room = MIB; room <= 6 * MIB; room += MIB) {
        agentjob_error *err = NULL;
        agentjob_job *job = NULL;
        agentjob_client *client = client_of(server);
        struct rlimit little = all;
        little.rlim_cur = (rlim_t)(memory("VmSize:") + room);
        CHECK(setrlimit(RLIMIT_AS, &little) == 0);
        agentjob_code code = agentjob_client_send_message(client, "job_demo", "p", 1, NULL, &job, &err);
        CHECK(setrlimit(RLIMIT_AS, &all) == 0);
        CHECK_INT(code, AGENTJOB_ERR_INVALID_RESPONSE);
        CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_ACCEPTED);
        CHECK_HOLDS(agentjob_error_message(err), "out of memory for a response");
        CHECK(job == NULL);
        agentjob_error_free(err);
        agentjob_client_free(client);
    }
}

int main(void) {
    if (is_instrumented()) {
        puts("SKIPPED: the memory below valgrind or a sanitizer");
        return 0;
    }
    /* Freed memory is returned at once, so one shape's memory does not count for the next. */
#ifdef __GLIBC__
    CHECK(mallopt(M_MMAP_THRESHOLD, 128 << 10) == 1);
#endif
    const char *first = "{\"id\":\"job_demo\",\"status\":\"active\",\"model\":\"m\",\"x\":[";
    const struct {
        const char *name, *first, *part, *last;
    } shapes[] = {
        {"nested values", first, "[[],{\"a\":0}],", "0]}"},
        {"white space", first, "[ ] , ", "0]}"},
        {"many keys", "{\"id\":\"job_demo\",\"status\":\"active\",\"model\":\"m\"", ",\"k\":null", "}"},
        {"a text with escapes", "{\"id\":\"job_demo\",\"status\":\"active\",\"model\":\"", "abcdefg\\n", "\"}"},
        {"a long text", "{\"id\":\"job_demo\",\"status\":\"active\",\"model\":\"", "abcdefgh", "\"}"},
    };
    bool limited = memory_can_be_limited();
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
        const char *part = shapes[shape].part;
        size_t times = (8 * MIB - 1000) / strlen(part);
        raw_server server = raw_server_of_parts(200, shapes[shape].first, part, times, shapes[shape].last);
        the_peak_is_at_most_four_times_the_response(shapes[shape].name, &server, (long)(times * strlen(part)));
        if (limited && (shape == 0 || shape == 3))
            what_memory_has_no_room_for_is_an_error(&server);
        raw_server_stop(&server);
    }
    return 0;
}
