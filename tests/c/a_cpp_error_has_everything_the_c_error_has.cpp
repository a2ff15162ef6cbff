// agentjob.hpp: a thrown error has everything that the C error has, and can be kept after its call.
#include <agentjob_batch.hpp>

#include "support.hpp"

using namespace std::chrono_literals;

static void a_rejection_has_the_services_text() {
    service service("{\"rules\": [{\"status\": 429, \"json\": {\"error\": \"slow down\"},"
                    " \"headers\": {\"Retry-After\": \"300\", \"x-request-id\": \"req_7\"}}]}");
    std::exception_ptr kept;
    try {
        service.client().send_message("job_1", "Go on");
    } catch (const std::exception &) {
        kept = std::current_exception();
    }
    const agentjob::error error = error_of([&] { std::rethrow_exception(kept); });
    CHECK(error.code() == AGENTJOB_ERR_RATE_LIMIT && error.kind() == "rate_limit" && error.http_status() == 429);
    CHECK(error.delivery() == AGENTJOB_DELIVERY_REJECTED);
    CHECK_TEXT(error.delivery_name(), "rejected");
    CHECK(error.retry_after() == 300s && error.request_id() == "req_7" && error.attempts() == 1 && error.elapsed() < 60s);
    const std::string body = error.body().value();
    CHECK_HOLDS(body.c_str(), "slow down");
    CHECK_HOLDS(error.what(), "slow down");
    const std::string reason = error.reason();
    CHECK_HOLDS(reason.c_str(), "slow down");
    CHECK(reason.find("job_1") == std::string::npos && (!error.hint() || !error.hint()->empty()));
    CHECK(!error.job());
}

static void a_wait_that_times_out_has_the_last_record() {
    service service("{\"work_ms\": 60000}");
    const agentjob::error error = error_of([&] {
        agentjob::call call = impatient();
        service.client().send_and_wait(service.it.job_id, "Go on", call.wait_timeout(150ms));
    });
    CHECK(error.code() == AGENTJOB_ERR_WAIT_TIMEOUT && error.delivery() == AGENTJOB_DELIVERY_ACCEPTED);
    CHECK(error.job()->status() == AGENTJOB_STATUS_ACTIVE && error.elapsed() >= 150ms);
    CHECK(!error.retry_after() && !error.request_id() && !error.body() && error.http_status() == 0);
}

static void a_wrong_message_of_a_batch_is_named_by_its_number_and_line() {
    service service;
    agentjob::batch batch(service.client(), "/nowhere/night.journal");
    batch.add("job_1", "Go on").add("job_2", "", std::nullopt, 17);
    const agentjob::error error = error_of([&] { batch.start(); });
    CHECK(error.item() == 2 && error.line() == 17 && error.reason() == "prompt is empty");
    const agentjob::error file = error_of([&] { agentjob::batch(service.client(), "j").add_file("/nowhere/messages.csv"); });
    CHECK(file.code() == AGENTJOB_ERR_INVALID_ARGUMENT && file.item() == 0 && file.line() == 0);
}

static void a_nul_in_an_id_is_refused_and_not_cut_off() {
    service service;
    const agentjob::client client = service.client();
    const std::string id = std::string("job_demo") + '\0' + "_other";
    const agentjob::error sent = error_of([&] { client.send_message(id, "Go on"); });
    CHECK(sent.code() == AGENTJOB_ERR_INVALID_ARGUMENT && sent.delivery() == AGENTJOB_DELIVERY_NOT_SENT && sent.kind() == "invalid_argument");
    CHECK_TEXT(sent.what(), "job_id contains a NUL at byte 8");
    CHECK(sent.reason() == sent.what() && !sent.hint());
    CHECK(!sent.get() && !sent.job() && !sent.body() && !sent.retry_after() && sent.attempts() == 0 && sent.elapsed() == 0ms);
    CHECK(sent.item() == 0 && sent.line() == 0);
    CHECK(error_of([&] { client.send_and_wait(id, "Go on"); }).delivery() == AGENTJOB_DELIVERY_NOT_SENT);
    CHECK(error_of([&] { client.get_job(id); }).delivery() == AGENTJOB_DELIVERY_NONE);
    CHECK(error_of([&] { client.wait(id); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK(error_of([&] { client.poller(id); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK(error_of([&] { agentjob::poller::from_text(id); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK(message_of([&] { agentjob::options().api_key(id); }) == "api_key contains a NUL at byte 8");
    CHECK(error_of([&] { client.send_message("job\xff", "Go on"); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK(error_of([&] { client.send_message("job_demo", {}); }).delivery() == AGENTJOB_DELIVERY_NOT_SENT);
    CHECK_INT(emulator_messages(&service.it), 0);
}

// C has no negative times: -1 ms would become a very long one or none.
static void a_negative_time_is_refused_everywhere() {
    service service;
    const auto refused = [](auto set, const std::string &name) {
        return std::string(error_of(set).what()).find(name + " is negative. Give ") == 0;
    };
    agentjob::options options = service.options();
    CHECK(refused([&] { options.timeout(-1ms); }, "timeout_ms"));
    CHECK(refused([&] { options.connect_timeout(-1s); }, "connect_timeout_ms"));
    CHECK(refused([&] { options.max_retry_after(-1ms); }, "max_retry_after_ms"));
    CHECK(error_of([&] { options.timeout(agentjob::forever); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    const agentjob::client client = service.client();
    agentjob::call call;
    CHECK(refused([&] { call.wait_timeout(-1ms); }, "wait_timeout_ms"));
    CHECK(refused([&] { call.settle(-1ms); }, "settle_ms"));
    CHECK(refused([&] { call.timeout(-1ms); }, "timeout_ms"));
    CHECK(refused([&] { call.poll_interval(-1ms, 1s); }, "min_ms"));
    agentjob::call endless;
    CHECK(client.wait(service.it.job_id, endless.wait_timeout(agentjob::forever)).is_terminal());
}

static void a_moved_from_object_is_refused_and_breaks_nothing() {
    service service;
    agentjob::client client = service.client();
    agentjob::client taken = std::move(client);
    CHECK(message_of([&] { client.send_message("job_1", "Go on"); }) == "client is NULL");
    agentjob::options options = service.options();
    agentjob::options more = std::move(options);
    CHECK(message_of([&] { options.api_key("key"); }) == "options is NULL");
    CHECK(client.base_url().empty());
    client = std::move(taken);
    CHECK(client.get_job(service.it.job_id).is_terminal());
}

int main() {
    a_rejection_has_the_services_text();
    a_wait_that_times_out_has_the_last_record();
    a_wrong_message_of_a_batch_is_named_by_its_number_and_line();
    a_nul_in_an_id_is_refused_and_not_cut_off();
    a_negative_time_is_refused_everywhere();
    a_moved_from_object_is_refused_and_breaks_nothing();
    return 0;
}
