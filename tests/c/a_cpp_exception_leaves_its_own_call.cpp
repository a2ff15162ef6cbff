// agentjob.hpp: an exception of a callback leaves the call in which it was thrown, with the message's verdict, and no other call, on
// any thread.
#include <agentjob_batch.hpp>
#include <atomic>
#include <thread>

#include "batch.h"
#include "support.hpp"

using namespace std::chrono_literals;

struct enough {
    int number;
};

static const char *const RUNNING = "{\"work_ms\": 60000, \"jobs\": [{\"id\": \"job_1\", \"status\": \"active\"}]}";

static agentjob::call throwing(int number) {
    agentjob::call call = impatient();
    call.progress([number](const agentjob::job &) -> bool { throw enough{number}; });
    return call;
}

// The number of the exception that was thrown in a call, which ends with this verdict.
template <class Work>
int thrown_by(agentjob_delivery verdict, const Work &work) {
    try {
        work();
    } catch (const agentjob::error &error) {
        CHECK(error.code() == AGENTJOB_ERR_CANCELLED && error.delivery() == verdict);
        CHECK(error.job() && error.job()->id() == "job_1");
        CHECK(dynamic_cast<const agentjob::callback_error *>(&error) != nullptr);
        try {
            std::rethrow_if_nested(error);
        } catch (const enough &mine) {
            return mine.number;
        }
    }
    CHECK(false);
    return 0;
}

static void the_verdict_is_kept_and_the_next_call_is_not_affected() {
    service service(RUNNING);
    const agentjob::client client = service.client();
    const agentjob::call call = throwing(7);
    for (int times = 0; times < 2; times++) {
        CHECK_INT(thrown_by(AGENTJOB_DELIVERY_ACCEPTED, [&] { client.send_and_wait("job_1", "Go on", call); }), 7);
        CHECK_INT(thrown_by(AGENTJOB_DELIVERY_NONE, [&] { client.wait("job_1", call); }), 7);
        CHECK(client.get_job("job_1").status() == AGENTJOB_STATUS_ACTIVE);
    }
    CHECK_INT(emulator_messages(&service.it), 2);
}

// Also if the record is the last one and the wait is over anyway; the record is not leaked.
static void a_finished_wait_throws_it_too() {
    service service("{\"jobs\": [{\"id\": \"job_1\", \"status\": \"completed\"}]}");
    CHECK_INT(thrown_by(AGENTJOB_DELIVERY_NONE, [&] { service.client().wait("job_1", throwing(1)); }), 1);
}

// The exception can be kept longer than the call, the client and the thread that it came from.
static void it_can_be_kept_after_its_call() {
    std::exception_ptr kept;
    std::thread([&] {
        service service(RUNNING);
        try {
            service.client().wait("job_1", throwing(5));
        } catch (const agentjob::callback_error &) {
            kept = std::current_exception();
        }
    }).join();
    CHECK_INT(thrown_by(AGENTJOB_DELIVERY_NONE, [&] { std::rethrow_exception(kept); }), 5);
}

// A call inside a progress function has its own exceptions. One that is not caught there leaves that function, too.
static void calls_inside_a_callback_have_their_own() {
    service service(RUNNING);
    const agentjob::client client = service.client();
    const agentjob::call inner = throwing(1);
    agentjob::call caught = impatient(), uncaught = impatient(), own = impatient();
    int seen = 0;
    caught.progress([&](const agentjob::job &) {
        seen += thrown_by(AGENTJOB_DELIVERY_ACCEPTED, [&] { client.send_and_wait("job_1", "inner", inner); });
        return false;
    });
    const agentjob::error refused = error_of([&] { client.wait("job_1", caught); });
    CHECK(refused.code() == AGENTJOB_ERR_CANCELLED && refused.delivery() == AGENTJOB_DELIVERY_NONE && seen == 1);
    std::rethrow_if_nested(refused);

    own.progress([&](const agentjob::job &) -> bool {
        thrown_by(AGENTJOB_DELIVERY_NONE, [&] { client.wait("job_1", inner); });
        throw enough{2};
    });
    CHECK_INT(thrown_by(AGENTJOB_DELIVERY_ACCEPTED, [&] { client.send_and_wait("job_1", "outer", own); }), 2);

    uncaught.progress([&](const agentjob::job &) { return client.wait("job_1", inner).is_terminal(); });
    try {
        client.send_and_wait("job_1", "outer", uncaught);
        CHECK(false);
    } catch (const agentjob::callback_error &outer) {
        CHECK(outer.delivery() == AGENTJOB_DELIVERY_ACCEPTED);
        CHECK_INT(thrown_by(AGENTJOB_DELIVERY_NONE, [&] { outer.rethrow_nested(); }), 1);
    }
}

