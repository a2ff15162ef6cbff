// Sends a follow-up message to a job and waits for its result.
//
//     c++ -std=c++17 follow_up.cpp -lagentjob -o follow_up
//     export AGENTJOB_BASE_URL=https://... AGENTJOB_API_KEY=... AGENTJOB_PROJECT_ID=...
//     ./follow_up job_123 "Also cover the error cases"
//
// Status lines go to stderr, the job's last record to stdout as JSON. Exit status: 0 done, 1 the job failed, 2 wrong usage or
// settings, 3 refused or failed, 4 the wait took too long, 5 nobody knows whether the message arrived, 130 interrupted.
#include <agentjob.hpp>
#include <csignal>
#include <iostream>

// Ctrl-C pulls the token; that is all a signal handler may do.
static const agentjob::cancel_token interrupt;

static int explain(const agentjob::error &error) {
    std::cerr << error.what() << '\n';
    if (error.delivery() != AGENTJOB_DELIVERY_NONE) {
        std::cerr << "delivery: " << error.delivery_name() << '\n';
    }
    if (const auto after = error.retry_after()) {
        std::cerr << "the service asks to wait " << after->count() << " ms\n";
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
        const agentjob::client client;  // settings from the AGENTJOB_ variables
        agentjob::call call;
        call.cancel(interrupt).progress([](const agentjob::job &job) {
            std::cerr << job.id() << ": " << job.status_name() << '\n';
            return true;  // false would end the wait, and so would an exception
        });
        const agentjob::job job = client.send_and_wait(argv[1], argv[2], call);
        std::cout << job.json() << '\n';
        return job.status() == AGENTJOB_STATUS_FAILED ? 1 : 0;
    } catch (const agentjob::error &error) {
        return explain(error);
    }
}
