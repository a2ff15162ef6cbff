/*
 * agentjob.hpp: agentjob.h for C++17 and later. Header-only, so there is no C++ ABI; link with libagentjob as in C.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     agentjob::client client;                                   // options from the AGENTJOB_ variables
 *     try {
 *         agentjob::job job = client.send_and_wait("job_123", "Also cover the error cases");
 *         std::cout << job.json() << '\n';
 *     } catch (const agentjob::error &error) {
 *         std::cerr << error.what() << " (delivery: " << error.delivery_name() << ")\n";
 *     }
 *
 * agentjob.h documents each function at the C function of the same name. The differences:
 *
 * Ownership   Every object owns its C handle. It can be moved but not copied, except an error, which can be copied. get() lends the
 *             handle to a C function. Texts are returned as std::string. You may assign to or destroy a moved-from object.
 * Errors      A call that fails throws agentjob::error, which has everything that the C error has.
 * Texts       Are passed as std::string_view. A NUL byte in a prompt is sent; in any other text it is refused.
 * Times       Are std::chrono durations; a negative one is refused. Only call::wait_timeout() and batch::next() accept
 *             agentjob::forever.
 * Callbacks   An exception that leaves a progress function ends the call that called it, and no other. That call throws
 *             agentjob::callback_error, an agentjob::error with the message's verdict and with the function's exception nested
 *             (std::rethrow_if_nested()). A C function that uses the settings returns AGENTJOB_ERR_CANCELLED instead, and the
 *             exception is discarded. An exception that leaves an event function is also discarded, because a log must not hide
 *             whether a message arrived.
 * Threads     As in C: any number of threads may share a client, a cancel_token, a job, an error, and a call that no thread
 *             changes. A signal handler may call cancel_token::trigger(). A thread that is cancelled (pthread_cancel) is cancelled
 *             after its call. With glibc its objects are destroyed then, as by an exception; other C libraries don't do that.
 */
#ifndef AGENTJOB_HPP
#define AGENTJOB_HPP

#include "agentjob_types.hpp"

#include <functional>

namespace agentjob {

/** Cancels calls from another thread or from a signal handler. */
class cancel_token {
public:
    void trigger() const noexcept { agentjob_cancel_trigger(get()); }
    bool is_triggered() const noexcept { return agentjob_cancel_is_triggered(get()); }
    const agentjob_cancel *get() const noexcept { return handle_.get(); }

private:
    detail::owned<agentjob_cancel, agentjob_cancel_free> handle_{agentjob_cancel_new()};
};

/** The options of a client. An option that is not set comes from its AGENTJOB_ variable or has its default. */
class options {
public:
    /** Receives an event as JSON. Several threads that use the client may call it at once. Its exceptions are discarded. */
    using event_function = std::function<void(std::string_view json)>;

