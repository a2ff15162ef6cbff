/*
 * agentjob.h: send a follow-up message to an agent job and wait until the job is done.
 *
 * Generated from ffi-c/src by cbindgen; do not edit. SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     agentjob_client *client = NULL;
 *     agentjob_job *job = NULL;
 *     agentjob_error *err = NULL;
 *     if (agentjob_client_new(NULL, &client, &err) != AGENTJOB_OK) ...        // options from the AGENTJOB_ variables
 *     if (agentjob_client_send_and_wait(client, "job_123", "Also cover the error cases", AGENTJOB_NUL_TERMINATED,
 *                                       NULL, &job, &err) != AGENTJOB_OK) {
 *         fprintf(stderr, "%s (delivery: %s)\n", agentjob_error_message(err),
 *                 agentjob_delivery_name(agentjob_error_delivery(err)));
 *     } else {
 *         puts(agentjob_job_json(job, NULL));
 *     }
 *     agentjob_error_free(err);
 *     agentjob_job_free(job);
 *     agentjob_client_free(client);
 *
 *
 * Conventions of every function
 *
 * Order       The object first, then the inputs (a function before its user_data), then out, then err.
 *
 * Ownership   Inputs are borrowed for the call, and copied if the library keeps them. What a function returns through `out`, or
 *             from a _new or _clone, is yours: pass it to its type's _free exactly once, and do not use it afterwards. _free(NULL)
 *             does nothing. A `const` pointer that a function returns is borrowed from the object that you passed and is valid
 *             until that object is freed, unless the function says otherwise. You never free a text.
 *
 * Results     A function that can fail returns an agentjob_code, AGENTJOB_OK on success, and the compiler warns if you ignore it
 *             (AGENTJOB_NODISCARD). *out is written only on success. If `err`
 *             is not NULL, *err becomes NULL on success and an error of yours on failure. The previous value of *err is not read
 *             and not freed, so free an error before you reuse its variable. If `err` is NULL, no error is made.
 *
 * NULL        Every function checks its pointers for NULL. One that can fail returns AGENTJOB_ERR_INVALID_ARGUMENT, and its message
 *             names the parameter; one that cannot fail returns NULL, 0 or false. You may pass NULL for `err`, `call`, `user_data`,
 *             `destroy`, the options of agentjob_client_new() and every parameter that says so. (NULL, 0) is an empty text. Any
 *             other invalid pointer is undefined behavior.
 *
 * Texts       UTF-8 in both directions. Texts that you pass are NUL-terminated or have a length; one that is not UTF-8 is
 *             AGENTJOB_ERR_INVALID_ARGUMENT. Texts that you get are NUL-terminated. A text of the service may contain a NUL byte;
 *             functions with `len` return the whole length.
 *
 * Names       agentjob_<type>_<verb or property>. _new makes an object, _clone a new reference, _free ends one; set_ changes a
 *             setting, and refuses a wrong value at once. The values of agentjob_<enum> are AGENTJOB_<ENUM>_…, and
 *             agentjob_<enum>_name() returns the name of one; only the codes are AGENTJOB_OK and AGENTJOB_ERR_….
 *
 * Numbers     Times are milliseconds, as the names say. A code, verdict or status never changes its meaning, but later versions may
 *             add new ones: have a default case.
 *
 * Threads     Any number of threads may use one client and one cancel token at once, and may read one job, one error, one call,
 *             one event of a batch and one status at once. Only one thread at a time may use options, a call that is being
 *             changed, a poller or a batch. No object is bound to the thread that made it. While an object is freed, and
 *             afterwards, no thread may use it. A thread that is cancelled (pthread_cancel) during a call is cancelled after it: the
 *             call ends as usual, *out and *err are written, and the thread ends at its next cancellation point. Cleanup handlers,
 *             C++ destructors and destructors of thread-specific data may make calls. No thread that calls this library may be
 *             asynchronously cancelable (PTHREAD_CANCEL_ASYNCHRONOUS).
 *
 * Callbacks   Run on the thread that makes the call, and never after it has returned. An event function also runs on the threads of a
 *             batch and of agentjob_poller_start(), and never after the batch is freed or the poll is finished. A callback is not
 *             cancelled either. It must not throw a C++ exception, longjmp, enable cancellation or call pthread_exit(): each ends
 *             the process.
 *
 * Event loops A wait needs no thread of yours: agentjob_poller_start() polls without blocking, and agentjob_poller_fd() becomes readable
 *             when the poll has ended; agentjob_batch_fd() is readable when a batch has an event. ffi-c/examples has loop_poll.c, for
 *             poll(2), and loop_uv.c, for libuv.
 *
 * Panics      A bug in this library does not end your process. The call returns AGENTJOB_ERR_INTERNAL or, if it cannot fail, its
 *             value for NULL. The details also go to stderr.
 *
 * Memory      A call takes at most four times the size of its response (agentjob_options_set_max_response_bytes), including the
 *             record's JSON. If there is no memory to read a response, the call returns AGENTJOB_ERR_INVALID_RESPONSE with its verdict.
 *
 * Stack       Every call fits in a stack of 64 KiB, not counting callbacks. The deepest one, a TLS handshake, takes 48 KiB.
 *
 * Process     The library installs no signal handler and changes no process-wide setting. It keeps no thread: one that looks up a
 *             name ends with the lookup, one of agentjob_poller_start() with the poll, and those of a batch end with the batch. Its
 *             threads block every signal except those of their own faults, so sigwait() gets the signals that are sent to the
 *             process. No file that it opens gets descriptor
 *             0, 1 or 2. It prints nothing unless AGENTJOB_LOG is "info" or "debug", and then to stderr. Sending never raises
 *             SIGPIPE. A signal handler may interrupt any call, which then continues; the handler itself may call only
 *             agentjob_cancel_trigger(). A child of fork() may use its parent's client, on connections of its own; a running batch
 *             stays the parent's. Do not unload the library (dlclose) once it is loaded.
 *
 * Versions    Every object is opaque, so a program keeps working with every later library that has the same AGENTJOB_ABI_VERSION.
 *             @since names the version that added a function; check it at compile time with AGENTJOB_VERSION_AT_LEAST.
 */

#ifndef AGENTJOB_H
#define AGENTJOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands before every function. Define it yourself if your build needs something there. */
#ifndef AGENTJOB_API
#define AGENTJOB_API
#endif

/* Stands before every function whose result must not be ignored. Define it as nothing if you do not want the warnings. */
#ifndef AGENTJOB_NODISCARD
#if (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define AGENTJOB_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define AGENTJOB_NODISCARD __attribute__((warn_unused_result))
#else
#define AGENTJOB_NODISCARD
#endif
#endif

/** The version of this header. agentjob_version() returns the version of the loaded library. */
#define AGENTJOB_VERSION "0.1.0"
#define AGENTJOB_VERSION_MAJOR 0
#define AGENTJOB_VERSION_MINOR 1
#define AGENTJOB_VERSION_PATCH 0

/** The version of this header as one number, 0xXXYYZZ. agentjob_version_number() returns that of the loaded library. */
#define AGENTJOB_VERSION_NUMBER 0x000100

/** Whether this header is of version x.y.z or later. */
#define AGENTJOB_VERSION_AT_LEAST(x, y, z) (AGENTJOB_VERSION_NUMBER >= (((x) << 16) | ((y) << 8) | (z)))

/**
 * Pass this as the length of a NUL-terminated text.
 * @since 0.1.0
 */
#define AGENTJOB_NUL_TERMINATED SIZE_MAX


/**
 * The number in the shared library's name, libagentjob.so.0. It changes only when programs must be compiled again.
 * @since 0.1.0
 */
#define AGENTJOB_ABI_VERSION 0



/**
 * Pass this as a wait's deadline to wait without one.
 * @since 0.1.0
 */
#define AGENTJOB_FOREVER UINT64_MAX

/**
 * How a call of a function that can fail ended. Later versions only add numbers, so treat an unknown number as a failure.
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_code : int32_t {
#else
enum {
#endif
  /**
   * Success.
   */
  AGENTJOB_OK = 0,
  /**
   * An argument or a setting is wrong or missing. Nothing was sent.
   */
  AGENTJOB_ERR_INVALID_ARGUMENT = -1,
  /**
   * No connection: the name lookup or TCP failed, or a proxy refused.
   */
  AGENTJOB_ERR_CONNECT = -2,
  /**
   * The TLS handshake failed: an unknown authority, a wrong name, an expired certificate.
   */
  AGENTJOB_ERR_TLS = -3,
  /**
   * The connection ended before the response was complete.
   */
  AGENTJOB_ERR_CONNECTION_LOST = -4,
  /**
   * The call's deadline, or the one for connecting, was exceeded.
   */
  AGENTJOB_ERR_TIMEOUT = -5,
  /**
   * The call's cancel token or its progress function ended it.
   */
  AGENTJOB_ERR_CANCELLED = -6,
  /**
   * The client was closed.
   */
  AGENTJOB_ERR_CLOSED = -7,
  /**
   * 401: the API key is wrong or expired.
   */
  AGENTJOB_ERR_AUTHENTICATION = -8,
  /**
   * 403: the API key lacks permission, or this IP address is not allowed.
   */
  AGENTJOB_ERR_PERMISSION_DENIED = -9,
  /**
   * 404: there is no such job or project.
   */
  AGENTJOB_ERR_NOT_FOUND = -10,
  /**
   * 409: the job cannot take the request now.
   */
  AGENTJOB_ERR_CONFLICT = -11,
  /**
   * 429: the project's hourly limit is used up.
   */
  AGENTJOB_ERR_RATE_LIMIT = -12,
  /**
   * 400 or another 4xx: the service refused the request.
   */
  AGENTJOB_ERR_BAD_REQUEST = -13,
  /**
   * 5xx: the service or a gateway in front of it failed.
   */
  AGENTJOB_ERR_SERVER = -14,
  /**
   * 3xx: redirects are never followed, so the API key cannot reach another host.
   */
  AGENTJOB_ERR_REDIRECT = -15,
  /**
   * The response is not HTTP, not JSON, not a job record, or too large.
   */
  AGENTJOB_ERR_INVALID_RESPONSE = -16,
  /**
   * The wait's deadline was exceeded before the job was done.
   */
  AGENTJOB_ERR_WAIT_TIMEOUT = -17,
  /**
   * A bug in this library.
   */
  AGENTJOB_ERR_INTERNAL = -18,
  /**
   * A batch's journal cannot be opened, read or written, is damaged, or is in use by another run.
   */
  AGENTJOB_ERR_JOURNAL = -19,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_code agentjob_code;
