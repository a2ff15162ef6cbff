// C++17: a for loop goes through a batch's events, the error that stops it is thrown, and objects may outlive their origin.
#include <agentjob_batch.hpp>
#include <thread>

#include "batch.h"
#include "support.hpp"

using namespace std::chrono_literals;

static void fill(agentjob::batch &batch, int n) {
    for (int number = 1; number <= n; number++) {
        batch.add("job_" + std::to_string(number), "message " + std::to_string(number), std::nullopt, 10u + static_cast<unsigned>(number));
    }
}

static void every_message_once(const agentjob::client &client, const emulator &service, const folder &place) {
    std::vector<agentjob::batch_event> outcomes;
    for (const int earlier : {0, 6}) {
        agentjob::batch batch(client, place.journal);
        batch.rate("1000/s").concurrency(3).max_outage(1min).max_busy(1min).grace(1s).resend_unknown(false);
        fill(batch, 5);
        batch.add("job_6", std::string_view("a\0b", 3), "mine");
        CHECK_INT(batch.progress().left, 6);
        batch.start();
        outcomes.clear();
        for (const agentjob::batch_event &event : batch) {
            outcomes.push_back(event);
        }
        CHECK(batch.is_over() && !batch.next());
        CHECK_INT(outcomes.size(), 6);
        CHECK_INT(std::count_if(outcomes.begin(), outcomes.end(), [](const auto &event) { return event.is_earlier(); }), earlier);
        const agentjob::batch_progress progress = batch.progress();
        CHECK(progress.items == 6 && progress.accepted == 6 && progress.done == 6 && progress.left == 0 && progress.busy == 0);
        CHECK(progress.pause == AGENTJOB_PAUSE_NONE && progress.pause_left == 0ms && progress.finishes_in == 0ms);
        CHECK(batch.begin() == batch.end());
    }
    CHECK_INT(emulator_messages(&service), 6);
    const agentjob::batch_event &last = outcomes.back(); // outcomes of earlier runs come in the order of the batch
    CHECK(last.kind() == AGENTJOB_BATCH_KIND_OUTCOME && last.number() == 6 && last.line() == 0 && last.key() == "mine");
    CHECK(last.job_id() == "job_6" && last.job()->id() == "job_6" && !last.error());
    CHECK(!last.extra() && last.repeats() == 0 && last.repeats_number() == 0);
    CHECK(outcomes[0].line() == 11 && last.delivery() == AGENTJOB_DELIVERY_ACCEPTED);
    CHECK_TEXT(last.delivery_name(), "accepted");
    CHECK_TEXT(last.kind_name(), "outcome");
}

static void the_status_reads_the_journal(const agentjob::client &client, const folder &place) {
    const agentjob::batch_status status(place.journal);
    CHECK(status.progress().accepted == 6 && !status.progress().finishes_in);
    CHECK(!status.is_running() && !status.waits() && status.runs() == 2 && status.pid() == static_cast<unsigned>(getpid()));
    CHECK(status.base_url() == client.base_url() && status.project_id() == client.project_id() && status.rate() == "1000/s");
    CHECK(status.began_at() <= status.written_at() && status.unknown().empty() && status.rejected().empty());
    CHECK(error_of([] { agentjob::batch_status nowhere("/nowhere/at/all"); }).code() == AGENTJOB_ERR_JOURNAL);
}

static void the_error_that_stops_a_batch_is_thrown(const agentjob::client &client) {
    const own_folder place;
    const std::string journal(place.journal);
    std::optional<agentjob::error> kept;
    {
        agentjob::batch batch(client, journal);
        const agentjob::cancel_token token;
        batch.cancel(token).wait(impatient());
        batch.add("job_1", "message").add("job_nowhere", "message").start();
        token.trigger();
        const agentjob::error cancelled = error_of([&] {
            for (const agentjob::batch_event &event : batch) {
                CHECK(event.kind() != AGENTJOB_BATCH_KIND_PAUSED);
            }
        });
        CHECK(cancelled.code() == AGENTJOB_ERR_CANCELLED && batch.is_over());
    }
    {
        agentjob::batch batch(client, journal);
        batch.add("job_1", "message").add("job_nowhere", "message").start();
        for (const agentjob::batch_event &event : batch) {
            if (event.delivery() == AGENTJOB_DELIVERY_REJECTED) {
                kept = event.error();
            }
        }
        agentjob::batch moved = std::move(batch);
        CHECK(moved.is_over() && moved.progress().rejected == 1);
    }
    CHECK(kept && kept->http_status() == 404 && kept->delivery() == AGENTJOB_DELIVERY_REJECTED);  // the error keeps its event alive
    const auto rejected = agentjob::batch_status(journal).rejected();
    CHECK(rejected.size() == 1 && rejected[0].number == 2 && rejected[0].job_id == "job_nowhere");
}

static void wrong_arguments_are_refused(const agentjob::client &client, const folder &place) {
    agentjob::batch batch(client, place.journal);
    const std::string_view nul("a\0b", 3);
    CHECK(message_of([&] { agentjob::batch(client, nul); }) == "journal contains a NUL at byte 1");
    CHECK(message_of([&] { batch.add(nul, "p"); }) == "job_id contains a NUL at byte 1");
    CHECK(message_of([&] { batch.add("job_1", "p", nul); }) == "key contains a NUL at byte 1");
    batch.add("job_1", "p").item_extra("{\"repo\":\"web\"}");
    CHECK(message_of([&] { batch.item_extra(nul); }) == "json contains a NUL at byte 1");
    CHECK(message_of([&] { batch.add_file(nul); }) == "path contains a NUL at byte 1");
    CHECK(message_of([&] { agentjob::write_batch_report(nul, "x"); }) == "journal contains a NUL at byte 1");
    CHECK(error_of([&] { agentjob::write_batch_report("/nowhere/at/all", "/nowhere.html"); }).code() == AGENTJOB_ERR_JOURNAL);
    CHECK(error_of([&] { batch.add_file("/nowhere.csv"); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK(message_of([&] { batch.rate("often"); }).find("100/h") != std::string::npos);
    CHECK(error_of([&] { batch.next(0ms); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK(message_of([&] { batch.grace(-1ms); }).find("grace_ms is negative") == 0);

    const own_folder fresh;
    agentjob::batch running(client, fresh.journal);
    fill(running, 1);
    running.start();
    CHECK(message_of([&] { running.next(-1ms); }).find("timeout_ms") != std::string::npos);
    running.stop();
    while (!running.is_over()) {
        running.next(10ms);
    }
}

int main() {
    const emulator service = emulator_with_jobs(",\"work_ms\": 300");
    const folder place = folder_new();
    {
        agentjob::options options;
        options.base_url(service.base_url).api_key(service.api_key).project_id(service.project_id).trust_env(false);
        const agentjob::client client(options);
        every_message_once(client, service, place);
        the_status_reads_the_journal(client, place);
        the_error_that_stops_a_batch_is_thrown(client);
        wrong_arguments_are_refused(client, place);
    }
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
