/* A batch sends each message once, and a second run of it sends none. Checks its outcomes and its status. */
#include "batch.h"

static void the_first_run(const agentjob_client *client, const folder *place) {
    agentjob_error *err = NULL;
    agentjob_batch *batch = batch_of(client, place, 19);
    CHECK_OK(agentjob_batch_add(batch, "job_20", "one\0two", 7, "the last", 77, &err), err);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_ITEMS), 20);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_LEFT), 20);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    bool seen[21] = {false};
    while (!agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        if (event == NULL) {
            continue;
        }
        uint64_t number = agentjob_batch_event_number(event);
        char job_id[16];
        CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_OUTCOME);
        CHECK(number >= 1 && number <= 20 && !seen[number]);
        seen[number] = true;
        snprintf(job_id, sizeof job_id, "job_%d", (int)number);
        CHECK_TEXT(agentjob_batch_event_job_id(event), job_id);
        CHECK_TEXT(agentjob_job_id(agentjob_batch_event_job(event)), job_id);
        CHECK_INT(agentjob_batch_event_delivery(event), AGENTJOB_DELIVERY_ACCEPTED);
        CHECK(agentjob_batch_event_error(event) == NULL && !agentjob_batch_event_is_earlier(event));
        uint64_t pause_ms = 7;
        CHECK_INT(agentjob_batch_event_pause(event, &pause_ms), AGENTJOB_PAUSE_NONE);
        CHECK_INT(pause_ms, 0);
        CHECK_INT(agentjob_batch_event_line(event), number == 20 ? 77 : 0);
        if (number == 20) {
            CHECK_TEXT(agentjob_batch_event_key(event), "the last");
        } else {
            CHECK(strlen(agentjob_batch_event_key(event)) > 0); /* made from its content and position */
        }
        agentjob_batch_event_free(event);
    }
    for (int number = 1; number <= 20; number++) {
        CHECK(seen[number]);
    }
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_ACCEPTED), 20);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_DONE), 20);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_LEFT), 0);
    CHECK_INT(agentjob_batch_progress_finishes_in_ms(agentjob_batch_get_progress(batch)), 0);
    agentjob_batch_free(batch);
}

/* Events stay valid after their batch is freed. */
static void the_second_run(const agentjob_client *client, const folder *place) {
    agentjob_error *err = NULL;
    agentjob_batch *batch = batch_of(client, place, 19);
    agentjob_batch_event *events[20];
    CHECK_OK(agentjob_batch_add(batch, "job_20", "one\0two", 7, "the last", 78, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &events[i], &err), err);
    }
    agentjob_batch_free(batch);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(agentjob_batch_event_number(events[i]), i + 1);
        CHECK_INT(agentjob_batch_event_delivery(events[i]), AGENTJOB_DELIVERY_ACCEPTED);
        CHECK(agentjob_batch_event_is_earlier(events[i]));
        CHECK_TEXT(agentjob_job_id(agentjob_batch_event_job(events[i])), agentjob_batch_event_job_id(events[i]));
        agentjob_batch_event_free(events[i]);
    }
}

static void the_journal(const emulator *service, const folder *place) {
    agentjob_error *err = NULL;
    agentjob_batch_status *status = NULL;
    CHECK_OK(agentjob_batch_status_new(place->journal, &status, &err), err);
    const agentjob_batch_progress *progress = agentjob_batch_status_progress(status);
    CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_ITEMS), 20);
    CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_ACCEPTED), 20);
    CHECK_INT(agentjob_batch_progress_count(progress, AGENTJOB_COUNT_DONE), 20);
    uint64_t remaining_ms = 7;
    CHECK_INT(agentjob_batch_progress_pause(progress, &remaining_ms), AGENTJOB_PAUSE_NONE);
    CHECK_INT(remaining_ms, 0);
    CHECK_INT(agentjob_batch_status_runs(status), 2);
    CHECK_INT(agentjob_batch_status_pid(status), getpid());
    CHECK(!agentjob_batch_status_is_running(status) && !agentjob_batch_status_waits(status));
    CHECK_TEXT(agentjob_batch_status_base_url(status), service->base_url);
    CHECK_TEXT(agentjob_batch_status_project_id(status), service->project_id);
    CHECK(agentjob_batch_status_rate(status) == NULL);
    CHECK_HOLDS(agentjob_batch_status_began_at(status), "T");
    CHECK_HOLDS(agentjob_batch_status_written_at(status), "T");
    CHECK(!agentjob_batch_status_item(status, AGENTJOB_DELIVERY_UNKNOWN, 0, NULL, NULL, NULL, NULL));
    CHECK(!agentjob_batch_status_item(status, AGENTJOB_DELIVERY_REJECTED, 0, NULL, NULL, NULL, NULL));
    agentjob_batch_status_free(status);
}

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    the_first_run(client, &place);
    CHECK_INT(emulator_messages(&service), 20);
    the_second_run(client, &place);
    CHECK_INT(emulator_messages(&service), 20);
    the_journal(&service, &place);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