#else
typedef int32_t agentjob_code;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The status of a job; see agentjob_job_status().
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_status : int32_t {
#else
enum {
#endif
  /**
   * A status that this version does not know; agentjob_job_status_name() has it. The job is not done.
   */
  AGENTJOB_STATUS_UNKNOWN = 0,
  /**
   * The job is running.
   */
  AGENTJOB_STATUS_ACTIVE = 1,
  /**
   * The job is finished.
   */
  AGENTJOB_STATUS_COMPLETED = 2,
  /**
   * The job was archived.
   */
  AGENTJOB_STATUS_ARCHIVED = 3,
  /**
   * The job failed.
   */
  AGENTJOB_STATUS_FAILED = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_status agentjob_status;
#else
typedef int32_t agentjob_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What happened to a message, or to a job to create, whose call failed; see agentjob_error_delivery().
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_delivery : int32_t {
#else
enum {
#endif
  /**
   * The call does not deliver anything.
   */
  AGENTJOB_DELIVERY_NONE = 0,
  /**
   * It was not sent completely: sending it again is safe.
   */
  AGENTJOB_DELIVERY_NOT_SENT = 1,
  /**
   * The service refused it: fix the cause, then send it again.
   */
  AGENTJOB_DELIVERY_REJECTED = 2,
  /**
   * It was sent, and no usable response came: check the job before you send it again.
   */
  AGENTJOB_DELIVERY_UNKNOWN = 3,
  /**
   * The service accepted it: do not send it again.
   */
  AGENTJOB_DELIVERY_ACCEPTED = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_delivery agentjob_delivery;
#else
typedef int32_t agentjob_delivery;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The kind of a batch's event; see agentjob_batch_event_kind().
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_batch_kind : int32_t {
#else
enum {
#endif
  /**
   * There is no event: none came in time.
   */
  AGENTJOB_BATCH_KIND_NOTHING = 0,
  /**
   * A message has its outcome: see agentjob_batch_event_delivery().
   */
  AGENTJOB_BATCH_KIND_OUTCOME = 1,
  /**
   * A message was accepted, and the batch waits for its job: the outcome comes later. Only with agentjob_batch_set_wait().
   */
  AGENTJOB_BATCH_KIND_ACCEPTED = 2,
  /**
   * A job that the batch waits for has a new record. Only with agentjob_batch_set_wait().
   */
  AGENTJOB_BATCH_KIND_JOB = 3,
  /**
   * The batch is paused: it sends nothing for a while.
   */
  AGENTJOB_BATCH_KIND_PAUSED = 4,
  /**
   * The pause is over.
   */
  AGENTJOB_BATCH_KIND_RESUMED = 5,
  /**
   * The end of the journal was cut off, as a crash cuts it off, and is skipped: see agentjob_batch_event_dropped_bytes(). It is the
   * first event. If the cut line still says that a message was about to be sent, that message has the outcome
   * AGENTJOB_DELIVERY_UNKNOWN.
   */
  AGENTJOB_BATCH_KIND_RECOVERED = 6,
  /**
   * Messages have the same job and the same prompt as one before them: see agentjob_batch_event_repeats(). Each of them is sent.
   * Of the run's events only AGENTJOB_BATCH_KIND_RECOVERED comes before it.
   */
  AGENTJOB_BATCH_KIND_REPEATED = 7,
  /**
   * The job of a message is busy (409). The batch polls it, and sends the message again when the job is no longer active: see
   * agentjob_batch_set_max_busy_ms().
   */
  AGENTJOB_BATCH_KIND_BUSY = 8,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_batch_kind agentjob_batch_kind;
#else
typedef int32_t agentjob_batch_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Why a batch sends nothing for a while.
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_pause : int32_t {
#else
enum {
#endif
  /**
   * It is not paused.
   */
  AGENTJOB_PAUSE_NONE = 0,
  /**
   * The service responded 429: the project's hourly limit is used up.
   */
  AGENTJOB_PAUSE_RATE_LIMIT = 1,
  /**
   * The service cannot be reached, or fails.
   */
  AGENTJOB_PAUSE_SERVICE_FAILURE = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_pause agentjob_pause;
#else
typedef int32_t agentjob_pause;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A count of agentjob_batch_progress_count().
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_count : int32_t {
#else
enum {
#endif
  /**
   * All messages of the batch.
   */
  AGENTJOB_COUNT_ITEMS = 0,
  /**
   * Messages that the service accepted.
   */
  AGENTJOB_COUNT_ACCEPTED = 1,
  /**
   * Messages that the service rejected.
   */
  AGENTJOB_COUNT_REJECTED = 2,
  /**
   * Messages whose delivery is unknown.
   */
  AGENTJOB_COUNT_UNKNOWN = 3,
  /**
   * Messages still to be sent, including those in flight.
   */
  AGENTJOB_COUNT_LEFT = 4,
  /**
   * Messages in flight.
   */
  AGENTJOB_COUNT_SENDING = 5,
  /**
   * Jobs that the batch waits for.
   */
  AGENTJOB_COUNT_WAITING = 6,
  /**
   * Final outcomes. If the batch waits for jobs, the outcome of an accepted message is final when its job is done.
   */
  AGENTJOB_COUNT_DONE = 7,
  /**
   * Messages that wait because their job is busy (409). They are among those left.
   */
  AGENTJOB_COUNT_BUSY = 8,
  /**
   * Jobs that the batch waited for and that failed.
   */
  AGENTJOB_COUNT_FAILED = 9,
  /**
   * Messages that agentjob_batch_drop() took out: no run sends them.
   */
  AGENTJOB_COUNT_DROPPED = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_count agentjob_count;
#else
typedef int32_t agentjob_count;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A documented text of a record, for agentjob_job_text().
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_job_field : int32_t {
#else
enum {
#endif
  /**
   * As agentjob_job_id().
   */
  AGENTJOB_JOB_FIELD_ID = 0,
  /**
   * As agentjob_job_status_name().
   */
  AGENTJOB_JOB_FIELD_STATUS = 1,
  /**
   * As agentjob_job_source_repository().
   */
  AGENTJOB_JOB_FIELD_SOURCE_REPOSITORY = 2,
  /**
   * As agentjob_job_source_ref().
   */
  AGENTJOB_JOB_FIELD_SOURCE_REF = 3,
  /**
   * As agentjob_job_model().
   */
  AGENTJOB_JOB_FIELD_MODEL = 4,
  /**
   * As agentjob_job_pr_link().
   */
  AGENTJOB_JOB_FIELD_PR_LINK = 5,
  /**
   * As agentjob_job_created_at().
   */
  AGENTJOB_JOB_FIELD_CREATED_AT = 6,
  /**
   * As agentjob_job_archived_at().
   */
  AGENTJOB_JOB_FIELD_ARCHIVED_AT = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_job_field agentjob_job_field;
#else
typedef int32_t agentjob_job_field;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * What is known about a message whose delivery is unknown, or what to do about it.
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_resolution : int32_t {
#else
enum {
#endif
  /**
   * It arrived: it counts as accepted.
   */
  AGENTJOB_RESOLUTION_ARRIVED = 0,
  /**
   * It did not arrive: the next run sends it.
   */
  AGENTJOB_RESOLUTION_NOT_ARRIVED = 1,
  /**
   * The next run sends it although it may have arrived. If it did, the agent works twice.
   */
  AGENTJOB_RESOLUTION_RESEND = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_resolution agentjob_resolution;
#else
typedef int32_t agentjob_resolution;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How agentjob_batch_export_new() writes.
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_export_format : int32_t {
#else
enum {
#endif
  /**
   * A header and one record per message (RFC 4180).
   */
  AGENTJOB_EXPORT_FORMAT_CSV = 0,
  /**
   * One JSON object per line and message.
   */
  AGENTJOB_EXPORT_FORMAT_JSONL = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_export_format agentjob_export_format;
#else
typedef int32_t agentjob_export_format;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * A phase of a request; see agentjob_meta_time_us().
 * @since 0.1.0
 */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
enum agentjob_phase : int32_t {
#else
enum {
#endif
  /**
   * The lookup of the host's name, or of the proxy's.
   */
  AGENTJOB_PHASE_RESOLVE = 0,
  /**
   * The TCP connection, to the service or to the proxy.
   */
  AGENTJOB_PHASE_CONNECT = 1,
  /**
   * The tunnel through the proxy.
   */
  AGENTJOB_PHASE_PROXY = 2,
  /**
   * The TLS handshake; for the first connection of a client also reading the trusted roots.
   */
  AGENTJOB_PHASE_TLS = 3,
  /**
   * From when the connection was there until the first byte of the response.
   */
  AGENTJOB_PHASE_FIRST_BYTE = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_phase agentjob_phase;
#else
typedef int32_t agentjob_phase;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Many messages, each sent at most once, even if the process crashes.
 *
 * Made by agentjob_batch_new(), freed by agentjob_batch_free(). Configure it (agentjob_batch_set_...), fill it with
 * agentjob_batch_add(), start it with agentjob_batch_start(), then call agentjob_batch_next() until agentjob_batch_is_over().
 * A file, its journal, records its progress: run the batch again with the same messages and the same journal, and it resumes.
 * Messages that were accepted or rejected are not sent again. A message whose delivery an earlier run does not know has the
 * outcome unknown, and is not sent again either unless agentjob_batch_set_resend_unknown() is on.
 *
 * It has its own threads from agentjob_batch_start() until it is over or freed. Only one thread may use the handle at a time; to
 * end the batch from another thread or from a signal handler, use a cancel token. After fork() the batch belongs to the parent: a
 * child may only free its copy, which does not affect the parent's.
 * @since 0.1.0
 */
typedef struct agentjob_batch agentjob_batch;

/**
 * An event of a batch. It never changes, and several threads may read it at once.
 *
 * agentjob_batch_next() returns it and it is yours: free it with agentjob_batch_event_free(). It stays valid after its batch is
 * freed. Texts, the job and the error are borrowed from it and are valid until it is freed.
 * @since 0.1.0
 */
typedef struct agentjob_batch_event agentjob_batch_event;

/**
 * The messages of a batch as text.
 *
 * Made by agentjob_batch_export_new(), freed by agentjob_batch_export_free(). The text is borrowed from it.
 * @since 0.1.0
 */
typedef struct agentjob_batch_export agentjob_batch_export;

/**
 * A batch's progress at one moment. It does not change while you read it, so its numbers are consistent.
 *
 * Borrowed from the batch (agentjob_batch_get_progress()) or the status (agentjob_batch_status_progress()).
 * @since 0.1.0
 */
typedef struct agentjob_batch_progress agentjob_batch_progress;

/**
 * A batch's status: what its journal said at one moment. It never changes, and several threads may read it at once.
 *
 * Made by agentjob_batch_status_new(), freed by agentjob_batch_status_free(). Texts and the progress are borrowed from it.
 * @since 0.1.0
 */
typedef struct agentjob_batch_status agentjob_batch_status;

/**
 * Settings of a call. NULL always means the client's own settings.
 *
 * Made by agentjob_call_new(), freed by agentjob_call_free(). Any number of calls may use it, also at once, as long as no thread
 * changes it meanwhile. A setter refuses a wrong value at once, and the settings stay as they were.
 * @since 0.1.0
 */
typedef struct agentjob_call agentjob_call;

/**
 * Cancels calls from another thread or from a signal handler.
 *
 * Made by agentjob_cancel_new(), freed by agentjob_cancel_free(). Pass it to calls with agentjob_call_set_cancel(), and cancel
 * them with agentjob_cancel_trigger(). Any number of threads may use it at once.
 * @since 0.1.0
 */
typedef struct agentjob_cancel agentjob_cancel;

/**
 * A client of one project of one service. It keeps connections open for the next call.
 *
 * Made by agentjob_client_new(), freed by agentjob_client_free(). Any number of threads may use it at once. Before the first call
 * it has no thread and no connection.
 * @since 0.1.0
 */
typedef struct agentjob_client agentjob_client;

/**
 * Why a call failed. It exists only if the caller passed `agentjob_error **err`; free it with agentjob_error_free().
 *
 * It never contains the API key, and no prompt unless the service repeats one. Several threads may read it at once. Texts and the
 * job are borrowed from it and are valid until it is freed.
 * @since 0.1.0
 */
typedef struct agentjob_error agentjob_error;

/**
 * A job's record: what the service said about the job at one moment. It never changes.
 *
 * A record that a call returns through `agentjob_job **out` is yours: free it with agentjob_job_free(). A record from
 * agentjob_error_job(), agentjob_poller_job(), agentjob_batch_event_job() or a progress function is borrowed;
 * agentjob_job_clone() keeps it. Several threads may read it at once. Texts are borrowed from it and are valid until it is freed.
 * @since 0.1.0
 */
typedef struct agentjob_job agentjob_job;

/**
 * The metadata of a success: everything about the response except its record. You get it in an agentjob_meta_fn and must not free it.
 * @since 0.1.0
 */
typedef struct agentjob_meta agentjob_meta;

/**
 * The options of a client.
 *
 * Made by agentjob_options_new(), freed by agentjob_options_free(). agentjob_client_new() copies them, so you may change or free
 * them afterwards. Only one thread may use them at a time. An option that is not set comes from its AGENTJOB_ variable if it has
 * one, and otherwise has its default. A setter refuses a wrong value at once; agentjob_client_new() checks the
 * options together, and reads their files.
 * @since 0.1.0
 */
typedef struct agentjob_options agentjob_options;

/**
 * A wait that your own loop drives, one poll at a time: no thread, no callback, no sleeping.
 *
 * Made by agentjob_poller_new() or agentjob_poller_new_from_text(), freed by agentjob_poller_free(). Sleep for
 * agentjob_poller_due_in_ms(), then call agentjob_poller_poll(), until the job is done. In an event loop use agentjob_poller_start()
 * instead, which does not block. agentjob_poller_to_text() lets another process continue the wait. Only one thread may use it at a
 * time.
 * @since 0.1.0
 */
typedef struct agentjob_poller agentjob_poller;

/**
 * A function that receives events.
 *
 * It runs on the thread that makes the call, so several threads call it at once if several use the client. A batch calls it on
 * its own threads. It must return soon, and must not throw, longjmp, enable cancellation or end its thread.
 * @param json one object, like {"event":"attempt","operation":"send_message","job_id":"job_123","attempt":1}, borrowed until
 * you return. It never contains the API key, a prompt or a body. Times are in seconds. Later versions may add keys and events.
 * @param user_data the pointer that was passed with the function
 * @since 0.1.0
 */
typedef void (*agentjob_event_fn)(const char *json, void *user_data);

/**
 * A function that releases user data. It is called once, when the user data is no longer needed.
 * @param user_data the pointer that was passed with the function
 * @since 0.1.0
 */
typedef void (*agentjob_destroy_fn)(void *user_data);

/**
 * A function that receives a job's records during agentjob_client_wait() and agentjob_client_send_and_wait(): the first record,
 * and then each one that differs from the previous one.
 *
 * It runs on the thread that makes the call, never after the call returned. No lock is held, so it may use the client. It must
 * not throw, longjmp, enable cancellation or end its thread, and must not free anything that the call uses.
 * @param job the record, borrowed until you return; agentjob_job_clone() keeps it
 * @param user_data the pointer that was passed with the function
 * @return 0 to continue; any other number ends the call with AGENTJOB_ERR_CANCELLED
 * @since 0.1.0
 */
typedef int32_t (*agentjob_job_progress_fn)(const agentjob_job *job, void *user_data);

/**
 * A function that receives the metadata of a success.
 *
 * It runs on the thread that makes the call, before the call returns. No lock is held, so it may use the client. It must not throw,
 * longjmp, enable cancellation or end its thread, and must not free anything that the call uses.
 * @param meta the metadata, borrowed until you return
 * @param user_data the pointer that was passed with the function
 * @since 0.1.0
 */
typedef void (*agentjob_meta_fn)(const agentjob_meta *meta, void *user_data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the loaded library: "0.1.0".
 * @return a static text
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_version(void);

/**
 * The version of the loaded library as one number, 0xXXYYZZ. Compare it with AGENTJOB_VERSION_NUMBER.
 * @return the number
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_version_number(void);

/**
 * The number in the name of the loaded library. Compare it with AGENTJOB_ABI_VERSION.
 * @return the number
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_abi_version(void);

/**
 * A code's name as it is spelled in this header: "AGENTJOB_ERR_NOT_FOUND".
 * @param code any number
 * @return a static text; "?" for a number that is not a code
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_code_name(int32_t code);

/**
 * A verdict's name, the same in every language: "not_sent", "rejected", "unknown", "accepted"; "none" for
 * AGENTJOB_DELIVERY_NONE.
 * @param delivery any number
 * @return a static text; "?" for a number that is not a verdict
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_delivery_name(int32_t delivery);

/**
 * A status's name, as the service spells it: "active", "completed", "archived", "failed"; "unknown" for
 * AGENTJOB_STATUS_UNKNOWN.
 * @param status any number
 * @return a static text; "?" for a number that is not a status
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_status_name(int32_t status);

/**
 * Makes options with nothing set.
 * @return yours; free it with agentjob_options_free(). NULL only after a bug in this library.
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API agentjob_options *agentjob_options_new(void);

/**
 * Frees options. Clients made from them stay valid.
 * @param options the options; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_options_free(agentjob_options *options);

/**
 * The service's URL: https, or http to this machine only. Required, here or as AGENTJOB_BASE_URL.
 * @param options the options
 * @param base_url the URL, like "https://api.example.com"
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_base_url(agentjob_options *options,
                                            const char *base_url,
                                            agentjob_error **err);

/**
 * The API key. Required, here, with agentjob_options_set_api_key_file(), or as AGENTJOB_API_KEY.
 * @param options the options
 * @param api_key the key as the service shows it. The copy is wiped when the options and all their clients are freed
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_api_key(agentjob_options *options,
                                           const char *api_key,
                                           agentjob_error **err);

/**
 * A file that contains the API key and nothing else; agentjob_client_new() reads it. Also AGENTJOB_API_KEY_FILE. It is
 * read again when it changed, and after a 401, when the request is made once more if the file has another key. It may be a pipe,
 * which is read once, for at most 60 s. A file of this user's that other users can read or write is refused, as OpenSSH does
 * with private keys; see agentjob_options_set_allow_shared_key_file().
 * @param options the options
 * @param path the file's path
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_api_key_file(agentjob_options *options,
                                                const char *path,
                                                agentjob_error **err);

/**
 * Whether to accept a file with a key that other users can read or write, which container secrets often are. Default false, or
 * AGENTJOB_ALLOW_SHARED_KEY_FILE, which is 1 or 0.
 * @param options the options
 * @param allow_shared_key_file whether to accept it
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_allow_shared_key_file(agentjob_options *options,
                                                         bool allow_shared_key_file,
                                                         agentjob_error **err);

/**
 * The project of the jobs. Required, here or as AGENTJOB_PROJECT_ID.
 * @param options the options
 * @param project_id the project's id
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_project_id(agentjob_options *options,
                                              const char *project_id,
                                              agentjob_error **err);

/**
 * A PEM file of certificate authorities to trust in addition to the platform's; agentjob_client_new() reads it. Also
 * AGENTJOB_CA_FILE.
 * @param options the options
 * @param path the file's path
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_ca_file(agentjob_options *options,
                                           const char *path,
                                           agentjob_error **err);

/**
 * The client certificate for mutual TLS; agentjob_client_new() reads it. Also AGENTJOB_CLIENT_CERT.
 * @param options the options
 * @param path a PEM file with the certificate, followed by those of its authorities, and perhaps by its private key
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_client_cert(agentjob_options *options,
                                               const char *path,
                                               agentjob_error **err);

/**
 * The private key of agentjob_options_set_client_cert(), if that file doesn't have it. Also AGENTJOB_CLIENT_KEY. Other users must
 * not have access to the file, as for agentjob_options_set_api_key_file().
 * @param options the options
 * @param path a PEM file with the key, not encrypted
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_client_key(agentjob_options *options,
                                              const char *path,
                                              agentjob_error **err);

/**
 * The HTTP proxy to use instead of the environment's.
 * @param options the options
 * @param proxy "http://[user:password@]host:port"
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_proxy(agentjob_options *options,
                                         const char *proxy,
                                         agentjob_error **err);

/**
 * Whether agentjob_client_new() reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. Default true.
 * @param options the options
 * @param trust_env whether to read them
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_trust_env(agentjob_options *options,
                                             bool trust_env,
                                             agentjob_error **err);

/**
 * Whether to allow plain http to another machine, which exposes the API key to the network. Default false.
 * @param options the options
 * @param allow_plaintext whether to allow it
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_allow_plaintext(agentjob_options *options,
                                                   bool allow_plaintext,
                                                   agentjob_error **err);

/**
 * A text to append to "agentjob/<version>" in the User-Agent header. Default none.
 * @param options the options
 * @param suffix visible ASCII and spaces, at most 256 bytes; "" for none
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_user_agent_suffix(agentjob_options *options,
                                                     const char *suffix,
                                                     agentjob_error **err);

/**
 * The deadline of one request, including its retries and the pauses between them. Default 60000, or AGENTJOB_TIMEOUT, which is
 * in seconds.
 * @param options the options
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_timeout_ms(agentjob_options *options,
                                              uint64_t ms,
                                              agentjob_error **err);

/**
 * The deadline for connecting: name lookup, TCP, proxy and TLS together. Default 10000.
 * @param options the options
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_connect_timeout_ms(agentjob_options *options,
                                                      uint64_t ms,
                                                      agentjob_error **err);

/**
 * How often a call retries a failed request, in cases where that cannot deliver a message twice. Default 2.
 * @param options the options
 * @param max_retries 0 to 100
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_max_retries(agentjob_options *options,
                                               uint32_t max_retries,
                                               agentjob_error **err);

/**
 * The longest Retry-After that a call waits for. With a longer one it fails at once. Default 60000.
 * @param options the options
 * @param ms milliseconds, 0 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_max_retry_after_ms(agentjob_options *options,
                                                      uint64_t ms,
                                                      agentjob_error **err);

/**
 * The longest prompt that is sent; a longer one is AGENTJOB_ERR_INVALID_ARGUMENT. Default 4194304 (4 MiB).
 * @param options the options
 * @param bytes bytes of UTF-8, 1 to 1073741824 (1 GiB)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_max_prompt_bytes(agentjob_options *options,
                                                    size_t bytes,
                                                    agentjob_error **err);

/**
 * The longest response that is read; a longer one is AGENTJOB_ERR_INVALID_RESPONSE. Default 8388608 (8 MiB).
 * @param options the options
 * @param bytes bytes, 1 to 1073741824 (1 GiB)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_max_response_bytes(agentjob_options *options,
                                                      size_t bytes,
                                                      agentjob_error **err);

/**
 * The deadline of the client's waits, where agentjob_call_set_wait_timeout_ms() sets none. Default 1800000 (30 minutes), or
 * AGENTJOB_WAIT_TIMEOUT, which is in seconds or "none".
 * @param options the options
 * @param ms milliseconds, 1 to 604800000 (7 days), or AGENTJOB_FOREVER
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_wait_timeout_ms(agentjob_options *options,
                                                   uint64_t ms,
                                                   agentjob_error **err);

/**
 * The shortest and the longest pause between two polls of the client's waits, where agentjob_call_set_poll_interval_ms() sets none.
 * Default 2000 and 60000, or AGENTJOB_MIN_INTERVAL and AGENTJOB_MAX_INTERVAL, which are in seconds.
 * @param options the options
 * @param min_ms milliseconds, 1 to max_ms
 * @param max_ms milliseconds, min_ms to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of ranges
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_poll_interval_ms(agentjob_options *options,
                                                    uint64_t min_ms,
                                                    uint64_t max_ms,
                                                    agentjob_error **err);

/**
 * How late the client's waits may notice that a job is done, as a fraction of the time waited, where agentjob_call_set_lateness()
 * sets none. Default 0.15, or AGENTJOB_LATENESS.
 * @param options the options
 * @param fraction more than 0, at most 1
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_lateness(agentjob_options *options,
                                            double fraction,
                                            agentjob_error **err);

/**
 * The settle time of the client's waits, where agentjob_call_set_settle_ms() sets none: how long after a message a finished job may
 * still show its previous result. Default 10000, or AGENTJOB_SETTLE, which is in seconds.
 * @param options the options
 * @param ms milliseconds, 0 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_settle_ms(agentjob_options *options,
                                             uint64_t ms,
                                             agentjob_error **err);

/**
 * Sets a function that receives each event: an attempt, a response, a retry, a poll. docs/events.md has all events with their keys,
 * and says when each comes. Default none.
 * @param options the options
 * @param on_event the function
 * @param user_data passed to the function; may be NULL. Every thread that uses the client uses it
 * @param destroy called once with user_data when these options and every client and batch made from them are freed, or when
 * another event function replaces this one; may be NULL. After an error it is not called: user_data stays yours
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options or on_event is NULL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_on_event(agentjob_options *options,
                                            agentjob_event_fn on_event,
                                            void *user_data,
                                            agentjob_destroy_fn destroy,
                                            agentjob_error **err);

/**
 * Makes a client. It checks every option and sends nothing.
 * @param options the options; NULL takes all of them from the AGENTJOB_ variables
 * @param out gets the client; free it with agentjob_client_free()
 * @param err gets the error, whose message names the first option that is missing or wrong; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_client_new(const agentjob_options *options,
                                  agentjob_client **out,
                                  agentjob_error **err);

/**
 * Replaces the API key, for a key that rotates: every request that begins afterwards sends this one, on every thread and in the
 * batches of the client, and the file of agentjob_options_set_api_key_file() is no longer read. A request that began with the former
 * key and is refused (401) is made once more with this one. The former keys are still removed from every error, event and log line,
 * the last eight of them. Any thread may call it.
 *
 * It is a setter and no callback, because a program knows when its key changed, and the library has no thread of its own that could
 * ask.
 * @param client the client
 * @param api_key the key as the service shows it. The copy is wiped when it is not needed any more
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_client_set_api_key(const agentjob_client *client,
                                          const char *api_key,
                                          agentjob_error **err);

/**
 * Ends every call of this client, on every thread, with AGENTJOB_ERR_CLOSED, and refuses new ones. It does not wait for them.
 * Any thread may call it, more than once.
 *
 * A batch of the client sends nothing more and ends with AGENTJOB_ERR_CLOSED. It first waits, for at most its grace period, for
 * the responses to its messages in flight: agentjob_batch_next() returns their outcomes, or agentjob_batch_free() waits.
 * @param client the client; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_client_close(const agentjob_client *client);

/**
 * Whether agentjob_client_close() was called.
 * @param client the client
 * @return true if it was; false for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_client_is_closed(const agentjob_client *client);

/**
 * The service's URL, without a slash at its end.
 * @param client the client
 * @return borrowed from the client; NULL only for a NULL client
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_client_base_url(const agentjob_client *client);

/**
 * The id of the jobs' project.
 * @param client the client
 * @return borrowed from the client; NULL only for a NULL client
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_client_project_id(const agentjob_client *client);

/**
 * Frees a client. It does not wait, so no call may still be using it: agentjob_client_close() makes running calls return; join
 * their threads before you free the client.
 * @param client the client; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_client_free(agentjob_client *client);

/**
 * Sends a message, a follow-up instruction, to a job and returns the job's record. The record may still be the previous one,
 * because the service processes a message asynchronously.
 *
 * A message is never sent twice. After an error agentjob_error_delivery() says what happened to it.
 * @param client the client
 * @param job_id the job's id
 * @param prompt the message, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param call settings of this call, or NULL
 * @param out gets the record; free it with agentjob_job_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or any error except AGENTJOB_ERR_WAIT_TIMEOUT and AGENTJOB_ERR_JOURNAL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_client_send_message(const agentjob_client *client,
                                           const char *job_id,
                                           const char *prompt,
                                           size_t prompt_len,
                                           const agentjob_call *call,
                                           agentjob_job **out,
                                           agentjob_error **err);

/**
 * Gets a job's record.
 * @param client the client
 * @param job_id the job's id
 * @param call settings of this call, or NULL
 * @param out gets the record; free it with agentjob_job_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or any error except AGENTJOB_ERR_WAIT_TIMEOUT and AGENTJOB_ERR_JOURNAL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_client_get_job(const agentjob_client *client,
                                      const char *job_id,
                                      const agentjob_call *call,
                                      agentjob_job **out,
                                      agentjob_error **err);

/**
 * Creates a job and returns its record. After an error agentjob_error_delivery() says whether the job may exist; if the call was
 * cancelled or the client closed when the response was there, agentjob_error_job() is the job's record.
 * @param client the client
 * @param prompt the job's first instruction, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param call settings of this call, or NULL
 * @param out gets the record; free it with agentjob_job_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or any error except AGENTJOB_ERR_WAIT_TIMEOUT and AGENTJOB_ERR_JOURNAL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_client_create_job(const agentjob_client *client,
                                         const char *prompt,
                                         size_t prompt_len,
                                         const agentjob_call *call,
                                         agentjob_job **out,
                                         agentjob_error **err);

/**
 * Waits until a job is completed, archived or failed, and returns its last record. A failed job is not an error of the wait:
 * check agentjob_job_status().
 *
 * A poll that fails for a transient reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) does not
 * end the wait. After a message of this client, also one sent during the wait, a finished record counts only when a poll has seen
 * the job active since then, or when the settle time has passed.
 * @param client the client
 * @param job_id the job's id
 * @param call settings of this call, or NULL
 * @param out gets the record; free it with agentjob_job_free()
 * @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
 * the previous result; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT if the wait's deadline was exceeded, or any error of agentjob_client_get_job()
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_client_wait(const agentjob_client *client,
                                   const char *job_id,
                                   const agentjob_call *call,
                                   agentjob_job **out,
                                   agentjob_error **err);

/**
 * Sends a message and waits for its result: agentjob_client_send_message(), then agentjob_client_wait().
 *
 * After an error agentjob_error_delivery() says what happened to the message: AGENTJOB_DELIVERY_ACCEPTED once the wait has begun.
 * @param client the client
 * @param job_id the job's id
 * @param prompt the message, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param call settings of this call, or NULL
 * @param out gets the last record; free it with agentjob_job_free()
 * @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
 * the previous result; may be NULL
 * @return AGENTJOB_OK, or any error except AGENTJOB_ERR_JOURNAL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_client_send_and_wait(const agentjob_client *client,
                                            const char *job_id,
                                            const char *prompt,
                                            size_t prompt_len,
                                            const agentjob_call *call,
                                            agentjob_job **out,
                                            agentjob_error **err);

/**
 * Makes settings that override nothing yet.
 * @return yours; free it with agentjob_call_free(). NULL only after a bug in this library.
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API agentjob_call *agentjob_call_new(void);

/**
 * The deadline of one request, of a message, a job to create or one poll, instead of the client's timeout. For the deadline of
 * a wait use agentjob_call_set_wait_timeout_ms().
 * @param call the settings
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_timeout_ms(agentjob_call *call,
                                           uint64_t ms,
                                           agentjob_error **err);

/**
 * The deadline of a wait for a job. Default: the client's, 1800000 (30 minutes).
 * @param call the settings
 * @param ms milliseconds, 1 to 604800000 (7 days), or AGENTJOB_FOREVER
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_wait_timeout_ms(agentjob_call *call,
                                                uint64_t ms,
                                                agentjob_error **err);

/**
 * The shortest and the longest pause between two polls. Default: the client's, 2000 and 60000. Polls 250, 500, 1000 and 2000 ms after a message
 * come in any case.
 * @param call the settings
 * @param min_ms milliseconds, 1 to max_ms
 * @param max_ms milliseconds, min_ms to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_poll_interval_ms(agentjob_call *call,
                                                 uint64_t min_ms,
                                                 uint64_t max_ms,
                                                 agentjob_error **err);

/**
 * How late a wait may notice that the job is done, as a fraction of the time it has waited: the pauses between polls grow in
 * proportion. Default: the client's, 0.15.
 * @param call the settings
 * @param fraction more than 0, at most 1
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_lateness(agentjob_call *call,
                                         double fraction,
                                         agentjob_error **err);

/**
 * The settle time: how long after a message of this client a finished job may still show its previous result. During that time a
 * wait accepts a finished record only if one of its polls has seen the job active since the message; that the response to the
 * message says so does not count. Default: the client's, 10000; 0 accepts the first record.
 * @param call the settings
 * @param ms milliseconds, 0 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_settle_ms(agentjob_call *call,
                                          uint64_t ms,
                                          agentjob_error **err);

/**
 * A token that cancels the calls made with these settings. Default none.
 * @param call the settings
 * @param cancel the token, or NULL to take one back. The settings keep their own reference, so you may free it before them
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_cancel(agentjob_call *call,
                                       const agentjob_cancel *cancel,
                                       agentjob_error **err);

/**
 * Frees the settings of a call.
 * @param call the settings; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_call_free(agentjob_call *call);

/**
 * Sets a function that receives each new record that a wait gets. Default none. To cancel a wait at any moment use a cancel
 * token: this function is not called between two records.
 * @param call the settings
 * @param progress the function, or NULL to take one back
 * @param user_data passed to the function; may be NULL. It stays yours and must live as long as calls use these settings. If
 * several threads make calls with them at once, the function runs on each of these threads.
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_progress(agentjob_call *call,
                                         agentjob_job_progress_fn progress,
                                         void *user_data,
                                         agentjob_error **err);

/**
 * Sets a function that receives the metadata of a success: status, header fields, request id, attempts and times. A call that
 * returns a record calls it once before; a wait calls it for each record that it reads, so the last call is for the returned record. A
 * failure has the same facts in its error. Default none.
 * @param call the settings
 * @param meta the function, or NULL to take one back
 * @param user_data passed to the function; may be NULL. It stays yours and must live as long as calls use these settings. If
 * several threads make calls with them at once, the function runs on each of these threads.
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_meta(agentjob_call *call,
                                     agentjob_meta_fn meta,
                                     void *user_data,
                                     agentjob_error **err);

/**
 * The call: "send_message", "get_job" or "create_job".
 * @param meta the metadata
 * @return borrowed from the metadata; NULL for NULL
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_meta_operation(const agentjob_meta *meta);

/**
 * The job's id; for agentjob_client_create_job() that of the new job, into which the service may put a NUL byte.
 * @param meta the metadata
 * @param len gets the length in bytes, without the NUL at the end; may be NULL
 * @return borrowed from the metadata; NULL, and 0 in *len, for NULL
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_meta_job_id(const agentjob_meta *meta, size_t *len);

/**
 * The HTTP status.
 * @param meta the metadata
 * @return 200 to 299; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_meta_http_status(const agentjob_meta *meta);

/**
 * The service's or a gateway's id of the request. Quote it when you report a problem to the service.
 * @param meta the metadata
 * @return borrowed from the metadata; NULL if there is none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_meta_request_id(const agentjob_meta *meta);

/**
 * The value of a header field of the response; the values of a repeated field are joined by ", ".
 *
 * "***" stands for the API key, the proxy's password, and the value of each field whose name says that it is a secret, such as
 * Set-Cookie. At most 100 fields of at most 2048 characters each are kept.
 * @param meta the metadata
 * @param name the field's name, in any case
 * @return borrowed from the metadata; NULL if there is no such field, if name is not UTF-8, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_meta_header(const agentjob_meta *meta,
                                 const char *name);

/**
 * How many bytes the record had.
 * @param meta the metadata
 * @return the number; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_meta_bytes(const agentjob_meta *meta);

/**
 * How many requests the call made; each poll of a wait is a call of its own.
 * @param meta the metadata
 * @return the number; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_meta_attempts(const agentjob_meta *meta);

/**
 * How long the call took until the response had been read, its retries and pauses included.
 * @param meta the metadata
 * @return milliseconds; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_meta_elapsed_ms(const agentjob_meta *meta);

/**
 * How long a phase of the last request took. A request over a kept connection has only AGENTJOB_PHASE_FIRST_BYTE.
 * @param meta the metadata
 * @param phase an AGENTJOB_PHASE_ number
 * @return microseconds; -1 if the request had no such phase, if phase is no such number, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int64_t agentjob_meta_time_us(const agentjob_meta *meta, int32_t phase);

/**
 * All of the metadata as a JSON object, with every header field; times are seconds. docs/events.md has its keys.
 * @param meta the metadata
 * @param len gets the length in bytes, without the NUL at the end; may be NULL
 * @return borrowed from the metadata; NULL, and 0 in *len, for NULL
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_meta_json(const agentjob_meta *meta, size_t *len);

/**
 * Makes a token that is not triggered.
 * @return yours; free it with agentjob_cancel_free(). NULL only after a bug in this library.
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API agentjob_cancel *agentjob_cancel_new(void);

/**
 * Ends every call that has this token, running or later, with AGENTJOB_ERR_CANCELLED. A running call notices within 100 ms. It
 * cannot be undone: make a new token for the next call.
 *
 * Any thread may call it. It is the only function here that a signal handler may call: it is one atomic store.
 * @param cancel the token; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_cancel_trigger(const agentjob_cancel *cancel);

/**
 * Whether a token was triggered.
 * @param cancel the token
 * @return true after agentjob_cancel_trigger(); false for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_cancel_is_triggered(const agentjob_cancel *cancel);

/**
 * Frees a token. Calls and settings that have it keep their own reference. A signal handler does not, so remove the handler
 * first.
 * @param cancel the token; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_cancel_free(agentjob_cancel *cancel);

/**
 * A documented text with its length. The service may put a NUL byte into any of them, at which the text of the other functions ends.
 * @param job the record
 * @param field an AGENTJOB_JOB_FIELD_ number
 * @param len gets the length in bytes, without the NUL at the end; may be NULL
 * @return borrowed from the record; NULL, and 0 in *len, if the record has none, for any other number, and for a NULL record
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_job_text(const agentjob_job *job,
                              int32_t field,
                              size_t *len);

/**
 * The job's id.
 * @param job the record
 * @return borrowed from the record; NULL only for a NULL record
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_id(const agentjob_job *job);

/**
 * The job's status, to branch on.
 * @param job the record
 * @return the status; AGENTJOB_STATUS_UNKNOWN for a status that this version does not know, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API agentjob_status agentjob_job_status(const agentjob_job *job);

/**
 * The job's status as the service spells it, including one that this version does not know.
 * @param job the record
 * @return borrowed from the record; NULL only for a NULL record
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_status_name(const agentjob_job *job);

/**
 * Whether the job is done: completed, archived or failed.
 * @param job the record
 * @return true if it is; false for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_job_is_terminal(const agentjob_job *job);

/**
 * The repository that the job works on, usually a full URL.
 * @param job the record
 * @return borrowed from the record; NULL if the record has none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_source_repository(const agentjob_job *job);

/**
 * The ref that the job works on, usually a branch.
 * @param job the record
 * @return borrowed from the record; NULL if the record has none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_source_ref(const agentjob_job *job);

/**
 * The AI model.
 * @param job the record
 * @return borrowed from the record; NULL if the record has none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_model(const agentjob_job *job);

/**
 * The pull request's URL. It is the service's text and was not checked: check it before you open it.
 * @param job the record
 * @return borrowed from the record; NULL while the job is active, and if no file changed
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_pr_link(const agentjob_job *job);

/**
 * When the job was created, as the service wrote it (ISO 8601).
 * @param job the record
 * @return borrowed from the record; NULL if the record has none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_created_at(const agentjob_job *job);

/**
 * When the job was created, as a number: agentjob_job_created_at() parsed as ISO 8601 with an offset.
 * @param job the record
 * @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such time or one before 1970, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int64_t agentjob_job_created_at_unix_ms(const agentjob_job *job);

/**
 * When the job was archived, as the service wrote it (ISO 8601).
 * @param job the record
 * @return borrowed from the record; NULL if the job is not archived
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_archived_at(const agentjob_job *job);

/**
 * When the job was archived, as a number: agentjob_job_archived_at() parsed as ISO 8601 with an offset.
 * @param job the record
 * @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such time or one before 1970, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int64_t agentjob_job_archived_at_unix_ms(const agentjob_job *job);

/**
 * The whole record as compact JSON: the documented keys in their order, null where the service left one out, then the keys that
 * this version does not know, unchanged and in the service's order.
 * @param job the record
 * @param len gets the length in bytes, without the NUL at the end; may be NULL
 * @return borrowed from the record; NULL, and 0 in *len, only for a NULL record
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_job_json(const agentjob_job *job,
                              size_t *len);

/**
 * Another handle to the same record, to keep a borrowed one. It is cheap: both share the record's memory.
 * @param job the record
 * @return yours; free it with agentjob_job_free(). NULL only for a NULL record
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API agentjob_job *agentjob_job_clone(const agentjob_job *job);

/**
 * Frees a record of yours, not a borrowed one, and with it the texts that are borrowed from it.
 * @param job the record; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_job_free(agentjob_job *job);

/**
 * The error's code, the same that the call returned.
 * @param error the error
 * @return the code; AGENTJOB_OK for NULL
 * @since 0.1.0
 */
AGENTJOB_API agentjob_code agentjob_error_code(const agentjob_error *error);

/**
 * The error's kind, spelled as in every language: "not_found", "wait_timeout".
 * @param error the error
 * @return borrowed from the error; NULL only for a NULL error
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_error_kind(const agentjob_error *error);

/**
 * The whole message for a person: what failed, for which job, why, and what to do.
 * @param error the error
 * @return borrowed from the error; NULL only for a NULL error
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_error_message(const agentjob_error *error);

/**
 * Why the call failed, without the job, the verdict and advice: "no connection to 127.0.0.1:9 (connection refused)". It is a part
 * of agentjob_error_message(), for programs that write their own message.
 * @param error the error
 * @return borrowed from the error; NULL only for a NULL error
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_error_reason(const agentjob_error *error);

/**
 * How to fix the cause, as a sentence: "Check base_url and the network." Whether to send the message again is not part of it; that
 * follows from agentjob_error_delivery().
 * @param error the error
 * @return borrowed from the error; NULL if there is no advice for this error
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_error_hint(const agentjob_error *error);

/**
 * The message of a batch that is wrong: its number in the batch, in the order in which the messages were added.
 * @param error the error
 * @return the number, from 1; 0 if the error is not about a message of a batch, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_error_item(const agentjob_error *error);

/**
 * The wrong line of a file of messages, or the line that was given to agentjob_batch_add() for the message that is wrong.
 * @param error the error
 * @return the line, from 1; 0 if the error is not about a line, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
uint64_t agentjob_error_line(const agentjob_error *error);

/**
 * The delivery verdict: what happened to the message, and so whether sending it again is safe.
 * @param error the error
 * @return the verdict; AGENTJOB_DELIVERY_NONE for NULL, and if the call does not deliver a message, like a setter, whatever it prepares
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_delivery agentjob_error_delivery(const agentjob_error *error);

/**
 * The HTTP status of the service's response.
 * @param error the error
 * @return 100 to 999; 0 if no response was read, as when a proxy refused, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_error_http_status(const agentjob_error *error);

/**
 * How long the service, or a proxy that refused, asks you to wait before the next request (Retry-After).
 * @param error the error
 * @return milliseconds; -1 if it does not ask, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int64_t agentjob_error_retry_after_ms(const agentjob_error *error);

/**
 * The service's id of the request. Quote it when you report a problem to the service.
 * @param error the error
 * @return borrowed from the error; NULL if there is none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_error_request_id(const agentjob_error *error);

/**
 * The start of the response's body, at most 8 KiB. It is the text of the service, or of a proxy that refused, and was not checked.
 * @param error the error
 * @param len gets the length in bytes, without the NUL at the end; may be NULL
 * @return borrowed from the error; NULL, and 0 in *len, if there is none
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_error_body(const agentjob_error *error,
                                size_t *len);

/**
 * How many requests the call made.
 * @param error the error
 * @return the number; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_error_attempts(const agentjob_error *error);

/**
 * How long the call took.
 * @param error the error
 * @return milliseconds; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_error_elapsed_ms(const agentjob_error *error);

/**
 * The job's last record that a wait received before it ended with this error; or the record of the job that was created, if the call
 * was ended when its response was there.
 * @param error the error
 * @return borrowed from the error; NULL if there is none, or if that may be the job's previous result
 * @since 0.1.0
 */
AGENTJOB_API
const agentjob_job *agentjob_error_job(const agentjob_error *error);

/**
 * A new reference to the same error: to keep one that is borrowed from an event of a batch, or to hand it to another thread.
 * @param error the error
 * @return the new reference, freed with agentjob_error_free(); NULL for NULL
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_error *agentjob_error_clone(const agentjob_error *error);

/**
 * Frees an error, and with it the texts and the job that are borrowed from it.
 * @param error the error; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_error_free(agentjob_error *error);

/**
 * Begins a wait that your loop drives. Nothing is sent.
 * @param client the client
 * @param job_id the job's id
 * @param call the wait's settings (deadline, poll interval, lateness and settle time), or NULL
 * @param out gets the poller; free it with agentjob_poller_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_poller_new(const agentjob_client *client,
                                  const char *job_id,
                                  const agentjob_call *call,
                                  agentjob_poller **out,
                                  agentjob_error **err);

/**
 * Continues a wait from a poller's text, also in another process. The time since the text was made counts as waited.
 * @param text a text from agentjob_poller_to_text()
 * @param out gets the poller; free it with agentjob_poller_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_poller_new_from_text(const char *text,
                                            agentjob_poller **out,
                                            agentjob_error **err);

/**
 * How long until the next poll is due, or until the wait's deadline if that is earlier.
 * @param poller the poller
 * @return milliseconds; 0 if a poll is due now, if the job is done, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_poller_due_in_ms(const agentjob_poller *poller);

/**
 * Polls the job once, now, even if no poll is due. A poll that fails for a transient reason (connection, timeout, 408, 429, 5xx,
 * a 2xx that is not this job's record) is counted and is not an error. If the deadline was exceeded although a poll was due
 * before, or during a poll that ended more than a second later, one more poll is made, with the call's timeout.
 *
 * Records and texts that were borrowed from the poller become invalid.
 * @param poller the poller
 * @param client a client of the job's project; after agentjob_poller_new_from_text() any client that can see the job
 * @param call settings of this poll (timeout and cancel token), or NULL
 * @param done gets whether the job is done; if so, agentjob_poller_job() is its last record
 * @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
 * the previous result; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT if the wait's deadline was exceeded, or any error of agentjob_client_get_job()
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_poller_poll(agentjob_poller *poller,
                                   const agentjob_client *client,
                                   const agentjob_call *call,
                                   bool *done,
                                   agentjob_error **err);

/**
 * The id of the job that is waited for.
 * @param poller the poller
 * @return borrowed from the poller; NULL only for a NULL poller
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_poller_job_id(const agentjob_poller *poller);

/**
 * The last record that this poller received.
 * @param poller the poller
 * @return borrowed from the poller until its next poll; NULL if there is none yet
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_job *agentjob_poller_job(const agentjob_poller *poller);

/**
 * Whether the job is done.
 * @param poller the poller
 * @return true if it is; false for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_poller_is_done(const agentjob_poller *poller);

/**
 * The state of the wait as a short text for agentjob_poller_new_from_text(). It contains the job's id and no API key.
 * @param poller the poller
 * @return borrowed from the poller until its next poll or text; NULL only for a NULL poller
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_poller_to_text(agentjob_poller *poller);

/**
 * Frees a poller, and with it the records and texts that are borrowed from it.
 * @param poller the poller; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_poller_free(agentjob_poller *poller);

/**
 * Makes an empty batch. It sends nothing and does not open the journal; agentjob_batch_start() does.
 * @param client the client. The batch keeps its own reference, so you may free the client first; agentjob_client_close() ends the
 * batch
 * @param journal the path of the file that records the batch's progress. If it exists, the batch resumes from it. It contains the
 * jobs' ids and the service's responses, but no prompt and no API key
 * @param out gets the batch; free it with agentjob_batch_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_new(const agentjob_client *client,
                                 const char *journal,
                                 agentjob_batch **out,
                                 agentjob_error **err);

/**
 * Starts the batch: checks all settings and messages, opens and locks the journal, and starts the threads. If it returns an error,
 * nothing was sent.
 *
 * AGENTJOB_ERR_INVALID_ARGUMENT: a setting is wrong, a message is wrong (named by its line, or by its number from 1), two messages
 * have the same key, or a message differs from the one in the journal. AGENTJOB_ERR_JOURNAL: the journal cannot be opened or
 * written, is damaged (the message names the line), belongs to another service or project, or is in use by another batch, in this
 * process or another. AGENTJOB_ERR_CONNECT: a thread could not be started.
 * @param batch a batch that was not started; after an error it can only be freed
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, AGENTJOB_ERR_JOURNAL or AGENTJOB_ERR_CONNECT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_start(agentjob_batch *batch,
                                   agentjob_error **err);

/**
 * Waits for the next event. The outcomes of earlier runs come first, then each outcome when it is known. When the batch ends
 * without an error and was not stopped, every message has an outcome.
 *
 * A 429 pauses the batch until the service accepts messages again. A service failure (no connection, timeouts, 5xx) pauses it for
 * increasing times. Both are AGENTJOB_BATCH_KIND_PAUSED events, not errors. A failure that every other message would have too ends the
 * batch with an error: 401, 403, 3xx, TLS, a journal that cannot be written, an outage longer than agentjob_batch_set_max_outage_ms()
 * allows, the batch's cancel token, a closed client. The remaining messages are sent by the next run.
 * @param batch a batch that was started
 * @param timeout_ms how long to wait: milliseconds, 0 to 604800000 (7 days), or AGENTJOB_FOREVER
 * @param out gets the event; NULL if none came in time or the batch is over. Free it with agentjob_batch_event_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or, once, the error that ended the batch before every message had an outcome:
 * AGENTJOB_ERR_AUTHENTICATION, _PERMISSION_DENIED, _REDIRECT, _TLS, _RATE_LIMIT (for more than a day), _CONNECT, _CONNECTION_LOST,
 * _TIMEOUT, _SERVER, _INVALID_RESPONSE, _CANCELLED, _CLOSED or _JOURNAL; agentjob_batch_is_over() is then true
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_next(agentjob_batch *batch,
                                  uint64_t timeout_ms,
                                  agentjob_batch_event **out,
                                  agentjob_error **err);

/**
 * Whether the batch has no more events: agentjob_batch_next() returned the last one or an error, or the start failed.
 * @param batch the batch
 * @return true if it has none; also true for NULL, so that a loop ends
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_is_over(const agentjob_batch *batch);

/**
 * The batch's progress at this moment, including earlier runs of its journal.
 * @param batch the batch, started or not
 * @return borrowed from the batch until it is used again; NULL only for a NULL batch
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_batch_progress *agentjob_batch_get_progress(agentjob_batch *batch);

/**
 * Stops sending and returns at once. The messages in flight still get their responses, for at most the grace period, so keep
 * calling agentjob_batch_next() until the batch is over. Run it again with the same journal to resume.
 * @param batch the batch; NULL, or one that is not running, does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_batch_stop(agentjob_batch *batch);

/**
 * Frees a batch. If it is running, it is stopped first, and this function waits, for at most the grace period, for the responses
 * to its messages in flight; the journal gets their outcomes. If your event function or the disk keeps a thread of the batch for longer,
 * it returns 1 s after the grace period, and the function may still be running: free its user_data in its destroy function. Events of
 * the batch stay valid.
 * @param batch the batch; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_batch_free(agentjob_batch *batch);

/**
 * Adds a message. Nothing is sent. This function checks for NULL and UTF-8; agentjob_batch_start() checks the rest. Messages to
 * one job are sent one after the other, in the order in which they were added.
 * @param batch a batch that was not started
 * @param job_id the job's id
 * @param prompt the message, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param key a name that is unique in the batch, 1 to 1024 bytes, without white space or invisible characters around it, by which the
 * journal recognizes the message at any position; or NULL to recognize it by its content and position
 * @param line the line of your input file, for error messages; 0 for none
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_add(agentjob_batch *batch,
                                 const char *job_id,
                                 const char *prompt,
                                 size_t prompt_len,
                                 const char *key,
                                 uint64_t line,
                                 agentjob_error **err);

/**
 * Gives the message that was added last its metadata, which its outcome has again: see agentjob_batch_event_extra(). It is neither
 * sent nor written to the journal.
 * @param batch a batch that was not started, with at least one message
 * @param json any JSON value, at most 4096 bytes
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT also if it is not JSON; then the message keeps what it had
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_item_extra(agentjob_batch *batch,
                                            const char *json,
                                            agentjob_error **err);

/**
 * Adds the messages of a file, each with its line. Nothing is sent. A file whose name ends in .csv or .tsv has a header that names
 * the columns job_id, prompt and, optionally, key, separated by commas or tabs; any other file has JSON objects with these fields,
 * one per line or all in one array. In .csv and .tsv a field with a separator, a quote or a line break is quoted as a whole, and its
 * quotes are doubled (RFC 4180); any other quote is refused. The whole file is read and checked: after an error none of its
 * messages was added.
 * @param batch a batch that was not started
 * @param path the path of the file
 * @param extra what to do with other columns or fields: true keeps those of each message as one JSON object, its metadata (see
 * agentjob_batch_event_extra()); false refuses the file
 * @param err gets the error, whose message names a wrong line; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch or path is NULL or batch was started, or if the file cannot be
 * read, has no messages, or has a wrong line
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_add_file(agentjob_batch *batch,
                                      const char *path,
                                      bool extra,
                                      agentjob_error **err);

/**
 * How many messages of a batch have the same job and the same prompt as one before them, to know it before anything is sent. The
 * batch's event AGENTJOB_BATCH_KIND_REPEATED says the same.
 * @param batch a batch that was not started
 * @param number gets the position of the first of them, from 1, or 0 if there is none; may be NULL
 * @param first gets the position of the message that it repeats, or 0; may be NULL
 * @return how many; 0 for a batch that was started, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
uint64_t agentjob_batch_repeats(const agentjob_batch *batch,
                                uint64_t *number,
                                uint64_t *first);

/**
 * How many messages are in flight at once, never two for one job. Default 4.
 * @param batch a batch that was not started
 * @param messages 1 to 64
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_concurrency(agentjob_batch *batch,
                                             uint32_t messages,
                                             agentjob_error **err);

/**
 * The rate limit: at most this many messages in any period of that length, over all runs of the journal. Default none: the
 * batch sends as fast as the service responds.
 * @param batch a batch that was not started
 * @param rate "100/h", "2/s", "30/min", "500/d": 1 to 1000000 messages a second, minute, hour or day
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or if rate is not a rate
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_rate(agentjob_batch *batch,
                                      const char *rate,
                                      agentjob_error **err);

/**
 * Waits for the job of each accepted message: the outcome comes when the job is done, with the job's last record, and only then is
 * the job's next message sent. By default an outcome comes with the service's response to the message, and so does the next message.
 * @param batch a batch that was not started
 * @param call the settings of the waits (deadline, poll interval, lateness and settle time), or NULL for the defaults. Its cancel
 * token and progress function are not used
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_wait(agentjob_batch *batch,
                                      const agentjob_call *call,
                                      agentjob_error **err);

/**
 * Whether to resend messages whose delivery an earlier run does not know. A message that did arrive is then processed twice, so
 * check the jobs first (agentjob_batch_status_item()). Default false.
 * @param batch a batch that was not started
 * @param resend whether to resend them
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_resend_unknown(agentjob_batch *batch,
                                                bool resend,
                                                agentjob_error **err);

/**
 * How long the batch keeps trying while no message gets a response: no connection, timeouts, 5xx. Default 3600000 (1 hour).
 * @param batch a batch that was not started
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_max_outage_ms(agentjob_batch *batch,
                                               uint64_t ms,
                                               agentjob_error **err);

/**
 * How long a job may be busy. While the service responds 409 to a message, the batch polls its job and sends the message again when
 * the job is no longer active; the messages of other jobs are sent meanwhile. After this time the message is rejected. Each run of
 * the journal has the whole time again. Default 3600000 (1 hour).
 * @param batch a batch that was not started
 * @param ms milliseconds, 0 to 604800000 (7 days); 0: a 409 rejects the message at once
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_max_busy_ms(agentjob_batch *batch,
                                             uint64_t ms,
                                             agentjob_error **err);

/**
 * The grace period: how long a batch that is stopped, cancelled or freed waits for the responses to its messages in flight. A
 * message without a response by then is unknown. Default 5000.
 * @param batch a batch that was not started
 * @param ms milliseconds, 0 to 604800000 (7 days)
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_grace_ms(agentjob_batch *batch,
                                          uint64_t ms,
                                          agentjob_error **err);

/**
 * A token that ends the batch with AGENTJOB_ERR_CANCELLED, from another thread or a signal handler. The batch then sends nothing
 * more and waits, for at most the grace period, for the responses to its messages in flight. Default none.
 * @param batch a batch that was not started
 * @param cancel the token, or NULL to take one back. The batch keeps its own reference, so you may free it before the batch
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_cancel(agentjob_batch *batch,
                                        const agentjob_cancel *cancel,
                                        agentjob_error **err);

/**
 * The event's kind.
 * @param event the event
 * @return the kind; AGENTJOB_BATCH_KIND_NOTHING for NULL
 * @since 0.1.0
 */
AGENTJOB_API agentjob_batch_kind agentjob_batch_event_kind(const agentjob_batch_event *event);

/**
 * The number of the event's message: its position in the batch, from 1. For AGENTJOB_BATCH_KIND_REPEATED it is the first message that
 * repeats another one.
 * @param event the event
 * @return the number; 0 for an event without a message, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
uint64_t agentjob_batch_event_number(const agentjob_batch_event *event);

/**
 * The line that was passed with the message of an outcome, or of AGENTJOB_BATCH_KIND_REPEATED. For AGENTJOB_BATCH_KIND_RECOVERED it
 * is the first line of the journal, from 1, that cannot be read.
 * @param event the event
 * @return the line; 0 if none was passed, for any other event, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
uint64_t agentjob_batch_event_line(const agentjob_batch_event *event);

/**
 * The key of an outcome's message: yours, or the one made from its content and position.
 * @param event the event
 * @return borrowed from the event; NULL for an event that is not an outcome
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_event_key(const agentjob_batch_event *event);

/**
 * The id of the message's job.
 * @param event the event
 * @return borrowed from the event; NULL for an event without a message
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_event_job_id(const agentjob_batch_event *event);

/**
 * The delivery verdict of an outcome.
 * @param event the event
 * @return AGENTJOB_DELIVERY_ACCEPTED, AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN; AGENTJOB_DELIVERY_NOT_SENT for a
 * message that this run holds back because of an earlier one to its job (the error says which); AGENTJOB_DELIVERY_NONE for an event that
 * is not an outcome, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_delivery agentjob_batch_event_delivery(const agentjob_batch_event *event);

/**
 * The job's last record: the response to the message or, if the batch waits for jobs, the last record of the wait, or
 * NULL if that may show the result of another message.
 * @param event the event
 * @return borrowed from the event; NULL if there is none
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_job *agentjob_batch_event_job(const agentjob_batch_event *event);

/**
 * Why a message was rejected or held back or its delivery is unknown; for an accepted message, why its record or the end of its job is
 * missing; for a pause, the failure that caused it, or NULL if it began in an earlier run; for a busy job, the refusal.
 * @param event the event
 * @return borrowed from the event; NULL if there is none
 * @since 0.1.0
 */
AGENTJOB_API
const agentjob_error *agentjob_batch_event_error(const agentjob_batch_event *event);

/**
 * Whether an outcome comes from an earlier run of the journal.
 * @param event the event
 * @return true if it does; false for an event that is not an outcome, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_event_is_earlier(const agentjob_batch_event *event);

/**
 * Why the batch pauses, and for how long.
 * @param event the event
 * @param ms gets the whole length of the pause in milliseconds, 0 for an event that is not a pause; may be NULL
 * @return the reason; AGENTJOB_PAUSE_NONE for an event that is not a pause, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API agentjob_pause agentjob_batch_event_pause(const agentjob_batch_event *event, uint64_t *ms);

/**
 * How many bytes of a line that was cut off were skipped.
 * @param event the event
 * @return bytes; 0 for an event that is not AGENTJOB_BATCH_KIND_RECOVERED, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_event_dropped_bytes(const agentjob_batch_event *event);

/**
 * The metadata of an outcome's message, as JSON: what this run passed to agentjob_batch_set_item_extra(), or an object of the
 * columns that agentjob_batch_add_file() kept.
 * @param event the event
 * @return borrowed from the event; NULL if the message has none, for any other event, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_batch_event_extra(const agentjob_batch_event *event);

/**
 * How many messages have the same job and the same prompt as one before them.
 * @param event the event
 * @param first gets the number of the message that the event's message repeats, 0 for any other event; may be NULL
 * @return how many; 0 for an event that is not AGENTJOB_BATCH_KIND_REPEATED, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_event_repeats(const agentjob_batch_event *event, uint64_t *first);

/**
 * Frees an event, and with it the texts, the job and the error that are borrowed from it.
 * @param event the event; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_batch_event_free(agentjob_batch_event *event);

/**
 * A kind's name, the same in every language: "outcome", "accepted", "job", "busy", "paused", "resumed", "recovered",
 * "repeated"; "nothing" for AGENTJOB_BATCH_KIND_NOTHING.
 * @param kind any number
 * @return a static text; "?" for a number that is not a kind
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_kind_name(int32_t kind);

/**
 * One of the counts.
 * @param progress the progress
 * @param count an AGENTJOB_COUNT_ number
 * @return the count; 0 for any other number, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_progress_count(const agentjob_batch_progress *progress, int32_t count);

/**
 * Why the batch was paused at that moment, and for how much longer.
 * @param progress the progress
 * @param remaining_ms gets the rest of the pause in milliseconds, 0 if there was no pause; may be NULL
 * @return the reason; AGENTJOB_PAUSE_NONE if there was no pause, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_pause agentjob_batch_progress_pause(const agentjob_batch_progress *progress,
                                             uint64_t *remaining_ms);

/**
 * The time until the last message is sent, at the current pace.
 * @param progress the progress
 * @return milliseconds, 0 if no message is left; -1 while there is no pace yet, for a journal, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int64_t agentjob_batch_progress_finishes_in_ms(const agentjob_batch_progress *progress);

/**
 * A pause's name, the same in every language: "rate_limit", "service_failure"; "none" for AGENTJOB_PAUSE_NONE.
 * @param pause any number
 * @return a static text; "?" for a number that is not a pause
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_pause_name(int32_t pause);

/**
 * Reads a batch's journal, also while another process runs the batch. It writes and sends nothing.
 * @param journal the path of the journal
 * @param out gets the status; free it with agentjob_batch_status_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_JOURNAL if the journal cannot be read, is damaged (the
 * message names the line), or is not a journal
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_status_new(const char *journal,
                                        agentjob_batch_status **out,
                                        agentjob_error **err);

/**
 * The batch's progress. AGENTJOB_COUNT_ITEMS is the number of messages of its last run.
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_batch_progress *agentjob_batch_status_progress(const agentjob_batch_status *status);

/**
 * Whether a process is running the batch.
 * @param status the status
 * @return true if one is; false for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_status_is_running(const agentjob_batch_status *status);

/**
 * Whether the last run waits for the jobs of its messages.
 * @param status the status
 * @return true if it does; false for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_status_waits(const agentjob_batch_status *status);

/**
 * The process id of the last run.
 * @param status the status
 * @return the id; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_batch_status_pid(const agentjob_batch_status *status);

/**
 * How many times the batch was started.
 * @param status the status
 * @return at least 1; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_status_runs(const agentjob_batch_status *status);

/**
 * The URL of the batch's service.
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_status_base_url(const agentjob_batch_status *status);

/**
 * The id of the batch's project.
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_status_project_id(const agentjob_batch_status *status);

/**
 * The rate limit of the last run, like "100/h".
 * @param status the status
 * @return borrowed from the status; NULL if it had none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_status_rate(const agentjob_batch_status *status);

/**
 * When the last run began (ISO 8601).
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_status_began_at(const agentjob_batch_status *status);

/**
 * When the journal was last written (ISO 8601).
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_status_written_at(const agentjob_batch_status *status);

/**
 * How many bytes of lines that were cut off runs have skipped, or the next run will skip.
 * @param status the status
 * @return bytes; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_status_dropped_bytes(const agentjob_batch_status *status);

/**
 * A message that was rejected, whose delivery is unknown, or that was accepted and whose job failed. To get all of them, count the index up until it returns false. Before
 * you send a message again whose delivery is unknown, check its job.
 * @param status the status
 * @param delivery AGENTJOB_DELIVERY_REJECTED, AGENTJOB_DELIVERY_UNKNOWN, or AGENTJOB_DELIVERY_ACCEPTED for those whose jobs were
 * waited for and failed
 * @param index which of them, from 0, in the order of the batch
 * @param number gets the message's position in the batch, from 1; may be NULL
 * @param key gets its own key, if the journal could store it, or the one derived from its content and position, borrowed from the
 * status; may be NULL
 * @param job_id gets the id of its job, borrowed from the status; may be NULL
 * @param reason gets why it was rejected or its delivery is unknown, borrowed from the status; NULL if its run ended before the
 * journal had a reason, and for a job that failed; may be NULL
 * @return whether there is such a message. If not, past the last one, for another delivery and for NULL, nothing is written
 * @since 0.1.0
 */
AGENTJOB_API
bool agentjob_batch_status_item(const agentjob_batch_status *status,
                                int32_t delivery,
                                uint64_t index,
                                uint64_t *number,
                                const char **key,
                                const char **job_id,
                                const char **reason);

/**
 * How many messages the next run needs a prompt for that agentjob_batch_retry() gave them.
 * @param status the status
 * @return messages; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_status_new_prompts(const agentjob_batch_status *status);

/**
 * The last decision about a message. To get all of them, count the index up until it returns false.
 * @param status the status
 * @param index which of them, from 0, in the order of the batch
 * @param number gets the message's position in the batch, from 1; may be NULL
 * @param key gets its key, borrowed from the status; may be NULL
 * @param job_id gets the id of its job, borrowed from the status; may be NULL
 * @param decision gets "arrived", "not_arrived", "resend", "retry" or "drop", borrowed from the status; may be NULL
 * @param at gets when it was decided (ISO 8601), borrowed from the status; may be NULL
 * @return whether there is such a decision. If not, past the last one and for NULL, nothing is written
 * @since 0.1.0
 */
AGENTJOB_API
bool agentjob_batch_status_decision(const agentjob_batch_status *status,
                                    uint64_t index,
                                    uint64_t *number,
                                    const char **key,
                                    const char **job_id,
                                    const char **decision,
                                    const char **at);

/**
 * Frees a status, and with it the texts and the progress that are borrowed from it.
 * @param status the status; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_batch_status_free(agentjob_batch_status *status);

/**
 * Decides about messages whose delivery is unknown. The next run of the batch acts on it; until then it can be decided otherwise.
 * The decisions are in the journal, on the disk, when this returns. After an error none was written.
 * @param journal the path of the journal. No run may be using it
 * @param items the messages: each is a number from 1, a key, or "all" alone for every message whose delivery is unknown and about
 * which nothing was decided. A key that reads as a number or as all is written "key:17"
 * @param count how many items there are
 * @param resolution an AGENTJOB_RESOLUTION_ number
 * @param decided gets how many messages were decided about; may be NULL
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK; AGENTJOB_ERR_INVALID_ARGUMENT, which names the item: it is not in the journal, is named twice, or its delivery
 * is not unknown; or AGENTJOB_ERR_JOURNAL: the journal cannot be read or written, is damaged, or a run is using it
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_resolve(const char *journal,
                                     const char *const *items,
                                     size_t count,
                                     int32_t resolution,
                                     uint64_t *decided,
                                     agentjob_error **err);

/**
 * Decides that the next run sends rejected messages again, with the same prompt or all of them with another one. The journal has only
 * the digest of a new prompt: the next run needs it, too (agentjob_batch_add_retry_prompt(), or the message in the list), and
 * refuses to start without it.
 * @param journal the path of the journal. No run may be using it
 * @param items as for agentjob_batch_resolve(); "all" is every rejected message about which nothing was decided
 * @param count how many items there are
 * @param prompt the new prompt in UTF-8, or NULL for the same
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED; not used for NULL
 * @param decided gets how many messages were decided about; may be NULL
 * @param err gets the error; may be NULL
 * @return as agentjob_batch_resolve(); AGENTJOB_ERR_INVALID_ARGUMENT, too, if a message was not rejected, or the prompt is empty,
 * too long or not UTF-8
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_retry(const char *journal,
                                   const char *const *items,
                                   size_t count,
                                   const char *prompt,
                                   size_t prompt_len,
                                   uint64_t *decided,
                                   agentjob_error **err);

/**
 * Decides that the batch is done with messages that were rejected, not sent, or whose delivery is unknown: no run sends or reports
 * them.
 * @param journal the path of the journal. No run may be using it
 * @param items as for agentjob_batch_resolve(); "all" is every message that was rejected or whose delivery is unknown
 * @param count how many items there are
 * @param decided gets how many messages were decided about; may be NULL
 * @param err gets the error; may be NULL
 * @return as agentjob_batch_resolve(); AGENTJOB_ERR_INVALID_ARGUMENT, too, if a message was accepted
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_drop(const char *journal,
                                  const char *const *items,
                                  size_t count,
                                  uint64_t *decided,
                                  agentjob_error **err);

/**
 * Adds a prompt with which agentjob_batch_retry() decided to send a message again. A run takes it for a message only if it is
 * exactly the one that was decided.
 * @param batch a batch that was not started
 * @param prompt the prompt in UTF-8
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch or prompt is NULL or batch was started, or prompt is not UTF-8;
 * agentjob_batch_start() checks that the journal has such a decision
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_add_retry_prompt(agentjob_batch *batch,
                                              const char *prompt,
                                              size_t prompt_len,
                                              agentjob_error **err);

/**
 * Reads a batch's journal, also during a run, and writes every message of the last run that was sent or tried as text. The columns,
 * and the keys of each JSON object, are item, key, job_id, state (accepted, rejected, unknown, not_sent, sending, dropped), decision,
 * decided_at, at (when the outcome was recorded), http_status, reason, status and pr_link (the job's, once a run has waited for the
 * message's result).
 * @param journal the path of the journal
 * @param format an AGENTJOB_EXPORT_FORMAT_ number
 * @param out gets the export; free it with agentjob_batch_export_free()
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_JOURNAL if the journal cannot be read or is damaged
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_export_new(const char *journal,
                                        int32_t format,
                                        agentjob_batch_export **out,
                                        agentjob_error **err);

/**
 * The text of an export, in UTF-8.
 * @param exported the export
 * @param len gets the length in bytes; may be NULL
 * @return borrowed from the export; NULL only for a NULL export
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_export_text(const agentjob_batch_export *exported, size_t *len);

/**
 * Frees an export, and with it its text.
 * @param exported the export; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_batch_export_free(agentjob_batch_export *exported);

/**
 * Sets an extra header of every request of the client, for gateways, tenants and tracing. Default: those in
 * AGENTJOB_HEADERS, lines "Name: value", which this adds to. It replaces a header of the same name, in whatever case. It is not sent
 * to a proxy that tunnels.
 *
 * Headers that agentjob or a proxy sets are refused by name: Authorization, Host, User-Agent, Accept, Accept-Encoding, Content-*,
 * Expect, Proxy-*, Range, If-*, and those about the connection. There are at most 64 headers, and their lines have at most 16 KiB
 * together with those of the call. A value may be a secret: like the API key it is removed from every error, event and log line, if it has at
 * least 4 bytes.
 * @param options the options
 * @param name a token of RFC 9110, like "X-Tenant", of at most 256 bytes
 * @param value visible ASCII, with spaces and tabs inside; not empty. The copy is wiped when it is freed
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_options_set_header(agentjob_options *options,
                                          const char *name,
                                          const char *value,
                                          agentjob_error **err);

/**
 * Sets an extra header of the requests made with these settings. It replaces a header of the same name. For what is allowed see
 * agentjob_options_set_header().
 * @param call the settings
 * @param name a token of RFC 9110, like "traceparent"
 * @param value visible ASCII, with spaces and tabs inside
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT. Whether all headers together are too many or too long is checked by the call
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_call_set_header(agentjob_call *call,
                                       const char *name,
                                       const char *value,
                                       agentjob_error **err);

/**
 * Sets an extra header of the batch's requests: its messages and its polls. It replaces a header of the same name. For what is
 * allowed see agentjob_options_set_header(). The journal does not contain it.
 * @param batch a batch that was not started
 * @param name a token of RFC 9110
 * @param value visible ASCII, with spaces and tabs inside
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT, also if batch was started
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_set_header(agentjob_batch *batch,
                                        const char *name,
                                        const char *value,
                                        agentjob_error **err);

/**
 * The descriptor of a poller, for poll(2), epoll, libuv, GLib and the like. It becomes readable when a poll that
 * agentjob_poller_start() began has ended, and stays so until agentjob_poller_finish(). It is the same for the poller's whole life.
 * Wait for it, but do not read, write or close it. A child of fork() must not use it. On Windows it is a SOCKET.
 * @param poller the poller
 * @param out gets the descriptor
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_CONNECT if no descriptor is free
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_poller_fd(agentjob_poller *poller,
                                 int32_t *out,
                                 agentjob_error **err);

/**
 * Begins a poll, now, and returns at once: agentjob_poller_poll() without blocking. When the poll has ended, the descriptor of
 * agentjob_poller_fd() becomes readable; then call agentjob_poller_finish(). Call this when agentjob_poller_due_in_ms() is 0.
 *
 * The request runs on a thread of the library that ends with it, and so do its event function and the check of its cancel token.
 * Until agentjob_poller_finish() you may only read the poller or free it. Freeing it ends the poll and waits for its thread, for at
 * most 100 ms; agentjob_client_close() and the cancel token of `call` end it, too, with an error.
 * @param poller the poller
 * @param client a client of the job's project; you may free it before the poll has ended
 * @param call settings of this poll (timeout and cancel token), or NULL. They are copied
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, also if a poll is in progress, or AGENTJOB_ERR_CONNECT if no descriptor is free
 * or no thread can be started
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_poller_start(agentjob_poller *poller,
                                    const agentjob_client *client,
                                    const agentjob_call *call,
                                    agentjob_error **err);

/**
 * Takes the result of the poll that agentjob_poller_start() began, as agentjob_poller_poll() returns it. If the poll has not ended yet,
 * this waits for it. Records and texts that were borrowed from the poller become invalid.
 * @param poller the poller
 * @param done gets whether the job is done; if so, agentjob_poller_job() is its last record
 * @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
 * the previous result; may be NULL
 * @return as agentjob_poller_poll(); AGENTJOB_ERR_INVALID_ARGUMENT also if no poll is in progress, or if it is the parent's and this
 * process is its child
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_poller_finish(agentjob_poller *poller,
                                     bool *done,
                                     agentjob_error **err);

/**
 * The descriptor of a batch, for poll(2), epoll, libuv, GLib and the like. It is readable while agentjob_batch_next() may have
 * something. Then call agentjob_batch_next() with a timeout of 0 until it returns no event or the batch is over; do so, too, after
 * agentjob_batch_due_in_ms(), and after you triggered its cancel token or closed its client. It lives as long as the batch. Wait for it,
 * but do not read, write or close it. On Windows it is a SOCKET.
 * @param batch a batch that was started
 * @param out gets the descriptor
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, also in a child of fork(), or AGENTJOB_ERR_CONNECT if no descriptor is free
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_fd(const agentjob_batch *batch,
                                int32_t *out,
                                agentjob_error **err);

/**
 * How long until agentjob_batch_next() must be called even if the descriptor of agentjob_batch_fd() is not readable: a batch that is
 * stopping ends its messages in flight when their grace period is over, and waits for its threads for 1 s after that. Ask again after
 * each agentjob_batch_next().
 * @param batch the batch
 * @return milliseconds; AGENTJOB_FOREVER if nothing is due, for a batch that is not running, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
uint64_t agentjob_batch_due_in_ms(const agentjob_batch *batch);

/**
 * Writes a report about a batch into a file, from its journal, whether a run is active or not: one page of HTML with the counts, what
 * to do next, when what happened, and a table of all messages. The page loads nothing, and works without a script. It has no prompts
 * and no API key, but names jobs and pull requests, so other users cannot read the file. All of it is written, or nothing. Nothing is
 * sent.
 * @param journal the path of the journal
 * @param path the path of the report's file
 * @param replace whether to replace the file if it exists
 * @param err gets the error; may be NULL
 * @return AGENTJOB_OK; AGENTJOB_ERR_JOURNAL if the journal cannot be read, is damaged (the message names the line), or is not a
 * journal; AGENTJOB_ERR_INVALID_ARGUMENT if a path is NULL, or the file exists, is the journal itself or no regular file, or cannot
 * be written; then it is as it was
 * @since 0.1.0
 */
AGENTJOB_NODISCARD AGENTJOB_API
agentjob_code agentjob_batch_write_report(const char *journal,
                                          const char *path,
                                          bool replace,
                                          agentjob_error **err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AGENTJOB_H */
