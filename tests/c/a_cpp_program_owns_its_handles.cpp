// C++17 with agentjob.h: handles in unique_ptr, freed on every path, and codes in a switch.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support.h"

template <auto free_handle>
struct freed_by {
    template <class T>
    void operator()(T *handle) const noexcept {
        free_handle(handle);
    }
};
using client_ptr = std::unique_ptr<agentjob_client, freed_by<agentjob_client_free>>;
using job_ptr = std::unique_ptr<agentjob_job, freed_by<agentjob_job_free>>;
using error_ptr = std::unique_ptr<agentjob_error, freed_by<agentjob_error_free>>;

static std::string describe(agentjob_code code) {
    switch (code) {
    case AGENTJOB_OK: return "sent";
    case AGENTJOB_ERR_NOT_FOUND: return "no such job";
    default: return agentjob_code_name(code);
    }
}

static std::string send(const agentjob_client *client, const std::string &job_id, const std::string &prompt) {
    agentjob_job *job = nullptr;
    agentjob_error *error = nullptr;
    agentjob_code code = agentjob_client_send_message(client, job_id.c_str(), prompt.data(), prompt.size(), nullptr, &job, &error);
    job_ptr owned_job(job);
    error_ptr owned_error(error);
    return describe(code);
}

int main() {
    emulator service = emulator_start("{}");
    client_ptr client(emulator_client(&service));
    // One client, many threads.
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) {
        threads.emplace_back([&, i] { CHECK(send(client.get(), service.job_id, "message " + std::to_string(i)) == "sent"); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(send(client.get(), "job_nowhere", "Go on") == "no such job");
    CHECK(send(client.get(), service.job_id, std::string()) == "AGENTJOB_ERR_INVALID_ARGUMENT");
    CHECK_INT(emulator_messages(&service), 8);
    client.reset();
    emulator_stop(&service);
    return 0;
}
