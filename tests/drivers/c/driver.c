/*
 * The C driver (tests/drivers/README.md): reads blocks of `key=value` lines, prints one line of JSON per block.
 *
 * As an example: `configure` sets a client's options, `call_settings` the settings of one call, `perform` makes the calls,
 * `print_error` reads every field of an error, `watch` drives a poller. The rest reads lines and writes JSON.
 */
#define _POSIX_C_SOURCE 200809L /* getline, nanosleep, open_memstream under -std=c11 */

#include <agentjob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One block */

enum { MAX_LINES = 64 };

typedef struct line {
    char *key;
    char *value; /* decoded, with a NUL behind it */
    size_t len;
} line;

typedef struct block {
    line lines[MAX_LINES];
    int count;
} block;

/* Decodes every %XX, in place. */
static size_t percent_decode(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; to++) {
        if (*from == '%' && from[1] != '\0' && from[2] != '\0') {
            char hex[3] = {from[1], from[2], '\0'};
            *to = (char)strtoul(hex, NULL, 16);
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
    return (size_t)(to - text);
}

/* Reads lines up to an empty one; false at the end of the input. */
static bool read_block(block *it) {
    char *text = NULL;
    size_t room = 0;
    bool more = false;
    it->count = 0;
    while (getline(&text, &room, stdin) > 0) {
        more = true;
        text[strcspn(text, "\r\n")] = '\0';
        char *equals = strchr(text, '=');
        if (text[0] == '\0' || equals == NULL || it->count == MAX_LINES) {
            break;
        }
        line *next = &it->lines[it->count++];
        next->key = text; /* the line's memory is the block's from here on */
        *equals = '\0';
        next->value = equals + 1;
        next->len = percent_decode(next->value);
        text = NULL;
        room = 0;
    }
    free(text);
    return more;
}

static void free_block(block *it) {
    for (int i = 0; i < it->count; i++) {
        free(it->lines[i].key);
    }
}

static const line *find(const block *it, const char *key) {
    for (int i = 0; i < it->count; i++) {
        if (strcmp(it->lines[i].key, key) == 0) {
            return &it->lines[i];
        }
    }
    return NULL;
}

/* The value, or NULL if the block has none. */
static const char *get(const block *it, const char *key) {
    const line *found = find(it, key);
    return found ? found->value : NULL;
}

/* A missing argument is an empty text. */
static const char *argument(const block *it, const char *key) {
    const char *value = get(it, key);
    return value ? value : "";
}

/* Seconds with a fraction, as milliseconds. A short time does not become 0. */
static uint64_t milliseconds(const char *seconds) {
    double ms = strtod(seconds, NULL) * 1000.0;
    if (!(ms > 0.0)) {
        return 0;
    }
    if (ms >= 9e15) {
        return (uint64_t)9e15;
    }
    return ms < 1.0 ? 1 : (uint64_t)(ms + 0.5);
}

/* The JSON output */

static void print_json_text(const char *text, size_t len) {
    if (text == NULL) {
        fputs("null", stdout);
        return;
    }
    putchar('"');
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte == '"' || byte == '\\') {
            printf("\\%c", byte);
        } else if (byte < 0x20) {
            printf("\\u%04x", byte);
        } else {
            putchar(byte);
        }
    }
    putchar('"');
}

static void print_key_text(const char *key, const char *text) {
    printf("\"%s\": ", key);
    print_json_text(text, text ? strlen(text) : 0);
    fputs(", ", stdout);
}

static void print_error(const agentjob_error *err) {
    int32_t delivery = agentjob_error_delivery(err);
    int32_t http_status = agentjob_error_http_status(err);
    int64_t retry_after_ms = agentjob_error_retry_after_ms(err);
    size_t body_len = 0;
    const char *body = agentjob_error_body(err, &body_len);
    const char *job = agentjob_job_json(agentjob_error_job(err), NULL);

    fputs("{\"error\": {", stdout);
    print_key_text("kind", agentjob_error_kind(err));
    print_key_text("delivery", delivery == AGENTJOB_DELIVERY_NONE ? NULL : agentjob_delivery_name(delivery));
    print_key_text("message", agentjob_error_message(err));
    if (http_status == 0) {
        fputs("\"http_status\": null, ", stdout);
    } else {
        printf("\"http_status\": %d, ", (int)http_status);
    }
    if (retry_after_ms < 0) {
        fputs("\"retry_after\": null, ", stdout);
    } else if (retry_after_ms % 1000 == 0) {
        printf("\"retry_after\": %lld, ", (long long)(retry_after_ms / 1000));
    } else {
        printf("\"retry_after\": %.3f, ", (double)retry_after_ms / 1000.0);
    }
    print_key_text("request_id", agentjob_error_request_id(err));
    fputs("\"body\": ", stdout);
    print_json_text(body, body_len);
    printf(", \"attempts\": %u, \"job\": %s}}\n", (unsigned)agentjob_error_attempts(err), job ? job : "null");
}

