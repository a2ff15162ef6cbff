/* No response comes within the grace period: the message is unknown, the status lists it, and only resend_unknown sends it again. */
#include "batch.h"

int main(void) {
    emulator service = emulator_with_jobs(
        ",\"rules\": [{\"method\": \"POST\", \"nth\": 1, \"status\": 404},"
        "{\"method\": \"POST\", \"nth\": 2, \"fault\": {\"do\": \"stall\", \"at\": \"request\", \"process\": true}}]");
    folder place = folder_new();
    agentjob_error *err = NULL;
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 2);
    CHECK_OK(agentjob_batch_set_concurrency(batch, 1, &err), err);
    CHECK_OK(agentjob_batch_set_grace_ms(batch, 0, &err), err);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    while (emulator_messages(&service) == 0) {
        sleep_ms(5);
    }
    uint64_t began = now_ms();
    agentjob_batch_free(batch);
    CHECK(now_ms() - began < 20000); /* the service is silent for 30 s */

    agentjob_batch_status *status = NULL;
    CHECK_OK(agentjob_batch_status_new(place.journal, &status, &err), err);
    uint64_t number = 0;
    const char *job_id = NULL, *reason = NULL;
    CHECK(agentjob_batch_status_item(status, AGENTJOB_DELIVERY_UNKNOWN, 0, &number, NULL, &job_id, &reason));
    CHECK_INT(number, 2);
    CHECK_TEXT(job_id, "job_2");
    CHECK(!agentjob_batch_status_item(status, AGENTJOB_DELIVERY_UNKNOWN, 1, &number, NULL, &job_id, &reason));
    CHECK(number == 2 && strcmp(job_id, "job_2") == 0); /* not written */
    CHECK(agentjob_batch_status_item(status, AGENTJOB_DELIVERY_REJECTED, 0, &number, NULL, &job_id, &reason));
    CHECK_INT(number, 1);
    CHECK_TEXT(job_id, "job_1");
    CHECK(strstr(reason, "was rejected: the service returned") != NULL);
    CHECK(!agentjob_batch_status_item(status, AGENTJOB_DELIVERY_REJECTED, UINT64_MAX, NULL, NULL, NULL, NULL));
    CHECK(!agentjob_batch_status_item(status, AGENTJOB_DELIVERY_ACCEPTED, 0, NULL, NULL, NULL, NULL));
    CHECK(!agentjob_batch_status_item(status, -7, 0, NULL, NULL, NULL, NULL));
    agentjob_batch_status_free(status);

    /* The next run reports it with its reason and does not send it. */
    batch = batch_of(client, &place, 2);
    CHECK_OK(agentjob_batch_start(batch, &err), err);
    for (int number = 1; number <= 2; number++) {
        agentjob_batch_event *event = NULL;
        CHECK_OK(agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err), err);
        const agentjob_error *why = agentjob_batch_event_error(event);
        CHECK_INT(agentjob_batch_event_number(event), number);
        CHECK(agentjob_batch_event_is_earlier(event));
        CHECK_INT(agentjob_batch_event_delivery(event), number == 1 ? AGENTJOB_DELIVERY_REJECTED : AGENTJOB_DELIVERY_UNKNOWN);
        CHECK_INT(agentjob_error_delivery(why), agentjob_batch_event_delivery(event));
        CHECK(strlen(agentjob_error_message(why)) > 0);
        CHECK_INT(agentjob_error_http_status(why), number == 1 ? 404 : 0);
        agentjob_batch_event_free(event);
    }
    agentjob_batch_free(batch);
    CHECK_INT(emulator_messages(&service), 1);

    batch = batch_of(client, &place, 2);
    CHECK_OK(agentjob_batch_set_resend_unknown(batch, true, &err), err);
    tally all = batch_run(batch);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_ACCEPTED], 1);
    CHECK_INT(all.deliveries[AGENTJOB_DELIVERY_REJECTED], 1);
    CHECK_INT(emulator_messages(&service), 2);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
