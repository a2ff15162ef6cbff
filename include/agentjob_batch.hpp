/*
 * agentjob_batch.hpp: the batches of agentjob.h for C++17 and later.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     agentjob::client client;                                   // options from the AGENTJOB_ variables
 *     agentjob::batch batch(client, "night.journal");
 *     batch.rate("100/h");
 *     batch.add("job_1", "Add tests");
 *     batch.add("job_2", "Add tests");
 *     batch.start();
 *     for (const agentjob::batch_event &event : batch) {         // waits; throws the error that stops the batch
 *         if (event.kind() == AGENTJOB_BATCH_KIND_OUTCOME) {
 *             std::cout << event.job_id() << ": " << event.delivery_name() << '\n';
 *         }
 *     }
 *
 * agentjob.h documents each function at the C function of the same name, agentjob.hpp has the conventions of C++.
 */
#ifndef AGENTJOB_BATCH_HPP
#define AGENTJOB_BATCH_HPP

#include "agentjob.hpp"

#include <iterator>
#include <vector>

namespace agentjob {

/** A batch's progress at one moment. */
struct batch_progress {
    std::uint64_t items, accepted, rejected, unknown, left, sending, waiting, done, busy, failed, dropped;
    /** Why the batch was paused, and for how much longer; AGENTJOB_PAUSE_NONE if it was not. */
    agentjob_pause pause;
    std::chrono::milliseconds pause_left;
    /** The time until the last message is sent; nothing while there is no pace yet, and for a journal. */
    std::optional<std::chrono::milliseconds> finishes_in;

    /** Copies a progress that is borrowed from C. */
    static batch_progress of(const agentjob_batch_progress *borrowed) {
        const auto count = [borrowed](agentjob_count which) { return agentjob_batch_progress_count(borrowed, which); };
        const std::int64_t finishes_in_ms = agentjob_batch_progress_finishes_in_ms(borrowed);
        std::uint64_t pause_ms = 0;
        const auto pause = agentjob_batch_progress_pause(borrowed, &pause_ms);
        return {count(AGENTJOB_COUNT_ITEMS), count(AGENTJOB_COUNT_ACCEPTED), count(AGENTJOB_COUNT_REJECTED),
                count(AGENTJOB_COUNT_UNKNOWN), count(AGENTJOB_COUNT_LEFT), count(AGENTJOB_COUNT_SENDING),
                count(AGENTJOB_COUNT_WAITING), count(AGENTJOB_COUNT_DONE), count(AGENTJOB_COUNT_BUSY),
                count(AGENTJOB_COUNT_FAILED), count(AGENTJOB_COUNT_DROPPED),
                pause,
                detail::duration(pause_ms),
                finishes_in_ms < 0 ? std::nullopt : std::optional(std::chrono::milliseconds(finishes_in_ms))};
    }
};

/** An event of a batch. It never changes, stays valid after its batch is destroyed, and is cheap to copy. */
class batch_event {
public:
    /** Takes ownership of an event of yours. */
    explicit batch_event(agentjob_batch_event *handle) : handle_(handle, agentjob_batch_event_free) {}

