/* agentjob through its C ABI. */
#include "race.h"

#include <agentjob.h>

struct sender {
    agentjob_client *client;
    const char *prompt;
};

static void *client_new(const struct place *place)
{
    agentjob_options *options = agentjob_options_new();
    agentjob_client *client = NULL;
    check(!agentjob_options_set_base_url(options, place->url, NULL) && !agentjob_options_set_api_key(options, place->key, NULL) &&
          !agentjob_options_set_project_id(options, "demo", NULL));
    check(place->ca_file == NULL || !agentjob_options_set_ca_file(options, place->ca_file, NULL));
    check(!agentjob_client_new(options, &client, NULL));
    agentjob_options_free(options);
    return client;
}

static void client_free(void *client)
{
    agentjob_client_free(client);
}

static void *sender_new(void *client, const char *prompt)
{
    struct sender *sender = memory(sizeof *sender);
    *sender = (struct sender){client, prompt};
    return sender;
}

static void sender_send(void *state)
{
    const struct sender *sender = state;
    agentjob_job *job = NULL;
    check(!agentjob_client_send_message(sender->client, JOB, sender->prompt, AGENTJOB_NUL_TERMINATED, NULL, &job, NULL));
    check(strcmp(agentjob_job_id(job), JOB) == 0);
    agentjob_job_free(job);
}

static void sender_free(void *sender)
{
    free(sender);
}

int main(int argc, char **argv)
{
    return race(argc, argv);
}
