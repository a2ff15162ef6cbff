// C++17: a batch that is left early, by break, by an exception or at the end of its scope, waits for the responses in flight, for at
// most its grace period.
#include <agentjob_batch.hpp>

#include "batch.h"
#include "support.hpp"

using namespace std::chrono_literals;

// The first message gets its response at once, so the loop gets its first event; then so many are in flight, and the rest is not sent.
constexpr int in_flight = 3, items = 20;

struct enough {};

// A started batch with its client and its service.
struct situation {
    emulator service;
    folder place = folder_new();
    std::optional<agentjob::client> client;

    explicit situation(const std::string &others)
        : service(emulator_with_jobs(
              (",\"rules\": [{\"method\": \"POST\", \"path\": \"/v2/agent/*/job/job_1/message\"}, {\"method\": \"POST\", " + others + "}]").c_str())) {
        agentjob::options options;
        options.base_url(service.base_url).api_key(service.api_key).project_id(service.project_id).trust_env(false);
        client.emplace(options);
    }
    ~situation() {
        folder_remove(&place);
        emulator_stop(&service);
    }
    situation(const situation &) = delete;
    situation &operator=(const situation &) = delete;

    agentjob::batch begin(std::chrono::milliseconds grace) const {
        agentjob::batch batch(*client, place.journal);
        batch.concurrency(in_flight).grace(grace);
        for (int number = 1; number <= items; number++) {
            batch.add("job_" + std::to_string(number), "message " + std::to_string(number));
        }
        batch.start();
        return batch;
    }
    void arrived() const {
        while (emulator_messages(&service) < 1 + in_flight) {
            sleep_ms(2);
        }
    }
};

static void by_break(situation &it, std::chrono::milliseconds grace) {
    agentjob::batch batch = it.begin(grace);
    for (const agentjob::batch_event &event : batch) {
        CHECK(event.number() == 1);
        it.arrived();
        break;
    }
}

static void by_exception(situation &it, std::chrono::milliseconds grace) {
    try {
        agentjob::batch batch = it.begin(grace);
        for (const agentjob::batch_event &event : batch) {
            CHECK(event.number() == 1);
            it.arrived();
            throw enough{};
        }
    } catch (const enough &) {
    }
}

static void by_scope(situation &it, std::chrono::milliseconds grace) {
    const agentjob::batch batch = it.begin(grace);
    it.arrived();
}

static void by_close_and_scope(situation &it, std::chrono::milliseconds grace) {
    const agentjob::batch batch = it.begin(grace);
    it.arrived();
    it.client->close();
    it.client.reset();
}

static void by_close(situation &it, std::chrono::milliseconds grace) {
    agentjob::batch batch = it.begin(grace);
    it.arrived();
    it.client->close();
    int outcomes = 0;
    const agentjob::error closed = error_of([&] {
        for (const agentjob::batch_event &event : batch) {
            outcomes += event.kind() == AGENTJOB_BATCH_KIND_OUTCOME;
        }
    });
    CHECK(closed.code() == AGENTJOB_ERR_CLOSED && batch.is_over());
    CHECK_INT(outcomes, emulator_messages(&it.service));
}

int main() {
    for (const auto end : {by_break, by_exception, by_scope, by_close_and_scope, by_close}) {
        situation slow("\"status\": 200, \"delay_ms\": 1500");
        end(slow, 60s);
        // All that was sent, and nothing else. If the machine stalled before the end, responses came and more was sent.
        const int sent = emulator_messages(&slow.service);
        CHECK(sent >= 1 + in_flight && sent < items);
        CHECK_INT(journal_count(&slow.place, AGENTJOB_COUNT_ACCEPTED), sent);
        CHECK_INT(journal_count(&slow.place, AGENTJOB_COUNT_LEFT), items - sent);
        for (const auto grace : {0ms, 200ms}) {
            situation silent("\"fault\": {\"do\": \"stall\", \"at\": \"request\", \"process\": true}");
            const auto began = std::chrono::steady_clock::now();
            end(silent, grace);
            const auto took = std::chrono::steady_clock::now() - began;
            CHECK(took >= grace && took < grace + 20s);
            CHECK_INT(journal_count(&silent.place, AGENTJOB_COUNT_UNKNOWN), in_flight);
            CHECK_INT(emulator_messages(&silent.service), 1 + in_flight);
        }
    }
    return 0;
}
