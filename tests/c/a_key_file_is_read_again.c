/* A key file whose key is replaced: the next call sends the new one, as does a call whose key is refused meanwhile; a refused key that is still
 * in the file is sent once. */
#include <fcntl.h>

#include "support.h"

static char path[256];

static void put(const char *key) {
    char next[300];
    snprintf(next, sizeof next, "%s.next", path);
    int fd = open(next, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, key, strlen(key)) == (ssize_t)strlen(key) && close(fd) == 0);
    replace_file(next, path);
}

static int refusals;

static void rotate(const char *json, void *rotates) {
    if (strstr(json, "\"event\":\"response\"") != NULL && strstr(json, "\"status\":401") != NULL) {
        refusals++;
        if (*(bool *)rotates)
            put("new7zebra3quilted");
    }
}

int main(void) {
    emulator service = emulator_start("{\"api_key\": \"new7zebra3quilted\"}");
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/agentjob-key-%ld", folder ? folder : "/tmp", (long)getpid());
    put("old9walrus5ginger");

    agentjob_error *err = NULL;
    agentjob_options *options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_base_url(options, service.base_url, &err), err);
    CHECK_OK(agentjob_options_set_api_key_file(options, path, &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, service.project_id, &err), err);
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    bool rotates = false;
    CHECK_OK(agentjob_options_set_on_event(options, rotate, &rotates, NULL, &err), err);
    agentjob_client *client = NULL;
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);

    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_send_message(client, service.job_id, "p", 1, NULL, &job, &err), AGENTJOB_ERR_AUTHENTICATION);
    CHECK_INT(agentjob_error_attempts(err), 1);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_REJECTED);
    agentjob_error_free(err);
    err = NULL;

    put("new7zebra3quilted\n");
    CHECK_OK(agentjob_client_send_message(client, service.job_id, "p", 1, NULL, &job, &err), err);
    agentjob_job_free(job);
    CHECK_INT(emulator_messages(&service), 1);

    /* Replaced while the old one is refused: the message is sent again, once. */
    put("old9walrus5ginger");
    rotates = true;
    refusals = 0;
    CHECK_OK(agentjob_client_send_message(client, service.job_id, "p", 1, NULL, &job, &err), err);
    agentjob_job_free(job);
    CHECK_INT(refusals, 1);
    CHECK_INT(emulator_messages(&service), 2);
    rotates = false;

    /* Missing for a moment: the key in use is still right. */
    CHECK(unlink(path) == 0);
    CHECK_OK(agentjob_client_get_job(client, service.job_id, NULL, &job, &err), err);
    agentjob_job_free(job);
    /* A key that the program sets ends the reading of the file. */
    CHECK_OK(agentjob_client_set_api_key(client, "wrong5key", &err), err);
    put("new7zebra3quilted");
    CHECK_INT(agentjob_client_get_job(client, service.job_id, NULL, &job, &err), AGENTJOB_ERR_AUTHENTICATION);
    CHECK_INT(agentjob_error_attempts(err), 1);
    agentjob_error_free(err);

    unlink(path);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
