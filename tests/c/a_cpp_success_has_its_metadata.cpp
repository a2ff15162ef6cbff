// The metadata of a success in C++: a function of the call's settings gets it, and an exception from that function changes nothing.
#include <stdexcept>
#include <string>

#include "support.hpp"

int main() {
    service service("{\"rules\": [{\"nth\": 1, \"status\": 200, \"headers\": {\"X-Region\": \"eu\"}},"
                    "{\"nth\": 3, \"status\": 200, \"body\": \"{\\\"id\\\":\\\"a\\\\u0000b\\\",\\\"status\\\":\\\"active\\\"}\"}]}");
    const agentjob::client client(service.options());
    std::string region, json;
    int status = 0;
    bool timed = false, connected = false;
    agentjob::call settings;
    settings.meta([&](const agentjob::meta &) { CHECK(false); }).meta([&](const agentjob::meta &meta) {
        region = meta.header("x-region").value_or("none");
        status = meta.http_status();
        json = meta.json();
        timed = meta.time(AGENTJOB_PHASE_FIRST_BYTE).has_value() && !meta.time(AGENTJOB_PHASE_TLS).has_value();
        connected = meta.time(AGENTJOB_PHASE_CONNECT).has_value();
        CHECK(meta.operation() == "send_message" && meta.job_id() == service.it.job_id && meta.attempts() == 1);
        CHECK(meta.request_id() && meta.bytes() > 0 && meta.elapsed().count() < 60000 && !meta.header("none"));
        throw std::runtime_error("the metadata is wanted, this is not");
    });
    const agentjob::job job = client.send_message(service.it.job_id, "Go on", settings);
    CHECK(job.id() == service.it.job_id && status == 200 && region == "eu" && timed && connected);
    CHECK_HOLDS(json.c_str(), "\"status\":200");

    // Taken back with nullptr; an id may have a NUL.
    settings.meta(nullptr);
    client.get_job(service.it.job_id, settings);
    std::string id;
    settings.meta([&](const agentjob::meta &meta) { id = meta.job_id(); });
    client.create_job("Go on", settings);
    CHECK(id == std::string("a\0b", 3));
    return 0;
}
