/*
 * A program that starts a batch, blocks SIGTERM and waits for it with sigwait() gets every SIGTERM: no thread of the library receives
 * it, which would end the process.
 */
#include <signal.h>

#include "batch.h"

enum { ROUNDS = 100 };

int main(void) {
    emulator service = emulator_with_jobs(", \"rules\": [{\"method\": \"POST\", \"status\": 200, \"delay_ms\": 30}]");
    folder place = folder_new();
    /* A name, so that the library also looks up names. */
    char *host = strstr(service.base_url, "127.0.0.1");
    CHECK(host != NULL);
    char port[16];
    snprintf(port, sizeof port, "%s", host + strlen("127.0.0.1"));
    snprintf(host, sizeof service.base_url - (size_t)(host - service.base_url), "localhost%s", port);
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 20);
    agentjob_error *err = NULL;
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    agentjob_batch_event *event = NULL;
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    agentjob_batch_event_free(event);

    /* Only now: threads that were started before have the library's mask. */
    sigset_t mine;
    sigemptyset(&mine);
    sigaddset(&mine, SIGTERM);
    CHECK(sigprocmask(SIG_BLOCK, &mine, NULL) == 0);
    int got = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int number = 0;
        CHECK(kill(getpid(), SIGTERM) == 0);
        sleep_ms(1);
        CHECK(sigwait(&mine, &number) == 0);
        got += number == SIGTERM;
        if (round % 10 == 0 && !agentjob_batch_is_over(batch)) {
            event = NULL;
            CHECK_OK(agentjob_batch_next(batch, 0, &event, &err), err);
            agentjob_batch_event_free(event);
        }
    }
    CHECK_INT(got, ROUNDS);
    tally it = {{0}, {0}, 0};
    CHECK_OK(batch_finish(batch, &it, &err), err);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
