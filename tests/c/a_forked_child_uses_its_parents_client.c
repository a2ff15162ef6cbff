/* A child of fork() goes on with its parent's client, on a connection of its own; the parent's stays whole. */
#include "support.h"

static void say(const agentjob_client *client, const char *job_id, const char *prompt) {
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_message(client, job_id, prompt, AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
    agentjob_job_free(job);
}

int main(void) {
    emulator service = emulator_start("{}");
    agentjob_client *client = emulator_client(&service);
    say(client, service.job_id, "before");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        say(client, service.job_id, "in the child");
        agentjob_client_free(client);
        _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    say(client, service.job_id, "after");
    CHECK_INT(emulator_messages(&service), 3);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
