/* What the C entrants share: the commands that an entrant reads on standard input, and its replies. lineup.py has the list of
 * the lines. An entrant defines the five functions below. */
#ifndef RACE_H
#define RACE_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define JOB "job_demo"

struct place {
    const char *url, *key;
    const char *ca_file, *bundle; /* the authority to trust, alone and with the platform's; NULL without TLS */
};

/* A client that keeps its connections, and what one thread of it sends with. */
static void *client_new(const struct place *place);
static void client_free(void *client);
static void *sender_new(void *client, const char *prompt);
static void sender_send(void *sender);
static void sender_free(void *sender);

static uint64_t clock_now(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *memory(size_t size)
{
    void *made = calloc(1, size);
    if (made == NULL)
        abort();
    return made;
}

/* Ends the program if the response is not the job's record. */
static void check(int right)
{
    if (!right)
        abort();
}

static void reply(const uint64_t *numbers, int count)
{
    for (int i = 0; i < count; i++)
        printf(i ? " %llu" : "%llu", (unsigned long long)numbers[i]);
    printf("\n");
    fflush(stdout);
}

struct thread {
    pthread_t id;
    pthread_barrier_t *warm;
    void *client;
    const char *prompt;
    int sends;
};

static void *thread_run(void *state)
{
    struct thread *thread = state;
    void *sender = sender_new(thread->client, thread->prompt);
    sender_send(sender);
    pthread_barrier_wait(thread->warm);
    for (int i = 0; i < thread->sends; i++)
        sender_send(sender);
    sender_free(sender);
    return NULL;
}

/* The nanoseconds, of the clock and of all processors, that `count` threads with `sends` sends each take. */
static void threads(void *client, const char *prompt, int count, int sends)
{
    struct thread *all = memory(sizeof *all * (size_t)count);
    pthread_barrier_t warm;
    pthread_barrier_init(&warm, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++) {
        all[i] = (struct thread){.warm = &warm, .client = client, .prompt = prompt, .sends = sends};
        check(pthread_create(&all[i].id, NULL, thread_run, &all[i]) == 0);
    }
    pthread_barrier_wait(&warm);
    uint64_t began = clock_now(CLOCK_MONOTONIC), used = clock_now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < count; i++)
        pthread_join(all[i].id, NULL);
    reply((uint64_t[]){clock_now(CLOCK_MONOTONIC) - began, clock_now(CLOCK_PROCESS_CPUTIME_ID) - used}, 2);
    pthread_barrier_destroy(&warm);
    free(all);
}

/* Does what standard input says, until it ends. */
static int race(int argc, char **argv)
{
    const uint64_t done = 0;
    char line[128];
    int first, second;
    char *prompt = strdup("Also cover the error cases");
    void *client = NULL, *sender = NULL;
    if (argc < 3 || prompt == NULL)
        return 2;
    const struct place place = {argv[1], argv[2], argc > 4 ? argv[3] : NULL, argc > 4 ? argv[4] : NULL};
    while (fgets(line, sizeof line, stdin) != NULL) {
        int hold = sscanf(line, "hold %d", &first) == 1;
        if (client == NULL && (line[0] == 's' || line[0] == 't'))
            client = client_new(&place);
        if (sscanf(line, "send %d", &first) == 1) {
            uint64_t *times = memory(sizeof *times * ((size_t)first + 1));
            if (sender == NULL)
                sender = sender_new(client, prompt);
            for (int i = 0; i < first; i++) {
                uint64_t began = clock_now(CLOCK_MONOTONIC);
                sender_send(sender);
                times[i] = clock_now(CLOCK_MONOTONIC) - began;
            }
            reply(times, first);
            free(times);
        } else if (hold || sscanf(line, "new %d", &first) == 1) {
            uint64_t *times = memory(sizeof *times * ((size_t)first + 1));
            for (int i = 0; i < first; i++) {
                uint64_t began = clock_now(CLOCK_MONOTONIC);
                void *one = client_new(&place), *its = sender_new(one, prompt);
                sender_send(its);
                if (!hold) {
                    sender_free(its);
                    client_free(one);
                }
                times[i] = clock_now(CLOCK_MONOTONIC) - began;
            }
            reply(times, first);
            free(times);
        } else if (sscanf(line, "prompt %d", &first) == 1) {
            if (sender != NULL)
                sender_free(sender);
            sender = NULL;
            free(prompt);
            prompt = memory((size_t)first + 1);
            memset(prompt, 'x', (size_t)first);
            reply(&done, 1);
        } else if (sscanf(line, "threads %d %d", &first, &second) == 2) {
            threads(client, prompt, first, second);
        } else {
            return 2;
        }
    }
    if (sender != NULL)
        sender_free(sender);
    if (client != NULL)
        client_free(client);
    free(prompt);
    return 0;
}

#endif