    options &base_url(std::string_view url) { return text(agentjob_options_set_base_url, "base_url", url); }
    options &api_key(std::string_view key) { return text(agentjob_options_set_api_key, "api_key", key); }
    options &api_key_file(std::string_view path) { return text(agentjob_options_set_api_key_file, "path", path); }
    options &project_id(std::string_view id) { return text(agentjob_options_set_project_id, "project_id", id); }
    options &ca_file(std::string_view path) { return text(agentjob_options_set_ca_file, "path", path); }
    options &client_cert(std::string_view path) { return text(agentjob_options_set_client_cert, "path", path); }
    options &client_key(std::string_view path) { return text(agentjob_options_set_client_key, "path", path); }
    options &proxy(std::string_view url) { return text(agentjob_options_set_proxy, "proxy", url); }
    options &user_agent_suffix(std::string_view suffix) { return text(agentjob_options_set_user_agent_suffix, "suffix", suffix); }
    /** A request header, for gateways, tenants and tracing; replaces one of the same name. */
    options &header(std::string_view name, std::string_view value) {
        const std::string field = detail::c_text("name", name), text = detail::c_text("value", value);
        return set(agentjob_options_set_header, field.c_str(), text.c_str());
    }
    options &trust_env(bool trust) { return set(agentjob_options_set_trust_env, trust); }
    options &allow_plaintext(bool allow) { return set(agentjob_options_set_allow_plaintext, allow); }
    options &allow_shared_key_file(bool allow) { return set(agentjob_options_set_allow_shared_key_file, allow); }
    options &timeout(std::chrono::milliseconds time) { return set(agentjob_options_set_timeout_ms, detail::ms(time)); }
    options &connect_timeout(std::chrono::milliseconds time) { return set(agentjob_options_set_connect_timeout_ms, detail::ms(time)); }
    options &max_retries(std::uint32_t retries) { return set(agentjob_options_set_max_retries, retries); }
    options &max_retry_after(std::chrono::milliseconds time) { return set(agentjob_options_set_max_retry_after_ms, detail::ms(time)); }
    options &max_prompt_bytes(std::size_t bytes) { return set(agentjob_options_set_max_prompt_bytes, bytes); }
    options &max_response_bytes(std::size_t bytes) { return set(agentjob_options_set_max_response_bytes, bytes); }
    /** The deadline of waits that set none. */
    options &wait_timeout(std::chrono::milliseconds time) {
        return set(agentjob_options_set_wait_timeout_ms, time == forever ? AGENTJOB_FOREVER : detail::ms(time));
    }
    /** The shortest and the longest pause between two polls of waits that set none. */
    options &poll_interval(std::chrono::milliseconds min, std::chrono::milliseconds max) {
        return set(agentjob_options_set_poll_interval_ms, detail::ms(min), detail::ms(max));
    }
    /** How late waits that don't say it may notice the job's end, as a fraction of the time waited. */
    options &lateness(double fraction) { return set(agentjob_options_set_lateness, fraction); }
    /** How long after a message a finished job may still show its previous result, for waits that don't say it. */
    options &settle(std::chrono::milliseconds time) { return set(agentjob_options_set_settle_ms, detail::ms(time)); }
    options &on_event(event_function function) {
        auto kept = std::make_unique<event_function>(std::move(function));
        set(agentjob_options_set_on_event, &notify, static_cast<void *>(kept.get()), &destroy);
        static_cast<void>(kept.release());  // now the library's, which passes it to destroy()
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
    static void notify(const char *json, void *function) noexcept {
        const detail::exception_slot discard(nullptr);
        try {
            (*static_cast<event_function *>(function))(json);
        } catch (...) {
        }
    }
    static void destroy(void *function) noexcept { delete static_cast<event_function *>(function); }
    detail::owned<agentjob_options, agentjob_options_free> handle_{agentjob_options_new()};
};

/** The metadata of a success. It is borrowed: copy what you keep before your function returns. */
class meta {
public:
    explicit meta(const agentjob_meta *handle) noexcept : handle_(handle) {}
    std::string operation() const { return detail::text(agentjob_meta_operation(handle_)); }
    std::string job_id() const { return detail::whole_text(agentjob_meta_job_id, handle_).value_or(""); }
    int http_status() const noexcept { return agentjob_meta_http_status(handle_); }
    std::optional<std::string> request_id() const { return detail::optional_text(agentjob_meta_request_id(handle_)); }
    /** The name's case does not matter. */
    std::optional<std::string> header(std::string_view name) const {
        return detail::optional_text(agentjob_meta_header(handle_, detail::c_text("name", name).c_str()));
    }
    std::uint64_t bytes() const noexcept { return agentjob_meta_bytes(handle_); }
    std::uint32_t attempts() const noexcept { return agentjob_meta_attempts(handle_); }
    std::chrono::milliseconds elapsed() const noexcept { return detail::duration(agentjob_meta_elapsed_ms(handle_)); }
    /** Nothing if the request had no such phase. */
    std::optional<std::chrono::microseconds> time(agentjob_phase phase) const noexcept {
        const std::int64_t us = agentjob_meta_time_us(handle_, phase);
        return us < 0 ? std::nullopt : std::optional(std::chrono::microseconds(us));
    }
    /** All of it, as a JSON object. */
    std::string json() const { return detail::whole_text(agentjob_meta_json, handle_).value_or(""); }
    const agentjob_meta *get() const noexcept { return handle_; }

private:
    const agentjob_meta *handle_;
};

/** Settings of a call; `{}` means the client's own. They must live until the calls that use them have returned. */
class call {
public:
    /** Receives each new record of a wait. True continues; false or an exception ends the call with AGENTJOB_ERR_CANCELLED. */
    using progress_function = std::function<bool(const job &)>;
    /** Receives the metadata of a success, on the thread that makes the call. An exception from it is dropped. */
    using meta_function = std::function<void(const agentjob::meta &)>;

