/* Extra headers of a client, a call and a batch: what is sent, what is refused at once; and a key that is replaced. */
#include <arpa/inet.h>
#include <pthread.h>

#include "batch.h"

/* A server that responds to each request with a record, and keeps the heads that it read. */
static char heads[8][4096];
static int listener;

static void *serve(void *unused) {
    (void)unused;
    for (int n = 0; n < 8;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            return NULL;
        size_t len = 0;
        while (len < sizeof heads[n] - 1 && strstr(heads[n], "\r\n\r\n") == NULL) {
            ssize_t got = read(fd, heads[n] + len, sizeof heads[n] - 1 - len);
            CHECK(got > 0);
            len += (size_t)got;
        }
        const char *status = strstr(heads[n], "Bearer refused") ? "401 Unauthorized" : "200 OK";
        char response[256];
        snprintf(response, sizeof response,
                 "HTTP/1.1 %s\r\nContent-Length: 37\r\nConnection: close\r\n\r\n{\"id\": \"job_1\", \"status\": \"archived\"}", status);
        CHECK(write(fd, response, strlen(response)) == (ssize_t)strlen(response));
        shutdown(fd, SHUT_WR);
        while (read(fd, response, sizeof response) > 0) {
        }
        close(fd);
        n++;
    }
    return NULL;
}

int main(void) {
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    pthread_t server;
    CHECK(pthread_create(&server, NULL, serve, NULL) == 0);

    agentjob_error *err = NULL;
    agentjob_options *options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_base_url(options, url, &err), err);
    CHECK_OK(agentjob_options_set_api_key(options, "refused", &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, "demo", &err), err);
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    CHECK_OK(agentjob_options_set_header(options, "X-Tenant", "acme", &err), err);
    CHECK_OK(agentjob_options_set_header(options, "X-Session", "walrus5ginger8comet2", &err), err);

    const struct {
        const char *name, *value, *message;
    } refused[] = {
        {"Authorization", "x", "header Authorization cannot be set: agentjob sends the API key in it"},
        {"X-Tenant", "a\r\nHost: b", "the value of header X-Tenant contains a line break"},
        {"", "a", "a header's name is empty. Use letters, digits and hyphens."},
    };
    agentjob_call *call = agentjob_call_new();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CHECK_INT(agentjob_options_set_header(options, refused[i].name, refused[i].value, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
        CHECK_TEXT(agentjob_error_message(err), refused[i].message);
        agentjob_error_free(err);
        err = NULL;
        CHECK_INT(agentjob_call_set_header(call, refused[i].name, refused[i].value, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    }
    CHECK_OK(agentjob_call_set_header(call, "traceparent", "00-1-2-01", &err), err);
    CHECK_OK(agentjob_call_set_header(call, "x-tenant", "other", &err), err);

    agentjob_client *client = NULL;
    CHECK_OK(agentjob_client_new(options, &client, &err), err);
    agentjob_options_free(options);
    agentjob_job *job = NULL;
    CHECK_INT(agentjob_client_get_job(client, "job_1", call, &job, &err), AGENTJOB_ERR_AUTHENTICATION);
    agentjob_error_free(err);
    err = NULL;
    CHECK_HOLDS(heads[0], "\r\nX-Session: walrus5ginger8comet2\r\n");
    CHECK_HOLDS(heads[0], "\r\ntraceparent: 00-1-2-01\r\n");
    CHECK_HOLDS(heads[0], "\r\nx-tenant: other\r\n");
    CHECK(strstr(heads[0], "acme") == NULL);

    CHECK_INT(agentjob_client_set_api_key(client, "with a space", NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_OK(agentjob_client_set_api_key(client, "replaced", &err), err);
    CHECK_OK(agentjob_client_get_job(client, "job_1", NULL, &job, &err), err);
    agentjob_job_free(job);
    CHECK_HOLDS(heads[1], "Authorization: Bearer replaced\r\n");
    CHECK_HOLDS(heads[1], "\r\nX-Tenant: acme\r\n");

    folder place = folder_new();
    agentjob_batch *batch = NULL;
    CHECK_OK(agentjob_batch_new(client, place.journal, &batch, &err), err);
    CHECK_INT(agentjob_batch_set_header(batch, "Host", "x", NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_OK(agentjob_batch_set_header(batch, "X-Batch", "b", &err), err);
    CHECK_OK(agentjob_batch_add(batch, "job_1", "p", AGENTJOB_NUL_TERMINATED, NULL, 0, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_INT(agentjob_batch_set_header(batch, "X-Batch", "c", NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        agentjob_batch_event_free(event);
    }
    agentjob_batch_free(batch);
    folder_remove(&place);
    CHECK_HOLDS(heads[2], "\r\nX-Batch: b\r\n");
    CHECK_HOLDS(heads[2], "POST ");

    agentjob_call_free(call);
    agentjob_client_free(client);
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);
    return 0;
}
