/*
 * agentjob.hpp: agentjob.h for C++17 and later. Header-only, so no C++ ABI is shipped; link with libagentjob all the same.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     agentjob::client client;                                   // settings from the AGENTJOB_ variables
 *     try {
 *         agentjob::job job = client.send_and_wait("job_123", "Also cover the error cases");
 *         std::cout << job.json() << '\n';
 *     } catch (const agentjob::error &error) {
 *         std::cerr << error.what() << " (delivery: " << error.delivery_name() << ")\n";
 *     }
 *
 * What a function means stands in agentjob.h at the C function of the same name. Here besides:
 *
 * Ownership   Every object owns its C handle, and is moved, never copied; an error is copied, too. get() lends the handle to a
 *             C function. Texts come out as strings of your own. An object that was moved from may be assigned to or destroyed.
 * Errors      What C returns as a code is thrown as agentjob::error, with all that the C error carries.
 * Texts       Go in as std::string_view. A NUL byte is sent in a prompt, and refused in every other text.
 * Times       Are std::chrono durations; a negative one is refused. agentjob::forever is for call::wait_timeout() alone.
 * Callbacks   What a progress function throws ends the call and comes out of it. What an event function throws is dropped,
 *             for a log must not hide whether a message arrived.
 * Threads     As in C: any number of threads may share a client, a cancel_token, a job, an error, and a call that nobody
 *             changes. cancel_token::trigger() may be called in a signal handler.
 */
#ifndef AGENTJOB_HPP
#define AGENTJOB_HPP

#include "agentjob.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agentjob {

/** Give this as a wait's time to wait for ever. */
inline constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();

namespace detail {

template <auto free_handle>
struct freed_by {
    template <class T>
    void operator()(T *handle) const noexcept { free_handle(handle); }
};

template <class T, auto free_handle>
using owned = std::unique_ptr<T, freed_by<free_handle>>;

inline std::string text(const char *borrowed) { return borrowed ? borrowed : ""; }

inline std::optional<std::string> maybe_text(const char *borrowed) {
    return borrowed ? std::optional<std::string>(borrowed) : std::nullopt;
}

/** Milliseconds for C, where a negative duration is no number: it becomes one that every setting refuses. */
inline std::uint64_t ms(std::chrono::milliseconds duration) noexcept {
    return duration.count() < 0 ? UINT64_MAX - 1 : static_cast<std::uint64_t>(duration.count());
}

inline std::chrono::milliseconds duration(std::uint64_t ms) noexcept {
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(ms, INT64_MAX)));
}

/** What the progress function of the call that this thread is in has thrown. */
inline std::exception_ptr &thrown() noexcept {
    thread_local std::exception_ptr exception;
    return exception;
}

}  // namespace detail

/** A job's record at one moment; it never changes. */
class job {
public:
    using time_point = std::chrono::system_clock::time_point;

    /** Takes over a record that is yours. */
    explicit job(agentjob_job *handle) noexcept : handle_(handle) {}
    /** A record of the same moment; it costs next to nothing. */
    job clone() const { return job(agentjob_job_clone(get())); }

    std::string id() const { return detail::text(agentjob_job_id(get())); }
    agentjob_status status() const noexcept { return static_cast<agentjob_status>(agentjob_job_status(get())); }
    /** The service's own word, also one that this version does not know. */
    std::string status_name() const { return detail::text(agentjob_job_status_name(get())); }
    bool is_terminal() const noexcept { return agentjob_job_is_terminal(get()); }
    std::optional<std::string> source_repository() const { return detail::maybe_text(agentjob_job_source_repository(get())); }
    std::optional<std::string> source_ref() const { return detail::maybe_text(agentjob_job_source_ref(get())); }
    std::optional<std::string> model() const { return detail::maybe_text(agentjob_job_model(get())); }
    std::optional<std::string> pr_link() const { return detail::maybe_text(agentjob_job_pr_link(get())); }
    /** The moment as the service wrote it. */
    std::optional<std::string> created_at_text() const { return detail::maybe_text(agentjob_job_created_at(get())); }
    std::optional<std::string> archived_at_text() const { return detail::maybe_text(agentjob_job_archived_at(get())); }
    std::optional<time_point> created_at() const { return moment(agentjob_job_created_at_unix_ms(get())); }
    std::optional<time_point> archived_at() const { return moment(agentjob_job_archived_at_unix_ms(get())); }
    /** The whole record. */
    std::string json() const {
        std::size_t length = 0;
        const char *json = agentjob_job_json(get(), &length);
        return std::string(json ? json : "", length);
    }
    const agentjob_job *get() const noexcept { return handle_.get(); }

private:
    static std::optional<time_point> moment(std::int64_t unix_ms) {
        return unix_ms < 0 ? std::nullopt : std::optional(time_point(std::chrono::milliseconds(unix_ms)));
    }
    detail::owned<agentjob_job, agentjob_job_free> handle_;
};

