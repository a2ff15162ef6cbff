/* An unknown status, texts with a NUL byte, fields of other types and unknown keys are all kept. */
#include "support.h"

static const char *const CONFIG =
    "{\"rules\": [{\"status\": 200, \"body\": \"{\\\"id\\\":\\\"a\\\\u0000b\\\",\\\"status\\\":\\\"paused\\\",\\\"model\\\":7,"
    "\\\"cost\\\":1.10,\\\"prLink\\\":\\\"\\\",\\\"createdAt\\\":\\\"soon\\\"}\"}]}";

static void keep_id(const agentjob_meta *meta, void *id) {
    size_t len = 0;
    const char *text = agentjob_meta_job_id(meta, &len);
    CHECK_INT(len, 3);
    memcpy(id, text, len + 1);
}

int main(void) {
    emulator service = emulator_start(CONFIG);
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_job *job = NULL;
    agentjob_call *call = agentjob_call_new();
    char of_meta[4] = "";
    CHECK_OK(agentjob_call_set_meta(call, keep_id, of_meta, &err), err);
    CHECK_OK(agentjob_client_create_job(client, "p", 1, call, &job, &err), err); /* the service chooses a new job's id */
    agentjob_call_free(call);
    CHECK(memcmp(of_meta, "a\0b", 4) == 0);
    CHECK_INT(agentjob_job_status(job), AGENTJOB_STATUS_UNKNOWN);
    CHECK_TEXT(agentjob_job_status_name(job), "paused");
    CHECK(!agentjob_job_is_terminal(job));
    CHECK_TEXT(agentjob_job_id(job), "a"); /* it ends at the NUL; agentjob_job_text() has all of it */
    size_t len = 0;
    const char *id = agentjob_job_text(job, AGENTJOB_JOB_FIELD_ID, &len);
    CHECK_INT(len, 3);
    CHECK(memcmp(id, "a\0b", 4) == 0);
    CHECK_TEXT(agentjob_job_text(job, AGENTJOB_JOB_FIELD_STATUS, NULL), "paused");
    CHECK_TEXT(agentjob_job_text(job, AGENTJOB_JOB_FIELD_PR_LINK, &len), "");
    CHECK_INT(len, 0);
    const int32_t none[] = {AGENTJOB_JOB_FIELD_MODEL, AGENTJOB_JOB_FIELD_SOURCE_REPOSITORY, AGENTJOB_JOB_FIELD_SOURCE_REF, AGENTJOB_JOB_FIELD_ARCHIVED_AT, -1, 8};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        len = 7;
        CHECK(agentjob_job_text(job, none[i], &len) == NULL);
        CHECK_INT(len, 0);
    }
    CHECK_TEXT(agentjob_job_text(job, AGENTJOB_JOB_FIELD_CREATED_AT, NULL), "soon");
    CHECK(agentjob_job_model(job) == NULL);
    CHECK_TEXT(agentjob_job_pr_link(job), "");
    CHECK_TEXT(agentjob_job_created_at(job), "soon");
    CHECK_INT(agentjob_job_created_at_unix_ms(job), -1); /* as for a missing time */
    CHECK_INT(agentjob_job_archived_at_unix_ms(job), -1);
    CHECK_TEXT(agentjob_job_json(job, NULL), "{\"id\":\"a\\u0000b\",\"status\":\"paused\",\"source\":{\"repository\":null,\"ref\":null},"
                                             "\"model\":7,\"prLink\":\"\",\"createdAt\":\"soon\",\"archivedAt\":null,\"cost\":1.10}");
    agentjob_job_free(job);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
