/*
 * However a batch ends, it waits for the responses to its messages in flight, for at most its grace period: the rows of the README's
 * table that apply to C. Each batch is ended while the service holds all responses back; then its journal is read.
 */
#include "batch.h"

#define IN_FLIGHT 3
#define ITEMS 20
#define GRACE_MS 60000
/* Longer than a stall of the machine, shorter than what else would end a request. */
#define STALL_MS 20000

static agentjob_client *client;
static agentjob_cancel *token;

static int outcomes; /* how many a batch reported, or none if it was not asked */

/* Runs the batch until it is over: outcomes of one kind, then this code. */
static void hear_the_rest(agentjob_batch *batch, agentjob_delivery wanted, agentjob_code code) {
    tally all = {{0}, {0}, 0};
    agentjob_error *err = NULL;
    CHECK_INT(batch_finish(batch, &all, &err), code);
    agentjob_error_free(err);
    outcomes = all.deliveries[wanted];
    CHECK_INT(all.kinds[AGENTJOB_BATCH_KIND_OUTCOME], outcomes);
}

static void by_free(agentjob_batch *batch, agentjob_delivery wanted) {
    (void)batch;
    (void)wanted;
}

static void by_stop(agentjob_batch *batch, agentjob_delivery wanted) {
    agentjob_batch_stop(batch);
    hear_the_rest(batch, wanted, AGENTJOB_OK);
}

static void by_token(agentjob_batch *batch, agentjob_delivery wanted) {
    agentjob_cancel_trigger(token);
    hear_the_rest(batch, wanted, AGENTJOB_ERR_CANCELLED);
}

static void by_token_and_free(agentjob_batch *batch, agentjob_delivery wanted) {
    (void)batch;
    (void)wanted;
    agentjob_cancel_trigger(token);
}

static void by_close(agentjob_batch *batch, agentjob_delivery wanted) {
    agentjob_client_close(client);
    hear_the_rest(batch, wanted, AGENTJOB_ERR_CLOSED);
}

static void by_close_and_free(agentjob_batch *batch, agentjob_delivery wanted) {
    (void)batch;
    (void)wanted;
    agentjob_client_close(client);
    agentjob_client_free(client);
    client = NULL;
}

typedef void ending(agentjob_batch *batch, agentjob_delivery wanted);
static ending *const ENDINGS[] = {by_free, by_stop, by_token, by_token_and_free, by_close, by_close_and_free};

static void ended(ending *end, const char *rule, uint64_t grace_ms, agentjob_delivery wanted) {
    emulator service = emulator_with_jobs(rule);
    folder place = folder_new();
    agentjob_error *err = NULL;
    client = emulator_client(&service);
    token = agentjob_cancel_new();
    agentjob_batch *batch = batch_of(client, &place, ITEMS);
    CHECK_OK(agentjob_batch_set_cancel(batch, token, &err), err);
    CHECK_OK(agentjob_batch_set_concurrency(batch, IN_FLIGHT, &err), err);
    CHECK_OK(agentjob_batch_set_grace_ms(batch, grace_ms, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    while (emulator_messages(&service) < IN_FLIGHT)
        sleep_ms(2);

    outcomes = 0;
    uint64_t began = now_ms();
    end(batch, wanted);
    agentjob_batch_free(batch);
    uint64_t took = now_ms() - began;
    if (wanted == AGENTJOB_DELIVERY_UNKNOWN)
        CHECK(took >= grace_ms && took < grace_ms + STALL_MS);

    /* All that was sent, and nothing else. If the machine stalled before the end, responses came and more was sent. */
    const int sent = emulator_messages(&service);
    CHECK(sent >= IN_FLIGHT && sent < ITEMS && (wanted == AGENTJOB_DELIVERY_ACCEPTED || sent == IN_FLIGHT));
    CHECK(outcomes == 0 || outcomes == sent);
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_ACCEPTED), wanted == AGENTJOB_DELIVERY_ACCEPTED ? sent : 0);
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_UNKNOWN), wanted == AGENTJOB_DELIVERY_UNKNOWN ? sent : 0);
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_LEFT), ITEMS - sent);
    agentjob_cancel_free(token);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
}

int main(void) {
    const char *slow = ",\"rules\": [{\"method\": \"POST\", \"status\": 200, \"delay_ms\": 1500}]";
    const char *silent =
        ",\"rules\": [{\"method\": \"POST\", \"fault\": {\"do\": \"stall\", \"at\": \"request\", \"process\": true}}]";
    for (size_t at = 0; at < sizeof ENDINGS / sizeof *ENDINGS; at++) {
        ended(ENDINGS[at], slow, GRACE_MS, AGENTJOB_DELIVERY_ACCEPTED);
        ended(ENDINGS[at], silent, 0, AGENTJOB_DELIVERY_UNKNOWN);
        ended(ENDINGS[at], silent, 200, AGENTJOB_DELIVERY_UNKNOWN);
    }
    return 0;
}
