/* A process is stopped while it creates a job, and the call is cancelled before it continues: the error has the job that was created. */
#include <signal.h>

#include "support.h"

static agentjob_cancel *token;

static void cancel(int signal_number) {
    (void)signal_number;
    agentjob_cancel_trigger(token);
}

static void create(emulator *service) {
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(service);
    agentjob_call *call = agentjob_call_new();
    token = agentjob_cancel_new();
    CHECK_OK(agentjob_call_set_cancel(call, token, &err), err);
    CHECK(signal(SIGTERM, cancel) != SIG_ERR);
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_create_job(client, "Go", AGENTJOB_NUL_TERMINATED, call, &job, &err), AGENTJOB_ERR_CANCELLED);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_ACCEPTED);
    size_t length = 0;
    CHECK(agentjob_error_job(err) != NULL);
    CHECK_TEXT(agentjob_job_text(agentjob_error_job(err), AGENTJOB_JOB_FIELD_ID, &length), "job_1");
    CHECK(strstr(agentjob_error_message(err), "new job job_1 was created, but ") != NULL);
    agentjob_error_free(err);
    agentjob_cancel_free(token);
    agentjob_call_free(call);
    agentjob_client_free(client);
}

int main(void) {
    /* On a machine that stalls the signal may come before the response. */
    for (int attempt = 1;; attempt++) {
        emulator service = emulator_start("{\"rules\": [{\"method\": \"POST\", \"delay_ms\": 300}]}");
        pid_t creator = fork();
        CHECK(creator >= 0);
        if (creator == 0) {
            close(service.process.stdin_fd);
            create(&service);
            _exit(0);
        }
        while (emulator_messages(&service) == 0) {
            sleep_ms(10);
        }
        CHECK(kill(creator, SIGSTOP) == 0);
        sleep_ms(400 + 200 * (uint64_t)attempt);
        CHECK(kill(creator, SIGTERM) == 0);
        CHECK(kill(creator, SIGCONT) == 0);
        int status = 0;
        CHECK(waitpid(creator, &status, 0) == creator);
        emulator_stop(&service);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return 0;
        CHECK(attempt < 5);
    }
}
