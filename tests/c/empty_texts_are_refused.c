/* Every text parameter of every function refuses an empty text, in each way to pass one; the error names it, and nothing is sent. */
#include "batch.h"

static agentjob_error *err;

#define REFUSED(name, delivery, expression)                            \
    do {                                                               \
        CHECK_INT((expression), AGENTJOB_ERR_INVALID_ARGUMENT);        \
        CHECK_HOLDS(agentjob_error_message(err), name);                \
        CHECK_INT(agentjob_error_delivery(err), delivery);             \
        agentjob_error_free(err);                                      \
    } while (0)

/* One option is empty: its setter refuses it at once, or it means none. */
#define SETTING(setting, accepted)                                                             \
    do {                                                                                       \
        agentjob_client *client_ = NULL;                                                       \
        agentjob_options *options_ = emulator_options(&service);                               \
        agentjob_code code_ = agentjob_options_set_##setting(options_, "", &err);              \
        if (accepted) {                                                                        \
            CHECK_OK(agentjob_client_new(options_, &client_, &err), err);                      \
        }                                                                                      \
        CHECK_INT(code_, (accepted) ? AGENTJOB_OK : AGENTJOB_ERR_INVALID_ARGUMENT);            \
        if (!(accepted)) {                                                                     \
            CHECK_HOLDS(agentjob_error_message(err), #setting);                                \
        }                                                                                      \
        agentjob_error_free(err);                                                              \
        agentjob_client_free(client_);                                                         \
        agentjob_options_free(options_);                                                       \
    } while (0)

int main(void) {
    emulator service = emulator_start("{}");
    agentjob_client *client = emulator_client(&service);
    agentjob_job *job = NULL;
    agentjob_poller *poller = NULL;

    SETTING(base_url, false);
    SETTING(api_key, false);
    SETTING(project_id, false);
    SETTING(api_key_file, false);
    SETTING(ca_file, false);
    SETTING(client_key, false);
    SETTING(client_cert, false);
    SETTING(proxy, false);
    SETTING(user_agent_suffix, true);

    REFUSED("job_id", AGENTJOB_DELIVERY_NONE, agentjob_client_get_job(client, "", NULL, &job, &err));
    REFUSED("job_id", AGENTJOB_DELIVERY_NONE, agentjob_client_wait(client, "", NULL, &job, &err));
    REFUSED("job_id", AGENTJOB_DELIVERY_NONE, agentjob_poller_new(client, "", NULL, &poller, &err));
    REFUSED("poller's text", AGENTJOB_DELIVERY_NONE, agentjob_poller_new_from_text("", &poller, &err));
    REFUSED("job_id", AGENTJOB_DELIVERY_NOT_SENT, agentjob_client_send_message(client, "", "p", 1, NULL, &job, &err));
    REFUSED("job_id", AGENTJOB_DELIVERY_NOT_SENT, agentjob_client_send_and_wait(client, "", "p", 1, NULL, &job, &err));

    const struct {
        const char *text;
        size_t len;
    } empty[] = {{"", 0}, {"", AGENTJOB_NUL_TERMINATED}, {NULL, 0}, {"unused", 0}};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        const char *text = empty[i].text;
        size_t len = empty[i].len;
        REFUSED("prompt is empty", AGENTJOB_DELIVERY_NOT_SENT,
                agentjob_client_send_message(client, "job_demo", text, len, NULL, &job, &err));
        REFUSED("prompt is empty", AGENTJOB_DELIVERY_NOT_SENT, agentjob_client_create_job(client, text, len, NULL, &job, &err));
        REFUSED("prompt is empty", AGENTJOB_DELIVERY_NOT_SENT,
                agentjob_client_send_and_wait(client, "job_demo", text, len, NULL, &job, &err));
    }
    agentjob_batch_status *status = NULL;
    agentjob_batch_export *exported = NULL;
    const char *items[] = {"a"};
    REFUSED("journal is empty", AGENTJOB_DELIVERY_NONE, agentjob_batch_status_new("", &status, &err));
    REFUSED("journal is empty", AGENTJOB_DELIVERY_NONE, agentjob_batch_resolve("", items, 1, AGENTJOB_RESOLUTION_ARRIVED, NULL, &err));
    REFUSED("journal is empty", AGENTJOB_DELIVERY_NONE, agentjob_batch_retry("", items, 1, NULL, 0, NULL, &err));
    REFUSED("journal is empty", AGENTJOB_DELIVERY_NONE, agentjob_batch_drop("", items, 1, NULL, &err));
    REFUSED("journal is empty", AGENTJOB_DELIVERY_NONE, agentjob_batch_export_new("", AGENTJOB_EXPORT_FORMAT_CSV, &exported, &err));
    REFUSED("journal is empty", AGENTJOB_DELIVERY_NONE, agentjob_batch_write_report("", "report.html", true, &err));
    CHECK(job == NULL && poller == NULL && status == NULL && exported == NULL);
    CHECK_INT(emulator_messages(&service), 0);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
