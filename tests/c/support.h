/*
 * Shared by the programs here: an emulator as a child process, checks that print what they found, and the emulator's ledger of the
 * messages that arrived. C11 and C++17. EMULATOR in the environment is the path of agentjob-emulator. What the system has for that is in
 * support_unix.h and support_windows.h.
 */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agentjob.h"

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: this is false: %s\n", __FILE__, __LINE__, #condition);           \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#define CHECK_INT(got, wanted)                                                                \
    do {                                                                                      \
        long long got_ = (long long)(got), wanted_ = (long long)(wanted);                     \
        if (got_ != wanted_) {                                                                \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #got, got_, wanted_); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#define CHECK_TEXT(got, wanted)                                                               \
    do {                                                                                      \
        const char *got_ = (got), *wanted_ = (wanted);                                        \
        if (got_ == NULL || strcmp(got_, wanted_) != 0) {                                     \
            fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, #got,    \
                    got_ ? got_ : "(NULL)", wanted_);                                         \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

#define CHECK_HOLDS(text, part)                                                               \
    do {                                                                                      \
        const char *text_ = (text), *part_ = (part);                                          \
        if (text_ == NULL || strstr(text_, part_) == NULL) {                                  \
            fprintf(stderr, "%s:%d: \"%s\" does not hold \"%s\"\n", __FILE__, __LINE__,       \
                    text_ ? text_ : "(NULL)", part_);                                         \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

/* A call that must succeed; prints its error if it does not. */
#define CHECK_OK(call, err)                                                                   \
    do {                                                                                      \
        agentjob_code code_ = (call);                                                         \
        if (code_ != AGENTJOB_OK) {                                                           \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, agentjob_code_name(code_), \
                    (err) ? agentjob_error_message(err) : "(no error)");                      \
            exit(1);                                                                          \
        }                                                                                     \
        CHECK((err) == NULL);                                                                 \
    } while (0)

#ifdef _WIN32
#include "support_windows.h"
#else
#include "support_unix.h"
#endif

/* Sends a request to a port of this machine, and reads the response to its end. Returns its length. */
static inline size_t loopback_exchange(int port, const char *request, char *response, size_t size) {
    sockets_start();
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_handle connection = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(connect(connection, (struct sockaddr *)&address, sizeof address) == 0);
    socket_length wanted = (socket_length)strlen(request);
    CHECK_INT(send(connection, request, wanted, 0), wanted);
    size_t len = 0;
    for (long long got; (got = recv(connection, response + len, (socket_length)(size - len), 0)) > 0;) {
        len += (size_t)got;
    }
    socket_close(connection);
    return len;
}

/* An agentjob-emulator that ends with this process, even after a crash, because it watches its stdin. */
typedef struct emulator {
    child process;
    char base_url[64];
    char api_key[64];
    char project_id[64];
    char job_id[64];
    char ca_file[256]; /* empty without TLS */
} emulator;

/* Copies the value of a key from the emulator's line of JSON, which has no escapes. */
static inline void emulator_field(const char *line, const char *key, char *to, size_t size) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", key);
    const char *from = strstr(line, quoted);
    CHECK(from != NULL);
    from += strlen(quoted);
    size_t len = strcspn(from, "\"");
    CHECK(len < size);
    memcpy(to, from, len);
    to[len] = '\0';
}

static inline emulator emulator_start_as(const char *config, bool tls) {
    const char *program = getenv("EMULATOR");
    CHECK(program != NULL);
    char line[1024];
    emulator started;
    started.process = child_start(program, config, tls, line, sizeof line);
    emulator_field(line, "base_url", started.base_url, sizeof started.base_url);
    emulator_field(line, "api_key", started.api_key, sizeof started.api_key);
    emulator_field(line, "project_id", started.project_id, sizeof started.project_id);
    emulator_field(line, "job_id", started.job_id, sizeof started.job_id);
    started.ca_file[0] = '\0';
    if (tls)
        emulator_field(line, "ca_file", started.ca_file, sizeof started.ca_file);
    return started;
}

/* Starts an emulator with a configuration (see tests/emulator/README.md); "{}" has one completed job. */
static inline emulator emulator_start(const char *config) {
    return emulator_start_as(config, false);
}

/* The same over TLS; its clients trust it. Its ledger cannot be read here. */
static inline emulator emulator_start_tls(const char *config) {
    return emulator_start_as(config, true);
}

static inline void emulator_stop(const emulator *it) {
    child_end(&it->process);
}

/* Options for a client of an emulator. They ignore the environment's proxies. */
static inline agentjob_options *emulator_options(const emulator *it) {
    agentjob_error *err = NULL;
    agentjob_options *options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_base_url(options, it->base_url, &err), err);
    CHECK_OK(agentjob_options_set_api_key(options, it->api_key, &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, it->project_id, &err), err);
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    if (it->ca_file[0] != '\0')
        CHECK_OK(agentjob_options_set_ca_file(options, it->ca_file, &err), err);
    return options;
}

static inline agentjob_client *emulator_client(const emulator *it) {
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    agentjob_options *options = emulator_options(it);
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    return client;
}

/* Settings of a call that polls often, so that tests are fast. */
static inline agentjob_call *impatient_call(void) {
    agentjob_error *err = NULL;
    agentjob_call *call = agentjob_call_new();
    CHECK_OK(agentjob_call_set_poll_interval_ms(call, 10, 30, &err), err);
    CHECK_OK(agentjob_call_set_wait_timeout_ms(call, 20000, &err), err);
    return call;
}

/* The body of GET /_emulator/NAME, until the next call. */
static inline const char *emulator_get(const emulator *it, const char *name) {
    static char response[65536];
    int port = atoi(strrchr(it->base_url, ':') + 1);
    char request[128];
    snprintf(request, sizeof request, "GET /_emulator/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", name);
    size_t len = loopback_exchange(port, request, response, sizeof response - 1);
    response[len] = '\0';
    const char *body = strstr(response, "\r\n\r\n");
    CHECK(body != NULL);
    return body + 4;
}

/* What it processed. */
static inline const char *emulator_ledger(const emulator *it) {
    return emulator_get(it, "ledger");
}

/* How many messages arrived. */
static inline int emulator_messages(const emulator *it) {
    int count = 0;
    for (const char *at = emulator_ledger(it); (at = strstr(at, "\"prompt\":")) != NULL; at++) {
        count++;
    }
    return count;
}

/* Whether this program runs under valgrind or a sanitizer, which need much memory. */
static inline bool is_instrumented(void) {
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
    return true;
#endif
#endif
    return getenv("RUNNER") != NULL && strstr(getenv("RUNNER"), "valgrind") != NULL;
}

#endif