/** Why a call failed: what() is one sentence for a person, the rest is for the program. */
class error : public std::runtime_error {
public:
    /** Takes over an error that is yours. */
    explicit error(std::shared_ptr<const agentjob_error> handle)
        : std::runtime_error(detail::text(agentjob_error_message(handle.get()))), handle_(std::move(handle)) {}
    /** An argument that this header refuses by itself. Nothing was sent. */
    error(const std::string &message, agentjob_delivery delivery) : std::runtime_error(message), refused_(delivery) {}

    agentjob_code code() const noexcept { return handle_ ? agentjob_error_code(get()) : AGENTJOB_ERR_INVALID_ARGUMENT; }
    std::string kind() const { return handle_ ? agentjob_error_kind(get()) : "invalid_argument"; }
    /** What became of the message: whether sending it again is safe. */
    agentjob_delivery delivery() const noexcept {
        return handle_ ? static_cast<agentjob_delivery>(agentjob_error_delivery(get())) : refused_;
    }
    const char *delivery_name() const noexcept { return agentjob_delivery_name(delivery()); }
    /** The status of the service's answer; 0 if none was read. */
    int http_status() const noexcept { return agentjob_error_http_status(get()); }
    std::optional<std::chrono::milliseconds> retry_after() const {
        const std::int64_t ms = agentjob_error_retry_after_ms(get());
        return ms < 0 ? std::nullopt : std::optional(std::chrono::milliseconds(ms));
    }
    std::optional<std::string> request_id() const { return detail::maybe_text(agentjob_error_request_id(get())); }
    std::optional<std::string> body() const {
        std::size_t length = 0;
        const char *body = agentjob_error_body(get(), &length);
        return body ? std::optional(std::string(body, length)) : std::nullopt;
    }
    std::uint32_t attempts() const noexcept { return agentjob_error_attempts(get()); }
    std::chrono::milliseconds elapsed() const noexcept { return detail::duration(agentjob_error_elapsed_ms(get())); }
    /** The last record that a wait saw. */
    std::optional<agentjob::job> job() const {
        const agentjob_job *last = agentjob_error_job(get());
        return last ? std::optional(agentjob::job(agentjob_job_clone(last))) : std::nullopt;
    }
    /** NULL if this header refused an argument by itself. */
    const agentjob_error *get() const noexcept { return handle_.get(); }

private:
    std::shared_ptr<const agentjob_error> handle_;
    agentjob_delivery refused_ = AGENTJOB_DELIVERY_NONE;
};

namespace detail {

/** Makes a call that takes a place for its error, and throws what went wrong. */
template <class Call>
void run(const Call &c_call) {
    agentjob_error *err = nullptr;
    const agentjob_code code = c_call(&err);
    owned<agentjob_error, agentjob_error_free> failure(err);
    if (const std::exception_ptr exception = std::exchange(thrown(), nullptr)) {
        std::rethrow_exception(exception);
    }
    if (code != AGENTJOB_OK) {
        throw error(std::shared_ptr<const agentjob_error>(std::move(failure)));
    }
}

/** The same for a C function that gives a handle through `out`. */
template <class Owned, class Function, class... Arguments>
Owned made(Function *function, Arguments... arguments) {
    Owned owned;
    run([&](agentjob_error **err) {
        typename Owned::pointer out = nullptr;
        const agentjob_code code = function(arguments..., &out, err);
        owned.reset(out);
        return code;
    });
    return owned;
}

/** A text for a C function that reads up to a NUL: one inside would cut it, and send a message to another job. */
inline std::string c_text(const char *name, std::string_view text, agentjob_delivery delivery = AGENTJOB_DELIVERY_NONE) {
    if (const std::size_t at = text.find('\0'); at != text.npos) {
        throw error(std::string(name) + " holds a NUL at byte " + std::to_string(at), delivery);
    }
    return std::string(text);
}

}  // namespace detail

/** Ends calls from another thread, or from a signal handler. */
class cancel_token {
public:
    void trigger() const noexcept { agentjob_cancel_trigger(get()); }
    bool is_triggered() const noexcept { return agentjob_cancel_is_triggered(get()); }
    const agentjob_cancel *get() const noexcept { return handle_.get(); }

private:
    detail::owned<agentjob_cancel, agentjob_cancel_free> handle_{agentjob_cancel_new()};
};

/** A client's settings. What is not set comes from its AGENTJOB_ variable, or is the default. */
class options {
public:
    /** One event as JSON. Called by every thread that uses the client, at once; what it throws is dropped. */
    using event_function = std::function<void(std::string_view json)>;

