// A wait without settings takes those of its client, and those of a call win. A poller's text has them.
#include "support.hpp"

using namespace std::chrono_literals;

static void expect(agentjob::poller poller, const char *part) {
    const std::string text = poller.to_text();
    CHECK_HOLDS(text.c_str(), part);
}

int main() {
    const service service("{\"work_ms\": 60000}");
    agentjob::options options = service.options();
    options.wait_timeout(200ms).poll_interval(20ms, 40ms).lateness(0.5).settle(0ms);
    const agentjob::client client(options);
    expect(client.poller("job_demo"), "\"timeout_ms\":200,\"min_interval_ms\":20,\"max_interval_ms\":40,\"lateness_millionths\":500000");
    expect(client.poller("job_demo"), "\"settle_ms\":0,");
    agentjob::call call;
    call.settle(70ms);
    expect(client.poller("job_demo", call), "\"settle_ms\":70,");
    expect(agentjob::client(options.wait_timeout(agentjob::forever)).poller("job_demo"), "\"timeout_ms\":null");
    const agentjob::error error = error_of([&] { client.send_and_wait("job_demo", "p"); });
    CHECK_INT(error.code(), AGENTJOB_ERR_WAIT_TIMEOUT);
    return 0;
}
