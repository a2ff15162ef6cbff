/* agentjob through its C ABI. */
#include "race.h"

#include <agentjob.h>
#include <string.h>

static void send_one(void *state)
{
    agentjob_job *job = NULL;
    if (agentjob_client_send_message(state, JOB, PROMPT, AGENTJOB_NUL_TERMINATED, NULL, &job, NULL) != AGENTJOB_OK || strcmp(agentjob_job_id(job), JOB) != 0)
        abort();
    agentjob_job_free(job);
}

int main(int argc, char **argv)
{
    agentjob_options *options = agentjob_options_new();
    agentjob_client *client = NULL;
    if (argc < 3 || agentjob_options_set_base_url(options, argv[1], NULL) || agentjob_options_set_api_key(options, argv[2], NULL) ||
        agentjob_options_set_project_id(options, "demo", NULL) || agentjob_client_new(options, &client, NULL))
        return 1;
    agentjob_options_free(options);
    race(send_one, client);
    agentjob_client_free(client);
    return 0;
}
