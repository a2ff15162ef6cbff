/* A poller in an event loop: a poll does not block, its descriptor says when it has ended, and whatever ends a poll ends this one. */
#include <signal.h>

#include "support.h"

static agentjob_error *err;

static int is_readable(int32_t fd, int timeout_ms) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, timeout_ms) == 1 && (one.revents & POLLIN) != 0;
}

static agentjob_poller *poller_of(const agentjob_client *client, int32_t *fd) {
    agentjob_poller *poller = NULL;
    CHECK_OK(agentjob_poller_new(client, "job_demo", NULL, &poller, &err), err);
    CHECK_OK(agentjob_poller_fd(poller, fd, &err), err);
    CHECK(*fd > 2);
    return poller;
}

#define REFUSED(call, code, part)                          \
    do {                                                   \
        CHECK_INT((call), (code));                         \
        CHECK_HOLDS(agentjob_error_message(err), (part));  \
        agentjob_error_free(err);                          \
    } while (0)

static void a_poll_ends_when_its_descriptor_is_readable(const agentjob_client *client) {
    int32_t fd = -1, again = -1;
    bool done = true;
    agentjob_poller *poller = poller_of(client, &fd);
    REFUSED(agentjob_poller_finish(poller, &done, &err), AGENTJOB_ERR_INVALID_ARGUMENT, "no poll is in progress");
    for (int polls = 0; polls < 2; polls++) {
        CHECK(!is_readable(fd, 0));
        CHECK_OK(agentjob_poller_start(poller, client, NULL, &err), err);
        CHECK(!is_readable(fd, 0)); /* the service takes three seconds, so this did not block */
        REFUSED(agentjob_poller_start(poller, client, NULL, &err), AGENTJOB_ERR_INVALID_ARGUMENT, "a poll is in progress");
        REFUSED(agentjob_poller_poll(poller, client, NULL, &done, &err), AGENTJOB_ERR_INVALID_ARGUMENT, "a poll is in progress");
        CHECK(is_readable(fd, 60000) && is_readable(fd, 0));
        CHECK_OK(agentjob_poller_finish(poller, &done, &err), err);
        CHECK(!is_readable(fd, 0));
        CHECK(!done && agentjob_job_status(agentjob_poller_job(poller)) == AGENTJOB_STATUS_ACTIVE);
        CHECK(agentjob_poller_due_in_ms(poller) > 0);
        CHECK_OK(agentjob_poller_fd(poller, &again, &err), err);
        CHECK_INT(again, fd);
    }
    /* Without the descriptor, finish waits. */
    CHECK_OK(agentjob_poller_start(poller, client, NULL, &err), err);
    CHECK_OK(agentjob_poller_finish(poller, &done, &err), err);
    agentjob_poller_free(poller);
}

static void whatever_ends_a_poll_ends_it(agentjob_client *client) {
    int32_t fd = -1;
    bool done = true;
    agentjob_poller *poller = poller_of(client, &fd);
    agentjob_call *call = agentjob_call_new();
    agentjob_cancel *cancel = agentjob_cancel_new();
    CHECK_OK(agentjob_call_set_cancel(call, cancel, &err), err);
    CHECK_OK(agentjob_poller_start(poller, client, call, &err), err);
    agentjob_call_free(call);
    agentjob_cancel_trigger(cancel);
    agentjob_cancel_free(cancel);
    CHECK(is_readable(fd, 60000));
    REFUSED(agentjob_poller_finish(poller, &done, &err), AGENTJOB_ERR_CANCELLED, "job_demo");

    /* Freed while a poll is in progress. */
    CHECK_OK(agentjob_poller_start(poller, client, NULL, &err), err);
    uint64_t began = now_ms();
    agentjob_poller_free(poller);
    CHECK(now_ms() - began < 2900); /* the response takes three seconds */

    /* A child has the descriptor, but not the thread. */
    poller = poller_of(client, &fd);
    CHECK_OK(agentjob_poller_start(poller, client, NULL, &err), err);
#ifndef _WIN32
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_INT(agentjob_poller_finish(poller, &done, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
        agentjob_poller_free(poller);
        raise(SIGKILL); /* not _exit: valgrind would report what the thread had, which doesn't exist here */
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
#endif

    agentjob_client_close(client);
    CHECK(is_readable(fd, 60000));
    REFUSED(agentjob_poller_finish(poller, &done, &err), AGENTJOB_ERR_CLOSED, "job_demo");
    agentjob_poller_free(poller);
}

int main(void) {
    emulator service = emulator_start("{\"rules\": [{\"method\": \"GET\", \"delay_ms\": 3000, \"status\": 200,"
                                      "\"body\": \"{\\\"id\\\":\\\"job_demo\\\",\\\"status\\\":\\\"active\\\"}\"}]}");
    agentjob_client *client = emulator_client(&service);
    a_poll_ends_when_its_descriptor_is_readable(client);
    whatever_ends_a_poll_ends_it(client);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
