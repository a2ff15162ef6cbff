/* The metadata of a success: everything about the response except its record, on the calling thread, before the call returns. */
#include <pthread.h>

#include "support.h"

struct seen {
    int times;
    pthread_t thread;
    int status;
    uint32_t attempts;
    uint64_t bytes;
    int64_t first_byte_us, connect_us;
    char operation[32], job_id[64], request_id[32], region[32], cookie[32], json[2048];
};

static void keep(const agentjob_meta *meta, void *user_data) {
    struct seen *seen = (struct seen *)user_data;
    seen->times++;
    seen->thread = pthread_self();
    seen->status = agentjob_meta_http_status(meta);
    seen->attempts = agentjob_meta_attempts(meta);
    seen->bytes = agentjob_meta_bytes(meta);
    seen->first_byte_us = agentjob_meta_time_us(meta, AGENTJOB_PHASE_FIRST_BYTE);
    seen->connect_us = agentjob_meta_time_us(meta, AGENTJOB_PHASE_CONNECT);
    CHECK_INT(agentjob_meta_time_us(meta, AGENTJOB_PHASE_TLS), -1);
    CHECK_INT(agentjob_meta_time_us(meta, 99), -1);
    CHECK(agentjob_meta_header(meta, NULL) == NULL && agentjob_meta_header(meta, "none") == NULL);
    CHECK(agentjob_meta_elapsed_ms(meta) < 60000);
    const char *id = agentjob_meta_request_id(meta), *region = agentjob_meta_header(meta, "X-REGION");
    const char *cookie = agentjob_meta_header(meta, "set-cookie");
    snprintf(seen->operation, sizeof seen->operation, "%s", agentjob_meta_operation(meta));
    snprintf(seen->job_id, sizeof seen->job_id, "%s", agentjob_meta_job_id(meta, NULL));
    snprintf(seen->request_id, sizeof seen->request_id, "%s", id ? id : "");
    snprintf(seen->region, sizeof seen->region, "%s", region ? region : "");
    snprintf(seen->cookie, sizeof seen->cookie, "%s", cookie ? cookie : "");
    size_t len = 0;
    snprintf(seen->json, sizeof seen->json, "%s", agentjob_meta_json(meta, &len));
    CHECK_INT(len, strlen(seen->json));
}

int main(void) {
    emulator service = emulator_start(
        "{\"work_ms\": 50, \"rules\": [{\"method\": \"POST\", \"nth\": 1, \"status\": 429, \"headers\": {\"Retry-After\": \"0\"}},"
        "{\"method\": \"POST\", \"nth\": 2, \"status\": 200, \"headers\": {\"X-Request-Id\": \"r-2\", \"X-Region\": \"eu\","
        "\"Set-Cookie\": \"a=walrus\"}}, {\"method\": \"POST\", \"nth\": 4, \"status\": 404}]}");
    agentjob_error *err = NULL;
    agentjob_options *options = emulator_options(&service);
    agentjob_client *client = NULL;
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    struct seen seen;
    memset(&seen, 0, sizeof seen);
    agentjob_call *call = agentjob_call_new();
    CHECK_OK(agentjob_call_set_meta(call, keep, &seen, &err), err);
    CHECK_OK(agentjob_call_set_poll_interval_ms(call, 20, 20, &err), err);

    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_message(client, service.job_id, "secret plan", AGENTJOB_NUL_TERMINATED, call, &job, &err), err);
    CHECK_INT(seen.times, 1);
    CHECK(pthread_equal(seen.thread, pthread_self()));
    CHECK_INT(seen.status, 200);
    CHECK_INT(seen.attempts, 2);
    CHECK_TEXT(seen.operation, "send_message");
    CHECK_TEXT(seen.job_id, service.job_id);
    CHECK_TEXT(seen.request_id, "r-2");
    CHECK_TEXT(seen.region, "eu");
    CHECK_TEXT(seen.cookie, "***");
    CHECK_INT(seen.bytes, strlen(agentjob_job_json(job, NULL)));
    CHECK(seen.first_byte_us > 0);
    CHECK_INT(seen.connect_us, -1); /* the 429 came over the same connection */
    CHECK_HOLDS(seen.json, "\"x-region\":\"eu\"");
    CHECK(strstr(seen.json, "walrus") == NULL && strstr(seen.json, "secret plan") == NULL);
    agentjob_job_free(job);

    /* A new job's id; a wait's last record; nothing of a failure. */
    CHECK_OK(agentjob_client_create_job(client, "p", AGENTJOB_NUL_TERMINATED, call, &job, &err), err);
    CHECK_INT(seen.times, 2);
    CHECK_INT(seen.status, 201);
    CHECK_TEXT(seen.job_id, agentjob_job_id(job));
    agentjob_job_free(job);
    CHECK_INT(agentjob_client_send_message(client, service.job_id, "p", AGENTJOB_NUL_TERMINATED, call, &job, &err), AGENTJOB_ERR_NOT_FOUND);
    agentjob_error_free(err);
    CHECK_INT(seen.times, 2);
    CHECK_OK(agentjob_client_send_and_wait(client, service.job_id, "p", AGENTJOB_NUL_TERMINATED, call, &job, &err), err);
    CHECK(seen.times >= 4);
    CHECK_TEXT(seen.operation, "get_job");
    CHECK_INT(seen.bytes, strlen(agentjob_job_json(job, NULL)));
    agentjob_job_free(job);
    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