/* Settings: a function is called only if all functions before it succeeded, and the first error is the block's result. */

#define SET(key, call)                                    \
    do {                                                  \
        const char *value = get(it, key);                 \
        if (code == AGENTJOB_OK && value != NULL) {       \
            code = (call);                                \
        }                                                 \
    } while (0)

/* A header "Name: value": sets it with the function that it is for. */
typedef struct header {
    char name[128];
    const char *value;
} header;

static header header_of(const char *line) {
    header it = {"", ""};
    const char *colon = strstr(line, ": ");
    size_t length = colon ? (size_t)(colon - line) : strlen(line);
    snprintf(it.name, sizeof it.name, "%.*s", (int)length, line);
    it.value = colon ? colon + 2 : "";
    return it;
}

static agentjob_code configure(const block *it, agentjob_options *to, agentjob_error **err) {
    agentjob_code code = AGENTJOB_OK;
    SET("base_url", agentjob_options_set_base_url(to, value, err));
    SET("api_key", agentjob_options_set_api_key(to, value, err));
    SET("api_key_file", agentjob_options_set_api_key_file(to, value, err));
    SET("project_id", agentjob_options_set_project_id(to, value, err));
    SET("ca_file", agentjob_options_set_ca_file(to, value, err));
    SET("client_cert", agentjob_options_set_client_cert(to, value, err));
    SET("client_key", agentjob_options_set_client_key(to, value, err));
    SET("header", agentjob_options_set_header(to, header_of(value).name, header_of(value).value, err));
    SET("proxy", agentjob_options_set_proxy(to, value, err));
    SET("user_agent_suffix", agentjob_options_set_user_agent_suffix(to, value, err));
    SET("timeout", agentjob_options_set_timeout_ms(to, milliseconds(value), err));
    SET("connect_timeout", agentjob_options_set_connect_timeout_ms(to, milliseconds(value), err));
    SET("max_retry_after", agentjob_options_set_max_retry_after_ms(to, milliseconds(value), err));
    SET("max_retries", agentjob_options_set_max_retries(to, (uint32_t)strtoul(value, NULL, 10), err));
    SET("max_prompt_bytes", agentjob_options_set_max_prompt_bytes(to, (size_t)strtoull(value, NULL, 10), err));
    SET("max_response_bytes", agentjob_options_set_max_response_bytes(to, (size_t)strtoull(value, NULL, 10), err));
    SET("wait_timeout",
        agentjob_options_set_wait_timeout_ms(to, strcmp(value, "none") == 0 ? AGENTJOB_FOREVER : milliseconds(value), err));
    SET("lateness", agentjob_options_set_lateness(to, strtod(value, NULL), err));
    SET("settle", agentjob_options_set_settle_ms(to, milliseconds(value), err));
    SET("trust_env", agentjob_options_set_trust_env(to, strcmp(value, "true") == 0, err));
    SET("allow_plaintext", agentjob_options_set_allow_plaintext(to, strcmp(value, "true") == 0, err));

    const char *min = get(it, "min_interval"), *max = get(it, "max_interval");
    if (code == AGENTJOB_OK && (min != NULL || max != NULL)) {
        code = agentjob_options_set_poll_interval_ms(to, min ? milliseconds(min) : 2000, max ? milliseconds(max) : 60000, err);
    }
    return code;
}

static agentjob_code call_settings(const block *it, agentjob_call *to, const agentjob_cancel *token, agentjob_error **err) {
    agentjob_code code = agentjob_call_set_cancel(to, token, err);
    SET("call.header", agentjob_call_set_header(to, header_of(value).name, header_of(value).value, err));
    SET("call.timeout", agentjob_call_set_timeout_ms(to, milliseconds(value), err));
    SET("wait.timeout",
        agentjob_call_set_wait_timeout_ms(to, strcmp(value, "none") == 0 ? AGENTJOB_FOREVER : milliseconds(value), err));
    SET("wait.lateness", agentjob_call_set_lateness(to, strtod(value, NULL), err));
    SET("wait.settle", agentjob_call_set_settle_ms(to, milliseconds(value), err));

    /* One function sets both intervals, so a missing one gets its default. */
    const char *min = get(it, "wait.min_interval"), *max = get(it, "wait.max_interval");
    if (code == AGENTJOB_OK && (min != NULL || max != NULL)) {
        code = agentjob_call_set_poll_interval_ms(to, min ? milliseconds(min) : 2000, max ? milliseconds(max) : 60000, err);
    }
    return code;
}

/* Cancelling from another thread */

static void sleep_ms(uint64_t ms) {
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    nanosleep(&pause, NULL);
}

typedef struct alarm_clock {
    agentjob_cancel *token;
    uint64_t after_ms;
} alarm_clock;

static void *cancel_later(void *user_data) {
    const alarm_clock *clock = user_data;
    sleep_ms(clock->after_ms);
    agentjob_cancel_trigger(clock->token);
    return NULL;
}

