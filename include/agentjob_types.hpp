/*
 * agentjob_types.hpp: the types that agentjob.hpp returns and throws. Include agentjob.hpp, which also has the conventions.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef AGENTJOB_TYPES_HPP
#define AGENTJOB_TYPES_HPP

#include "agentjob.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace agentjob {

/** Pass this as the deadline of a wait to wait without one. */
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
/** The text of a function that returns its length, too, because the service may put a NUL byte into a text. */
template <class Function, class... Values>
std::optional<std::string> whole_text(Function *function, Values... values) {
    std::size_t length = 0;
    const char *text = function(values..., &length);
    return text ? std::optional(std::string(text, length)) : std::nullopt;
}

inline std::optional<std::string> optional_text(const char *borrowed) {
    return borrowed ? std::optional<std::string>(borrowed) : std::nullopt;
}

/** Milliseconds for C, which has no negative ones: a negative duration becomes a number that every setting refuses. */
inline std::uint64_t ms(std::chrono::milliseconds duration) noexcept {
    return duration.count() < 0 ? UINT64_MAX - 1 : static_cast<std::uint64_t>(duration.count());
}

inline std::chrono::milliseconds duration(std::uint64_t ms) noexcept {
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(ms, INT64_MAX)));
}

/** While it lives, an exception of a progress function on this thread goes to `place`, or is discarded if that is NULL. Inside a
 * callback it is NULL, because calls that a callback makes are not part of the call around it. */
class exception_slot {
public:
    explicit exception_slot(std::exception_ptr *place) noexcept : outer(std::exchange(current(), place)) {}
    ~exception_slot() { current() = outer; }
    exception_slot(const exception_slot &) = delete;
    exception_slot &operator=(const exception_slot &) = delete;
    std::exception_ptr *const outer;

private:
    static std::exception_ptr *&current() noexcept {
        thread_local std::exception_ptr *place = nullptr;
        return place;
    }
};

}  // namespace detail

/** A job's record: what the service said at one moment. It never changes. */
class job {
public:
    using time_point = std::chrono::system_clock::time_point;

    /** Takes ownership of a record of yours. */
    explicit job(agentjob_job *handle) noexcept : handle_(handle) {}
    /** Another handle to the same record. It is cheap. */
    job clone() const { return job(agentjob_job_clone(get())); }

    std::string id() const { return text(AGENTJOB_JOB_FIELD_ID).value_or(""); }
    agentjob_status status() const noexcept { return agentjob_job_status(get()); }
    /** The status as the service spells it, including one that this version does not know. */
    std::string status_name() const { return text(AGENTJOB_JOB_FIELD_STATUS).value_or(""); }
    bool is_terminal() const noexcept { return agentjob_job_is_terminal(get()); }
    std::optional<std::string> source_repository() const { return text(AGENTJOB_JOB_FIELD_SOURCE_REPOSITORY); }
    std::optional<std::string> source_ref() const { return text(AGENTJOB_JOB_FIELD_SOURCE_REF); }
    std::optional<std::string> model() const { return text(AGENTJOB_JOB_FIELD_MODEL); }
    std::optional<std::string> pr_link() const { return text(AGENTJOB_JOB_FIELD_PR_LINK); }
    /** The time as the service wrote it. */
    std::optional<std::string> created_at_text() const { return text(AGENTJOB_JOB_FIELD_CREATED_AT); }
    std::optional<std::string> archived_at_text() const { return text(AGENTJOB_JOB_FIELD_ARCHIVED_AT); }
    std::optional<time_point> created_at() const { return time_from(agentjob_job_created_at_unix_ms(get())); }
    std::optional<time_point> archived_at() const { return time_from(agentjob_job_archived_at_unix_ms(get())); }
    /** The whole record as JSON. */
    std::string json() const { return detail::whole_text(agentjob_job_json, get()).value_or(""); }
    const agentjob_job *get() const noexcept { return handle_.get(); }

private:
    std::optional<std::string> text(agentjob_job_field field) const { return detail::whole_text(agentjob_job_text, get(), field); }
    static std::optional<time_point> time_from(std::int64_t unix_ms) {
        return unix_ms < 0 ? std::nullopt : std::optional(time_point(std::chrono::milliseconds(unix_ms)));
    }
    detail::owned<agentjob_job, agentjob_job_free> handle_;
};

/** Why a call failed: what() is the whole message for a person, the rest is for the program. */
class error : public std::runtime_error {
public:
    /** Takes ownership of an error of yours. */
    explicit error(std::shared_ptr<const agentjob_error> handle)
        : std::runtime_error(detail::text(agentjob_error_message(handle.get()))), handle_(std::move(handle)) {}
    /** An argument that this header itself refuses. Nothing was sent. */
    error(const std::string &message, agentjob_delivery delivery) : std::runtime_error(message), handle_(), refused_(delivery) {}