    options &base_url(std::string_view url) { return text(agentjob_options_set_base_url, "base_url", url); }
    options &api_key(std::string_view key) { return text(agentjob_options_set_api_key, "api_key", key); }
    options &api_key_file(std::string_view path) { return text(agentjob_options_set_api_key_file, "path", path); }
    options &project_id(std::string_view id) { return text(agentjob_options_set_project_id, "project_id", id); }
    options &ca_file(std::string_view path) { return text(agentjob_options_set_ca_file, "path", path); }
    options &proxy(std::string_view url) { return text(agentjob_options_set_proxy, "proxy", url); }
    options &user_agent_suffix(std::string_view suffix) { return text(agentjob_options_set_user_agent_suffix, "suffix", suffix); }
    options &trust_env(bool trust) { return set(agentjob_options_set_trust_env, trust); }
    options &allow_plaintext(bool allow) { return set(agentjob_options_set_allow_plaintext, allow); }
    options &allow_shared_key_file(bool allow) { return set(agentjob_options_set_allow_shared_key_file, allow); }
    options &timeout(std::chrono::milliseconds time) { return set(agentjob_options_set_timeout_ms, detail::ms(time)); }
    options &connect_timeout(std::chrono::milliseconds time) { return set(agentjob_options_set_connect_timeout_ms, detail::ms(time)); }
    options &max_retries(std::uint32_t retries) { return set(agentjob_options_set_max_retries, retries); }
    options &max_retry_after(std::chrono::milliseconds time) { return set(agentjob_options_set_max_retry_after_ms, detail::ms(time)); }
    options &max_prompt_bytes(std::size_t bytes) { return set(agentjob_options_set_max_prompt_bytes, bytes); }
    options &max_response_bytes(std::size_t bytes) { return set(agentjob_options_set_max_response_bytes, bytes); }
    options &on_event(event_function function) {
        auto kept = std::make_unique<event_function>(std::move(function));
        set(agentjob_options_set_on_event, &tell, static_cast<void *>(kept.get()), &forget);
        static_cast<void>(kept.release());  // the library has it now, and gives it to forget()
        return *this;
    }
    const agentjob_options *get() const noexcept { return handle_.get(); }

private:
    template <class Function, class... Values>
    options &set(Function *function, Values... values) {
        detail::run([&](agentjob_error **err) { return function(handle_.get(), values..., err); });
        return *this;
    }
    template <class Function>
    options &text(Function *function, const char *name, std::string_view value) {
        return set(function, detail::c_text(name, value).c_str());
    }
    static void tell(const char *json, void *function) noexcept {
        try {
            (*static_cast<event_function *>(function))(json);
        } catch (...) {
        }
    }
    static void forget(void *function) noexcept { delete static_cast<event_function *>(function); }
    detail::owned<agentjob_options, agentjob_options_free> handle_{agentjob_options_new()};
};

/** Settings of one call; `{}` means the client's own. It must live until the calls made with it have returned. */
class call {
public:
    /** Told of each new record that a wait sees: true goes on, false ends the call with AGENTJOB_ERR_CANCELLED. */
    using progress_function = std::function<bool(const job &)>;

    call &timeout(std::chrono::milliseconds time) { return set(agentjob_call_set_timeout_ms, detail::ms(time)); }
    call &wait_timeout(std::chrono::milliseconds time) {
        return set(agentjob_call_set_wait_timeout_ms, time == forever ? AGENTJOB_FOREVER : detail::ms(time));
    }
    call &poll_interval(std::chrono::milliseconds min, std::chrono::milliseconds max) {
        return set(agentjob_call_set_poll_interval_ms, detail::ms(min), detail::ms(max));
    }
    call &lateness(double part) { return set(agentjob_call_set_lateness, part); }
    call &settle(std::chrono::milliseconds time) { return set(agentjob_call_set_settle_ms, detail::ms(time)); }
    /** The token may go before these settings. */
    call &cancel(const cancel_token &token) { return set(agentjob_call_set_cancel, token.get()); }
    call &progress(progress_function function) {
        auto kept = std::make_unique<progress_function>(std::move(function));
        set(agentjob_call_set_progress, &tell, static_cast<void *>(kept.get()));
        progress_ = std::move(kept);
        return *this;
    }
    const agentjob_call *get() const noexcept { return handle_.get(); }

private:
    template <class Function, class... Values>
    call &set(Function *function, Values... values) {
        if (!handle_) {
            handle_.reset(agentjob_call_new());
        }
        detail::run([&](agentjob_error **err) { return function(handle_.get(), values..., err); });
        return *this;
    }
    static std::int32_t tell(const agentjob_job *record, void *function) noexcept {
        try {
            return (*static_cast<progress_function *>(function))(job(agentjob_job_clone(record))) ? 0 : 1;
        } catch (...) {
            detail::thrown() = std::current_exception();
            return 1;
        }
    }
    std::unique_ptr<progress_function> progress_;  // the handle points to it, so it goes last
    detail::owned<agentjob_call, agentjob_call_free> handle_;
};