    call &timeout(std::chrono::milliseconds time) { return set(agentjob_call_set_timeout_ms, detail::ms(time)); }
    call &wait_timeout(std::chrono::milliseconds time) {
        return set(agentjob_call_set_wait_timeout_ms, time == forever ? AGENTJOB_FOREVER : detail::ms(time));
    }
    call &poll_interval(std::chrono::milliseconds min, std::chrono::milliseconds max) {
        return set(agentjob_call_set_poll_interval_ms, detail::ms(min), detail::ms(max));
    }
    call &lateness(double fraction) { return set(agentjob_call_set_lateness, fraction); }
    call &settle(std::chrono::milliseconds time) { return set(agentjob_call_set_settle_ms, detail::ms(time)); }
    /** An extra request header; replaces one of the same name. */
    call &header(std::string_view name, std::string_view value) {
        const std::string field = detail::c_text("name", name), text = detail::c_text("value", value);
        return set(agentjob_call_set_header, field.c_str(), text.c_str());
    }
    /** The token may be destroyed before these settings. */
    call &cancel(const cancel_token &token) { return set(agentjob_call_set_cancel, token.get()); }
    /** Takes the token back. */
    call &cancel(std::nullptr_t) { return set(agentjob_call_set_cancel, static_cast<const agentjob_cancel *>(nullptr)); }
    /** nullptr or an empty function takes the former one back. */
    call &progress(progress_function function) {
        auto kept = function ? std::make_unique<progress_function>(std::move(function)) : nullptr;
        set(agentjob_call_set_progress, kept ? &update : nullptr, static_cast<void *>(kept.get()));
        progress_ = std::move(kept);
        return *this;
    }
    /** nullptr or an empty function takes the former one back. */
    call &meta(meta_function function) {
        auto kept = function ? std::make_unique<meta_function>(std::move(function)) : nullptr;
        set(agentjob_call_set_meta, kept ? &receive : nullptr, static_cast<void *>(kept.get()));
        meta_ = std::move(kept);
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
    static std::int32_t update(const agentjob_job *record, void *function) noexcept {
        const detail::exception_slot own(nullptr);
        try {
            return (*static_cast<progress_function *>(function))(job(agentjob_job_clone(record))) ? 0 : 1;
        } catch (...) {
            if (own.outer) {
                *own.outer = std::current_exception();
            }
            return 1;
        }
    }
    static void receive(const agentjob_meta *response, void *function) noexcept {
        const detail::exception_slot discard(nullptr);
        try {
            (*static_cast<meta_function *>(function))(agentjob::meta(response));
        } catch (...) {
        }
    }
    std::unique_ptr<progress_function> progress_{};  // the handle points to both, so they are destroyed last
    std::unique_ptr<meta_function> meta_{};
    detail::owned<agentjob_call, agentjob_call_free> handle_{};
};

class client;

/** A wait that your own loop drives, one poll at a time: no thread, no callback, no sleeping. */
class poller {
public:
    /** Continues the wait of a text from to_text(), also in another process. */
    static poller from_text(std::string_view text) {
        return poller(detail::make<owned>(agentjob_poller_new_from_text, detail::c_text("text", text).c_str()));
    }
    std::string job_id() const { return detail::text(agentjob_poller_job_id(handle_.get())); }
    std::chrono::milliseconds due_in() const noexcept { return detail::duration(agentjob_poller_due_in_ms(handle_.get())); }
    /** Polls once, now; returns whether the job is done. */
    inline bool poll(const client &client, const call &settings = {});
    /** Polls on a thread of the library and returns at once; fd() becomes readable when it is time for finish(). */
    inline void start(const client &client, const call &settings = {});
    /** Whether the job is done, after a poll of start(). Waits for the poll if fd() is not readable yet. */
    bool finish() {
        bool done = false;
        detail::run([&](agentjob_error **err) { return agentjob_poller_finish(handle_.get(), &done, err); });
        return done;
    }
    /** The descriptor for your event loop; the same for the poller's whole life. */
    int fd() {
        std::int32_t descriptor = -1;
        detail::run([&](agentjob_error **err) { return agentjob_poller_fd(handle_.get(), &descriptor, err); });
        return descriptor;
    }
    bool is_done() const noexcept { return agentjob_poller_is_done(handle_.get()); }
    /** The last record that was received. */
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

/** A client of one project of one service. Any number of threads may use it at once. */
class client {
public:
    /** All options from the AGENTJOB_ variables. */
    client() : handle_(detail::make<owned>(agentjob_client_new, nullptr)) {}
    explicit client(const options &settings) : handle_(detail::make<owned>(agentjob_client_new, settings.get())) {}

