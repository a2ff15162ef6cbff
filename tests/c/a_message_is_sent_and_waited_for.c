/* From start to end: a message, its running job, its result. Prints the last record as JSON. */
#include "support.h"

static int32_t count_records(const agentjob_job *job, void *user_data) {
    int *seen = (int *)user_data;
    CHECK(agentjob_job_id(job) != NULL);
    ++*seen;
    return 0;
}

int main(void) {
    emulator service = emulator_start("{\"work_ms\": 300, \"jobs\": [{\"id\": \"job_1\", \"status\": \"completed\", \"model\": \"large\","
                                      " \"source\": {\"repository\": \"https://example.com/r\", \"ref\": null}, \"branch\": \"fix\","
                                      " \"createdAt\": \"2026-01-02T05:04:05.678+02:00\"}]}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    CHECK_TEXT(agentjob_client_base_url(client), service.base_url);
    CHECK_TEXT(agentjob_client_project_id(client), service.project_id);

    int seen = 0;
    agentjob_call *call = impatient_call();
    CHECK_OK(agentjob_call_set_progress(call, count_records, &seen, &err), err);

    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_and_wait(client, "job_1", "Also cover the error cases", AGENTJOB_NUL_TERMINATED, call, &job, &err),
             err);
    CHECK_INT(agentjob_job_status(job), AGENTJOB_STATUS_COMPLETED);
    CHECK_TEXT(agentjob_job_status_name(job), "completed");
    CHECK(agentjob_job_is_terminal(job));
    CHECK_TEXT(agentjob_job_id(job), "job_1");
    CHECK_TEXT(agentjob_job_model(job), "large");
    CHECK_TEXT(agentjob_job_source_repository(job), "https://example.com/r");
    CHECK(agentjob_job_source_ref(job) == NULL);
    CHECK(agentjob_job_archived_at(job) == NULL);
    CHECK(agentjob_job_pr_link(job) != NULL);
    CHECK_TEXT(agentjob_job_created_at(job), "2026-01-02T05:04:05.678+02:00");
    CHECK_INT(agentjob_job_created_at_unix_ms(job), 1767323045678);
    CHECK_INT(agentjob_job_archived_at_unix_ms(job), -1);
    CHECK(seen >= 2); /* active, then done */
    CHECK_HOLDS(emulator_ledger(&service), "Also cover the error cases");
    CHECK_INT(emulator_messages(&service), 1);

    /* A clone stays valid after its original is freed, and the JSON comes with its length. */
    agentjob_job *kept = agentjob_job_clone(job);
    agentjob_job_free(job);
    size_t len = 0;
    const char *json = agentjob_job_json(kept, &len);
    CHECK_INT(strlen(json), len);
    CHECK_HOLDS(json, "\"branch\":\"fix\"");
    puts(json);
    agentjob_job_free(kept);

    /* Without a wait the job is only polled once. */
    CHECK_OK(agentjob_client_get_job(client, "job_1", NULL, &job, &err), err);
    CHECK_INT(agentjob_job_status(job), AGENTJOB_STATUS_COMPLETED);
    agentjob_job_free(job);
    CHECK_OK(agentjob_client_create_job(client, "Begin", 5, NULL, &job, &err), err);
    CHECK_INT(agentjob_job_status(job), AGENTJOB_STATUS_ACTIVE);
    agentjob_job_free(job);

    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
