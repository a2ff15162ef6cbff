/* Runs ffi-c/examples/batch.c as a user does: a file of messages and a journal, twice. */
#include "batch.h"

static int batch(const emulator *service, const char *messages, const folder *place, const char *rate) {
    const char *program = getenv("BATCH");
    CHECK(program != NULL);
    setenv("AGENTJOB_BASE_URL", service->base_url, 1);
    setenv("AGENTJOB_API_KEY", service->api_key, 1);
    setenv("AGENTJOB_PROJECT_ID", service->project_id, 1);
    setenv("NO_PROXY", "*", 1);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(program, program, messages, place->journal, rate, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void written(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    char messages[192];
    snprintf(messages, sizeof messages, "%s/messages.tsv", place.path);
    written(messages, "job_1\tAdd tests\njob_2\tAdd tests\n");
    CHECK_INT(batch(&service, messages, &place, NULL), 0);
    CHECK_INT(emulator_messages(&service), 2);
    CHECK_HOLDS(emulator_ledger(&service), "\"prompt\":\"Add tests\"");
    written(messages, "job_1\tAdd tests\njob_2\tAdd tests\njob_nowhere\tAdd tests\njob_3\tAdd tests\n");
    CHECK_INT(batch(&service, messages, &place, "1000/s"), 3); /* one was rejected */
    CHECK_INT(emulator_messages(&service), 3);
    CHECK_INT(batch(&service, messages, &place, "quickly"), 2);
    written(messages, "job_1\tAdd tests\njob_2\n");
    CHECK_INT(batch(&service, messages, &place, NULL), 2);
    CHECK_INT(batch(&service, "/nowhere", &place, NULL), 2);
    CHECK_INT(emulator_messages(&service), 3);
    unlink(messages);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
