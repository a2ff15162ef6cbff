/*
 * Waits for several jobs in one thread, with plain poll(2): loop_poll JOB...
 *
 *     cc loop_poll.c $(pkg-config --cflags --libs agentjob) -o loop_poll
 *
 * The service and the key come from the AGENTJOB_ variables. Prints each record as JSON; exits 1 if a job failed or a wait ended with an
 * error. loop_uv.c does the same with libuv.
 */
#include <agentjob.h>

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct wait {
    agentjob_poller *poller;
    bool polling; /* a poll was started and not finished */
    bool over;
} wait;

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
    it->over = true;
}

int main(int argc, char **argv) {
    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: loop_poll JOB...\n");
        return 2;
    }
    if (agentjob_client_new(NULL, &client, &err) != AGENTJOB_OK) {
        fprintf(stderr, "%s\n", agentjob_error_message(err));
        agentjob_error_free(err);
        return 2;
    }
    size_t jobs = (size_t)argc - 1, left = jobs;
    wait *waits = (wait *)calloc(jobs, sizeof *waits);
    struct pollfd *fds = (struct pollfd *)calloc(jobs, sizeof *fds);
    if (waits == NULL || fds == NULL) {
        return 2;
    }
    for (size_t i = 0; i < jobs; i++) {
        int32_t fd = -1;
        if (agentjob_poller_new(client, argv[i + 1], NULL, &waits[i].poller, &err) != AGENTJOB_OK ||
            agentjob_poller_fd(waits[i].poller, &fd, &err) != AGENTJOB_OK) {
            end(&waits[i], err);
            left--;
        }
        fds[i].fd = fd;
        fds[i].events = POLLIN;
    }
    while (left > 0) {
        uint64_t due = 60000;
        for (size_t i = 0; i < jobs; i++) {
            wait *it = &waits[i];
            if (it->over) {
                fds[i].fd = -1; /* poll(2) skips it */
            } else if (!it->polling) {
                uint64_t own = agentjob_poller_due_in_ms(it->poller);
                if (own == 0) {
                    it->polling = agentjob_poller_start(it->poller, client, NULL, &err) == AGENTJOB_OK;
                    if (!it->polling) {
                        end(it, err);
                        left--;
                    }
                } else if (own < due) {
                    due = own;
                }
            }
        }
        if (left == 0 || poll(fds, (nfds_t)jobs, (int)due) <= 0) {
            continue; /* a poll is due, or a signal came */
        }
        for (size_t i = 0; i < jobs; i++) {
            bool done = false;
            if ((fds[i].revents & POLLIN) == 0 || !waits[i].polling) {
                continue;
            }
            waits[i].polling = false;
            if (agentjob_poller_finish(waits[i].poller, &done, &err) != AGENTJOB_OK || done) {
                end(&waits[i], err);
                left--;
            }
        }
    }
    for (size_t i = 0; i < jobs; i++) {
        agentjob_poller_free(waits[i].poller);
    }
    free(waits);
    free(fds);
    agentjob_client_free(client);
    return failures > 0 ? 1 : 0;
}
