/* Between two runs of a batch a program decides about messages: a bad decision writes nothing, a good one has its effect once. */
#include "batch.h"

#define RULES                                                                                                                       \
    ",\"rules\":[{\"method\":\"POST\",\"path\":\"/v2/agent/*/job/job_2/message\",\"nth\":1,"                                        \
    "\"fault\":{\"do\":\"close\",\"at\":\"request\",\"process\":true}},"                                                            \
    "{\"method\":\"POST\",\"path\":\"/v2/agent/*/job/job_3/message\",\"nth\":1,\"fault\":{\"do\":\"close\",\"at\":\"request\"}},"   \
    "{\"method\":\"POST\",\"path\":\"/v2/agent/*/job/job_4/message\",\"nth\":1,\"status\":422},"                                   \
    "{\"method\":\"POST\",\"path\":\"/v2/agent/*/job/job_5/message\",\"nth\":1,\"status\":422}]"

static agentjob_error *err;

#define REFUSED(expression, code, text)                              \
    do {                                                             \
        CHECK_INT((expression), (code));                             \
        CHECK(strstr(agentjob_error_message(err), (text)) != NULL);  \
        agentjob_error_free(err);                                    \
    } while (0)

static void bad_decisions(const char *journal) {
    uint64_t decided = 7;
    const char *accepted[] = {"2", "1"}, *rejected[] = {"4"}, *twice[] = {"2", "2"}, *nobody[] = {"nobody"}, *null[] = {NULL};
    const int32_t arrived = AGENTJOB_RESOLUTION_ARRIVED, usage = AGENTJOB_ERR_INVALID_ARGUMENT;
    REFUSED(agentjob_batch_resolve(journal, NULL, 0, arrived, &decided, &err), usage, "no item is named");
    REFUSED(agentjob_batch_resolve(journal, accepted, 2, arrived, &decided, &err), usage, "item 1 cannot be decided: its message was accepted");
    REFUSED(agentjob_batch_resolve(journal, rejected, 1, arrived, &decided, &err), usage, "item 4 cannot be decided: its message was rejected");
    REFUSED(agentjob_batch_resolve(journal, twice, 2, arrived, &decided, &err), usage, "item 2 is named twice");
    REFUSED(agentjob_batch_resolve(journal, nobody, 1, arrived, &decided, &err), usage, "item \"nobody\" is not in the journal");
    REFUSED(agentjob_batch_resolve(journal, null, 1, arrived, &decided, &err), usage, "item is NULL");
    REFUSED(agentjob_batch_resolve(journal, accepted, 1, 3, &decided, &err), usage, "resolution is 3. Give an AGENTJOB_RESOLUTION_ number.");
    REFUSED(agentjob_batch_retry(journal, accepted, 1, NULL, 0, &decided, &err), usage, "item 2 cannot be decided: its message was not rejected");
    REFUSED(agentjob_batch_retry(journal, rejected, 1, "", 0, &decided, &err), usage, "prompt is empty");
    REFUSED(agentjob_batch_drop(journal, accepted, 2, &decided, &err), usage, "item 1 cannot be decided: its message was accepted");
    REFUSED(agentjob_batch_drop("/nowhere/at/all", rejected, 1, &decided, &err), AGENTJOB_ERR_JOURNAL, "does not exist");
    CHECK_INT(decided, 7);
}

static void the_status_has_the_decisions(const char *journal) {
    agentjob_batch_status *status = NULL;
    CHECK_OK(agentjob_batch_status_new(journal, &status, &err), err);
    const agentjob_batch_progress *progress = agentjob_batch_status_progress(status);
    CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_DROPPED), 1);
    CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_FAILED), 0);
    CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_LEFT), 2);
    CHECK_INT(agentjob_batch_status_new_prompts(status), 1);
    const char *wanted[] = {"arrived", "not_arrived", "retry", "drop"};
    uint64_t number = 0;
    const char *key = NULL, *job_id = NULL, *decision = NULL, *at = NULL;
    for (uint64_t index = 0; index < 4; index++) {
        CHECK(agentjob_batch_status_decision(status, index, &number, &key, &job_id, &decision, &at));
        CHECK_INT(number, index + 2);
        CHECK_TEXT(decision, wanted[index]);
        CHECK(strlen(key) == 32 && strncmp(job_id, "job_", 4) == 0 && strstr(at, "T") != NULL);
    }
    CHECK(!agentjob_batch_status_decision(status, 4, NULL, NULL, NULL, NULL, NULL));
    agentjob_batch_status_free(status);
}

static void the_export_is_csv_or_json_lines(const char *journal) {
    const char *begin[] = {"item,key,job_id,state,decision,decided_at,at,http_status,reason,status,pr_link\r\n1,", "{\"item\":1,\"key\":\""};
    for (int32_t format = AGENTJOB_EXPORT_FORMAT_CSV; format <= AGENTJOB_EXPORT_FORMAT_JSONL; format++) {
        agentjob_batch_export *export = NULL;
        size_t len = 0;
        CHECK_OK(agentjob_batch_export_new(journal, format, &export, &err), err);
        const char *text = agentjob_batch_export_text(export, &len);
        CHECK(len == strlen(text) && strncmp(text, begin[format], strlen(begin[format])) == 0);
        CHECK(strstr(text, "dropped") != NULL);
        agentjob_batch_export_free(export);
    }
    agentjob_batch_export *export = NULL;
    REFUSED(agentjob_batch_export_new(journal, 2, &export, &err), AGENTJOB_ERR_INVALID_ARGUMENT, "format is 2. Give an AGENTJOB_EXPORT_FORMAT_ number.");
    CHECK(export == NULL);
}

int main(void) {
    emulator service = emulator_with_jobs(RULES);
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    batch_run(batch_of(client, &place, 5));
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_UNKNOWN), 2);
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_REJECTED), 2);
    bad_decisions(place.journal);
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_UNKNOWN), 2);

    const char *two[] = {"2"}, *three[] = {"3"}, *four[] = {"4"}, *all[] = {"all"};
    uint64_t decided = 0;
    CHECK_OK(agentjob_batch_resolve(place.journal, two, 1, AGENTJOB_RESOLUTION_ARRIVED, &decided, &err), err);
    CHECK_OK(agentjob_batch_resolve(place.journal, three, 1, AGENTJOB_RESOLUTION_NOT_ARRIVED, NULL, &err), err);
    CHECK_OK(agentjob_batch_retry(place.journal, four, 1, "a better message", AGENTJOB_NUL_TERMINATED, NULL, &err), err);
    CHECK_OK(agentjob_batch_drop(place.journal, all, 1, &decided, &err), err);
    CHECK_INT(decided, 1);
    the_status_has_the_decisions(place.journal);
    the_export_is_csv_or_json_lines(place.journal);

    agentjob_batch *batch = batch_of(client, &place, 5);
    REFUSED(agentjob_batch_start(batch, &err), AGENTJOB_ERR_INVALID_ARGUMENT, "to retry it with a new prompt, which this run does not have");
    agentjob_batch_free(batch);
    for (int earlier = 2; earlier <= 4; earlier += 2) {
        batch = batch_of(client, &place, 5);
        CHECK_OK(agentjob_batch_add_retry_prompt(batch, "a better message", AGENTJOB_NUL_TERMINATED, &err), err);
        tally all_of_it = batch_run(batch);
        CHECK_INT(all_of_it.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 4);
        CHECK_INT(all_of_it.earlier, earlier);
    }
    CHECK_INT(emulator_messages(&service), 4);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
