// agentjob.hpp: a progress function that returns false, a token triggered by another thread, a client that is closed.
#include <thread>

#include "support.hpp"

using namespace std::chrono_literals;

static const char *const RUNNING = "{\"work_ms\": 60000, \"jobs\": [{\"id\": \"job_1\", \"status\": \"active\"}]}";

static void progress_that_returns_false_cancels() {
    service service(RUNNING);
    agentjob::call call = impatient();
    const auto never = [](const agentjob::job &) -> bool { exit(1); };
    call.progress(never).progress([](const agentjob::job &) { return false; });  // the second one counts
    const agentjob::error error = error_of([&] { service.client().send_and_wait("job_1", "Go on", call); });
    CHECK(error.code() == AGENTJOB_ERR_CANCELLED && error.delivery() == AGENTJOB_DELIVERY_ACCEPTED);
    CHECK(error.job()->id() == "job_1");
}

static void another_thread_triggers_a_token() {
    service service(RUNNING);
    const agentjob::client client = service.client();
    const agentjob::cancel_token token;
    agentjob::call call;
    call.wait_timeout(agentjob::forever).poll_interval(60s, 60s).cancel(token);
    std::thread thread;
    call.progress([&](const agentjob::job &) {  // so the wait is running
        thread = std::thread([&] { token.trigger(); });
        return true;
    });
    const auto began = std::chrono::steady_clock::now();
    CHECK(error_of([&] { client.wait("job_1", call); }).code() == AGENTJOB_ERR_CANCELLED);
    CHECK(std::chrono::steady_clock::now() - began < 20s);  // the poll interval is a minute
    thread.join();
    CHECK(token.is_triggered());
}

static void closing_ends_the_calls_of_every_thread() {
    service service(RUNNING);
    const agentjob::client client = service.client();
    std::thread thread([&] { CHECK(error_of([&] { client.wait("job_1"); }).code() == AGENTJOB_ERR_CLOSED); });
    client.close();
    thread.join();
    CHECK(client.is_closed());
}

static void a_poller_resumes_from_its_text() {
    service service("{\"work_ms\": 3000}");
    const agentjob::client client = service.client();
    client.send_message(service.it.job_id, "Go on");
    std::string text;
    {
        agentjob::poller poller = client.poller(service.it.job_id, impatient());
        CHECK(!poller.job() && poller.job_id() == service.it.job_id && poller.due_in() <= 40ms);
        CHECK(!poller.poll(client) && !poller.is_done() && poller.job()->status() == AGENTJOB_STATUS_ACTIVE);
        text = poller.to_text();
    }
    agentjob::poller poller = agentjob::poller::from_text(text);
    CHECK(poller.job_id() == service.it.job_id);
    do {
        std::this_thread::sleep_for(poller.due_in());
    } while (!poller.poll(client));
    CHECK(poller.is_done() && poller.job()->status() == AGENTJOB_STATUS_COMPLETED && poller.due_in() == 0ms);
    CHECK(error_of([] { agentjob::poller::from_text("{}"); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
}

int main() {
    progress_that_returns_false_cancels();
    another_thread_triggers_a_token();
    closing_ends_the_calls_of_every_thread();
    a_poller_resumes_from_its_text();
    return 0;
}
