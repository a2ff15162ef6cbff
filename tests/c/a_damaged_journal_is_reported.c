/* The last line of a journal is cut off: the next run reports it first, and does not send that message again. */
#include "batch.h"

#include <sys/stat.h>

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 3);
    CHECK_OK(agentjob_batch_set_concurrency(batch, 1, &err), err);
    batch_run(batch);
    struct stat about;
    CHECK(stat(place.journal, &about) == 0 && truncate(place.journal, about.st_size - 3) == 0);

    agentjob_batch_status *status = NULL;
    CHECK_OK(agentjob_batch_status_new(place.journal, &status, &err), err);
    uint64_t dropped = agentjob_batch_status_dropped_bytes(status);
    CHECK(dropped > 100);
    agentjob_batch_status_free(status);

    agentjob_batch_event *event = NULL;
    batch = batch_of(client, &place, 3);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
    CHECK_INT(agentjob_batch_event_kind(event), AGENTJOB_BATCH_KIND_RECOVERED);
    CHECK_TEXT(agentjob_batch_kind_name(AGENTJOB_BATCH_KIND_RECOVERED), "recovered");
    CHECK_INT(agentjob_batch_event_dropped_bytes(event), dropped);
    CHECK_INT(agentjob_batch_event_line(event), 7);
    agentjob_batch_event_free(event);
    tally all = {{0}, {0}, 0};
    CHECK_OK(batch_finish(batch, &all, &err), err);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 2);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_UNKNOWN], 1);
    CHECK_INT(emulator_messages(&service), 3);
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