class client;

/** A wait in steps: no thread, no callback, no sleeping. */
class poller {
public:
    /** Goes on from what to_text() gave, also in another process. */
    static poller from_text(std::string_view text) {
        return poller(detail::made<owned>(agentjob_poller_from_text, detail::c_text("text", text).c_str()));
    }
    std::string job_id() const { return detail::text(agentjob_poller_job_id(handle_.get())); }
    std::chrono::milliseconds due_in() const noexcept { return detail::duration(agentjob_poller_due_in_ms(handle_.get())); }
    /** Looks once, now; whether the job is done. */
    inline bool poll(const client &client, const call &settings = {});
    bool is_done() const noexcept { return agentjob_poller_is_done(handle_.get()); }
    /** The last record that was seen. */
    std::optional<agentjob::job> job() const {
        const agentjob_job *last = agentjob_poller_job(handle_.get());
        return last ? std::optional(agentjob::job(agentjob_job_clone(last))) : std::nullopt;
    }
    std::string to_text() { return detail::text(agentjob_poller_to_text(handle_.get())); }
    agentjob_poller *get() noexcept { return handle_.get(); }

private:
    friend class client;
    using owned = detail::owned<agentjob_poller, agentjob_poller_free>;
    explicit poller(owned handle) noexcept : handle_(std::move(handle)) {}
    owned handle_;
};

/** A client of one project of one service, for any number of threads at once. */
class client {
public:
    /** All settings from the AGENTJOB_ variables. */
    client() : handle_(detail::made<owned>(agentjob_client_new, nullptr)) {}
    explicit client(const options &settings) : handle_(detail::made<owned>(agentjob_client_new, settings.get())) {}

    job send_message(std::string_view job_id, std::string_view prompt, const call &settings = {}) const {
        return asked(agentjob_client_send_message, message_for(job_id).c_str(), prompt.data(), prompt.size(), settings.get());
    }
    job get_job(std::string_view job_id, const call &settings = {}) const {
        return asked(agentjob_client_get_job, detail::c_text("job_id", job_id).c_str(), settings.get());
    }
    job create_job(std::string_view prompt, const call &settings = {}) const {
        return asked(agentjob_client_create_job, prompt.data(), prompt.size(), settings.get());
    }
    /** A job that failed is no error of the wait: look at its status(). */
    job wait(std::string_view job_id, const call &settings = {}) const {
        return asked(agentjob_client_wait, detail::c_text("job_id", job_id).c_str(), settings.get());
    }
    job send_and_wait(std::string_view job_id, std::string_view prompt, const call &settings = {}) const {
        return asked(agentjob_client_send_and_wait, message_for(job_id).c_str(), prompt.data(), prompt.size(), settings.get());
    }
    agentjob::poller poller(std::string_view job_id, const call &settings = {}) const {
        const std::string id = detail::c_text("job_id", job_id);
        return agentjob::poller(detail::made<agentjob::poller::owned>(agentjob_client_poller, get(), id.c_str(), settings.get()));
    }
    /** Ends every call of this client, in every thread, with AGENTJOB_ERR_CLOSED. */
    void close() const noexcept { agentjob_client_close(get()); }
    bool is_closed() const noexcept { return agentjob_client_is_closed(get()); }
    std::string base_url() const { return detail::text(agentjob_client_base_url(get())); }
    std::string project_id() const { return detail::text(agentjob_client_project_id(get())); }
    const agentjob_client *get() const noexcept { return handle_.get(); }

private:
    using owned = detail::owned<agentjob_client, agentjob_client_free>;
    template <class Function, class... Arguments>
    job asked(Function *function, Arguments... arguments) const {
        return job(detail::made<detail::owned<agentjob_job, agentjob_job_free>>(function, get(), arguments...).release());
    }
    static std::string message_for(std::string_view job_id) {
        return detail::c_text("job_id", job_id, AGENTJOB_DELIVERY_NOT_SENT);
    }
    owned handle_;
};

inline bool poller::poll(const client &client, const call &settings) {
    bool done = false;
    detail::run([&](agentjob_error **err) { return agentjob_poller_poll(get(), client.get(), settings.get(), &done, err); });
    return done;
}

}  // namespace agentjob

#endif /* AGENTJOB_HPP */
