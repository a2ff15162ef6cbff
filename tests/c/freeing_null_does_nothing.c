/* Every _free function accepts NULL, twice. */
#include "support.h"

int main(void) {
    for (int times = 0; times < 2; times++) {
        agentjob_options_free(NULL);
        agentjob_client_free(NULL);
        agentjob_call_free(NULL);
        agentjob_cancel_free(NULL);
        agentjob_job_free(NULL);
        agentjob_error_free(NULL);
        agentjob_poller_free(NULL);
        agentjob_batch_free(NULL);
        agentjob_batch_event_free(NULL);
        agentjob_batch_status_free(NULL);
        agentjob_batch_export_free(NULL);
    }
    return 0;
}
