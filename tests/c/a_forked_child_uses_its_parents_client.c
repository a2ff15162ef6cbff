/* A child of fork() uses its parent's client on a connection of its own, and the parent's connection stays usable. Plain and TLS. */
#include "support.h"

enum { TURNS = 20 };

/* Each record has its job's id, so a response that goes to the wrong process is noticed. */
static void send_to(const agentjob_client *client, const char *job_id, const char *prompt) {
    agentjob_error *err = NULL;
    agentjob_job *job = NULL;
    CHECK_OK(agentjob_client_send_message(client, job_id, prompt, AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
    CHECK(strcmp(agentjob_job_id(job), job_id) == 0);
    agentjob_job_free(job);
}

static void both_talk_at_once(const emulator *service) {
    agentjob_client *client = emulator_client(service);
    send_to(client, "job_parent", "before");
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (int turn = 0; turn < TURNS; turn++)
            send_to(client, "job_child", "in the child");
        agentjob_client_free(client);
        _exit(0);
    }
    for (int turn = 0; turn < TURNS; turn++)
        send_to(client, "job_parent", "beside the child");
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    send_to(client, "job_parent", "after the child");
    agentjob_client_free(client);
}

int main(void) {
    const char *jobs = "{\"jobs\": [{\"id\": \"job_parent\"}, {\"id\": \"job_child\"}]}";
    emulator service = emulator_start(jobs);
    both_talk_at_once(&service);
    CHECK_INT(emulator_messages(&service), 2 * TURNS + 2);
    emulator_stop(&service);

    /* Valgrind reports the output of ring's assembly (AES-GCM) as uninitialized, so it skips TLS. */
    if (getenv("RUNNER") != NULL && strstr(getenv("RUNNER"), "valgrind") != NULL) {
        puts("SKIPPED: TLS under valgrind");
        return 0;
    }
    emulator secret = emulator_start_tls(jobs);
    both_talk_at_once(&secret);
    emulator_stop(&secret);
    return 0;
}
