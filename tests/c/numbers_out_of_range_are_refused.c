/* Every number of every setting, below and above its range: the call that uses it refuses it by name and sends nothing. */
#include <math.h>

#include "support.h"

static const uint64_t WEEK_MS = 604800000;

/* A client with one option changed: it is made, or its error names the option. */
#define OPTION(setting, value, accepted)                                                                \
    do {                                                                                                \
        agentjob_error *err_ = NULL;                                                                    \
        agentjob_client *client_ = NULL;                                                                \
        agentjob_options *options_ = emulator_options(service);                                         \
        agentjob_code code_ = agentjob_options_set_##setting(options_, (value), &err_);                 \
        if (code_ == AGENTJOB_OK) {                                                                     \
            code_ = agentjob_client_new(options_, &client_, &err_);                                     \
        }                                                                                               \
        CHECK_INT(code_, (accepted) ? AGENTJOB_OK : AGENTJOB_ERR_INVALID_ARGUMENT);                     \
        if (!(accepted)) {                                                                              \
            char name_[] = #setting;                                                                    \
            char *unit_ = strstr(name_, "_ms"); /* only C has the unit */                              \
            if (unit_ != NULL) {                                                                        \
                *unit_ = '\0';                                                                          \
            }                                                                                           \
            CHECK_HOLDS(agentjob_error_message(err_), name_);                                           \
        }                                                                                               \
        agentjob_error_free(err_);                                                                      \
        agentjob_client_free(client_);                                                                  \
        agentjob_options_free(options_);                                                                \
    } while (0)

static void options(const emulator *service) {
    OPTION(timeout_ms, 0, false);
    OPTION(timeout_ms, 1, true);
    OPTION(timeout_ms, WEEK_MS, true);
    OPTION(timeout_ms, WEEK_MS + 1, false);
    OPTION(timeout_ms, UINT64_MAX, false);
    OPTION(connect_timeout_ms, 0, false);
    OPTION(connect_timeout_ms, WEEK_MS, true);
    OPTION(connect_timeout_ms, WEEK_MS + 1, false);
    OPTION(connect_timeout_ms, UINT64_MAX, false);
    OPTION(max_retries, 0, true);
    OPTION(max_retries, 100, true);
    OPTION(max_retries, 101, false);
    OPTION(max_retries, UINT32_MAX, false);
    OPTION(max_retry_after_ms, 0, true);
    OPTION(max_retry_after_ms, WEEK_MS, true);
    OPTION(max_retry_after_ms, WEEK_MS + 1, false);
    OPTION(max_retry_after_ms, UINT64_MAX, false);
    OPTION(max_prompt_bytes, 0, false);
    OPTION(max_prompt_bytes, (size_t)1 << 30, true);
    OPTION(max_prompt_bytes, ((size_t)1 << 30) + 1, false);
    OPTION(max_prompt_bytes, SIZE_MAX, false);
    OPTION(max_response_bytes, 0, false);
    OPTION(max_response_bytes, (size_t)1 << 30, true);
    OPTION(max_response_bytes, ((size_t)1 << 30) + 1, false);
    OPTION(max_response_bytes, SIZE_MAX, false);
}

