/* What the C entrants share: told on standard input how many messages to send, they answer with how long each took. */
#ifndef RACE_H
#define RACE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PROMPT "Also cover the error cases"
#define JOB "job_demo"

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Reads counts line by line; for each it times so many calls of `send` and prints the nanoseconds of each on one line. */
static void race(void (*send)(void *), void *state)
{
    int count;
    while (scanf("%d", &count) == 1) {
        uint64_t *times = malloc(sizeof *times * (size_t)count);
        if (times == NULL)
            abort();
        for (int i = 0; i < count; i++) {
            uint64_t began = nanoseconds();
            send(state);
            times[i] = nanoseconds() - began;
        }
        for (int i = 0; i < count; i++)
            printf("%llu ", (unsigned long long)times[i]);
        printf("\n");
        fflush(stdout);
        free(times);
    }
}

#endif
