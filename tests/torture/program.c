/*
 * What is tortured in C: program send|wait|batch URL KEY CA_FILE PROXY PROMPT JOURNAL, empty where there is none. Between its two marks
 * it makes the call; then it makes another one with the same client, and counts descriptors. After a batch the other one is a send, which
 * shows in the ledger what had arrived by then, and then the journal is resumed. It prints one JSON object, which judge.py reads.
 * program.py is the same in Python.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include <agentjob.h>

enum { MARK = 0x746f7274, MESSAGES = 3, TIMEOUT_MS = 2000, SETTLE_MS = 300, EVENT_TIMEOUT_MS = 20000 };

/* Of fail_allocation.c, if it is preloaded. */
__attribute__((weak)) void fail_allocation_mark(int on);
__attribute__((weak)) int fail_allocation_count(void);

static void mark(int on) {
    if (fail_allocation_mark != NULL)
        fail_allocation_mark(on);
    prctl(MARK, on, 0, 0, 0);
}

static void must(bool holds, const char *what, const agentjob_error *err) {
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, err != NULL ? agentjob_error_message(err) : "no error");
        exit(3);
    }
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    must(folder != NULL, "/proc/self/fd", NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static agentjob_client *client_new(char **argv) {
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    agentjob_options *options = agentjob_options_new();
    must(agentjob_options_set_base_url(options, argv[2], &err) == AGENTJOB_OK, "base_url", err);
    must(agentjob_options_set_api_key(options, argv[3], &err) == AGENTJOB_OK, "api_key", err);
    must(agentjob_options_set_project_id(options, "demo", &err) == AGENTJOB_OK, "project_id", err);
    must(agentjob_options_set_trust_env(options, false, &err) == AGENTJOB_OK, "trust_env", err);
    must(agentjob_options_set_timeout_ms(options, TIMEOUT_MS, &err) == AGENTJOB_OK, "timeout", err);
    must(agentjob_options_set_wait_timeout_ms(options, TIMEOUT_MS, &err) == AGENTJOB_OK, "wait_timeout", err);
    must(agentjob_options_set_poll_interval_ms(options, 10, 30, &err) == AGENTJOB_OK, "poll_interval", err);
    must(agentjob_options_set_settle_ms(options, SETTLE_MS, &err) == AGENTJOB_OK, "settle", err);
    if (*argv[4] != '\0')
        must(agentjob_options_set_ca_file(options, argv[4], &err) == AGENTJOB_OK, "ca_file", err);
    if (*argv[5] != '\0')
        must(agentjob_options_set_proxy(options, argv[5], &err) == AGENTJOB_OK, "proxy", err);
    must(agentjob_client_new(options, &client, &err) == AGENTJOB_OK, "client", err);
    agentjob_options_free(options);
    return client;
}

/* Sends one message, with `wait` also waits for its job, and prints {"prompt":…,"delivery":…}. */
static void call(const agentjob_client *client, bool wait, const char *prompt) {
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    long long began = now_ms();
    agentjob_code code = wait ? agentjob_client_send_and_wait(client, "job_1", prompt, AGENTJOB_NUL_TERMINATED, NULL, &job, &err)
                              : agentjob_client_send_message(client, "job_1", prompt, AGENTJOB_NUL_TERMINATED, NULL, &job, &err);
    long long took = now_ms() - began;
    mark(0);
    const char *delivery = code == AGENTJOB_OK ? "accepted" : agentjob_delivery_name(agentjob_error_delivery(err));
    printf("{\"prompt\":\"%s\",\"delivery\":\"%s\",\"code\":\"%s\",\"ms\":%lld}", prompt, delivery, agentjob_code_name(code), took);
    if (err != NULL)
        fprintf(stderr, "%s: %s\n", prompt, agentjob_error_message(err));
    agentjob_error_free(err);
    agentjob_job_free(job);
}

/* Runs the batch of `journal` to its end, and prints {"prompt":…,"delivery":…} for each outcome. */
static agentjob_code batch(const agentjob_client *client, const char *journal, const char *prompt) {
    agentjob_error *err = NULL;
    agentjob_batch *batch = NULL;
    char prompts[MESSAGES][128];
    const char *comma = "";
    agentjob_code code = agentjob_batch_new(client, journal, &batch, &err);
    for (int number = 0; code == AGENTJOB_OK && number < MESSAGES; number++) {
        char job[16];
        snprintf(job, sizeof job, "job_%d", number + 1);
        snprintf(prompts[number], sizeof prompts[number], "%s, item %d", prompt, number + 1);
        code = agentjob_batch_add(batch, job, prompts[number], AGENTJOB_NUL_TERMINATED, NULL, 0, &err);
    }
    if (code == AGENTJOB_OK)
        code = agentjob_batch_set_max_outage_ms(batch, 1, &err);
    if (code == AGENTJOB_OK)
        code = agentjob_batch_start(batch, &err);
    while (code == AGENTJOB_OK && !agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        code = agentjob_batch_next(batch, EVENT_TIMEOUT_MS, &event, &err);
        if (event != NULL && agentjob_batch_event_kind(event) == AGENTJOB_BATCH_KIND_OUTCOME) {
            printf("%s{\"prompt\":\"%s\",\"delivery\":\"%s\"}", comma, prompts[agentjob_batch_event_number(event) - 1],
                   agentjob_delivery_name(agentjob_batch_event_delivery(event)));
            comma = ",";
        }
        agentjob_batch_event_free(event);
    }
    agentjob_batch_free(batch);
    mark(0);
    if (err != NULL)
        fprintf(stderr, "%s: %s\n", prompt, agentjob_error_message(err));
    agentjob_error_free(err);
    return code;
}

int main(int argc, char **argv) {
    must(argc == 8, "usage: program send|wait|batch URL KEY CA_FILE PROXY PROMPT JOURNAL", NULL);
    const char *what = argv[1];
    char next[256];
    snprintf(next, sizeof next, "%s, next", argv[6]);
    int before = descriptors();
    agentjob_client *client = client_new(argv);
    printf("{\"first\":[");
    if (strcmp(what, "batch") == 0) {
        mark(1);
        long long began = now_ms();
        agentjob_code code = batch(client, argv[7], argv[6]);
        printf("],\"code\":\"%s\",\"ms\":%lld,\"next\":[", agentjob_code_name(code), now_ms() - began);
        call(client, false, next);
        printf("],\"resumed\":[");
        began = now_ms();
        code = batch(client, argv[7], argv[6]);
        printf("],\"resumed_code\":\"%s\",\"resumed_ms\":%lld", agentjob_code_name(code), now_ms() - began);
    } else {
        bool wait = strcmp(what, "wait") == 0;
        mark(1);
        call(client, wait, argv[6]);
        printf("],\"next\":[");
        call(client, wait, next);
        printf("]");
    }
    agentjob_client_free(client);
    printf(",\"descriptors\":%d,\"allocations\":%d}\n", descriptors() - before, fail_allocation_count != NULL ? fail_allocation_count() : 0);
    return 0;
}