    agentjob_batch_kind kind() const noexcept { return agentjob_batch_event_kind(get()); }
    const char *kind_name() const noexcept { return agentjob_batch_kind_name(kind()); }
    /** The message's position in the batch, from 1; 0 for an event without a message. */
    std::uint64_t number() const noexcept { return agentjob_batch_event_number(get()); }
    /** The line that was passed with the message; 0 if none was. Only outcomes and AGENTJOB_BATCH_KIND_REPEATED have a line. For AGENTJOB_BATCH_KIND_RECOVERED
     * it is the first line of the journal that cannot be read. */
    std::uint64_t line() const noexcept { return agentjob_batch_event_line(get()); }
    std::optional<std::string> key() const { return detail::optional_text(agentjob_batch_event_key(get())); }
    /** Empty for an event without a message. */
    std::string job_id() const { return detail::text(agentjob_batch_event_job_id(get())); }
    /** The delivery verdict; AGENTJOB_DELIVERY_NONE for an event that is not an outcome. */
    agentjob_delivery delivery() const noexcept { return agentjob_batch_event_delivery(get()); }
    const char *delivery_name() const noexcept { return agentjob_delivery_name(delivery()); }
    std::optional<agentjob::job> job() const {
        const agentjob_job *last = agentjob_batch_event_job(get());
        return last ? std::optional(agentjob::job(agentjob_job_clone(last))) : std::nullopt;
    }
    /** Why a message was not accepted, or its record is missing; for a pause, the failure that caused it, or none if it began in an earlier run. */
    std::optional<agentjob::error> error() const {
        const agentjob_error *why = agentjob_batch_event_error(get());
        // The error is part of the event, so it shares the event's ownership.
        return why ? std::optional(agentjob::error(std::shared_ptr<const agentjob_error>(handle_, why))) : std::nullopt;
    }
    bool is_earlier() const noexcept { return agentjob_batch_event_is_earlier(get()); }
    agentjob_pause pause() const noexcept { return agentjob_batch_event_pause(get(), nullptr); }
    const char *pause_name() const noexcept { return agentjob_pause_name(pause()); }
    std::chrono::milliseconds pause_time() const noexcept {
        std::uint64_t ms = 0;
        agentjob_batch_event_pause(get(), &ms);
        return detail::duration(ms);
    }
    /** How many bytes of a line that was cut off were skipped; 0 for an event that is not AGENTJOB_BATCH_KIND_RECOVERED. */
    std::uint64_t dropped_bytes() const noexcept { return agentjob_batch_event_dropped_bytes(get()); }
    /** The metadata of an outcome's message, as JSON, if it was given any. */
    std::optional<std::string> extra() const { return detail::optional_text(agentjob_batch_event_extra(get())); }
    /** How many messages have the job and the prompt of one before them; 0 for an event that is not AGENTJOB_BATCH_KIND_REPEATED. Its
     * number() is the first of them. */
    std::uint64_t repeats() const noexcept { return agentjob_batch_event_repeats(get(), nullptr); }
    /** The number of the message that number() repeats; 0 for an event that is not AGENTJOB_BATCH_KIND_REPEATED. */
    std::uint64_t repeats_number() const noexcept {
        std::uint64_t first = 0;
        agentjob_batch_event_repeats(get(), &first);
        return first;
    }
    const agentjob_batch_event *get() const noexcept { return handle_.get(); }

private:
    std::shared_ptr<agentjob_batch_event> handle_;
};

/**
 * Many messages, each sent at most once, even if the process crashes. Only one thread may use it at a time. Destroying it, also after a
 * break or while an exception propagates, stops sending and waits for the responses in flight, for at most the grace period.
 */
class batch {
public:
    /** The client may be destroyed before the batch. */
    batch(const client &client, std::string_view journal)
        : handle_(detail::make<owned>(agentjob_batch_new, client.get(), detail::c_text("journal", journal).c_str())) {}

    batch &concurrency(std::uint32_t messages) { return set(agentjob_batch_set_concurrency, messages); }
    /** Like "100/h". */
    batch &rate(std::string_view rate) { return set(agentjob_batch_set_rate, detail::c_text("rate", rate).c_str()); }
    batch &wait(const call &settings = {}) { return set(agentjob_batch_set_wait, settings.get()); }
    batch &resend_unknown(bool resend) { return set(agentjob_batch_set_resend_unknown, resend); }
    batch &max_outage(std::chrono::milliseconds time) { return set(agentjob_batch_set_max_outage_ms, detail::ms(time)); }
    batch &max_busy(std::chrono::milliseconds time) { return set(agentjob_batch_set_max_busy_ms, detail::ms(time)); }
    batch &grace(std::chrono::milliseconds time) { return set(agentjob_batch_set_grace_ms, detail::ms(time)); }
    /** An extra header of the batch's requests; replaces one of the same name. */
    batch &header(std::string_view name, std::string_view value) {
        const std::string field = detail::c_text("name", name), text = detail::c_text("value", value);
        return set(agentjob_batch_set_header, field.c_str(), text.c_str());
    }
    /** The token may be destroyed before the batch. */
    batch &cancel(const cancel_token &token) { return set(agentjob_batch_set_cancel, token.get()); }
    /** Takes the token back. */
    batch &cancel(std::nullptr_t) { return set(agentjob_batch_set_cancel, static_cast<const agentjob_cancel *>(nullptr)); }

    /** Nothing is sent. Line 0 means none. */
    batch &add(std::string_view job_id, std::string_view prompt, std::optional<std::string_view> key = std::nullopt,
               std::uint64_t line = 0) {
        const std::string id = detail::c_text("job_id", job_id), name = detail::c_text("key", key.value_or(""));
        return set(agentjob_batch_add, id.c_str(), prompt.data(), prompt.size(), key ? name.c_str() : nullptr, line);
    }
    /** The metadata of the message that was added last: any JSON value. Its outcome has it again. */
    batch &item_extra(std::string_view json) {
        return set(agentjob_batch_set_item_extra, detail::c_text("json", json).c_str());
    }
    /** Adds the messages of a CSV, TSV or JSON file: all of them, or none. Other columns are refused, or kept as extra(). */
    batch &add_file(std::string_view path, bool extra = false) {
        return set(agentjob_batch_add_file, detail::c_text("path", path).c_str(), extra);
    }
    /** How many messages have the job and the prompt of one before them; 0 for a batch that was started. */
    std::uint64_t repeats() const noexcept { return agentjob_batch_repeats(handle_.get(), nullptr, nullptr); }
    /** A prompt with which retry_messages() decided to send a message again. */
    batch &add_retry_prompt(std::string_view prompt) { return set(agentjob_batch_add_retry_prompt, prompt.data(), prompt.size()); }
    void start() { set(agentjob_batch_start); }

