/*
 * A bug inside the library, without a hook in the library: Rust's standard library panics if it cannot read the clock, and this
 * program's clock_gettime() replaces libc's. It fails once at each point where a call reads the clock: the process survives, the
 * code is AGENTJOB_ERR_INTERNAL, the verdict agrees with the ledger, and the next call on the same client works.
 */
#define _DEFAULT_SOURCE /* syscall() */
#define _FILE_OFFSET_BITS 64
#define _TIME_BITS 64 /* so that clock_gettime() is the one that the library calls, also on a 32-bit system */
#include <errno.h>
#include <sys/syscall.h>

#include "support.h"

static int readings_until_failure; /* 0: the clock works */
static char prompt[32];            /* different in each call: a message may arrive after the call that sent it */

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (readings_until_failure > 0 && --readings_until_failure == 0) {
        errno = EINVAL;
        return -1;
    }
#ifdef SYS_clock_gettime64
    return (int)syscall(SYS_clock_gettime64, clock, now);
#else
    return (int)syscall(SYS_clock_gettime, clock, now);
#endif
}

typedef agentjob_code (*call_fn)(const agentjob_client *client, const agentjob_call *call, agentjob_job **out, agentjob_error **err);

static agentjob_code send_message(const agentjob_client *client, const agentjob_call *call, agentjob_job **out, agentjob_error **err) {
    return agentjob_client_send_message(client, "job_demo", prompt, AGENTJOB_NUL_TERMINATED, call, out, err);
}

static agentjob_code get_job(const agentjob_client *client, const agentjob_call *call, agentjob_job **out, agentjob_error **err) {
    return agentjob_client_get_job(client, "job_demo", call, out, err);
}

static agentjob_code send_and_wait(const agentjob_client *client, const agentjob_call *call, agentjob_job **out, agentjob_error **err) {
    return agentjob_client_send_and_wait(client, "job_demo", prompt, AGENTJOB_NUL_TERMINATED, call, out, err);
}

/* How many times the last message arrived. */
static int arrivals(const emulator *service) {
    int count = 0;
    for (const char *at = emulator_ledger(service); (at = strstr(at, prompt)) != NULL; at++) {
        count++;
    }
    return count;
}

/* Fails the n-th reading of the clock for n = 1, 2, ... until a call needs fewer; returns the number of panics. */
static int panic_everywhere(call_fn function, bool delivers, const emulator *service, const agentjob_client *client, const agentjob_call *call) {
    int panics = 0;
    for (int n = 1; n < 200; n++) {
        agentjob_error *err = NULL;
        agentjob_job *job = NULL;
        static int calls;
        snprintf(prompt, sizeof prompt, "Message %d.", ++calls);
        readings_until_failure = n;
        agentjob_code code = function(client, call, &job, &err);
        bool reached = readings_until_failure == 0;
        readings_until_failure = 0;
        if (code == AGENTJOB_OK) {
            agentjob_job_free(job);
        } else {
            panics++;
            CHECK_INT(code, AGENTJOB_ERR_INTERNAL);
            CHECK(job == NULL);
            CHECK_HOLDS(agentjob_error_message(err), "bug");
            int arrived = arrivals(service);
            switch (agentjob_error_delivery(err)) {
            case AGENTJOB_DELIVERY_NONE: CHECK(!delivers && arrived == 0); break;
            case AGENTJOB_DELIVERY_NOT_SENT: CHECK(delivers && arrived == 0); break;
            case AGENTJOB_DELIVERY_UNKNOWN: CHECK(delivers && arrived <= 1); break;
            case AGENTJOB_DELIVERY_ACCEPTED: CHECK(delivers && arrived == 1); break;
            default: CHECK(false);
            }
            agentjob_error_free(err);
            err = NULL;
        }
        CHECK_OK(get_job(client, call, &job, &err), err); /* the next call works */
        agentjob_job_free(job);
        if (!reached) {
            return panics;
        }
    }
    return panics;
}

int main(void) {
    setenv("RUST_BACKTRACE", "0", 1); /* the panic's message on stderr is enough */
    emulator service = emulator_start("{\"hourly_limit\": 10000, \"work_ms\": 1}");
    agentjob_client *client = emulator_client(&service);
    agentjob_call *call = impatient_call();
    agentjob_error *err = NULL;
    CHECK_OK(agentjob_call_set_settle_ms(call, 0, &err), err);
    CHECK(panic_everywhere(send_message, true, &service, client, call) > 0);
    CHECK(panic_everywhere(get_job, false, &service, client, call) > 0);
    CHECK(panic_everywhere(send_and_wait, true, &service, client, call) > 0);
    agentjob_call_free(call);
    agentjob_client_free(client);
    emulator_stop(&service);
    return 0;
}
