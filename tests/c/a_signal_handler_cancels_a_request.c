/* SIGALRM arrives while a request waits for its response: the handler triggers the cancel token, and the error has the verdict. */
#include <pthread.h>
#include <signal.h>

#include "support.h"

static agentjob_cancel *token;
static emulator service;
static pthread_t sender;

static void cancel(int signal_number) {
    (void)signal_number;
    agentjob_cancel_trigger(token);
}

static void *alarm_when_it_arrived(void *nothing) {
    while (emulator_messages(&service) == 0) {
        sleep_ms(10);
    }
    CHECK(pthread_kill(sender, SIGALRM) == 0);
    return nothing;
}

int main(void) {
    service = emulator_start("{\"rules\": [{\"method\": \"POST\", \"status\": 200, \"delay_ms\": 20000}]}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = agentjob_call_new();
    token = agentjob_cancel_new();
    CHECK_OK(agentjob_call_set_cancel(call, token, &err), err);

    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = cancel; /* without SA_RESTART, so system calls are interrupted */
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    pthread_t thread;
    sender = pthread_self();
    CHECK(pthread_create(&thread, NULL, alarm_when_it_arrived, NULL) == 0);

    uint64_t began = now_ms();
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_message(client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, call, &job, &err),
              AGENTJOB_ERR_CANCELLED);
    CHECK(now_ms() - began < 19000);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_UNKNOWN);
    agentjob_error_free(err);

    signal(SIGALRM, SIG_DFL);
    agentjob_cancel_free(token);
    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
