/* Settings, messages and a changed list are checked before anything is sent, and the error names what is wrong. */
#include "batch.h"

static agentjob_error *err;

/* Starting the batch fails with this text in the message; afterwards the batch can only be freed. */
static void refused_at(agentjob_batch *batch, const char *part, uint64_t item, uint64_t line) {
    agentjob_batch_event *event = NULL;
    CHECK_INT(agentjob_batch_start(batch, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), part);
    CHECK_INT(agentjob_error_delivery(err), AGENTJOB_DELIVERY_NONE);
    CHECK_INT(agentjob_error_item(err), item);
    CHECK_INT(agentjob_error_line(err), line);
    agentjob_error_free(err);
    CHECK(agentjob_batch_is_over(batch));
    CHECK_INT(agentjob_batch_start(batch, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_next(batch, 0, &event, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_ITEMS), 0);
    CHECK(event == NULL);
    agentjob_batch_free(batch);
}

/* A setter or a constructor fails at once. */
#define REFUSED(call, part)                                     \
    do {                                                        \
        CHECK_INT((call), AGENTJOB_ERR_INVALID_ARGUMENT);       \
        CHECK_HOLDS(agentjob_error_message(err), part);         \
        agentjob_error_free(err);                               \
    } while (0)

static agentjob_batch *with(const agentjob_client *client, const folder *place, const char *job_id, const char *prompt, size_t len,
                            const char *key, uint64_t line) {
    agentjob_batch *batch = batch_of(client, place, 2);
    CHECK_OK(agentjob_batch_add(batch, job_id, prompt, len, key, line, &err), err);
    return batch;
}

static void messages(const agentjob_client *client, const folder *place) {
    refused_at(with(client, place, "", "p", 1, NULL, 0), "item 3: job_id is empty", 3, 0);
    refused_at(with(client, place, "job_3 ", "p", 1, NULL, 0), "item 3: job_id ends with white space (U+0020)", 3, 0);
    refused_at(with(client, place, "job_3", "p", 1, " k", 0), "item 3: key begins with white space (U+0020)", 3, 0);
    refused_at(with(client, place, "job_3", "", 0, NULL, 17), "line 17: prompt is empty", 3, 17);
    refused_at(with(client, place, "job_3", NULL, 0, NULL, 17), "line 17: prompt is empty", 3, 17);
    refused_at(with(client, place, "job_3", "p", 1, "", 0), "item 3: key is empty", 3, 0);
    agentjob_batch *twice = with(client, place, "job_3", "p", 1, "k", 3);
    CHECK_OK(agentjob_batch_add(twice, "job_4", "q", 1, "k", 4, &err), err);
    refused_at(twice, "line 4: key \"k\" is also the key of line 3", 4, 4);

    /* agentjob_batch_add() refuses these at once, and the batch does not change. */
    agentjob_batch *batch = batch_of(client, place, 1);
    CHECK_INT(agentjob_batch_add(batch, "job_\xff", "p", 1, NULL, 0, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_TEXT(agentjob_error_message(err), "job_id is not valid UTF-8 at byte 4");
    agentjob_error_free(err);
    CHECK_INT(agentjob_batch_add(batch, "job_1", "\xff", 1, NULL, 0, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_add(batch, "job_1", "p", 1, "\xff", 0, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_add(batch, "job_1", "p", SIZE_MAX - 1, NULL, 0, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_rate(batch, "100 an hour", &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "100/h");
    agentjob_error_free(err);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_ITEMS), 1);
    agentjob_batch_free(batch);
}

static void settings(const agentjob_client *client, const folder *place) {
    agentjob_batch *batch = batch_of(client, place, 1);
    REFUSED(agentjob_batch_set_concurrency(batch, 0, &err), "concurrency is 0. Give 1 to 64.");
    REFUSED(agentjob_batch_set_concurrency(batch, 65, &err), "concurrency is 65");
    REFUSED(agentjob_batch_set_max_outage_ms(batch, 0, &err), "max_outage_ms is 0. Give 1 to 604800000 milliseconds (7 days).");
    REFUSED(agentjob_batch_set_max_busy_ms(batch, 604800001, &err), "max_busy_ms is 604800001. Give 0 to 604800000 milliseconds (7 days).");
    REFUSED(agentjob_batch_set_grace_ms(batch, 604800001, &err), "grace_ms is 604800001. Give 0 to 604800000 milliseconds (7 days).");
    agentjob_batch_free(batch);
    batch = NULL;
    REFUSED(agentjob_batch_new(client, "", &batch, &err), "journal is empty");
    CHECK(batch == NULL);
}

static void a_changed_list(const agentjob_client *client, const folder *place) {
    agentjob_batch *batch = with(client, place, "job_3", "p", 1, "k", 0);
    CHECK_INT(batch_run(batch).deliveries[AGENTJOB_DELIVERY_ACCEPTED], 3);
    refused_at(with(client, place, "job_3", "q", 1, "k", 9), "line 9: its prompt was changed", 3, 9);
    refused_at(with(client, place, "job_4", "p", 1, "k", 0), "item 3: its job was changed", 3, 0);
    refused_at(batch_of(client, place, 2), "item 3", 3, 0);
}

static void a_batch_that_was_started(const agentjob_client *client) {
    folder place = folder_new();
    agentjob_batch *batch = batch_of(client, &place, 1);
    agentjob_cancel *token = agentjob_cancel_new();
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_INT(agentjob_batch_add(batch, "job_2", "p", 1, NULL, 0, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_TEXT(agentjob_error_reason(err), "the batch was already started");
    CHECK_TEXT(agentjob_error_hint(err), "Configure and fill it before agentjob_batch_start().");
    agentjob_error_free(err);
    CHECK_INT(agentjob_batch_start(batch, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_concurrency(batch, 1, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_rate(batch, "1/s", NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_wait(batch, NULL, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_resend_unknown(batch, true, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_max_outage_ms(batch, 1, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_max_busy_ms(batch, 1, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_grace_ms(batch, 1, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(agentjob_batch_set_cancel(batch, token, NULL), AGENTJOB_ERR_INVALID_ARGUMENT);
    tally all = {{0}, {0}, 0};
    CHECK_OK(batch_finish(batch, &all, &err), err); /* and it continues */
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 1);
    agentjob_cancel_free(token);
    agentjob_batch_free(batch);
    folder_remove(&place);
}

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    messages(client, &place);
    settings(client, &place);
    CHECK(access(place.journal, F_OK) != 0); /* not even created */
    CHECK_INT(emulator_messages(&service), 0);
    a_changed_list(client, &place);
    CHECK_INT(emulator_messages(&service), 3);
    a_batch_that_was_started(client);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