// C has no exceptions: a C function that uses the settings is cancelled, and no later or surrounding C++ call throws the exception.
static void a_c_function_with_the_settings_leaks_nothing() {
    service service(RUNNING);
    const agentjob::client client = service.client();
    const agentjob::call inner = throwing(1);
    const auto in_c = [&] {
        agentjob_job *job = nullptr;
        CHECK_INT(agentjob_client_wait(client.get(), "job_1", inner.get(), &job, nullptr), AGENTJOB_ERR_CANCELLED);
        CHECK(job == nullptr);
    };
    in_c();
    CHECK(client.get_job("job_1").id() == "job_1");
    agentjob::call outer = impatient();
    outer.wait_timeout(100ms).progress([&](const agentjob::job &) {
        in_c();
        CHECK(client.get_job("job_1").id() == "job_1");
        return true;
    });
    CHECK(error_of([&] { client.wait("job_1", outer); }).code() == AGENTJOB_ERR_WAIT_TIMEOUT);
}

// Threads share one call's settings and a client whose event function throws and makes calls that throw.
static void threads_have_their_own() {
    service service(RUNNING);
    const agentjob::client plain = service.client();
    const agentjob::call inner = throwing(-1);
    std::atomic<int> events = 0;
    agentjob::options options = service.options();
    options.on_event([&](std::string_view) {
        events++;
        thrown_by(AGENTJOB_DELIVERY_NONE, [&] { plain.wait("job_1", inner); });
        throw enough{-2};
    });
    const agentjob::client client(options);
    thread_local int number = 0;
    agentjob::call shared = impatient();
    shared.progress([](const agentjob::job &) -> bool { throw enough{number}; });
    std::vector<std::thread> threads;
    for (int n = 1; n <= 8; n++) {
        threads.emplace_back([&, n] {
            number = n;
            for (int times = 0; times < 5; times++) {
                CHECK_INT(thrown_by(AGENTJOB_DELIVERY_ACCEPTED, [&] { client.send_and_wait("job_1", "Go on", shared); }), n);
                CHECK(client.get_job("job_1").id() == "job_1");
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK_INT(emulator_messages(&service.it), 40);
    CHECK(events >= 80);
}

// A batch calls the event function on its own threads.
static void a_batchs_threads_leak_nothing() {
    const emulator service = emulator_with_jobs("");
    const folder place = folder_new();
    {
        std::atomic<int> events = 0;
        agentjob::options options;
        options.base_url(service.base_url).api_key(service.api_key).project_id(service.project_id).trust_env(false);
        options.on_event([&](std::string_view) {
            events++;
            throw enough{-1};
        });
        const agentjob::client client(options);
        agentjob::batch batch(client, place.journal);
        batch.concurrency(4).wait(throwing(-2));
        for (int n = 1; n <= 20; n++) {
            batch.add("job_" + std::to_string(n), "Go on");
        }
        batch.start();
        int accepted = 0;
        for (const agentjob::batch_event &event : batch) {
            accepted += event.delivery() == AGENTJOB_DELIVERY_ACCEPTED;
            CHECK(client.get_job("job_1").id() == "job_1");
        }
        CHECK_INT(accepted, 20);
        CHECK(events >= 40);
    }
    folder_remove(&place);
    emulator_stop(&service);
}

int main() {
    the_verdict_is_kept_and_the_next_call_is_not_affected();
    a_finished_wait_throws_it_too();
    it_can_be_kept_after_its_call();
    calls_inside_a_callback_have_their_own();
    a_c_function_with_the_settings_leaks_nothing();
    threads_have_their_own();
    a_batchs_threads_leak_nothing();
    return 0;
}