/* The calls */

/* Sleeps until the poller is due or the call is cancelled. */
static void sleep_until_due(const agentjob_poller *poller, const agentjob_cancel *token) {
    uint64_t left;
    while ((left = agentjob_poller_due_in_ms(poller)) > 0 && !agentjob_cancel_is_triggered(token)) {
        sleep_ms(left < 20 ? left : 20);
    }
}

/* The first record, each one that differs from the previous one, and the last one, as the JSON array `*records`. */
static agentjob_code watch(const agentjob_client *client, const char *job_id, const agentjob_call *call,
                           const agentjob_cancel *token, FILE *records, agentjob_error **err) {
    agentjob_poller *poller = NULL;
    agentjob_job *last = NULL;
    bool done = false;
    agentjob_code code = agentjob_poller_new(client, job_id, call, &poller, err);
    fputc('[', records);
    while (code == AGENTJOB_OK && !done) {
        sleep_until_due(poller, token);
        code = agentjob_poller_poll(poller, client, call, &done, err);
        const agentjob_job *job = agentjob_poller_job(poller);
        if (code != AGENTJOB_OK || job == NULL) {
            continue;
        }
        const char *json = agentjob_job_json(job, NULL);
        if (done || last == NULL || strcmp(agentjob_job_json(last, NULL), json) != 0) {
            fprintf(records, "%s%s", last ? ", " : "", json);
            agentjob_job_free(last);
            last = agentjob_job_clone(job); /* the poller's own record ends with its next poll */
        }
    }
    fputc(']', records);
    agentjob_job_free(last);
    agentjob_poller_free(poller);
    return code;
}

static agentjob_code perform(const block *it, const agentjob_client *client, const agentjob_call *call, agentjob_job **job,
                             agentjob_error **err) {
    const char *operation = argument(it, "operation");
    const char *job_id = argument(it, "job_id");
    const line *found = find(it, "prompt");
    const char *prompt = found ? found->value : "";
    size_t prompt_len = found ? found->len : 0; /* a prompt may contain NUL bytes, so it is passed with its length */

    if (strcmp(operation, "send_message") == 0) {
        return agentjob_client_send_message(client, job_id, prompt, prompt_len, call, job, err);
    }
    if (strcmp(operation, "get_job") == 0) {
        return agentjob_client_get_job(client, job_id, call, job, err);
    }
    if (strcmp(operation, "create_job") == 0) {
        return agentjob_client_create_job(client, prompt, prompt_len, call, job, err);
    }
    if (strcmp(operation, "wait") == 0) {
        return agentjob_client_wait(client, job_id, call, job, err);
    }
    if (strcmp(operation, "send_and_wait") == 0) {
        return agentjob_client_send_and_wait(client, job_id, prompt, prompt_len, call, job, err);
    }
    fprintf(stderr, "driver: no operation is called \"%s\"\n", operation);
    exit(2);
}

/* One call from start to end: settings, client, call, one line of JSON. */
static void run_call(const block *it) {
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    agentjob_job *job = NULL;
    agentjob_options *options = agentjob_options_new();
    agentjob_call *call = agentjob_call_new();
    agentjob_cancel *token = agentjob_cancel_new();
    char *records = NULL; /* what watch saw */
    size_t records_len = 0;

    agentjob_code code = configure(it, options, &err);
    if (code == AGENTJOB_OK) {
        code = agentjob_client_new(options, &client, &err);
    }
    if (code == AGENTJOB_OK) {
        code = call_settings(it, call, token, &err);
    }
    if (code == AGENTJOB_OK) {
        const char *cancel_after = get(it, "cancel_after");
        alarm_clock clock = {token, cancel_after ? milliseconds(cancel_after) : 0};
        pthread_t thread;
        bool armed = cancel_after != NULL && pthread_create(&thread, NULL, cancel_later, &clock) == 0;
        if (strcmp(argument(it, "operation"), "watch") == 0) {
            FILE *memory = open_memstream(&records, &records_len);
            code = watch(client, argument(it, "job_id"), call, token, memory, &err);
            fclose(memory);
        } else {
            code = perform(it, client, call, &job, &err);
        }
        if (armed) {
            pthread_cancel(thread); /* asleep or done: no thread waits for an alarm that is no longer needed */
            pthread_join(thread, NULL);
        }
    }

    if (code == AGENTJOB_OK) {
        printf("{\"ok\": %s}\n", records ? records : agentjob_job_json(job, NULL));
    } else {
        print_error(err);
    }
    fflush(stdout);

    free(records);
    agentjob_error_free(err);
    agentjob_job_free(job);
    agentjob_cancel_free(token);
    agentjob_call_free(call);
    agentjob_options_free(options);
    agentjob_client_free(client);
}

int main(void) {
    block it;
    while (read_block(&it)) {
        if (it.count > 0) {
            run_call(&it);
        }
        free_block(&it);
    }
    return 0;
}
