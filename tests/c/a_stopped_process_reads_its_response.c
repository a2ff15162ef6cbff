/* A process is stopped (Ctrl-Z) until its call has timed out; the response that came meanwhile is read. */
#include <signal.h>

#include "support.h"

int main(void) {
    /* On a machine that stalls the call may time out before the process is stopped. */
    for (int attempt = 1;; attempt++) {
        emulator service = emulator_start("{\"rules\": [{\"status\": 200, \"delay_ms\": 400}]}");
        pid_t sender = fork();
        CHECK(sender >= 0);
        if (sender == 0) {
            close(service.process.stdin_fd);
            agentjob_error *err = NULL;
            agentjob_client *client = emulator_client(&service);
            agentjob_call *call = agentjob_call_new();
            CHECK_OK(agentjob_call_set_timeout_ms(call, 1000, &err), err);
            agentjob_job *job = NULL;
            uint64_t began = now_ms();
            CHECK_OK(agentjob_client_send_message(client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, call, &job, &err), err);
            CHECK(now_ms() - began > 1000);
            agentjob_job_free(job);
            agentjob_call_free(call);
            agentjob_client_free(client);
            _exit(0);
        }
        while (emulator_messages(&service) == 0) {
            sleep_ms(10);
        }
        CHECK(kill(sender, SIGSTOP) == 0);
        sleep_ms(1200 + 200 * (uint64_t)attempt);
        CHECK(kill(sender, SIGCONT) == 0);
        int status = 0;
        CHECK(waitpid(sender, &status, 0) == sender);
        emulator_stop(&service);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return 0;
        CHECK(attempt < 5);
    }
}
