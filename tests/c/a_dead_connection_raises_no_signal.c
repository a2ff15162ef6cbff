/* The service drops the kept connection: the next message goes over a new one, and SIGPIPE, left at its default, ends nobody. */
#include <signal.h>

#include "support.h"

int main(void) {
    signal(SIGPIPE, SIG_DFL);
    emulator service = emulator_start("{\"rules\": [{\"nth\": 1, \"after_answer\": \"reset\"}, {\"nth\": 2, \"after_answer\": \"close\"}]}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    for (int i = 0; i < 3; i++) {
        agentjob_job *job = NULL;
        CHECK_OK(agentjob_client_send_message(client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err), err);
        agentjob_job_free(job);
        sleep_ms(50);
    }
    CHECK_INT(emulator_messages(&service), 3);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
