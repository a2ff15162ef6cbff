/* The service drops the kept connection: the next message uses a new one, and SIGPIPE, at its default, does not end the process. */
#include <signal.h>

#include "support.h"

/* Whether each connection was dead before the next message was sent; if not, the message was lost with it. */
static bool dead_in(uint64_t pause_ms) {
    emulator service = emulator_start("{\"rules\": [{\"nth\": 1, \"after_response\": \"reset\"}, {\"nth\": 2, \"after_response\": \"close\"}]}");
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_code code = AGENTJOB_OK;
    int sent = 0;
    for (; sent < 3 && code == AGENTJOB_OK; sent++) {
        agentjob_job *job = NULL;
        code = agentjob_client_send_message(client, service.job_id, "Go on", AGENTJOB_NUL_TERMINATED, NULL, &job, &err);
        agentjob_job_free(job);
        sleep_ms(pause_ms);
    }
    if (code == AGENTJOB_ERR_CONNECTION_LOST) {
        CHECK_INT(emulator_messages(&service), sent - 1);
        agentjob_error_free(err);
    } else {
        CHECK_OK(code, err);
        CHECK_INT(emulator_messages(&service), 3);
    }
    agentjob_client_free(client);
    emulator_stop(&service);
    return code == AGENTJOB_OK;
}

int main(void) {
    signal(SIGPIPE, SIG_DFL);
    /* Only the service knows when it has closed its end, and on a busy machine that may take a while. */
    for (uint64_t pause_ms = 50; !dead_in(pause_ms); pause_ms *= 2) {
        CHECK(pause_ms < 10000);
    }
    return 0;
}
