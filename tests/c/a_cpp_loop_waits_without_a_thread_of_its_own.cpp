// Pollers and batches in an event loop of C++: their descriptors, their due times, and what ends a poll.

#include <chrono>
#include <string>

#include "batch.h"
#include "support.hpp"
#include <agentjob_batch.hpp>

using namespace std::chrono_literals;

static bool is_readable(int fd, int timeout_ms) {
    struct pollfd one = {};
    one.fd = static_cast<decltype(one.fd)>(fd);
    one.events = POLLIN;
    return poll(&one, 1, timeout_ms) == 1 && (one.revents & POLLIN) != 0;
}

static void a_poller_waits(const agentjob::client &client) {
    agentjob::call settings;
    settings.poll_interval(10ms, 20ms).settle(0ms);
    client.send_message("job_1", "go");
    agentjob::poller poller = client.poller("job_1", settings);
    const int fd = poller.fd();
    CHECK(fd > 2 && !is_readable(fd, 0));
    CHECK(message_of([&] { poller.finish(); }).find("no poll is in progress") != std::string::npos);
    int polls = 0;
    for (bool done = false; !done; polls++) {
        CHECK(poller.due_in() <= 20ms);
        poller.start(client);
        CHECK(message_of([&] { poller.start(client); }).find("a poll is in progress") != std::string::npos);
        CHECK(is_readable(fd, 60000));
        done = poller.finish();
        CHECK(!is_readable(fd, 0) && poller.fd() == fd && poller.is_done() == done);
    }
    CHECK(polls > 1 && poller.job()->status() == AGENTJOB_STATUS_COMPLETED);

    agentjob::poller ended = client.poller("job_1");
    agentjob::cancel_token cancel;
    agentjob::call with_token;
    with_token.cancel(cancel);
    cancel.trigger();
    ended.start(client, with_token);
    CHECK(error_of([&] { ended.finish(); }).code() == AGENTJOB_ERR_CANCELLED);
    ended.start(client, with_token.cancel(nullptr));
    ended.finish();
}

static void a_batch_waits(const agentjob::client &client) {
    const own_folder place;
    agentjob::batch batch(client, place.journal);
    agentjob::call wait;
    wait.poll_interval(10ms, 20ms);
    batch.add("job_2", "go").add("job_3", "go").wait(wait).start();
    const int fd = batch.fd();
    CHECK(fd > 2 && batch.fd() == fd && batch.due_in() == agentjob::forever);
    int outcomes = 0;
    while (!batch.is_over()) {
        CHECK(is_readable(fd, 60000));
        while (const auto event = batch.next(0ms)) {
            outcomes += event->kind() == AGENTJOB_BATCH_KIND_OUTCOME;
        }
    }
    CHECK_INT(outcomes, 2);

    agentjob::batch stopped(client, std::string(place.journal) + "2");
    stopped.add("job_slow", "go").wait(wait).start();
    while (stopped.progress().waiting == 0) {
        stopped.next(10ms);
    }
    stopped.stop();
    CHECK(stopped.due_in() <= 5s);
    while (!stopped.is_over()) {
        stopped.next(1s);
    }
    CHECK(remove((std::string(place.journal) + "2").c_str()) == 0);
}

int main() {
    const service service("{\"work_ms\": 100, \"jobs\": [{\"id\": \"job_1\", \"status\": \"completed\"}, {\"id\": \"job_2\"}, {\"id\": \"job_3\"},"
                          "{\"id\": \"job_slow\"}], \"rules\": [{\"method\": \"GET\", \"path\": \"/v2/agent/*/job/job_slow\","
                          "\"status\": 200, \"json\": {\"id\": \"job_slow\", \"status\": \"active\"}},"
                          /* Also on a slow machine, it isn't done at once. */
                          "{\"method\": \"GET\", \"path\": \"/v2/agent/*/job/job_1\", \"nth\": 1,"
                          "\"status\": 200, \"json\": {\"id\": \"job_1\", \"status\": \"active\"}}]}");
    const agentjob::client client = service.client();
    a_poller_waits(client);
    a_batch_waits(client);
    return 0;
}