    job send_message(std::string_view job_id, std::string_view prompt, const call &settings = {}) const {
        return request(agentjob_client_send_message, id_for_message(job_id).c_str(), prompt.data(), prompt.size(), settings.get());
    }
    job get_job(std::string_view job_id, const call &settings = {}) const {
        return request(agentjob_client_get_job, detail::c_text("job_id", job_id).c_str(), settings.get());
    }
    job create_job(std::string_view prompt, const call &settings = {}) const {
        return request(agentjob_client_create_job, prompt.data(), prompt.size(), settings.get());
    }
    /** A failed job is not an error of the wait: check its status(). */
    job wait(std::string_view job_id, const call &settings = {}) const {
        return request(agentjob_client_wait, detail::c_text("job_id", job_id).c_str(), settings.get());
    }
    job send_and_wait(std::string_view job_id, std::string_view prompt, const call &settings = {}) const {
        return request(agentjob_client_send_and_wait, id_for_message(job_id).c_str(), prompt.data(), prompt.size(), settings.get());
    }
    agentjob::poller poller(std::string_view job_id, const call &settings = {}) const {
        const std::string id = detail::c_text("job_id", job_id);
        return agentjob::poller(detail::make<agentjob::poller::owned>(agentjob_poller_new, get(), id.c_str(), settings.get()));
    }
    /** Replaces the API key: every request that begins afterwards sends this one. Any thread may call it. */
    void set_api_key(std::string_view key) const {
        const std::string text = detail::c_text("api_key", key);
        detail::run([&](agentjob_error **err) { return agentjob_client_set_api_key(get(), text.c_str(), err); });
    }
    /** Ends every call of this client, on every thread, with AGENTJOB_ERR_CLOSED. */
    void close() const noexcept { agentjob_client_close(get()); }
    bool is_closed() const noexcept { return agentjob_client_is_closed(get()); }
    std::string base_url() const { return detail::text(agentjob_client_base_url(get())); }
    std::string project_id() const { return detail::text(agentjob_client_project_id(get())); }
    const agentjob_client *get() const noexcept { return handle_.get(); }

private:
    using owned = detail::owned<agentjob_client, agentjob_client_free>;
    template <class Function, class... Arguments>
    job request(Function *function, Arguments... arguments) const {
        return job(detail::make<detail::owned<agentjob_job, agentjob_job_free>>(function, get(), arguments...).release());
    }
    static std::string id_for_message(std::string_view job_id) {
        return detail::c_text("job_id", job_id, AGENTJOB_DELIVERY_NOT_SENT);
    }
    owned handle_;
};

inline bool poller::poll(const client &client, const call &settings) {
    bool done = false;
    detail::run([&](agentjob_error **err) { return agentjob_poller_poll(get(), client.get(), settings.get(), &done, err); });
    return done;
}

inline void poller::start(const client &client, const call &settings) {
    detail::run([&](agentjob_error **err) { return agentjob_poller_start(get(), client.get(), settings.get(), err); });
}

}  // namespace agentjob

#endif /* AGENTJOB_HPP */
