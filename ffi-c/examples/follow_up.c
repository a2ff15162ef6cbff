/*
 * Sends a follow-up message to a job and waits for its result.
 *
 *     cc follow_up.c -lagentjob -o follow_up
 *     export AGENTJOB_BASE_URL=https://... AGENTJOB_API_KEY=... AGENTJOB_PROJECT_ID=...
 *     ./follow_up job_123 "Also cover the error cases"
 *
 * Status lines go to stderr, the job's last record goes to stdout as JSON. Exit status: 0 done, 1 the job failed, 2 wrong usage or
 * options, 3 rejected or failed, 4 the wait timed out, 5 the delivery of the message is unknown, 130 interrupted.
 */
#include <agentjob.h>
#include <signal.h>
#include <stdio.h>

enum { DONE = 0, JOB_FAILED = 1, USAGE = 2, FAILED = 3, TIMED_OUT = 4, UNKNOWN_DELIVERY = 5, INTERRUPTED = 130 };

/* Ctrl-C triggers the token; a signal handler may do nothing else with agentjob. */
static agentjob_cancel *interrupt;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    agentjob_cancel_trigger(interrupt);
}

/* Called with the first record and with each one that differs from the previous one. */
static int32_t print_status(const agentjob_job *job, void *user_data) {
    (void)user_data;
    fprintf(stderr, "%s: %s\n", agentjob_job_id(job), agentjob_job_status_name(job));
    return 0; /* another number would end the wait */
}

/* Prints the error and the delivery verdict, and returns the exit status. */
static int explain(const agentjob_error *err) {
    int32_t delivery = agentjob_error_delivery(err);
    fprintf(stderr, "%s\n", agentjob_error_message(err));
    if (delivery != AGENTJOB_DELIVERY_NONE) {
        fprintf(stderr, "delivery: %s\n", agentjob_delivery_name(delivery));
    }
    if (agentjob_error_retry_after_ms(err) >= 0) {
        fprintf(stderr, "retry after %.0f s\n", (double)agentjob_error_retry_after_ms(err) / 1000);
    }
    switch (agentjob_error_code(err)) {
    case AGENTJOB_ERR_CANCELLED: return INTERRUPTED;
    case AGENTJOB_ERR_INVALID_ARGUMENT: return USAGE;
    case AGENTJOB_ERR_WAIT_TIMEOUT: return TIMED_OUT;
    default: return delivery == AGENTJOB_DELIVERY_UNKNOWN ? UNKNOWN_DELIVERY : FAILED;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s JOB_ID PROMPT\n", argv[0]);
        return USAGE;
    }

    agentjob_client *client = NULL;
    agentjob_job *job = NULL;
    agentjob_error *err = NULL;
    agentjob_call *call = agentjob_call_new();
    interrupt = agentjob_cancel_new();
    signal(SIGINT, on_interrupt);

    int status;
    if (agentjob_client_new(NULL, &client, &err) != AGENTJOB_OK || /* NULL: options from the AGENTJOB_ variables */
        agentjob_call_set_cancel(call, interrupt, &err) != AGENTJOB_OK ||
        agentjob_call_set_progress(call, print_status, NULL, &err) != AGENTJOB_OK ||
        agentjob_client_send_and_wait(client, argv[1], argv[2], AGENTJOB_NUL_TERMINATED, call, &job, &err) != AGENTJOB_OK) {
        status = explain(err);
    } else {
        puts(agentjob_job_json(job, NULL));
        status = agentjob_job_status(job) == AGENTJOB_STATUS_FAILED ? JOB_FAILED : DONE;
    }

    signal(SIGINT, SIG_DFL);
    agentjob_error_free(err);
    agentjob_job_free(job);
    agentjob_call_free(call);
    agentjob_cancel_free(interrupt);
    agentjob_client_free(client);
    return status;
}
