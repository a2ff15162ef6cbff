/* Shared by the programs about batches, in addition to support.h: a folder for the journal, a service with many jobs, a batch's run. */
#ifndef BATCH_H
#define BATCH_H

#include "support.h"

/* A folder for one journal. */
typedef struct folder {
    char path[160];
    char journal[192];
} folder;

static inline folder folder_new(void) {
    folder it;
    folder_make(it.path, sizeof it.path);
    snprintf(it.journal, sizeof it.journal, "%s/run.journal", it.path);
    return it;
}

static inline void folder_remove(const folder *it) {
    unlink(it->journal);
    CHECK(rmdir(it->path) == 0);
}

#ifdef __cplusplus
/* One that is removed when its scope ends, after the batches in it: Windows removes no file that is open. */
struct own_folder : folder {
    own_folder() : folder(folder_new()) {}
    own_folder(const own_folder &) = delete;
    own_folder &operator=(const own_folder &) = delete;
    ~own_folder() { folder_remove(this); }
};
#endif

/* An emulator with the jobs job_1 to job_20; `more` is more of its configuration, like ",\"work_ms\": 50". */
static inline emulator emulator_with_jobs(const char *more) {
    char config[4000];
    size_t len = (size_t)snprintf(config, sizeof config, "{\"hourly_limit\": 100000, \"jobs\": [");
    for (int job = 1; job <= 20; job++) {
        len += (size_t)snprintf(config + len, sizeof config - len, "%s{\"id\": \"job_%d\", \"status\": \"completed\"}",
                                job > 1 ? "," : "", job);
    }
    CHECK((size_t)snprintf(config + len, sizeof config - len, "]%s}", more) < sizeof config - len);
    return emulator_start(config);
}

/* Adds messages 1 to n, each for its own job. */
static inline void batch_fill(agentjob_batch *batch, int n) {
    for (int number = 1; number <= n; number++) {
        agentjob_error *err = NULL;
        char job_id[16], prompt[32];
        snprintf(job_id, sizeof job_id, "job_%d", number);
        snprintf(prompt, sizeof prompt, "message %d", number);
        CHECK_OK(agentjob_batch_add(batch, job_id, prompt, AGENTJOB_NUL_TERMINATED, NULL, 0, &err), err);
    }
}

/* A batch of n messages that was not started. */
static inline agentjob_batch *batch_of(const agentjob_client *client, const folder *place, int n) {
    agentjob_error *err = NULL;
    agentjob_batch *batch = NULL;
    CHECK_OK(agentjob_batch_new(client, place->journal, &batch, &err), err);
    batch_fill(batch, n);
    return batch;
}

/* How many events of each kind a batch reported. */
typedef struct tally {
    int kinds[9], deliveries[5], earlier;
} tally;

static inline void tally_event(tally *it, const agentjob_batch_event *event) {
    int32_t kind = agentjob_batch_event_kind(event), delivery = agentjob_batch_event_delivery(event);
    CHECK(kind >= 0 && kind < 9 && delivery >= 0 && delivery < 5);
    it->kinds[kind]++;
    if (kind == AGENTJOB_BATCH_KIND_OUTCOME) {
        it->deliveries[delivery]++;
        it->earlier += agentjob_batch_event_is_earlier(event);
    }
}

/* Runs a started batch until it is over; returns its last code. */
static inline agentjob_code batch_finish(agentjob_batch *batch, tally *it, agentjob_error **err) {
    agentjob_code code = AGENTJOB_OK;
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        code = agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, err);
        tally_event(it, event);
        agentjob_batch_event_free(event);
    }
    return code;
}

/* Starts a batch, runs it until it is over, and frees it. */
static inline tally batch_run(agentjob_batch *batch) {
    tally it = {{0}, {0}, 0};
    agentjob_error *err = NULL;
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_OK(batch_finish(batch, &it, &err), err);
    agentjob_batch_free(batch);
    return it;
}

static inline uint64_t batch_count(agentjob_batch *batch, agentjob_count count) {
    return agentjob_batch_progress_count(agentjob_batch_get_progress(batch), (int32_t)count);
}

/* One count of a journal. */
static inline uint64_t journal_count(const folder *place, agentjob_count count) {
    agentjob_error *err = NULL;
    agentjob_batch_status *status = NULL;
    CHECK_OK(agentjob_batch_status_new(place->journal, &status, &err), err);
    uint64_t counted = agentjob_batch_progress_count(agentjob_batch_status_progress(status), (int32_t)count);
    agentjob_batch_status_free(status);
    return counted;
}

#endif
