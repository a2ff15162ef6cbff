// C++17: what is unknown or rejected is decided between two runs, and exported.
#include <agentjob_batch.hpp>

#include "batch.h"
#include "support.hpp"

int main() {
    const emulator service = emulator_with_jobs(
        R"(,"rules":[{"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":1,"fault":{"do":"close","at":"request","process":true}},
        {"method":"POST","path":"/v2/agent/*/job/job_2/message","nth":1,"status":422}])");
    const folder place = folder_new();
    agentjob::options options;
    options.base_url(service.base_url).api_key(service.api_key).project_id(service.project_id).trust_env(false);
    const agentjob::client client(options);
    const auto run = [&](std::optional<std::string> retry_prompt) {
        agentjob::batch batch(client, place.journal);
        batch.add("job_1", "one").add("job_2", "two", "mine");
        if (retry_prompt) {
            batch.add_retry_prompt(*retry_prompt);
        }
        batch.start();
        int accepted = 0;
        for (const agentjob::batch_event &event : batch) {
            accepted += event.delivery() == AGENTJOB_DELIVERY_ACCEPTED;
        }
        return accepted;
    };
    CHECK_INT(run(std::nullopt), 0);
    CHECK(message_of([&] { agentjob::retry_messages(place.journal, {"all"}, ""); }).find("prompt is empty") == 0);
    CHECK(message_of([&] { agentjob::drop_messages(place.journal, {"3"}); }).find("item 3 is not in the journal") == 0);
    CHECK_INT(agentjob::resolve_messages(place.journal, {"1"}, AGENTJOB_RESOLUTION_ARRIVED), 1);
    CHECK_INT(agentjob::retry_messages(place.journal, {"mine"}, "better"), 1);

    const agentjob::batch_status status(place.journal);
    CHECK(status.new_prompts() == 1 && status.failed().empty() && status.progress().dropped == 0);
    const std::vector<agentjob::batch_status::decision> made = status.decisions();
    CHECK(made.size() == 2 && made[0].name == "arrived" && made[1].name == "retry" && made[1].key == "mine");
    CHECK(made[1].number == 2 && made[1].job_id == "job_2" && !made[1].at.empty());

    CHECK(error_of([&] { run(std::nullopt); }).code() == AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_INT(run("better"), 2);
    CHECK_INT(emulator_messages(&service), 2);
    const std::string exported = agentjob::export_messages(place.journal, AGENTJOB_EXPORT_FORMAT_JSONL);
    CHECK(exported.find(R"("key":"mine","job_id":"job_2","state":"accepted","decision":"retry")") != std::string::npos);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
