/* Every number of every setting, below and above its range: its setter refuses it by name and unit, and nothing changes. */
#include <math.h>

#include "support.h"

static const uint64_t WEEK_MS = 604800000;

/* One option: its setter accepts the value, or refuses it by the setting's name, with its unit, and the option stays as it was. */
#define OPTION(setting, value, accepted)                                                                \
    do {                                                                                                \
        agentjob_error *err_ = NULL;                                                                    \
        agentjob_client *client_ = NULL;                                                                \
        agentjob_options *options_ = emulator_options(service);                                         \
        agentjob_code code_ = agentjob_options_set_##setting(options_, (value), &err_);                 \
        CHECK_INT(code_, (accepted) ? AGENTJOB_OK : AGENTJOB_ERR_INVALID_ARGUMENT);                     \
        if (!(accepted)) {                                                                              \
            CHECK_HOLDS(agentjob_error_message(err_), #setting " is ");                                 \
            if (strstr(#setting, "_ms") != NULL) {                                                      \
                CHECK_HOLDS(agentjob_error_message(err_), " milliseconds (7 days).");                   \
            }                                                                                           \
        }                                                                                               \
        agentjob_error_free(err_);                                                                      \
        CHECK_OK(agentjob_client_new(options_, &client_, &err_), err_);                                 \
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
    OPTION(wait_timeout_ms, 0, false);
    OPTION(wait_timeout_ms, WEEK_MS, true);
    OPTION(wait_timeout_ms, WEEK_MS + 1, false);
    OPTION(wait_timeout_ms, UINT64_MAX - 1, false);
    OPTION(wait_timeout_ms, AGENTJOB_FOREVER, true);
    OPTION(lateness, 0.0, false);
    OPTION(lateness, 1.0, true);
    OPTION(lateness, 1.1, false);
    OPTION(lateness, (double)NAN, false);
    OPTION(settle_ms, 0, true);
    OPTION(settle_ms, WEEK_MS, true);
    OPTION(settle_ms, WEEK_MS + 1, false);
}

static void poll_interval(const emulator *service, uint64_t min_ms, uint64_t max_ms, const char *refused) {
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    agentjob_options *options = emulator_options(service);
    agentjob_code code = agentjob_options_set_poll_interval_ms(options, min_ms, max_ms, &err);
    CHECK_INT(code, refused ? AGENTJOB_ERR_INVALID_ARGUMENT : AGENTJOB_OK);
    if (!refused) {
        CHECK_OK(agentjob_client_new(options, &client, &err), err);
    } else {
        CHECK_HOLDS(agentjob_error_message(err), refused);
    }
    agentjob_error_free(err);
    agentjob_client_free(client);
    agentjob_options_free(options);
}

/* One setting of a call: its setter accepts the value, or refuses it by name, and the settings stay as they were. */
#define CALL(accepted, name, setting, ...)                                                                        \
    do {                                                                                                          \
        agentjob_error *err_ = NULL;                                                                              \
        agentjob_job *job_ = NULL;                                                                                \
        agentjob_poller *poller_ = NULL;                                                                          \
        agentjob_call *call_ = agentjob_call_new();                                                               \
        CHECK_INT(agentjob_call_set_##setting(call_, __VA_ARGS__, &err_), (accepted) ? AGENTJOB_OK : AGENTJOB_ERR_INVALID_ARGUMENT); \
        if (!(accepted)) {                                                                                        \
            CHECK_HOLDS(agentjob_error_message(err_), name " is ");                                               \
        }                                                                                                         \
        agentjob_error_free(err_);                                                                                \
        CHECK_OK(agentjob_poller_new(client, "job_demo", call_, &poller_, &err_), err_);                          \
        agentjob_poller_free(poller_);                                                                            \
        CHECK_OK(agentjob_client_wait(client, "job_demo", call_, &job_, &err_), err_);                            \
        agentjob_job_free(job_);                                                                                  \
        agentjob_call_free(call_);                                                                                \
    } while (0)

static void waits(const agentjob_client *client) {
    CALL(false, "wait_timeout_ms", wait_timeout_ms, 0);
    CALL(true, "wait_timeout_ms", wait_timeout_ms, WEEK_MS);
    CALL(false, "wait_timeout_ms", wait_timeout_ms, WEEK_MS + 1);
    CALL(false, "wait_timeout_ms", wait_timeout_ms, UINT64_MAX - 1);
    CALL(true, "wait_timeout_ms", wait_timeout_ms, AGENTJOB_FOREVER);
    CALL(false, "min_ms", poll_interval_ms, 0, 1);
    CALL(false, "max_ms", poll_interval_ms, 1, 0);
    CALL(false, "min_ms", poll_interval_ms, 2, 1);
    CALL(true, "min_ms", poll_interval_ms, WEEK_MS, WEEK_MS);
    CALL(false, "max_ms", poll_interval_ms, 1, WEEK_MS + 1);
    CALL(false, "min_ms", poll_interval_ms, UINT64_MAX, UINT64_MAX);
    CALL(false, "lateness", lateness, 0.0);
    CALL(false, "lateness", lateness, -0.1);
    CALL(false, "lateness", lateness, 1.1);
    CALL(true, "lateness", lateness, 1.0);
    CALL(false, "lateness", lateness, (double)NAN);
    CALL(false, "lateness", lateness, (double)INFINITY);
    CALL(false, "lateness", lateness, -(double)INFINITY);
    CALL(false, "timeout_ms", timeout_ms, 0);
    CALL(true, "timeout_ms", timeout_ms, WEEK_MS);
    CALL(false, "timeout_ms", timeout_ms, WEEK_MS + 1);
    CALL(false, "timeout_ms", timeout_ms, UINT64_MAX);
    CALL(true, "settle_ms", settle_ms, 0);
    CALL(true, "settle_ms", settle_ms, WEEK_MS);
    CALL(false, "settle_ms", settle_ms, WEEK_MS + 1);
    CALL(false, "settle_ms", settle_ms, UINT64_MAX);
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
    poll_interval(&service, 0, 1, "min_ms");
    poll_interval(&service, 2, 1, "min_ms is 2, more than max_ms, 1");
    poll_interval(&service, 1, WEEK_MS + 1, "max_ms");
    poll_interval(&service, WEEK_MS, WEEK_MS, NULL);
    waits(client);
    lengths(client);
    numbers_that_are_no_codes();
    CHECK_INT(emulator_messages(&service), 0);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
