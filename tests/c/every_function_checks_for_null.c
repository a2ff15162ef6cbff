/* NULL for every pointer of every function: one that can fail names the parameter, one that cannot returns NULL, 0 or false. */
#include "support.h"

static agentjob_error *err;

#define REFUSED(parameter, expression)                                 \
    do {                                                               \
        CHECK_INT((expression), AGENTJOB_ERR_INVALID_ARGUMENT);        \
        CHECK_TEXT(agentjob_error_message(err), parameter " is NULL"); \
        agentjob_error_free(err);                                      \
    } while (0)

/* The same for a message, whose error has the verdict "not sent". */
#define NOT_SENT(parameter, expression)                                               \
    do {                                                                              \
        CHECK_INT((expression), AGENTJOB_ERR_INVALID_ARGUMENT);                       \
        CHECK_TEXT(agentjob_error_message(err), parameter " is NULL");                \
        CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NOT_SENT);          \
        agentjob_error_free(err);                                                     \
    } while (0)

static int32_t continue_waiting(const agentjob_job *job, void *user_data) {
    (void)job, (void)user_data;
    return 0;
}

static void ignore(const char *json, void *user_data) {
    (void)json, (void)user_data;
}

static void ignore_meta(const agentjob_meta *meta, void *user_data) {
    (void)meta, (void)user_data;
}

static void metadata(void) {
    REFUSED("call", agentjob_call_set_meta(NULL, ignore_meta, NULL, &err));
    CHECK(agentjob_meta_operation(NULL) == NULL);
    CHECK(agentjob_meta_job_id(NULL, NULL) == NULL);
    CHECK_INT(agentjob_meta_http_status(NULL), 0);
    CHECK(agentjob_meta_request_id(NULL) == NULL);
    CHECK(agentjob_meta_header(NULL, "date") == NULL);
    CHECK_INT(agentjob_meta_bytes(NULL), 0);
    CHECK_INT(agentjob_meta_attempts(NULL), 0);
    CHECK_INT(agentjob_meta_elapsed_ms(NULL), 0);
    CHECK_INT(agentjob_meta_time_us(NULL, AGENTJOB_PHASE_FIRST_BYTE), -1);
    size_t len = 1;
    CHECK(agentjob_meta_json(NULL, &len) == NULL && len == 0);
}