/* One setting of a call, in every function that uses it. */
#define CALL(accepted, setting, ...)                                                                              \
    do {                                                                                                          \
        agentjob_error *err_ = NULL;                                                                              \
        agentjob_job *job_ = NULL;                                                                                \
        agentjob_poller *poller_ = NULL;                                                                          \
        agentjob_call *call_ = agentjob_call_new();                                                               \
        agentjob_code expected = (accepted) ? AGENTJOB_OK : AGENTJOB_ERR_INVALID_ARGUMENT;                        \
        CHECK_OK(agentjob_call_set_##setting(call_, __VA_ARGS__, &err_), err_);                                   \
        CHECK_INT(agentjob_client_poller(client, "job_demo", call_, &poller_, &err_), expected);                   \
        agentjob_poller_free(poller_);                                                                            \
        agentjob_error_free(err_);                                                                                \
        CHECK_INT(agentjob_client_wait(client, "job_demo", call_, &job_, &err_), expected);                        \
        agentjob_error_free(err_);                                                                                \
        agentjob_job_free(job_);                                                                                  \
        if (!(accepted)) {                                                                                        \
            CHECK_INT(agentjob_client_send_and_wait(client, "job_demo", "p", 1, call_, &job_, &err_), expected);   \
            CHECK_INT(agentjob_error_delivery(err_), AGENTJOB_DELIVERY_NOT_SENT);                                 \
            agentjob_error_free(err_);                                                                            \
        }                                                                                                         \
        agentjob_call_free(call_);                                                                                \
    } while (0)

static void waits(const agentjob_client *client) {
    CALL(false, wait_timeout_ms, 0);
    CALL(true, wait_timeout_ms, WEEK_MS);
    CALL(false, wait_timeout_ms, WEEK_MS + 1);
    CALL(false, wait_timeout_ms, UINT64_MAX - 1);
    CALL(true, wait_timeout_ms, AGENTJOB_FOREVER);
    CALL(false, poll_interval_ms, 0, 1);
    CALL(false, poll_interval_ms, 1, 0);
    CALL(false, poll_interval_ms, 2, 1);
    CALL(true, poll_interval_ms, WEEK_MS, WEEK_MS);
    CALL(false, poll_interval_ms, 1, WEEK_MS + 1);
    CALL(false, poll_interval_ms, UINT64_MAX, UINT64_MAX);
    CALL(false, lateness, 0.0);
    CALL(false, lateness, -0.1);
    CALL(false, lateness, 1.1);
    CALL(true, lateness, 1.0);
    CALL(false, lateness, (double)NAN);
    CALL(false, lateness, (double)INFINITY);
    CALL(false, lateness, -(double)INFINITY);
    CALL(true, settle_ms, 0);
    CALL(true, settle_ms, WEEK_MS);
    CALL(false, settle_ms, WEEK_MS + 1);
    CALL(false, settle_ms, UINT64_MAX);
}

static void the_time_of_a_request(const agentjob_client *client) {
    const uint64_t wrong[] = {0, WEEK_MS + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        agentjob_error *err = NULL;
        agentjob_job *job = NULL;
        agentjob_call *call = agentjob_call_new();
        CHECK_OK(agentjob_call_set_timeout_ms(call, wrong[i], &err), err);
        CHECK_INT(agentjob_client_get_job(client, "job_demo", call, &job, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_HOLDS(agentjob_error_message(err), "timeout is");
        agentjob_error_free(err);
        CHECK_INT(agentjob_client_send_message(client, "job_demo", "p", 1, call, &job, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
        agentjob_error_free(err);
        CHECK_INT(agentjob_client_create_job(client, "p", 1, call, &job, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
        agentjob_error_free(err);
        agentjob_call_free(call);
    }
}

static void lengths(const agentjob_client *client) {
    const size_t wrong[] = {SIZE_MAX - 1, SIZE_MAX / 2 + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        agentjob_error *err = NULL;
        agentjob_job *job = NULL;
        CHECK_INT(agentjob_client_send_message(client, "job_demo", "p", wrong[i], NULL, &job, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_HOLDS(agentjob_error_message(err), "prompt");
        CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);
        agentjob_error_free(err);
        CHECK_INT(agentjob_client_create_job(client, "p", wrong[i], NULL, &job, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_INT(agentjob_client_send_and_wait(client, "job_demo", "p", wrong[i], NULL, &job, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    }
}

static void numbers_that_are_no_codes(void) {
    const int32_t numbers[] = {INT32_MIN, -1000, 1000, INT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK_TEXT(agentjob_code_name(numbers[i]), "?");
        CHECK_TEXT(agentjob_delivery_name(numbers[i]), "?");
        CHECK_TEXT(agentjob_status_name(numbers[i]), "?");
        CHECK_TEXT(agentjob_pause_name(numbers[i]), "?");
        CHECK_TEXT(agentjob_batch_kind_name(numbers[i]), "?");
    }
}

int main(void) {
    emulator service = emulator_start("{}");
    agentjob_client *client = emulator_client(&service);
    options(&service);
    waits(client);
    the_time_of_a_request(client);
    lengths(client);
    numbers_that_are_no_codes();
    CHECK_INT(emulator_messages(&service), 0);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
