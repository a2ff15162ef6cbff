/* Plain http to another machine, and a key file that other users can read, are refused until the program allows them. */
#include <fcntl.h>
#include <sys/stat.h>

#include "support.h"

static agentjob_options *options;

/* Whether a client can be made; a refusal names what is wrong. */
static bool is_made(const char *wrong) {
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    agentjob_code code = agentjob_client_new(options, &client, &err);
    if (code != AGENTJOB_OK) {
        CHECK_INT(code, AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_HOLDS(agentjob_error_message(err), wrong);
    }
    agentjob_error_free(err);
    agentjob_client_free(client);
    return code == AGENTJOB_OK;
}

int main(void) {
    agentjob_error *err = NULL;
    options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, "demo", &err), err);
    CHECK_OK(agentjob_options_set_api_key(options, "key9zebra", &err), err);
    CHECK_OK(agentjob_options_set_base_url(options, "http://192.0.2.1", &err), err);
    CHECK(!is_made("base_url"));
    CHECK_OK(agentjob_options_set_allow_plaintext(options, true, &err), err);
    CHECK(is_made(""));
    CHECK_OK(agentjob_options_set_allow_plaintext(options, false, &err), err);
    CHECK(!is_made("base_url"));
    agentjob_options_free(options);

    char folder[256], path[300];
    folder_make(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/key", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, "key9zebra", 9) == 9 && close(fd) == 0 && chmod(path, 0644) == 0);
    options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, "demo", &err), err);
    CHECK_OK(agentjob_options_set_base_url(options, "https://192.0.2.1", &err), err);
    CHECK_OK(agentjob_options_set_api_key_file(options, path, &err), err);
#ifndef _WIN32
    CHECK(!is_made("open to other users"));
#endif
    CHECK_OK(agentjob_options_set_allow_shared_key_file(options, true, &err), err);
    CHECK(is_made(""));
    agentjob_options_free(options);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
    return 0;
}
