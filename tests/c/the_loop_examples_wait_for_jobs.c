/* Runs ffi-c/examples/loop_poll.c and, where libuv is installed, loop_uv.c: one thread waits for three jobs. */
#include "batch.h"

static int run(const emulator *service, const char *program, const char *job) {
    setenv("AGENTJOB_BASE_URL", service->base_url, 1);
    setenv("AGENTJOB_API_KEY", service->api_key, 1);
    setenv("AGENTJOB_PROJECT_ID", service->project_id, 1);
    setenv("NO_PROXY", "*", 1);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl(program, program, "job_1", "job_2", job, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void) {
    emulator service = emulator_with_jobs(",\"work_ms\": 2500");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    const char *const programs[] = {getenv("LOOP_POLL"), getenv("LOOP_UV")};
    CHECK(programs[0] != NULL);
    for (int i = 0; i < 2; i++) {
        if (programs[i] == NULL || access(programs[i], X_OK) != 0) {
            CHECK(i == 1); /* SKIPPED: libuv is not installed */
            continue;
        }
        agentjob_job *job = NULL;
        CHECK_OK(agentjob_client_send_message(client, "job_2", "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
        agentjob_job_free(job); /* it is active for two polls */
        CHECK_INT(run(&service, programs[i], "job_3"), 0);
        CHECK_INT(run(&service, programs[i], "job_nowhere"), 1);
    }
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
