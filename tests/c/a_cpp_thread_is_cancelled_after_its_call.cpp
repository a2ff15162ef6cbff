// C++17: a cancelled thread's call ends as usual, and then, with glibc, the thread's objects are destroyed: they close, free and stop what
// they own. Other C libraries end the thread without that.
#include <agentjob_batch.hpp>

#include <atomic>
#include <pthread.h>

#include "batch.h"
#include "support.hpp"

using namespace std::chrono_literals;

#ifdef __GLIBC__
static const int DESTROYED = 1;
#else
static const int DESTROYED = 0;
#endif

struct situation {
    const service &running;
    const folder place = folder_new();
    std::atomic<bool> is_ready{false}, is_cancelled{false};
    int progressed = 0, sent = 0, destroyed = 0;
};

// Its destructor makes calls, as a program's own classes may.
struct farewell {
    situation &in;
    agentjob::client client;
    ~farewell() {
        client.send_message("job_1", "farewell");
        in.destroyed++;
    }
};

static void *work(void *argument) {
    situation &in = *static_cast<situation *>(argument);
    farewell last{in, in.running.client()};
    agentjob::batch batch(last.client, in.place.journal);
    batch.add("job_2", "from a batch");
    in.is_ready = true;
    while (!in.is_cancelled) {
    }
    batch.start();
    agentjob::call settings = impatient();
    settings.progress([&in](const agentjob::job &) {
        sleep_ms(1); // a cancellation point
        in.progressed++;
        return true;
    });
    CHECK(last.client.send_and_wait("job_1", "before the end", settings).is_terminal());
    in.sent++;
    CHECK(error_of([&] { last.client.send_message("nobody", "p"); }).delivery() == AGENTJOB_DELIVERY_REJECTED);
    in.sent++;
    pthread_testcancel();
    CHECK(false);
    return nullptr;
}

int main() {
    const service running("{\"work_ms\": 50, \"jobs\": [{\"id\": \"job_1\"}, {\"id\": \"job_2\"}]}");
    situation in{running};
    pthread_t thread;
    void *result = nullptr;
    CHECK(pthread_create(&thread, nullptr, work, &in) == 0);
    while (!in.is_ready) {
        sleep_ms(1);
    }
    CHECK(pthread_cancel(thread) == 0);
    in.is_cancelled = true;
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(in.progressed > 0 && in.sent == 2 && in.destroyed == DESTROYED);
    // The message of the batch arrived if it was in flight when the batch was destroyed.
    const int messages = emulator_messages(&running.it) - DESTROYED;
    CHECK(messages == 1 || messages == 2);
    folder_remove(&in.place);
    return 0;
}
