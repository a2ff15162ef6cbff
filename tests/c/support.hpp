// Shared by the C++ programs, in addition to support.h.
#ifndef SUPPORT_HPP
#define SUPPORT_HPP

#include <agentjob.hpp>

#include "support.h"

// An emulator that ends with its scope.
struct service {
    emulator it;
    explicit service(const char *config = "{}") : it(emulator_start(config)) {}
    ~service() { emulator_stop(&it); }
    service(const service &) = delete;
    service &operator=(const service &) = delete;

    agentjob::options options() const {
        agentjob::options options;
        options.base_url(it.base_url).api_key(it.api_key).project_id(it.project_id).trust_env(false);
        return options;
    }
    agentjob::client client() const { return agentjob::client(options()); }
};

// Settings of a call that polls often, so that tests are fast.
inline agentjob::call impatient() {
    using namespace std::chrono_literals;
    agentjob::call call;
    call.poll_interval(10ms, 30ms).wait_timeout(20s);
    return call;
}

// The error that `work` throws.
#define error_of(...) error_at(__LINE__, __VA_ARGS__)
template <class Work>
agentjob::error error_at(int line, const Work &work) {
    try {
        work();
    } catch (const agentjob::error &error) {
        return error;
    }
    fprintf(stderr, "line %d: no agentjob::error was thrown\n", line);
    exit(1);
}

// The message of the error that `work` throws.
template <class Work>
std::string message_of(const Work &work) {
    return error_of(work).what();
}

#endif