    agentjob_code code() const noexcept { return handle_ ? agentjob_error_code(get()) : AGENTJOB_ERR_INVALID_ARGUMENT; }
    std::string kind() const { return handle_ ? agentjob_error_kind(get()) : "invalid_argument"; }
    /** Why the call failed, without the job, the verdict and advice: a part of what(). */
    std::string reason() const { return handle_ ? detail::text(agentjob_error_reason(get())) : what(); }
    /** How to fix the cause; nothing if there is no advice. */
    std::optional<std::string> hint() const { return detail::optional_text(agentjob_error_hint(get())); }
    /** The number in its batch, from 1, of the message that is wrong; 0 if the error is not about one. */
    std::uint64_t item() const noexcept { return agentjob_error_item(get()); }
    /** The line, from 1, of the file that the wrong message is from; 0 if the error is not about a line. */
    std::uint64_t line() const noexcept { return agentjob_error_line(get()); }
    /** What happened to the message, and so whether sending it again is safe. */
    agentjob_delivery delivery() const noexcept { return handle_ ? agentjob_error_delivery(get()) : refused_; }
    const char *delivery_name() const noexcept { return agentjob_delivery_name(delivery()); }
    /** The HTTP status of the service's response; 0 if none was read, as when a proxy refused. */
    int http_status() const noexcept { return agentjob_error_http_status(get()); }
    std::optional<std::chrono::milliseconds> retry_after() const {
        const std::int64_t ms = agentjob_error_retry_after_ms(get());
        return ms < 0 ? std::nullopt : std::optional(std::chrono::milliseconds(ms));
    }
    std::optional<std::string> request_id() const { return detail::optional_text(agentjob_error_request_id(get())); }
    std::optional<std::string> body() const { return detail::whole_text(agentjob_error_body, get()); }
    std::uint32_t attempts() const noexcept { return agentjob_error_attempts(get()); }
    std::chrono::milliseconds elapsed() const noexcept { return detail::duration(agentjob_error_elapsed_ms(get())); }
    /** The last record that a wait received; none if that may be the previous result. Or that of the job that was created, if the call was
        ended when its response was there. */
    std::optional<agentjob::job> job() const {
        const agentjob_job *last = agentjob_error_job(get());
        return last ? std::optional(agentjob::job(agentjob_job_clone(last))) : std::nullopt;
    }
    /** NULL if this header itself refused an argument. */
    const agentjob_error *get() const noexcept { return handle_.get(); }

private:
    std::shared_ptr<const agentjob_error> handle_;
    agentjob_delivery refused_ = AGENTJOB_DELIVERY_NONE;
};

/** A progress function threw an exception, which ended the call. It is nested: std::rethrow_if_nested(). */
class callback_error : public error, public std::nested_exception {
public:
    /** Made in the handler of the function's exception. */
    explicit callback_error(const error &ended) : error(ended) {}
};

namespace detail {

/** Makes a C call and throws its error. */
template <class Call>
void run(const Call &c_call) {
    std::exception_ptr thrown;
    agentjob_error *err = nullptr;
    agentjob_code code;
    {
        const exception_slot here(&thrown);
        code = c_call(&err);
    }
    owned<agentjob_error, agentjob_error_free> failure(err);
    if (code == AGENTJOB_OK) {
        return;
    }
    const error ended(std::shared_ptr<const agentjob_error>(std::move(failure)));
    if (!thrown) {
        throw ended;
    }
    try {
        std::rethrow_exception(thrown);
    } catch (...) {
        throw callback_error(ended);
    }
}

/** The same for a C function that returns a handle through `out`. */
template <class Owned, class Function, class... Arguments>
Owned make(Function *function, Arguments... arguments) {
    Owned owned;
    run([&](agentjob_error **err) {
        typename Owned::pointer out = nullptr;
        const agentjob_code code = function(arguments..., &out, err);
        owned.reset(out);
        return code;
    });
    return owned;
}

/** A NUL-terminated text for C. A NUL byte inside would cut it off, and could send a message to another job. */
inline std::string c_text(const char *name, std::string_view text, agentjob_delivery delivery = AGENTJOB_DELIVERY_NONE) {
    if (const std::size_t at = text.find('\0'); at != text.npos) {
        throw error(std::string(name) + " contains a NUL at byte " + std::to_string(at), delivery);
    }
    return std::string(text);
}

}  // namespace detail

}  // namespace agentjob

#endif /* AGENTJOB_TYPES_HPP */