    /** Waits for the next event; nothing if none came in time or the batch is over. */
    std::optional<batch_event> next(std::chrono::milliseconds timeout = forever) {
        agentjob_batch_event *event = nullptr;
        set(agentjob_batch_next, timeout == forever ? AGENTJOB_FOREVER : detail::ms(timeout), &event);
        return event ? std::optional(batch_event(event)) : std::nullopt;
    }
    bool is_over() const noexcept { return agentjob_batch_is_over(handle_.get()); }
    /** How many messages the batch has. */
    std::uint64_t size() { return progress().items; }
    /** For your event loop: readable when next(0ms) may have an event. Then call it until there is none. */
    int fd() const {
        std::int32_t descriptor = -1;
        detail::run([&](agentjob_error **err) { return agentjob_batch_fd(handle_.get(), &descriptor, err); });
        return descriptor;
    }
    /** How long until next(0ms) must be called even if fd() is not readable; agentjob::forever if nothing is due. */
    std::chrono::milliseconds due_in() const noexcept { return detail::duration(agentjob_batch_due_in_ms(handle_.get())); }
    batch_progress progress() { return batch_progress::of(agentjob_batch_get_progress(handle_.get())); }
    void stop() noexcept { agentjob_batch_stop(handle_.get()); }
    agentjob_batch *get() noexcept { return handle_.get(); }

    /** Waits for each event until the batch is over; throws the error that stops the batch. Do not move the batch meanwhile. */
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = batch_event;
        using difference_type = std::ptrdiff_t;
        using pointer = const batch_event *;
        using reference = const batch_event &;

        iterator() = default;
        iterator(const iterator &) = default;
        iterator &operator=(const iterator &) = default;
        ~iterator() = default;
        explicit iterator(batch *from) : from_(from) { ++*this; }
        reference operator*() const { return *event_; }
        pointer operator->() const { return &*event_; }
        iterator &operator++() {
            do {
                event_ = from_->next();
            } while (!event_ && !from_->is_over());
            return *this;
        }
        /** The events are not kept, so both iterators are at the next one. */
        iterator operator++(int) { return ++*this; }
        /** Compares only with the end. */
        friend bool operator==(const iterator &a, const iterator &b) { return !a.event_ == !b.event_; }
        friend bool operator!=(const iterator &a, const iterator &b) { return !(a == b); }

    private:
        batch *from_ = nullptr;
        std::optional<batch_event> event_{};
    };
    iterator begin() { return iterator(this); }
    iterator end() { return {}; }

private:
    using owned = detail::owned<agentjob_batch, agentjob_batch_free>;
    template <class Function, class... Values>
    batch &set(Function *function, Values... values) {
        detail::run([&](agentjob_error **err) { return function(handle_.get(), values..., err); });
        return *this;
    }
    owned handle_;
};

/** A batch's status: what its journal says, whether or not a run is active. */
class batch_status {
public:
    /** A message that was rejected, whose delivery is unknown, or whose job failed. */
    struct item {
        std::uint64_t number;
        std::string key;
        std::string job_id;
        std::optional<std::string> reason;
    };

    /** The last decision about a message: "arrived", "not_arrived", "resend", "retry" or "drop". */
    struct decision {
        std::uint64_t number;
        std::string key, job_id, name, at;
    };

    explicit batch_status(std::string_view journal)
        : handle_(detail::make<owned>(agentjob_batch_status_new, detail::c_text("journal", journal).c_str())) {}

