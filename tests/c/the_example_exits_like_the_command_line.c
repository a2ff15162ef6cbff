/* Runs ffi-c/examples/follow_up.c as a user does: options from the environment, a record or an error, an exit status for each case. */
#include "support.h"

/* Runs the example and returns its exit status. */
static int follow_up(const emulator *service, const char *job_id, const char *prompt) {
    const char *program = getenv("FOLLOW_UP");
    CHECK(program != NULL);
    setenv("AGENTJOB_BASE_URL", service->base_url, 1);
    setenv("AGENTJOB_API_KEY", service->api_key, 1);
    setenv("AGENTJOB_PROJECT_ID", service->project_id, 1);
    setenv("NO_PROXY", "*", 1);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(program, program, job_id, prompt, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void) {
    emulator done = emulator_start("{\"work_ms\": 300}");
    CHECK_INT(follow_up(&done, done.job_id, "Also cover the error cases"), 0);
    CHECK_INT(emulator_messages(&done), 1);
    CHECK_INT(follow_up(&done, "job_nowhere", "Go on"), 3);
    CHECK_INT(follow_up(&done, done.job_id, ""), 2);
    CHECK_INT(follow_up(&done, done.job_id, NULL), 2);
    emulator_stop(&done);

    emulator failed = emulator_start("{\"work_ms\": 300, \"outcome\": \"failed\"}");
    CHECK_INT(follow_up(&failed, failed.job_id, "Go on"), 1);
    emulator_stop(&failed);

    emulator lost = emulator_start("{\"rules\": [{\"method\": \"POST\", \"fault\": {\"do\": \"close\", \"at\": \"request\"}}]}");
    CHECK_INT(follow_up(&lost, lost.job_id, "Go on"), 5);
    emulator_stop(&lost);
    return 0;
}
