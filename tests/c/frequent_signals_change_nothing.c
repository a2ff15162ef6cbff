/* A profiler's timer fires every millisecond without SA_RESTART: the wait is not affected. */
#include <signal.h>
#include <sys/time.h>

#include "support.h"

static volatile sig_atomic_t fired;

static void count(int signal_number) {
    (void)signal_number;
    fired = fired + 1;
}

int main(void) {
    emulator service = emulator_start("{\"work_ms\": 300, \"rules\": [{\"method\": \"POST\", \"status\": 200, \"delay_ms\": 2000}]}");
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval every_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = impatient_call();
    agentjob_job *job = NULL;

    CHECK(setitimer(ITIMER_REAL, &every_ms, NULL) == 0);
    agentjob_code code = agentjob_client_send_and_wait(client, service.job_id, "Go on", 5, call, &job, &err);
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK_OK(code, err);
    CHECK_INT(agentjob_job_status(job), AGENTJOB_STATUS_COMPLETED);
    CHECK(fired > 20); /* signals that arrive while the process does not run are merged */
    CHECK_INT(emulator_messages(&service), 1);

    agentjob_job_free(job);
    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