static void options_and_call(void) {
    agentjob_options *options = agentjob_options_new();
    REFUSED("options", agentjob_options_set_base_url(NULL, "https://localhost", &err));
    REFUSED("base_url", agentjob_options_set_base_url(options, NULL, &err));
    REFUSED("options", agentjob_options_set_api_key(NULL, "key", &err));
    REFUSED("api_key", agentjob_options_set_api_key(options, NULL, &err));
    REFUSED("options", agentjob_options_set_api_key_file(NULL, "path", &err));
    REFUSED("path", agentjob_options_set_api_key_file(options, NULL, &err));
    REFUSED("options", agentjob_options_set_project_id(NULL, "project", &err));
    REFUSED("project_id", agentjob_options_set_project_id(options, NULL, &err));
    REFUSED("options", agentjob_options_set_ca_file(NULL, "path", &err));
    REFUSED("path", agentjob_options_set_ca_file(options, NULL, &err));
    REFUSED("options", agentjob_options_set_client_key(NULL, "path", &err));
    REFUSED("path", agentjob_options_set_client_key(options, NULL, &err));
    REFUSED("options", agentjob_options_set_client_cert(NULL, "path", &err));
    REFUSED("path", agentjob_options_set_client_cert(options, NULL, &err));
    REFUSED("options", agentjob_options_set_proxy(NULL, "http://localhost:1", &err));
    REFUSED("proxy", agentjob_options_set_proxy(options, NULL, &err));
    REFUSED("options", agentjob_options_set_user_agent_suffix(NULL, "suffix", &err));
    REFUSED("suffix", agentjob_options_set_user_agent_suffix(options, NULL, &err));
    REFUSED("options", agentjob_options_set_header(NULL, "X-Tenant", "a", &err));
    REFUSED("name", agentjob_options_set_header(options, NULL, "a", &err));
    REFUSED("value", agentjob_options_set_header(options, "X-Tenant", NULL, &err));
    REFUSED("options", agentjob_options_set_timeout_ms(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_connect_timeout_ms(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_max_retries(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_max_retry_after_ms(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_max_prompt_bytes(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_max_response_bytes(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_wait_timeout_ms(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_poll_interval_ms(NULL, 1, 1, &err));
    REFUSED("options", agentjob_options_set_lateness(NULL, 0.1, &err));
    REFUSED("options", agentjob_options_set_settle_ms(NULL, 1, &err));
    REFUSED("options", agentjob_options_set_trust_env(NULL, true, &err));
    REFUSED("options", agentjob_options_set_allow_plaintext(NULL, true, &err));
    REFUSED("options", agentjob_options_set_allow_shared_key_file(NULL, true, &err));
    REFUSED("options", agentjob_options_set_on_event(NULL, ignore, NULL, NULL, &err));
    REFUSED("on_event", agentjob_options_set_on_event(options, NULL, NULL, NULL, &err));
    agentjob_options_free(options);

    agentjob_call *call = agentjob_call_new();
    agentjob_cancel *cancel = agentjob_cancel_new();
    REFUSED("call", agentjob_call_set_timeout_ms(NULL, 1, &err));
    REFUSED("call", agentjob_call_set_wait_timeout_ms(NULL, 1, &err));
    REFUSED("call", agentjob_call_set_poll_interval_ms(NULL, 1, 1, &err));
    REFUSED("call", agentjob_call_set_lateness(NULL, 0.5, &err));
    REFUSED("call", agentjob_call_set_settle_ms(NULL, 1, &err));
    REFUSED("call", agentjob_call_set_progress(NULL, continue_waiting, NULL, &err));
    REFUSED("call", agentjob_call_set_header(NULL, "X-Tenant", "a", &err));
    REFUSED("name", agentjob_call_set_header(call, NULL, "a", &err));
    REFUSED("value", agentjob_call_set_header(call, "X-Tenant", NULL, &err));
    REFUSED("call", agentjob_call_set_cancel(NULL, cancel, &err));
    agentjob_cancel_free(cancel);
    agentjob_call_free(call);
}

static void calls(agentjob_client *client) {
    agentjob_job *job = NULL;
    agentjob_poller *poller = NULL;
    bool done = false;
    REFUSED("out", agentjob_client_new(NULL, NULL, &err));
    REFUSED("client", agentjob_client_set_api_key(NULL, "key", &err));
    REFUSED("api_key", agentjob_client_set_api_key(client, NULL, &err));

    NOT_SENT("client", agentjob_client_send_message(NULL, "j", "p", 1, NULL, &job, &err));
    NOT_SENT("job_id", agentjob_client_send_message(client, NULL, "p", 1, NULL, &job, &err));
    NOT_SENT("prompt", agentjob_client_send_message(client, "j", NULL, 1, NULL, &job, &err));
    NOT_SENT("prompt", agentjob_client_send_message(client, "j", NULL, AGENTJOB_NUL_TERMINATED, NULL, &job, &err));
    NOT_SENT("out", agentjob_client_send_message(client, "j", "p", 1, NULL, NULL, &err));
    NOT_SENT("client", agentjob_client_create_job(NULL, "p", 1, NULL, &job, &err));
    NOT_SENT("prompt", agentjob_client_create_job(client, NULL, 1, NULL, &job, &err));
    NOT_SENT("out", agentjob_client_create_job(client, "p", 1, NULL, NULL, &err));
    NOT_SENT("client", agentjob_client_send_and_wait(NULL, "j", "p", 1, NULL, &job, &err));
    NOT_SENT("job_id", agentjob_client_send_and_wait(client, NULL, "p", 1, NULL, &job, &err));
    NOT_SENT("prompt", agentjob_client_send_and_wait(client, "j", NULL, 1, NULL, &job, &err));
    NOT_SENT("out", agentjob_client_send_and_wait(client, "j", "p", 1, NULL, NULL, &err));
    REFUSED("client", agentjob_client_get_job(NULL, "j", NULL, &job, &err));
    REFUSED("job_id", agentjob_client_get_job(client, NULL, NULL, &job, &err));
    REFUSED("out", agentjob_client_get_job(client, "j", NULL, NULL, &err));
    REFUSED("client", agentjob_client_wait(NULL, "j", NULL, &job, &err));
    REFUSED("job_id", agentjob_client_wait(client, NULL, NULL, &job, &err));
    REFUSED("out", agentjob_client_wait(client, "j", NULL, NULL, &err));

    REFUSED("client", agentjob_poller_new(NULL, "j", NULL, &poller, &err));
    REFUSED("job_id", agentjob_poller_new(client, NULL, NULL, &poller, &err));
    REFUSED("out", agentjob_poller_new(client, "j", NULL, NULL, &err));
    REFUSED("text", agentjob_poller_new_from_text(NULL, &poller, &err));
    REFUSED("out", agentjob_poller_new_from_text("{}", NULL, &err));
    CHECK(job == NULL && poller == NULL);
    CHECK_OK(agentjob_poller_new(client, "j", NULL, &poller, &err), err);
    REFUSED("poller", agentjob_poller_poll(NULL, client, NULL, &done, &err));
    REFUSED("client", agentjob_poller_poll(poller, NULL, NULL, &done, &err));
    REFUSED("done", agentjob_poller_poll(poller, client, NULL, NULL, &err));
    int32_t fd = -1;
    REFUSED("poller", agentjob_poller_fd(NULL, &fd, &err));
    REFUSED("out", agentjob_poller_fd(poller, NULL, &err));
    REFUSED("poller", agentjob_poller_start(NULL, client, NULL, &err));
    REFUSED("client", agentjob_poller_start(poller, NULL, NULL, &err));
    REFUSED("poller", agentjob_poller_finish(NULL, &done, &err));
    REFUSED("done", agentjob_poller_finish(poller, NULL, &err));
    agentjob_poller_free(poller);

    /* Without `err` there is only the code. */
    CHECK_INT(agentjob_client_get_job(NULL, NULL, NULL, NULL, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
}

static void a_batch(agentjob_client *client) {
    agentjob_batch *batch = NULL;
    agentjob_batch_event *event = NULL;
    agentjob_batch_status *status = NULL;
    REFUSED("client", agentjob_batch_new(NULL, "journal", &batch, &err));
    REFUSED("journal", agentjob_batch_new(client, NULL, &batch, &err));
    REFUSED("out", agentjob_batch_new(client, "journal", NULL, &err));
    CHECK(batch == NULL);
    CHECK_OK(agentjob_batch_new(client, "journal", &batch, &err), err);
    REFUSED("batch", agentjob_batch_set_concurrency(NULL, 1, &err));
    REFUSED("batch", agentjob_batch_set_rate(NULL, "1/s", &err));
    REFUSED("rate", agentjob_batch_set_rate(batch, NULL, &err));
    REFUSED("batch", agentjob_batch_set_wait(NULL, NULL, &err));
    REFUSED("batch", agentjob_batch_set_resend_unknown(NULL, true, &err));
    REFUSED("batch", agentjob_batch_set_max_outage_ms(NULL, 1, &err));
    REFUSED("batch", agentjob_batch_set_max_busy_ms(NULL, 1, &err));
    REFUSED("batch", agentjob_batch_set_grace_ms(NULL, 1, &err));
    REFUSED("batch", agentjob_batch_set_header(NULL, "X-Tenant", "a", &err));
    REFUSED("name", agentjob_batch_set_header(batch, NULL, "a", &err));
    REFUSED("value", agentjob_batch_set_header(batch, "X-Tenant", NULL, &err));
    REFUSED("batch", agentjob_batch_set_cancel(NULL, NULL, &err));
    REFUSED("batch", agentjob_batch_add(NULL, "j", "p", 1, NULL, 0, &err));
    REFUSED("job_id", agentjob_batch_add(batch, NULL, "p", 1, NULL, 0, &err));
    REFUSED("prompt", agentjob_batch_add(batch, "j", NULL, 1, NULL, 0, &err));
    REFUSED("prompt", agentjob_batch_add(batch, "j", NULL, AGENTJOB_NUL_TERMINATED, NULL, 0, &err));
    REFUSED("batch", agentjob_batch_add_file(NULL, "f", false, &err));
    REFUSED("path", agentjob_batch_add_file(batch, NULL, false, &err));
    REFUSED("journal", agentjob_batch_write_report(NULL, "f", false, &err));
    REFUSED("path", agentjob_batch_write_report("f", NULL, false, &err));
    REFUSED("batch", agentjob_batch_set_item_extra(NULL, "{}", &err));
    CHECK_INT(agentjob_batch_repeats(NULL, NULL, NULL), 0);
    REFUSED("prompt", agentjob_batch_add_retry_prompt(batch, NULL, 1, &err));
    REFUSED("batch", agentjob_batch_start(NULL, &err));
    int32_t fd = -1;
    REFUSED("batch", agentjob_batch_fd(NULL, &fd, &err));
    CHECK(agentjob_batch_due_in_ms(NULL) == AGENTJOB_FOREVER);
    REFUSED("batch", agentjob_batch_next(NULL, 0, &event, &err));
    REFUSED("out", agentjob_batch_next(batch, 0, NULL, &err));
    CHECK_INT(agentjob_batch_progress_count(agentjob_batch_get_progress(batch), AGENTJOB_COUNT_ITEMS), 0);
    agentjob_batch_free(batch);
    REFUSED("journal", agentjob_batch_status_new(NULL, &status, &err));
    REFUSED("out", agentjob_batch_status_new("journal", NULL, &err));
    CHECK(event == NULL && status == NULL);

    agentjob_batch_stop(NULL);
    CHECK(agentjob_batch_is_over(NULL)); /* so that a loop ends */
    CHECK(agentjob_batch_get_progress(NULL) == NULL);
    CHECK_INT(agentjob_batch_progress_count(NULL, AGENTJOB_COUNT_ITEMS), 0);
    uint64_t ms = 7;
    CHECK_INT(agentjob_batch_progress_pause(NULL, &ms), AGENTJOB_PAUSE_NONE);
    CHECK_INT(ms, 0);
    CHECK_INT(agentjob_batch_progress_pause(NULL, NULL), AGENTJOB_PAUSE_NONE);
    CHECK_INT(agentjob_batch_progress_finishes_in_ms(NULL), -1);
    CHECK_INT(agentjob_batch_event_kind(NULL), AGENTJOB_BATCH_KIND_NOTHING);
    CHECK_INT(agentjob_batch_event_number(NULL), 0);
    CHECK_INT(agentjob_batch_event_line(NULL), 0);
    CHECK(agentjob_batch_event_key(NULL) == NULL);
    CHECK(agentjob_batch_event_job_id(NULL) == NULL);
    CHECK_INT(agentjob_batch_event_delivery(NULL), AGENTJOB_DELIVERY_NONE);
    CHECK(agentjob_batch_event_job(NULL) == NULL);
    CHECK(agentjob_batch_event_error(NULL) == NULL);
    CHECK(!agentjob_batch_event_is_earlier(NULL));
    ms = 7;
    CHECK_INT(agentjob_batch_event_pause(NULL, &ms), AGENTJOB_PAUSE_NONE);
    CHECK_INT(ms, 0);
    CHECK_INT(agentjob_batch_event_pause(NULL, NULL), AGENTJOB_PAUSE_NONE);
    CHECK_INT(agentjob_batch_event_dropped_bytes(NULL), 0);
    CHECK(agentjob_batch_event_extra(NULL) == NULL);
    CHECK_INT(agentjob_batch_event_repeats(NULL, NULL), 0);
    CHECK(agentjob_batch_status_progress(NULL) == NULL);
    CHECK(!agentjob_batch_status_is_running(NULL));
    CHECK(!agentjob_batch_status_waits(NULL));
    CHECK_INT(agentjob_batch_status_pid(NULL), 0);
    CHECK_INT(agentjob_batch_status_runs(NULL), 0);
    CHECK(agentjob_batch_status_base_url(NULL) == NULL);
    CHECK(agentjob_batch_status_project_id(NULL) == NULL);
    CHECK(agentjob_batch_status_rate(NULL) == NULL);
    CHECK(agentjob_batch_status_began_at(NULL) == NULL);
    CHECK(agentjob_batch_status_written_at(NULL) == NULL);
    CHECK_INT(agentjob_batch_status_dropped_bytes(NULL), 0);
    CHECK(!agentjob_batch_status_item(NULL, AGENTJOB_DELIVERY_UNKNOWN, 0, NULL, NULL, NULL, NULL));
    CHECK(!agentjob_batch_status_decision(NULL, 0, NULL, NULL, NULL, NULL, NULL));
    CHECK_INT(agentjob_batch_status_new_prompts(NULL), 0);
    size_t len = 7;
    CHECK(agentjob_batch_export_text(NULL, &len) == NULL && len == 0);
    CHECK(agentjob_batch_export_text(NULL, NULL) == NULL);
    const char *items[] = {"1"};
    agentjob_batch_export *exported = NULL;
    REFUSED("journal", agentjob_batch_resolve(NULL, items, 1, AGENTJOB_RESOLUTION_ARRIVED, NULL, &err));
    REFUSED("items", agentjob_batch_resolve("journal", NULL, 1, AGENTJOB_RESOLUTION_ARRIVED, NULL, &err));
    REFUSED("journal", agentjob_batch_retry(NULL, items, 1, NULL, 0, NULL, &err));
    REFUSED("items", agentjob_batch_retry("journal", NULL, 1, NULL, 0, NULL, &err));
    REFUSED("journal", agentjob_batch_drop(NULL, items, 1, NULL, &err));
    REFUSED("items", agentjob_batch_drop("journal", NULL, 1, NULL, &err));
    REFUSED("batch", agentjob_batch_add_retry_prompt(NULL, "prompt", AGENTJOB_NUL_TERMINATED, &err));
    REFUSED("journal", agentjob_batch_export_new(NULL, AGENTJOB_EXPORT_FORMAT_CSV, &exported, &err));
    REFUSED("out", agentjob_batch_export_new("journal", AGENTJOB_EXPORT_FORMAT_CSV, NULL, &err));
}

static void functions_that_cannot_fail(void) {
    size_t len = 7;
    CHECK(agentjob_client_base_url(NULL) == NULL);
    CHECK(agentjob_client_project_id(NULL) == NULL);
    CHECK(!agentjob_client_is_closed(NULL));
    agentjob_client_close(NULL);
    agentjob_cancel_trigger(NULL);
    CHECK(!agentjob_cancel_is_triggered(NULL));
    CHECK(agentjob_job_id(NULL) == NULL);
    CHECK_INT(agentjob_job_status(NULL), AGENTJOB_STATUS_UNKNOWN);
    CHECK(agentjob_job_status_name(NULL) == NULL);
    CHECK(!agentjob_job_is_terminal(NULL));
    CHECK(agentjob_job_source_repository(NULL) == NULL);
    CHECK(agentjob_job_source_ref(NULL) == NULL);
    CHECK(agentjob_job_model(NULL) == NULL);
    CHECK(agentjob_job_pr_link(NULL) == NULL);
    CHECK(agentjob_job_created_at(NULL) == NULL);
    CHECK(agentjob_job_archived_at(NULL) == NULL);
    CHECK_INT(agentjob_job_created_at_unix_ms(NULL), -1);
    CHECK_INT(agentjob_job_archived_at_unix_ms(NULL), -1);
    CHECK(agentjob_job_json(NULL, &len) == NULL);
    CHECK_INT(len, 0);
    CHECK(agentjob_job_json(NULL, NULL) == NULL);
    CHECK(agentjob_job_clone(NULL) == NULL);
    CHECK(agentjob_error_clone(NULL) == NULL);
    CHECK(agentjob_job_text(NULL, AGENTJOB_JOB_FIELD_ID, &len) == NULL);
    CHECK_INT(agentjob_error_code(NULL), AGENTJOB_OK);
    CHECK(agentjob_error_kind(NULL) == NULL);
    CHECK(agentjob_error_message(NULL) == NULL);
    CHECK(agentjob_error_reason(NULL) == NULL);
    CHECK(agentjob_error_hint(NULL) == NULL);
    CHECK_INT(agentjob_error_item(NULL), 0);
    CHECK_INT(agentjob_error_line(NULL), 0);
    CHECK_INT(agentjob_error_delivery(NULL), AGENTJOB_DELIVERY_NONE);
    CHECK_INT(agentjob_error_http_status(NULL), 0);
    CHECK_INT(agentjob_error_retry_after_ms(NULL), -1);
    CHECK(agentjob_error_request_id(NULL) == NULL);
    len = 7;
    CHECK(agentjob_error_body(NULL, &len) == NULL);
    CHECK_INT(len, 0);
    CHECK(agentjob_error_body(NULL, NULL) == NULL);
    CHECK_INT(agentjob_error_attempts(NULL), 0);
    CHECK_INT(agentjob_error_elapsed_ms(NULL), 0);
    CHECK(agentjob_error_job(NULL) == NULL);
    CHECK_INT(agentjob_poller_due_in_ms(NULL), 0);
    CHECK(agentjob_poller_job_id(NULL) == NULL);
    CHECK(agentjob_poller_job(NULL) == NULL);
    CHECK(!agentjob_poller_is_done(NULL));
    CHECK(agentjob_poller_to_text(NULL) == NULL);
}

int main(void) {
    metadata();
    emulator service = emulator_start("{}");
    agentjob_client *client = emulator_client(&service);
    options_and_call();
    calls(client);
    a_batch(client);
    functions_that_cannot_fail();
    CHECK_INT(emulator_messages(&service), 0);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