    batch_progress progress() const { return batch_progress::of(agentjob_batch_status_progress(get())); }
    bool is_running() const noexcept { return agentjob_batch_status_is_running(get()); }
    bool waits() const noexcept { return agentjob_batch_status_waits(get()); }
    std::uint32_t pid() const noexcept { return agentjob_batch_status_pid(get()); }
    std::uint64_t runs() const noexcept { return agentjob_batch_status_runs(get()); }
    std::string base_url() const { return detail::text(agentjob_batch_status_base_url(get())); }
    std::string project_id() const { return detail::text(agentjob_batch_status_project_id(get())); }
    std::optional<std::string> rate() const { return detail::optional_text(agentjob_batch_status_rate(get())); }
    std::string began_at() const { return detail::text(agentjob_batch_status_began_at(get())); }
    std::string written_at() const { return detail::text(agentjob_batch_status_written_at(get())); }
    /** How many bytes of lines that were cut off runs have skipped, or the next run will skip. */
    std::uint64_t dropped_bytes() const noexcept { return agentjob_batch_status_dropped_bytes(get()); }
    std::vector<item> unknown() const { return items(AGENTJOB_DELIVERY_UNKNOWN); }
    std::vector<item> rejected() const { return items(AGENTJOB_DELIVERY_REJECTED); }
    /** The messages whose jobs were waited for and failed. */
    std::vector<item> failed() const { return items(AGENTJOB_DELIVERY_ACCEPTED); }
    /** How many messages the next run needs a prompt for that a decision gave them. */
    std::uint64_t new_prompts() const noexcept { return agentjob_batch_status_new_prompts(get()); }
    std::vector<decision> decisions() const {
        std::vector<decision> found;
        std::uint64_t number = 0;
        const char *key = nullptr, *job_id = nullptr, *name = nullptr, *at = nullptr;
        while (agentjob_batch_status_decision(get(), found.size(), &number, &key, &job_id, &name, &at)) {
            found.push_back({number, key, job_id, name, at});
        }
        return found;
    }
    const agentjob_batch_status *get() const noexcept { return handle_.get(); }

private:
    using owned = detail::owned<agentjob_batch_status, agentjob_batch_status_free>;
    std::vector<item> items(agentjob_delivery delivery) const {
        std::vector<item> found;
        std::uint64_t number = 0;
        const char *key = nullptr, *job_id = nullptr, *reason = nullptr;
        while (agentjob_batch_status_item(get(), delivery, found.size(), &number, &key, &job_id, &reason)) {
            found.push_back({number, key, job_id, detail::optional_text(reason)});
        }
        return found;
    }
    owned handle_;
};

namespace detail {
/** Calls a function that decides, with the items as C texts. */
template <class Decide> std::uint64_t decide(const std::vector<std::string> &items, Decide &&decide) {
    std::vector<std::string> texts;
    for (const std::string &item : items) {
        texts.push_back(c_text("item", item));
    }
    std::vector<const char *> pointers;
    for (const std::string &text : texts) {
        pointers.push_back(text.c_str());
    }
    std::uint64_t decided = 0;
    run([&](agentjob_error **err) { return decide(pointers.data(), pointers.size(), &decided, err); });
    return decided;
}
}  // namespace detail

/** Decides about messages whose delivery is unknown; returns how many. Each item is a number, a key, or "all" alone. */
inline std::uint64_t resolve_messages(std::string_view journal, const std::vector<std::string> &items, agentjob_resolution resolution) {
    const std::string path = detail::c_text("journal", journal);
    return detail::decide(items, [&](const char *const *names, std::size_t count, std::uint64_t *decided, agentjob_error **err) {
        return agentjob_batch_resolve(path.c_str(), names, count, resolution, decided, err);
    });
}

/** Decides that the next run sends rejected messages again, with the same prompt or another one; returns how many. */
inline std::uint64_t retry_messages(std::string_view journal, const std::vector<std::string> &items,
                                    std::optional<std::string_view> prompt = std::nullopt) {
    const std::string path = detail::c_text("journal", journal);
    // An empty prompt is refused, so it must not look like none.
    const char *text = prompt ? (prompt->data() ? prompt->data() : "") : nullptr;
    return detail::decide(items, [&](const char *const *names, std::size_t count, std::uint64_t *decided, agentjob_error **err) {
        return agentjob_batch_retry(path.c_str(), names, count, text, prompt ? prompt->size() : 0, decided, err);
    });
}

/** Decides that no run sends or reports these messages; returns how many. */
inline std::uint64_t drop_messages(std::string_view journal, const std::vector<std::string> &items) {
    const std::string path = detail::c_text("journal", journal);
    return detail::decide(items, [&](const char *const *names, std::size_t count, std::uint64_t *decided, agentjob_error **err) {
        return agentjob_batch_drop(path.c_str(), names, count, decided, err);
    });
}

/** Every message that a journal knows, as CSV or JSON Lines. */
inline std::string export_messages(std::string_view journal, agentjob_export_format format) {
    using owned = detail::owned<agentjob_batch_export, agentjob_batch_export_free>;
    const std::string path = detail::c_text("journal", journal);
    const owned exported = detail::make<owned>(agentjob_batch_export_new, path.c_str(), format);
    return detail::whole_text(agentjob_batch_export_text, exported.get()).value_or("");
}

/** Writes a report about a batch, a page of HTML, into a file that other users cannot read. A file that exists is refused or replaced. */
inline void write_batch_report(std::string_view journal, std::string_view path, bool replace = false) {
    const std::string from = detail::c_text("journal", journal), to = detail::c_text("path", path);
    detail::run([&](agentjob_error **err) { return agentjob_batch_write_report(from.c_str(), to.c_str(), replace, err); });
}

}  // namespace agentjob

#endif /* AGENTJOB_BATCH_HPP */
