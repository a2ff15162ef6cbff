/*
 * Waits for several jobs in a libuv loop, without a thread of its own: loop_uv JOB...
 *
 *     cc loop_uv.c $(pkg-config --cflags --libs agentjob libuv) -o loop_uv
 *
 * The service and the key come from the AGENTJOB_ variables. Prints each record as JSON; exits 1 if a job failed or a wait ended with an
 * error. GLib (g_unix_fd_add, g_timeout_add) and epoll need the same three calls: agentjob_poller_start(), _fd() and _finish().
 */
#include <agentjob.h>

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

typedef struct wait {
    uv_poll_t readable; /* a poll has ended */
    uv_timer_t due;     /* a poll is due */
    agentjob_poller *poller;
} wait;

static agentjob_client *client;
static int failures;

/* Ends a wait: with its job's last record, or with an error. */
static void end(wait *it, agentjob_error *err) {
    if (err != NULL) {
        fprintf(stderr, "%s\n", agentjob_error_message(err));
        agentjob_error_free(err);
        failures++;
    } else {
        const agentjob_job *job = agentjob_poller_job(it->poller);
        puts(agentjob_job_json(job, NULL));
        failures += agentjob_job_status(job) == AGENTJOB_STATUS_FAILED;
    }
    uv_close((uv_handle_t *)&it->readable, NULL);
    uv_close((uv_handle_t *)&it->due, NULL);
}

static void start(uv_timer_t *timer) {
    wait *it = (wait *)timer->data;
    agentjob_error *err = NULL;
    if (agentjob_poller_start(it->poller, client, NULL, &err) != AGENTJOB_OK) {
        end(it, err);
    }
}

static void finish(uv_poll_t *readable, int status, int events) {
    wait *it = (wait *)readable->data;
    agentjob_error *err = NULL;
    bool done = false;
    (void)status;
    (void)events;
    if (agentjob_poller_finish(it->poller, &done, &err) != AGENTJOB_OK || done) {
        end(it, err);
    } else {
        uv_timer_start(&it->due, start, agentjob_poller_due_in_ms(it->poller), 0);
    }
}

int main(int argc, char **argv) {
    agentjob_error *err = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: loop_uv JOB...\n");
        return 2;
    }
    if (agentjob_client_new(NULL, &client, &err) != AGENTJOB_OK) {
        fprintf(stderr, "%s\n", agentjob_error_message(err));
        agentjob_error_free(err);
        return 2;
    }
    uv_loop_t *loop = uv_default_loop();
    size_t jobs = (size_t)argc - 1;
    wait *waits = (wait *)calloc(jobs, sizeof *waits);
    if (waits == NULL) {
        return 2;
    }
    for (size_t i = 0; i < jobs; i++) {
        wait *it = &waits[i];
        int32_t fd = -1;
        if (agentjob_poller_new(client, argv[i + 1], NULL, &it->poller, &err) != AGENTJOB_OK ||
            agentjob_poller_fd(it->poller, &fd, &err) != AGENTJOB_OK) {
            fprintf(stderr, "%s\n", agentjob_error_message(err));
            return 2;
        }
        uv_poll_init(loop, &it->readable, fd);
        uv_timer_init(loop, &it->due);
        it->readable.data = it->due.data = it;
        uv_poll_start(&it->readable, UV_READABLE, finish);
        uv_timer_start(&it->due, start, agentjob_poller_due_in_ms(it->poller), 0);
    }
    uv_run(loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < jobs; i++) {
        agentjob_poller_free(waits[i].poller);
    }
    free(waits);
    agentjob_client_free(client);
    uv_loop_close(loop);
    return failures > 0 ? 1 : 0;
}
