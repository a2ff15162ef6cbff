// agentjob.hpp from start to end: options, a message, its running job, its result; objects that can be moved but not copied.
#include <thread>
#include <type_traits>
#include <vector>

#include "support.hpp"

using namespace std::chrono_literals;

template <class T>
constexpr bool move_only = std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> && !std::is_copy_constructible_v<T>;
static_assert(move_only<agentjob::client> && move_only<agentjob::options> && move_only<agentjob::call>);
static_assert(move_only<agentjob::cancel_token> && move_only<agentjob::job> && move_only<agentjob::poller>);
static_assert(std::is_nothrow_copy_constructible_v<agentjob::error> && std::is_base_of_v<std::runtime_error, agentjob::error>);
// Seconds convert to milliseconds; microseconds do not compile, because they might lose precision.
static_assert(std::is_convertible_v<std::chrono::seconds, std::chrono::milliseconds>);
static_assert(!std::is_convertible_v<std::chrono::microseconds, std::chrono::milliseconds>);

static void every_field_can_be_read() {
    service service("{\"work_ms\": 300, \"jobs\": [{\"id\": \"job_1\", \"status\": \"completed\", \"model\": \"large\", \"branch\": \"fix\","
                    " \"source\": {\"repository\": \"https://example.com/r\", \"ref\": null}, \"createdAt\": \"2026-01-02T03:04:05.678Z\"}]}");
    agentjob::client client = service.client();
    CHECK(client.base_url() == service.it.base_url && client.project_id() == service.it.project_id && !client.is_closed());

    int seen = 0;
    agentjob::call call = impatient();
    call.timeout(5s).lateness(0.2).settle(1s).progress([&seen](const agentjob::job &job) {
        CHECK(job.id() == "job_1");
        return ++seen > 0;
    });
    agentjob::call moved = std::move(call);  // moves the progress function, too
    agentjob::job job = client.send_and_wait("job_1", "Also cover the error cases", moved);
    CHECK(job.status() == AGENTJOB_STATUS_COMPLETED && job.status_name() == "completed" && job.is_terminal());
    CHECK(job.source_repository() == "https://example.com/r" && !job.source_ref() && job.model() == "large" && job.pr_link());
    CHECK(job.created_at_text() == "2026-01-02T03:04:05.678Z" && !job.archived_at_text() && !job.archived_at());
    CHECK(job.created_at() == std::chrono::system_clock::time_point(1767323045678ms));
    CHECK(seen >= 2);  // active, then done
    const std::string json = job.json();
    CHECK_HOLDS(json.c_str(), "\"branch\":\"fix\"");

    agentjob::job kept = job.clone();
    job = client.get_job("job_1");
    CHECK(kept.json() == json && job.json() == json);
    CHECK(client.create_job("Begin").status() == AGENTJOB_STATUS_ACTIVE);
    CHECK_INT(emulator_messages(&service.it), 2);
}

static void texts_need_no_nul_and_prompts_may_contain_one() {
    service service;
    agentjob::client client = service.client();
    const std::string_view part = std::string_view("job_demo and more").substr(0, 8);
    client.send_message(part, std::string_view("a\0b", 3));
    CHECK_HOLDS(emulator_ledger(&service.it), "\"a\\u0000b\"");
    client.send_message(part, std::string("first only").substr(0, 5));
    CHECK_HOLDS(emulator_ledger(&service.it), "\"first\"");
}

static void one_client_serves_many_threads() {
    service service;
    const agentjob::client client = service.client();
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) {
        threads.emplace_back([&] { CHECK(client.send_message(service.it.job_id, "Go on").id() == service.it.job_id); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK_INT(emulator_messages(&service.it), 8);
}

static void events_are_reported_and_their_exceptions_are_discarded() {
    service service;
    std::string last;
    auto alive = std::make_shared<int>();
    std::weak_ptr<int> function = alive;
    {
        agentjob::client client = [&] {
            agentjob::options options = service.options();
            options.on_event([](std::string_view) {}).on_event([&last, alive = std::move(alive)](std::string_view json) {
                last = json;
                throw std::runtime_error("the log is full");
            });
            return agentjob::client(options);
        }();
        client.send_message(service.it.job_id, "Go on");
        CHECK_HOLDS(last.c_str(), "\"event\":\"response\"");
        CHECK_HOLDS(last.c_str(), "\"first_byte\":");
        CHECK(!function.expired());
    }
    CHECK(function.expired());  // it is destroyed with the last client
}

static void headers_are_set_and_checked_at_once() {
    service service("{\"rules\": [{\"status\": 400, \"body\": \"no session walrus5ginger8comet2\"}]}");
    agentjob::options options = service.options();
    options.header("X-Tenant", "acme").header("X-Session", "walrus5ginger8comet2");
    agentjob::client client(options);
    agentjob::call call;
    call.header("traceparent", "00-1-2-01");
    const agentjob::error refused = error_of([&] { client.send_message("job_demo", "p", call); });
    CHECK(refused.body() == "no session ***");
    CHECK(message_of([&] { call.header("Host", "a"); }) == "header Host cannot be set: it comes from base_url");
    CHECK(message_of([&] { options.header("X", std::string_view("a\0b", 3)); }) == "value contains a NUL at byte 1");
    CHECK(message_of([&] { client.set_api_key(""); }) == "api_key is empty. Give the key as the service shows it.");
    client.set_api_key("another_key_that_is_wrong");
}

int main() {
    headers_are_set_and_checked_at_once();
    every_field_can_be_read();
    texts_need_no_nul_and_prompts_may_contain_one();
    one_client_serves_many_threads();
    events_are_reported_and_their_exceptions_are_discarded();
    return 0;
}
