// Sends a follow-up message to a job and waits for its result.
//
//     c++ -std=c++17 follow_up.cpp -lagentjob -o follow_up
//     export AGENTJOB_BASE_URL=https://... AGENTJOB_API_KEY=... AGENTJOB_PROJECT_ID=...
//     ./follow_up job_123 "Also cover the error cases"
//
// Status lines go to stderr, the job's last record goes to stdout as JSON. Exit status: 0 done, 1 the job failed, 2 wrong usage or
// options, 3 rejected or failed, 4 the wait timed out, 5 the delivery of the message is unknown, 130 interrupted.
#include <agentjob.hpp>
#include <csignal>
#include <iostream>

// Ctrl-C triggers the token; a signal handler may do nothing else with agentjob.
static const agentjob::cancel_token interrupt;

static int explain(const agentjob::error &error) {
    std::cerr << error.what() << '\n';
    if (error.delivery() != AGENTJOB_DELIVERY_NONE) {
        std::cerr << "delivery: " << error.delivery_name() << '\n';
    }
    if (const auto after = error.retry_after()) {
        std::cerr << "retry after " << after->count() << " ms\n";
    }
    switch (error.code()) {
    case AGENTJOB_ERR_CANCELLED: return 130;
    case AGENTJOB_ERR_INVALID_ARGUMENT: return 2;
    case AGENTJOB_ERR_WAIT_TIMEOUT: return 4;
    default: return error.delivery() == AGENTJOB_DELIVERY_UNKNOWN ? 5 : 3;
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::cerr << "usage: " << argv[0] << " JOB_ID PROMPT\n";
        return 2;
    }
    std::signal(SIGINT, [](int) { interrupt.trigger(); });
    try {
        const agentjob::client client;  // options from the AGENTJOB_ variables
        agentjob::call call;
        call.cancel(interrupt).progress([](const agentjob::job &job) {
            std::cerr << job.id() << ": " << job.status_name() << '\n';
            return true;  // false or an exception would end the wait
        });
        const agentjob::job job = client.send_and_wait(argv[1], argv[2], call);
        std::cout << job.json() << '\n';
        return job.status() == AGENTJOB_STATUS_FAILED ? 1 : 0;
    } catch (const agentjob::error &error) {
        return explain(error);
    }
}
