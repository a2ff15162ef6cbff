// agentjob.hpp: what a callback throws comes out of the call it was thrown in, with the message's verdict, and out of no other call, in no
// other thread.
#include <agentjob_batch.hpp>
#include <atomic>
#include <thread>

#include "batch.h"
#include "support.hpp"

using namespace std::chrono_literals;

struct enough {
    int number;
};

static const char *const AT_WORK = "{\"work_ms\": 60000, \"jobs\": [{\"id\": \"job_1\", \"status\": \"active\"}]}";

static agentjob::call throwing(int number) {
    agentjob::call call = impatient();
    call.progress([number](const agentjob::job &) -> bool { throw enough{number}; });
    return call;
}

// The number of what was thrown in a call, which ends with this verdict.
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

static void it_keeps_the_verdict_and_nothing_is_left_for_the_next_call() {
    service service(AT_WORK);
    const agentjob::client client = service.client();
    const agentjob::call call = throwing(7);
    for (int times = 0; times < 2; times++) {
        CHECK_INT(thrown_by(AGENTJOB_DELIVERY_ACCEPTED, [&] { client.send_and_wait("job_1", "Go on", call); }), 7);
        CHECK_INT(thrown_by(AGENTJOB_DELIVERY_NONE, [&] { client.wait("job_1", call); }), 7);
        CHECK(client.get_job("job_1").status() == AGENTJOB_STATUS_ACTIVE);
    }
    CHECK_INT(emulator_messages(&service.it), 2);
}

// Even when the record is the last one and the wait is over anyway; and what it waited for is not leaked.
static void it_comes_out_of_a_finished_wait_too() {
    service service("{\"jobs\": [{\"id\": \"job_1\", \"status\": \"completed\"}]}");
    CHECK_INT(thrown_by(AGENTJOB_DELIVERY_NONE, [&] { service.client().wait("job_1", throwing(1)); }), 1);
}

// A handler outlives the call, the client and the thread that it came from.
static void it_is_kept_by_whoever_keeps_it() {
    std::exception_ptr kept;
    std::thread([&] {
        service service(AT_WORK);
        try {
            service.client().wait("job_1", throwing(5));
        } catch (const agentjob::callback_error &) {
            kept = std::current_exception();
        }
    }).join();
    CHECK_INT(thrown_by(AGENTJOB_DELIVERY_NONE, [&] { std::rethrow_exception(kept); }), 5);
}

// A call within a progress function has its own exceptions; one that is not caught there leaves that function, too.
static void calls_within_a_call_have_their_own() {
    service service(AT_WORK);
    const agentjob::client client = service.client();
    const agentjob::call inner = throwing(1);
    agentjob::call caught = impatient(), uncaught = impatient(), own = impatient();
    int seen = 0;
    caught.progress([&](const agentjob::job &) {
        seen += thrown_by(AGENTJOB_DELIVERY_ACCEPTED, [&] { client.send_and_wait("job_1", "inner", inner); });
        return false;
    });
    const agentjob::error said_no = error_of([&] { client.wait("job_1", caught); });
    CHECK(said_no.code() == AGENTJOB_ERR_CANCELLED && said_no.delivery() == AGENTJOB_DELIVERY_NONE && seen == 1);
    std::rethrow_if_nested(said_no);

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

// C has no exceptions: a C function that was lent the settings is cancelled, and no C++ call throws it later, or around it.
static void a_c_function_with_the_settings_leaks_nothing() {
    service service(AT_WORK);
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

// Threads share a client, whose event function throws and makes calls that throw, and one call's settings.
static void threads_have_their_own() {
    service service(AT_WORK);
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

// A batch calls the event function on threads of its own.
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
    it_keeps_the_verdict_and_nothing_is_left_for_the_next_call();
    it_comes_out_of_a_finished_wait_too();
    it_is_kept_by_whoever_keeps_it();
    calls_within_a_call_have_their_own();
    a_c_function_with_the_settings_leaks_nothing();
    threads_have_their_own();
    a_batchs_threads_leak_nothing();
    return 0;
}
