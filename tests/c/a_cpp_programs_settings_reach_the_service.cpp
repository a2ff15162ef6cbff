// What a C++ program sets arrives: headers of a client, a call and a batch, a key from a file that is replaced, and a client certificate.
#include <chrono>
#include <fstream>
#include <string>

#include <sys/stat.h>

#include "batch.h"
#include "support.hpp"
#include <agentjob_batch.hpp>

using namespace std::chrono_literals;

static std::string requests(const service &service) { return emulator_get(&service.it, "requests"); }

static void headers_are_sent(const service &service) {
    const agentjob::client client(service.options().header("X-Tenant", "acme"));
    agentjob::call settings;
    settings.header("X-Trace", "of a call");
    client.get_job(service.it.job_id, settings);
    CHECK(requests(service).find("acme") != std::string::npos);
    CHECK(requests(service).find("of a call") != std::string::npos);
    const own_folder place;
    agentjob::batch batch(client, place.journal);
    batch.header("X-Trace", "of a batch").add(service.it.job_id, "go").start();
    while (!batch.is_over()) {
        batch.next();
    }
    CHECK(requests(service).find("of a batch") != std::string::npos);
    CHECK(message_of([&] { batch.header("X-Trace", "late"); }).find("started") != std::string::npos);
    CHECK(message_of([&] { settings.header("Authorization", "x"); }).find("header Authorization cannot be set") != std::string::npos);
    CHECK(message_of([&] { service.options().header("X-A", "a\r\nb"); }).find("contains a line break") != std::string::npos);
}

static void a_key_file_is_read_again(const service &service) {
    folder place = folder_new();
    const std::string path = std::string(place.journal) + ".key";
    const auto put = [&](const char *key) {
        std::ofstream(path + ".next") << key;
        CHECK(chmod((path + ".next").c_str(), 0600) == 0);
        replace_file((path + ".next").c_str(), path.c_str());
    };
    put("wrong5key");
    agentjob::options options;
    options.base_url(service.it.base_url).project_id(service.it.project_id).trust_env(false).api_key_file(path);
    const agentjob::client client(options);
    const agentjob::error refused = error_of([&] { client.send_message(service.it.job_id, "go"); });
    CHECK(refused.code() == AGENTJOB_ERR_AUTHENTICATION && refused.delivery() == AGENTJOB_DELIVERY_REJECTED);
    put(service.it.api_key);
    client.send_message(service.it.job_id, "go");
    CHECK(remove(path.c_str()) == 0);
    folder_remove(&place);
}

static void what_was_set_is_taken_back(const service &service) {
    const agentjob::client client = service.client();
    agentjob::call settings = impatient();
    agentjob::cancel_token cancelled;
    cancelled.trigger();
    settings.cancel(cancelled).progress([](const agentjob::job &) { return false; });
    CHECK(error_of([&] { client.wait(service.it.job_id, settings); }).code() == AGENTJOB_ERR_CANCELLED);
    settings.cancel(nullptr);
    CHECK(error_of([&] { client.wait(service.it.job_id, settings); }).code() == AGENTJOB_ERR_CANCELLED);
    settings.progress(nullptr);
    CHECK(client.wait(service.it.job_id, settings).is_terminal());
}

static void a_client_certificate_is_read(const service &service) {
    CHECK(message_of([&] { agentjob::client(service.options().client_cert("no/such.pem")); }).find("client_cert") != std::string::npos);
    CHECK(message_of([&] { agentjob::client(service.options().client_key("no/such.pem")); }).find("client_key") != std::string::npos);
    CHECK(message_of([&] { service.options().client_cert(""); }).find("client_cert is empty") != std::string::npos);
}

int main() {
    const service service("{\"work_ms\": 50}");
    headers_are_sent(service);
    a_key_file_is_read_again(service);
    what_was_set_is_taken_back(service);
    a_client_certificate_is_read(service);
    return 0;
}
