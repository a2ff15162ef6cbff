/*
 * Sends a file of messages, each at most once. If it is run again, it resumes.
 *
 *     cc batch.c -lagentjob -o batch
 *     export AGENTJOB_BASE_URL=https://... AGENTJOB_API_KEY=... AGENTJOB_PROJECT_ID=...
 *     ./batch messages.tsv night.journal 100/h
 *
 * messages.tsv has one message per line: the job's id, a tab, the prompt. Each outcome is a line on stdout (number, job, verdict);
 * errors and progress go to stderr. Exit status: 0 every message was accepted, 2 wrong usage, options or messages, 3 a message
 * was rejected, 5 the delivery of a message is unknown, 6 an error ended it early, 130 interrupted. In every case you can run it again.
 */
#include <agentjob.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { DONE = 0, USAGE = 2, FAILED = 3, UNKNOWN_DELIVERY = 5, LEFT = 6, INTERRUPTED = 130 };

/* Ctrl-C triggers the token: the batch sends nothing more and waits for the responses in flight. */
static agentjob_cancel *interrupt;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    agentjob_cancel_trigger(interrupt);
}

/* Adds the file's messages to the batch. An error names the line, here or when the batch starts. */
static agentjob_code add_lines(agentjob_batch *batch, FILE *file, agentjob_error **err) {
    static char line[65536];
    for (uint64_t number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        char *tab = strchr(line, '\t');
        char *prompt = tab != NULL ? tab + 1 : line + strlen(line);
        prompt[strcspn(prompt, "\r\n")] = '\0';
        line[strcspn(line, "\t\r\n")] = '\0';
        agentjob_code code = agentjob_batch_add(batch, line, prompt, AGENTJOB_NUL_TERMINATED, NULL, number, err);
        if (code != AGENTJOB_OK) {
            return code;
        }
    }
    return AGENTJOB_OK;
}

/* Prints an event, and returns the exit status that it leads to. */
static int print_event(const agentjob_batch_event *event) {
    const agentjob_error *why = agentjob_batch_event_error(event);
    int32_t delivery = agentjob_batch_event_delivery(event);
    switch (agentjob_batch_event_kind(event)) {
    case AGENTJOB_BATCH_KIND_OUTCOME:
        printf("%llu\t%s\t%s\n", (unsigned long long)agentjob_batch_event_number(event), agentjob_batch_event_job_id(event),
               agentjob_delivery_name(delivery));
        if (why != NULL) {
            fprintf(stderr, "%s\n", agentjob_error_message(why));
        }
        return delivery == AGENTJOB_DELIVERY_ACCEPTED ? DONE : delivery == AGENTJOB_DELIVERY_UNKNOWN ? UNKNOWN_DELIVERY : FAILED;
    case AGENTJOB_BATCH_KIND_PAUSED: {
        uint64_t ms = 0;
        int32_t pause = agentjob_batch_event_pause(event, &ms);
        fprintf(stderr, "paused for %.0f s (%s): %s\n", (double)ms / 1000, agentjob_pause_name(pause), agentjob_error_message(why));
        return DONE;
    }
    default: /* no event came in time, or one that this program does not need */
        return DONE;
    }
}

static void print_progress(agentjob_batch *batch) {
    const agentjob_batch_progress *progress = agentjob_batch_get_progress(batch);
    int64_t finishes_in = agentjob_batch_progress_finishes_in_ms(progress);
    fprintf(stderr, "%llu of %llu messages left", (unsigned long long)agentjob_batch_progress_count(progress, AGENTJOB_COUNT_LEFT),
            (unsigned long long)agentjob_batch_progress_count(progress, AGENTJOB_COUNT_ITEMS));
    if (finishes_in >= 0) {
        fprintf(stderr, ", all sent in about %.0f s", (double)finishes_in / 1000);
    }
    fputc('\n', stderr);
}

int main(int argc, char **argv) {
    FILE *file = argc == 3 || argc == 4 ? fopen(argv[1], "r") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: %s MESSAGES JOURNAL [RATE]\n", argv[0]);
        return USAGE;
    }

    agentjob_client *client = NULL;
    agentjob_batch *batch = NULL;
    agentjob_error *err = NULL;
    interrupt = agentjob_cancel_new();
    signal(SIGINT, on_interrupt);

    int status = DONE;
    if (agentjob_client_new(NULL, &client, &err) == AGENTJOB_OK && /* NULL: options from the AGENTJOB_ variables */
        agentjob_batch_new(client, argv[2], &batch, &err) == AGENTJOB_OK &&
        agentjob_batch_set_cancel(batch, interrupt, &err) == AGENTJOB_OK &&
        (argc < 4 || agentjob_batch_set_rate(batch, argv[3], &err) == AGENTJOB_OK) &&
        add_lines(batch, file, &err) == AGENTJOB_OK && agentjob_batch_start(batch, &err) == AGENTJOB_OK) {
        while (!agentjob_batch_is_over(batch)) {
            agentjob_batch_event *event = NULL;
            if (agentjob_batch_next(batch, 10000, &event, &err) == AGENTJOB_OK) {
                int one = print_event(event);
                status = one > status ? one : status;
                if (event == NULL && !agentjob_batch_is_over(batch)) {
                    print_progress(batch);
                }
            }
            agentjob_batch_event_free(event);
        }
    }
    if (err != NULL) {
        agentjob_code code = agentjob_error_code(err);
        fprintf(stderr, "%s\n", agentjob_error_message(err));
        status = code == AGENTJOB_ERR_CANCELLED          ? INTERRUPTED
                 : code == AGENTJOB_ERR_INVALID_ARGUMENT ? USAGE
                 : status == UNKNOWN_DELIVERY            ? UNKNOWN_DELIVERY
                                                         : LEFT;
    }

    signal(SIGINT, SIG_DFL);
    agentjob_error_free(err);
    agentjob_batch_free(batch);
    agentjob_cancel_free(interrupt);
    agentjob_client_free(client);
    fclose(file);
    return status;
}
