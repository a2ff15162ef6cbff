/*
 * agentjob.h: send a follow-up message to an agent job, and follow the job until it is done.
 *
 * Generated from ffi-c/src by cbindgen; do not edit. SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     agentjob_client *client = NULL;
 *     agentjob_job *job = NULL;
 *     agentjob_error *err = NULL;
 *     if (agentjob_client_new(NULL, &client, &err) != AGENTJOB_OK) ...        // settings from the AGENTJOB_ variables
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
 * What holds for every function
 *
 * Order       The object first, then the inputs (a function before its user_data), then out, then err.
 *
 * Ownership   Inputs are borrowed for the call and copied if kept. What comes out through `out` or from a _new or _clone is
 *             yours: give it to its type's _free exactly once. _free(NULL) does nothing. What comes out as a `const` pointer
 *             is borrowed from the object that it was asked of and ends with it; no text is ever to be freed by you.
 *
 * Results     A function that can fail returns an agentjob_code, AGENTJOB_OK on success. *out is written only on success. With
 *             `err` not NULL, *err becomes NULL on success and an error of yours on failure, whatever it held before; so free
 *             an error before you use its variable again. With `err` NULL nothing is made and nothing is to be freed.
 *
 * NULL        Is looked for everywhere. A function that can fail returns AGENTJOB_ERR_INVALID_ARGUMENT, and its message names
 *             the parameter; one that cannot returns NULL, 0 or false. NULL is welcome for `err`, `call`, `user_data`,
 *             `destroy`, `len` and the options of agentjob_client_new(). (NULL, 0) is an empty text. Any other wrong pointer
 *             cannot be seen and is undefined.
 *
 * Texts       UTF-8, both ways. In: NUL-terminated, or with a length; what is not UTF-8 is AGENTJOB_ERR_INVALID_ARGUMENT. Out:
 *             NUL-terminated; a text of the service may hold a NUL byte inside, which the functions with `len` tell.
 *
 * Numbers     Times are milliseconds, as the names say. Codes, verdicts and statuses are never given another meaning, but
 *             there may be new ones: have a default.
 *
 * Threads     Any number of threads may use one client and one cancel token at once, and read one job, one error, one call, one
 *             event of a batch and one status. Options, a call that is being changed, a poller and a batch are for one thread at
 *             a time. No object is bound to the thread that made it. Nothing may use an object when it is freed, or later.
 *
 * Callbacks   Run on the thread that makes the call, never after it returned; an event function also on a batch's own threads,
 *             never after the batch is freed. They must not throw a C++ exception or longjmp: either ends the process.
 *
 * Panics      A bug of this library does not end your process: it comes back as AGENTJOB_ERR_INTERNAL, or as the value for
 *             NULL from a function that cannot fail. Its words go to stderr, too.
 *
 * Memory      A call takes at most four times the size of its answer (agentjob_options_set_max_response_bytes), the record's
 *             JSON included. An answer that there is no memory for is AGENTJOB_ERR_INVALID_RESPONSE, with its verdict.
 *
 * Stack       A thread with 64 KiB of stack can make every call, callbacks not counted: the deepest is a TLS handshake with 48 KiB.
 *
 * Process     No signal handler is installed, no process-wide setting changed, no thread kept: one that looks up a name ends
 *             with the lookup, and those of a batch end with it. They block every signal but their own faults, so sigwait() gets
 *             what is sent to the process. Nothing that is opened gets descriptor 0, 1 or 2. Nothing is printed unless
 *             AGENTJOB_LOG is "info" or "debug", then to stderr. Sending never raises SIGPIPE. Any handler may interrupt a call, which goes on;
 *             agentjob_cancel_trigger() is the only function that one may call. A child of fork() may use its parent's client,
 *             on connections of its own; a batch at work stays the parent's. Once loaded, the library must not be unloaded
 *             (dlclose).
 *
 * Growth      Every object is opaque, so a program goes on working with every later library of the same AGENTJOB_ABI_VERSION.
 *             @since says which version brought a function; AGENTJOB_VERSION_AT_LEAST asks for it when compiling.
 */

#ifndef AGENTJOB_H
#define AGENTJOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Put before every function; define it yourself if your build needs something there. */
#ifndef AGENTJOB_API
#define AGENTJOB_API
#endif

/** The version of this header. agentjob_version() has that of the library that runs. */
#define AGENTJOB_VERSION "0.1.0"
#define AGENTJOB_VERSION_MAJOR 0
#define AGENTJOB_VERSION_MINOR 1
#define AGENTJOB_VERSION_PATCH 0

/** The version of this header as one number, 0xXXYYZZ. agentjob_version_number() has that of the library that runs. */
#define AGENTJOB_VERSION_NUMBER 0x000100

/** Whether this header is of version x.y.z or later. */
#define AGENTJOB_VERSION_AT_LEAST(x, y, z) (AGENTJOB_VERSION_NUMBER >= (((x) << 16) | ((y) << 8) | (z)))

/**
 * Give this as a length for a text that ends with a NUL.
 * @since 0.1.0
 */
#define AGENTJOB_NUL_TERMINATED SIZE_MAX


/**
 * The number in the shared library's name, libagentjob.so.0. It changes only when a program has to be compiled again.
 * @since 0.1.0
 */
#define AGENTJOB_ABI_VERSION 0



/**
 * Give this as a wait's time to wait for ever.
 * @since 0.1.0
 */
#define AGENTJOB_FOREVER UINT64_MAX

/**
 * How a function that can fail ended. Numbers are only ever added, so treat one that you do not know as a failure.
 * @since 0.1.0
 */
enum agentjob_code
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It did what it says.
   */
  AGENTJOB_OK = 0,
  /**
   * An argument or a setting is wrong or missing. Nothing was sent.
   */
  AGENTJOB_ERR_INVALID_ARGUMENT = -1,
  /**
   * No connection: name lookup, TCP, or a proxy that said no.
   */
  AGENTJOB_ERR_CONNECT = -2,
  /**
   * The TLS handshake failed: an unknown authority, a wrong name, an expired certificate.
   */
  AGENTJOB_ERR_TLS = -3,
  /**
   * The connection ended before the answer did.
   */
  AGENTJOB_ERR_CONNECTION_LOST = -4,
  /**
   * The call's total time was over, or the time to connect.
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
   * 401: the key is wrong or expired.
   */
  AGENTJOB_ERR_AUTHENTICATION = -8,
  /**
   * 403: the key may not do this, or not from this address.
   */
  AGENTJOB_ERR_PERMISSION_DENIED = -9,
  /**
   * 404: no such job or project.
   */
  AGENTJOB_ERR_NOT_FOUND = -10,
  /**
   * 409: the job cannot take the request now.
   */
  AGENTJOB_ERR_CONFLICT = -11,
  /**
   * 429: the project's hourly allowance is used up.
   */
  AGENTJOB_ERR_RATE_LIMIT = -12,
  /**
   * 400 or another 4xx: the service refused the request.
   */
  AGENTJOB_ERR_BAD_REQUEST = -13,
  /**
   * 5xx: the service or a gateway before it failed.
   */
  AGENTJOB_ERR_SERVER = -14,
  /**
   * 3xx: none is ever followed, so that the key goes nowhere else.
   */
  AGENTJOB_ERR_REDIRECT = -15,
  /**
   * An answer that is not the service's: no HTTP, no JSON, no record, or too large.
   */
  AGENTJOB_ERR_INVALID_RESPONSE = -16,
  /**
   * A wait's time was over and the job was not done.
   */
  AGENTJOB_ERR_WAIT_TIMEOUT = -17,
  /**
   * A bug of this library, caught.
   */
  AGENTJOB_ERR_INTERNAL = -18,
  /**
   * A batch's journal cannot be opened, read or written, is damaged, or another run has it.
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
 * What became of a message (or of a job to create) whose call failed; see agentjob_error_delivery().
 * @since 0.1.0
 */
enum agentjob_delivery
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The call was not to deliver anything.
   */
  AGENTJOB_DELIVERY_NONE = 0,
  /**
   * It never left whole: sending again is safe.
   */
  AGENTJOB_DELIVERY_NOT_SENT = 1,
  /**
   * The service answered that it did not take it: mend the cause, then send again.
   */
  AGENTJOB_DELIVERY_REJECTED = 2,
  /**
   * It left whole and no usable answer came: look at the job before sending again.
   */
  AGENTJOB_DELIVERY_UNKNOWN = 3,
  /**
   * The service took it: do not send again.
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
 * Where a job stands; see agentjob_job_status().
 * @since 0.1.0
 */
enum agentjob_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * A word that this version does not know; agentjob_job_status_name() has it. The job is not done.
   */
  AGENTJOB_STATUS_UNKNOWN = 0,
  /**
   * The job is at work.
   */
  AGENTJOB_STATUS_ACTIVE = 1,
  /**
   * The job finished.
   */
  AGENTJOB_STATUS_COMPLETED = 2,
  /**
   * The job was put away.
   */
  AGENTJOB_STATUS_ARCHIVED = 3,
  /**
   * The job gave up.
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
 * What an event of a batch is; see agentjob_batch_event_kind().
 * @since 0.1.0
 */
enum agentjob_batch_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Nothing happened in time: there is no event.
   */
  AGENTJOB_BATCH_NOTHING = 0,
  /**
   * A message has its outcome: agentjob_batch_event_delivery() says which.
   */
  AGENTJOB_BATCH_OUTCOME = 1,
  /**
   * A message was accepted, and its job is waited for: the outcome comes later. Only with agentjob_batch_set_wait().
   */
  AGENTJOB_BATCH_ACCEPTED = 2,
  /**
   * A job that is waited for has another record than before. Only with agentjob_batch_set_wait().
   */
  AGENTJOB_BATCH_JOB = 3,
  /**
   * Nothing is sent for a while.
   */
  AGENTJOB_BATCH_PAUSED = 4,
  /**
   * Messages are sent again after a pause.
   */
  AGENTJOB_BATCH_RESUMED = 5,
  /**
   * The journal's end was damaged, and is passed over: agentjob_batch_event_dropped_bytes() says how much. It comes before all
   * else. Messages that may have been sent by what it said have the outcome AGENTJOB_DELIVERY_UNKNOWN.
   */
  AGENTJOB_BATCH_RECOVERED = 6,
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
enum agentjob_pause
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It sends.
   */
  AGENTJOB_PAUSE_NONE = 0,
  /**
   * The service said 429: the project's allowance is used up.
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
 * What agentjob_progress_count() counts.
 * @since 0.1.0
 */
enum agentjob_count
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The messages of the batch.
   */
  AGENTJOB_COUNT_ITEMS = 0,
  /**
   * Those that the service took.
   */
  AGENTJOB_COUNT_ACCEPTED = 1,
  /**
   * Those that it refused.
   */
  AGENTJOB_COUNT_REJECTED = 2,
  /**
   * Those of which nobody knows.
   */
  AGENTJOB_COUNT_UNKNOWN = 3,
  /**
   * Those that are still to be sent, the ones under way included.
   */
  AGENTJOB_COUNT_LEFT = 4,
  /**
   * Those under way.
   */
  AGENTJOB_COUNT_SENDING = 5,
  /**
   * Jobs that are waited for.
   */
  AGENTJOB_COUNT_WAITING = 6,
  /**
   * Outcomes that are final. With a wait, an accepted message's is final with its job's end.
   */
  AGENTJOB_COUNT_DONE = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum agentjob_count agentjob_count;
#else
typedef int32_t agentjob_count;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Many messages, each sent at most once, whatever ends the process.
 *
 * Made by agentjob_client_batch(), freed by agentjob_batch_free(). Set it up (agentjob_batch_set_...), fill it with
 * agentjob_batch_add(), begin it with agentjob_batch_start(), then call agentjob_batch_next() until agentjob_batch_is_over().
 * Its journal, a file, keeps its place: run it again with the same items and the same journal, and it goes on where it was.
 * What was accepted or rejected is not sent again; a message of which an earlier run does not know whether it arrived is told as
 * unknown, and is not sent again either unless agentjob_batch_set_resend_unknown() is on.
 *
 * It works in threads of its own, from agentjob_batch_start() until it is over or freed. The handle is to be used by one thread
 * at a time; to end it from another one, or from a signal handler, give it a token. After a fork() it is the parent's: a child
 * may only free it, which leaves the parent's alone.
 * @since 0.1.0
 */
typedef struct agentjob_batch agentjob_batch;

/**
 * Something that happened in a batch. It never changes, and may be read by several threads at once.
 *
 * It comes from agentjob_batch_next() and is yours: free it with agentjob_batch_event_free(). It lives on when its batch is freed.
 * Texts, the job and the error are borrowed from it: they live until it is freed.
 * @since 0.1.0
 */
typedef struct agentjob_batch_event agentjob_batch_event;

/**
 * What a journal said of its batch at one moment. It never changes, and may be read by several threads at once.
 *
 * Made by agentjob_batch_status_new(), freed by agentjob_batch_status_free(). Texts and the progress are borrowed from it.
 * @since 0.1.0
 */
typedef struct agentjob_batch_status agentjob_batch_status;

/**
 * Settings of one call. Wherever one is asked for, NULL means the client's own settings.
 *
 * Made by agentjob_call_new(), freed by agentjob_call_free(). It may be used for any number of calls, also at once as long as
 * nobody changes it meanwhile. The settings are checked by the call that they are used for.
 * @since 0.1.0
 */
typedef struct agentjob_call agentjob_call;

/**
 * Ends calls from elsewhere: another thread, or a signal handler.
 *
 * Made by agentjob_cancel_new(), freed by agentjob_cancel_free(). Give it to calls with agentjob_call_set_cancel() and pull
 * it with agentjob_cancel_trigger(). It may be used by any number of threads at once.
 * @since 0.1.0
 */
typedef struct agentjob_cancel agentjob_cancel;

/**
 * A client of one project of one service. It keeps connections for the next call.
 *
 * Made by agentjob_client_new(), freed by agentjob_client_free(). It never changes, and any number of threads may use it at
 * once. No thread runs and no connection is made before the first call.
 * @since 0.1.0
 */
typedef struct agentjob_client agentjob_client;

/**
 * Why a call failed. Made only for a caller who gave `agentjob_error **err`; free it with agentjob_error_free().
 *
 * It never holds the key or a prompt. It may be read by several threads at once. Texts and the job are borrowed from it:
 * they live until it is freed.
 * @since 0.1.0
 */
typedef struct agentjob_error agentjob_error;

/**
 * What the service said about a job at one moment. It never changes.
 *
 * A call that makes one for you (`agentjob_job **out`) leaves it to you: free it with agentjob_job_free(). One that you see
 * through agentjob_error_job(), agentjob_poller_job() or a progress function is borrowed; agentjob_job_clone() keeps it.
 * It may be read by several threads at once. Texts are borrowed from it: they live until it is freed.
 * @since 0.1.0
 */
typedef struct agentjob_job agentjob_job;

/**
 * A client's settings.
 *
 * Made by agentjob_options_new(), freed by agentjob_options_free(). agentjob_client_new() copies them, so they may be changed
 * or freed afterwards. To be used by one thread at a time. What is not set comes from its AGENTJOB_ variable where there is
 * one, or is the default; every setting is checked again, and in full, by agentjob_client_new().
 * @since 0.1.0
 */
typedef struct agentjob_options agentjob_options;

/**
 * A wait in steps: no thread, no callback, no sleeping.
 *
 * Made by agentjob_client_poller() or agentjob_poller_from_text(), freed by agentjob_poller_free(). Sleep for
 * agentjob_poller_due_in_ms(), then agentjob_poller_poll(), until it is done. agentjob_poller_to_text() lets another process go
 * on from here. To be used by one thread at a time.
 * @since 0.1.0
 */
typedef struct agentjob_poller agentjob_poller;

/**
 * How far a batch was at one moment. It never changes while you may look at it, so its numbers fit together.
 *
 * Borrowed from what agentjob_batch_progress() or agentjob_batch_status_progress() was asked of.
 * @since 0.1.0
 */
typedef struct agentjob_progress agentjob_progress;

/**
 * What is told of an event.
 *
 * It is called on the thread that makes the call, so by several threads at once if several use the client, and by the threads of
 * its batches. It must return soon, and must not throw or longjmp.
 * @param json one object, like {"event":"attempt","operation":"send_message","job_id":"job_123","attempt":1}; borrowed until
 * you return. It never holds the key, a prompt or a body. Times are seconds; more keys and events may come.
 * @param user_data what was given with the function
 * @since 0.1.0
 */
typedef void (*agentjob_event_fn)(const char *json, void *user_data);

/**
 * Called once, when the user data given with a function is needed no more.
 * @param user_data what was given with the function
 * @since 0.1.0
 */
typedef void (*agentjob_destroy_fn)(void *user_data);

/**
 * What is told of a job's progress, by agentjob_client_wait() and agentjob_client_send_and_wait(): each record that differs
 * from the one before it, the first one, too.
 *
 * It is called on the thread that makes the call, never after the call returned, and no lock is held, so it may use the
 * client. It must not throw or longjmp, and must not free what the call uses.
 * @param job the record, borrowed until you return; agentjob_job_clone() keeps it
 * @param user_data what was given with the function
 * @return 0 to go on; anything else ends the call with AGENTJOB_ERR_CANCELLED
 * @since 0.1.0
 */
typedef int32_t (*agentjob_progress_fn)(const agentjob_job *job, void *user_data);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library that runs: "0.1.0".
 * @return a text that lives for ever
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_version(void);

/**
 * The version of the library that runs as one number, to compare with AGENTJOB_VERSION_NUMBER: 0xXXYYZZ.
 * @return the number
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_version_number(void);

/**
 * The number in the name of the shared library that runs, to compare with AGENTJOB_ABI_VERSION.
 * @return the number
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_abi_version(void);

/**
 * A code's name, as it is spelled in this header: "AGENTJOB_ERR_NOT_FOUND".
 * @param code any number
 * @return a text that lives for ever; "?" for a number that is no code
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_code_name(int32_t code);

/**
 * A verdict's name, the same in every language: "not_sent", "rejected", "unknown", "accepted"; "none" for AGENTJOB_DELIVERY_NONE.
 * @param delivery any number
 * @return a text that lives for ever; "?" for a number that is no verdict
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_delivery_name(int32_t delivery);

/**
 * A status's name, the service's own word: "active", "completed", "archived", "failed"; "unknown" for AGENTJOB_STATUS_UNKNOWN.
 * @param status any number
 * @return a text that lives for ever; "?" for a number that is no status
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_status_name(int32_t status);

/**
 * Makes settings of which none is set.
 * @return yours; free it with agentjob_options_free(). NULL only after a bug of this library.
 * @since 0.1.0
 */
AGENTJOB_API agentjob_options *agentjob_options_new(void);

/**
 * Frees settings. Clients made from them go on.
 * @param options the settings, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_options_free(agentjob_options *options);

/**
 * Where the service is: https, or http to this machine only. Required; also AGENTJOB_BASE_URL.
 * @param options the settings
 * @param base_url "https://api.example.com", copied
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_base_url(agentjob_options *options,
                                            const char *base_url,
                                            agentjob_error **err);

/**
 * The API key. Required, here or with agentjob_options_set_api_key_file(); also AGENTJOB_API_KEY.
 * @param options the settings
 * @param api_key the key as the service shows it; copied, and wiped when the last user lets go
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_api_key(agentjob_options *options,
                                           const char *api_key,
                                           agentjob_error **err);

/**
 * A file that holds the API key alone, read by agentjob_client_new(); also AGENTJOB_API_KEY_FILE. It may be a pipe, which is
 * waited for 60 s at most. A file of this user's that others may read or write is refused, like OpenSSH's private keys; see
 * agentjob_options_set_allow_shared_key_file().
 * @param options the settings
 * @param path the file's path, copied
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_api_key_file(agentjob_options *options,
                                                const char *path,
                                                agentjob_error **err);

/**
 * Whether the key's file may be one that other users can read or write, as the secrets of containers are. Not by default; also
 * AGENTJOB_ALLOW_SHARED_KEY_FILE, 1 or 0.
 * @param options the settings
 * @param allow_shared_key_file whether it may
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_allow_shared_key_file(agentjob_options *options,
                                                         bool allow_shared_key_file,
                                                         agentjob_error **err);

/**
 * The project that the jobs belong to. Required; also AGENTJOB_PROJECT_ID.
 * @param options the settings
 * @param project_id the project, copied
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_project_id(agentjob_options *options,
                                              const char *project_id,
                                              agentjob_error **err);

/**
 * A PEM file of authorities to trust besides the platform's, read by agentjob_client_new(); also AGENTJOB_CA_FILE.
 * @param options the settings
 * @param path the file's path, copied
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_ca_file(agentjob_options *options,
                                           const char *path,
                                           agentjob_error **err);

/**
 * The HTTP proxy to go through instead of the environment's.
 * @param options the settings
 * @param proxy "http://[user:password@]host:port", copied
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_proxy(agentjob_options *options,
                                         const char *proxy,
                                         agentjob_error **err);

/**
 * Whether HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count, as agentjob_client_new() finds them. Default true.
 * @param options the settings
 * @param trust_env whether they count
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_trust_env(agentjob_options *options,
                                             bool trust_env,
                                             agentjob_error **err);

/**
 * Whether plain http may go to another machine, which shows the key to the network. Default false.
 * @param options the settings
 * @param allow_plaintext whether it may
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_allow_plaintext(agentjob_options *options,
                                                   bool allow_plaintext,
                                                   agentjob_error **err);

/**
 * What to put behind "agentjob/<version>" in the User-Agent header.
 * @param options the settings
 * @param suffix visible ASCII and spaces, at most 256 bytes, copied; "" for nothing
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_user_agent_suffix(agentjob_options *options,
                                                     const char *suffix,
                                                     agentjob_error **err);

/**
 * The total time of one request, its retries and pauses included. Default 60000; also AGENTJOB_TIMEOUT, in seconds.
 * @param options the settings
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_timeout_ms(agentjob_options *options,
                                              uint64_t ms,
                                              agentjob_error **err);

/**
 * The time to connect: name lookup, TCP, proxy and TLS together. Default 10000.
 * @param options the settings
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_connect_timeout_ms(agentjob_options *options,
                                                      uint64_t ms,
                                                      agentjob_error **err);

/**
 * How often a call makes a failed request again, where that cannot deliver a message twice. Default 2.
 * @param options the settings
 * @param max_retries 0 to 100
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_max_retries(agentjob_options *options,
                                               uint32_t max_retries,
                                               agentjob_error **err);

/**
 * The longest Retry-After that a call waits for by itself. Default 60000.
 * @param options the settings
 * @param ms milliseconds, 0 to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_max_retry_after_ms(agentjob_options *options,
                                                      uint64_t ms,
                                                      agentjob_error **err);

/**
 * The longest prompt that is sent. Default 4194304 (4 MiB).
 * @param options the settings
 * @param bytes bytes of UTF-8, 1 to 1073741824 (1 GiB)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_max_prompt_bytes(agentjob_options *options,
                                                    size_t bytes,
                                                    agentjob_error **err);

/**
 * The longest answer that is read. Default 8388608 (8 MiB).
 * @param options the settings
 * @param bytes bytes, 1 to 1073741824 (1 GiB)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_max_response_bytes(agentjob_options *options,
                                                      size_t bytes,
                                                      agentjob_error **err);

/**
 * What to call with each event: a request, a retry, a poll.
 * @param options the settings
 * @param on_event the function
 * @param user_data handed to it, may be NULL. It must bear being used by every thread that uses the client
 * @param destroy called once with user_data when these options and every client and batch made from them are gone, or when another
 * function took this one's place; may be NULL. After an error it is not called: user_data stays yours
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_options_set_on_event(agentjob_options *options,
                                            agentjob_event_fn on_event,
                                            void *user_data,
                                            agentjob_destroy_fn destroy,
                                            agentjob_error **err);

/**
 * Makes a client. Every setting is checked; nothing is sent.
 * @param options the settings, copied; NULL to take all of them from the AGENTJOB_ variables
 * @param out where the client goes; free it with agentjob_client_free()
 * @param err where an error goes, or NULL; its message names the first setting that is missing or wrong
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_new(const agentjob_options *options,
                                  agentjob_client **out,
                                  agentjob_error **err);

/**
 * Ends every call of this client, in every thread, with AGENTJOB_ERR_CLOSED, and refuses new ones. It does not wait for
 * them. From any thread; again is no harm.
 *
 * A batch of the client sends nothing more and ends with AGENTJOB_ERR_CLOSED, but the answers to its messages in flight are awaited,
 * for at most its grace: by agentjob_batch_next(), which has their outcomes first, or by agentjob_batch_free().
 * @param client the client; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_client_close(const agentjob_client *client);

/**
 * Whether agentjob_client_close() was called.
 * @param client the client
 * @return false also for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_client_is_closed(const agentjob_client *client);

/**
 * Where the service is, without a slash at its end.
 * @param client the client
 * @return borrowed from the client; NULL only for a NULL client
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_client_base_url(const agentjob_client *client);

/**
 * The project that the jobs belong to.
 * @param client the client
 * @return borrowed from the client; NULL only for a NULL client
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_client_project_id(const agentjob_client *client);

/**
 * Frees a client. It does not wait: no call may be using it any more. agentjob_client_close() makes them return; join the
 * threads that made them first.
 * @param client the client, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_client_free(agentjob_client *client);

/**
 * Sends a follow-up instruction to a job, and gives the job's record. The record may still be the previous one: a job takes
 * a message asynchronously.
 *
 * A message is never sent twice. After an error agentjob_error_delivery() says what became of it.
 * @param client the client
 * @param job_id the job
 * @param prompt the instruction, UTF-8, at least 1 byte; a NUL byte inside is sent like any other
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param call settings of this call, or NULL
 * @param out where the record goes; free it with agentjob_job_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK, or any error but AGENTJOB_ERR_WAIT_TIMEOUT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_send_message(const agentjob_client *client,
                                           const char *job_id,
                                           const char *prompt,
                                           size_t prompt_len,
                                           const agentjob_call *call,
                                           agentjob_job **out,
                                           agentjob_error **err);

/**
 * Asks for a job's record.
 * @param client the client
 * @param job_id the job
 * @param call settings of this call, or NULL
 * @param out where the record goes; free it with agentjob_job_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK, or any error but AGENTJOB_ERR_WAIT_TIMEOUT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_get_job(const agentjob_client *client,
                                      const char *job_id,
                                      const agentjob_call *call,
                                      agentjob_job **out,
                                      agentjob_error **err);

/**
 * Creates a job, and gives its record. After an error agentjob_error_delivery() says whether there may be one.
 * @param client the client
 * @param prompt what the job is to do, UTF-8, at least 1 byte; a NUL byte inside is sent like any other
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param call settings of this call, or NULL
 * @param out where the record goes; free it with agentjob_job_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK, or any error but AGENTJOB_ERR_WAIT_TIMEOUT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_create_job(const agentjob_client *client,
                                         const char *prompt,
                                         size_t prompt_len,
                                         const agentjob_call *call,
                                         agentjob_job **out,
                                         agentjob_error **err);

/**
 * Waits until a job is completed, archived or failed, and gives its last record. A failed job is no error of the wait: look
 * at agentjob_job_status().
 *
 * A poll that fails for a passing reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) does not end the
 * wait. Right after a message of this client a finished record counts only once the job was seen active or the settle time has passed.
 * @param client the client
 * @param job_id the job
 * @param call settings of this call, or NULL
 * @param out where the record goes; free it with agentjob_job_free()
 * @param err where an error goes, or NULL; agentjob_error_job() has the last record that was seen
 * @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT when the wait's time was over, or what else a look at a job can end with
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_wait(const agentjob_client *client,
                                   const char *job_id,
                                   const agentjob_call *call,
                                   agentjob_job **out,
                                   agentjob_error **err);

/**
 * Sends a message and waits for its result: agentjob_client_send_message(), then agentjob_client_wait().
 *
 * After an error agentjob_error_delivery() says what became of the message: AGENTJOB_DELIVERY_ACCEPTED once the wait began.
 * @param client the client
 * @param job_id the job
 * @param prompt the instruction, UTF-8, at least 1 byte; a NUL byte inside is sent like any other
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param call settings of this call, or NULL
 * @param out where the last record goes; free it with agentjob_job_free()
 * @param err where an error goes, or NULL; agentjob_error_job() has the last record that was seen
 * @return AGENTJOB_OK, or any error
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_send_and_wait(const agentjob_client *client,
                                            const char *job_id,
                                            const char *prompt,
                                            size_t prompt_len,
                                            const agentjob_call *call,
                                            agentjob_job **out,
                                            agentjob_error **err);

/**
 * Makes settings that say nothing yet.
 * @return yours; free it with agentjob_call_free(). NULL only after a bug of this library.
 * @since 0.1.0
 */
AGENTJOB_API agentjob_call *agentjob_call_new(void);

/**
 * The total time of one request instead of the client's timeout: of a message, of a job to create, of each look at a job.
 * How long a wait lasts is agentjob_call_set_wait_timeout_ms().
 * @param call the settings
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_call_set_timeout_ms(agentjob_call *call,
                                           uint64_t ms,
                                           agentjob_error **err);

/**
 * How long to wait for a job to be done. Default 1800000 (30 minutes).
 * @param call the settings
 * @param ms milliseconds, 1 to 604800000 (7 days), or AGENTJOB_FOREVER
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API agentjob_code agentjob_call_set_wait_timeout_ms(agentjob_call *call, uint64_t ms, agentjob_error **err);

/**
 * The shortest and the longest pause between two looks at a job. Default 2000 and 60000.
 * @param call the settings
 * @param min_ms milliseconds, 1 to max_ms
 * @param max_ms milliseconds, min_ms to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_call_set_poll_interval_ms(agentjob_call *call,
                                                 uint64_t min_ms,
                                                 uint64_t max_ms,
                                                 agentjob_error **err);

/**
 * How late the end may be noticed, as a part of the time waited so far: the pauses between two looks grow with it.
 * Default 0.15.
 * @param call the settings
 * @param part more than 0, at most 1
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API agentjob_code agentjob_call_set_lateness(agentjob_call *call, double part, agentjob_error **err);

/**
 * How long after a message a finished job may still show its previous result, which a wait then does not take for the end
 * unless it saw the job at work. Default 10000; 0 trusts the first answer.
 * @param call the settings
 * @param ms milliseconds, 0 to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_call_set_settle_ms(agentjob_call *call,
                                          uint64_t ms,
                                          agentjob_error **err);

/**
 * A token that can end the calls made with these settings.
 * @param call the settings
 * @param cancel the token; the settings keep a reference of their own, so it may be freed before them
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_call_set_cancel(agentjob_call *call,
                                       const agentjob_cancel *cancel,
                                       agentjob_error **err);

/**
 * Frees settings of a call.
 * @param call the settings, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_call_free(agentjob_call *call);

/**
 * What to call with each new record that a wait sees. It is no cancel button: between two records it is not called.
 * @param call the settings
 * @param progress the function; non-zero from it ends the call
 * @param user_data handed to it, may be NULL; it stays yours and must live as long as calls are made with these settings. If
 * several threads make calls with them at once, the function is called on each of these threads.
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_call_set_progress(agentjob_call *call,
                                         agentjob_progress_fn progress,
                                         void *user_data,
                                         agentjob_error **err);

/**
 * Makes a token that is not triggered.
 * @return yours; free it with agentjob_cancel_free(). NULL only after a bug of this library.
 * @since 0.1.0
 */
AGENTJOB_API agentjob_cancel *agentjob_cancel_new(void);

/**
 * Ends every call that was given this token, now and later, with AGENTJOB_ERR_CANCELLED. A call notices within 100 ms
 * wherever it is. There is no way back: take a new token for the next call.
 *
 * From any thread, and the only function here that may be called in a signal handler: it is one atomic store.
 * @param cancel the token; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_cancel_trigger(const agentjob_cancel *cancel);

/**
 * Whether a token was triggered.
 * @param cancel the token; NULL is not triggered
 * @return true once agentjob_cancel_trigger() was called
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_cancel_is_triggered(const agentjob_cancel *cancel);

/**
 * Frees a token. Calls and settings that were given it keep a reference of their own; a signal handler does not, so take
 * the handler away first.
 * @param cancel the token, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_cancel_free(agentjob_cancel *cancel);

/**
 * The job's id.
 * @param job the record
 * @return borrowed from the record; NULL only for a NULL record
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_id(const agentjob_job *job);

/**
 * Where the job stands, as a number to branch on.
 * @param job the record
 * @return an AGENTJOB_STATUS_ number; AGENTJOB_STATUS_UNKNOWN for a word that this version does not know, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_job_status(const agentjob_job *job);

/**
 * Where the job stands in the service's own word, also one that this version does not know.
 * @param job the record
 * @return borrowed from the record; NULL only for a NULL record
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_status_name(const agentjob_job *job);

/**
 * Whether the job is done: completed, archived or failed.
 * @param job the record
 * @return false also for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_job_is_terminal(const agentjob_job *job);

/**
 * The repository that the job works on, usually its full URL.
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
 * The pull request's URL. It is the service's text, unchecked: do not open it without looking at it.
 * @param job the record
 * @return borrowed from the record; NULL while the job is active, and when no file changed
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
 * When the job was created, as a number to compute with. It is agentjob_job_created_at() read as ISO 8601 with an offset.
 * @param job the record
 * @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such moment, or one before 1970, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
int64_t agentjob_job_created_at_unix_ms(const agentjob_job *job);

/**
 * When the job was archived, as the service wrote it (ISO 8601).
 * @param job the record
 * @return borrowed from the record; NULL if the job is not archived
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_job_archived_at(const agentjob_job *job);

/**
 * When the job was archived, as a number to compute with. It is agentjob_job_archived_at() read as ISO 8601 with an offset.
 * @param job the record
 * @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such moment, or one before 1970, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
int64_t agentjob_job_archived_at_unix_ms(const agentjob_job *job);

/**
 * The whole record as compact JSON: the documented keys in their order, null where the service left them out, then the keys that
 * this version does not know, as the service wrote them and in its order. It is made when it is first asked for.
 * @param job the record
 * @param len where the length goes, in bytes without the NUL at the end; NULL if you do not want it
 * @return borrowed from the record; NULL, and 0 in *len, for a NULL record and when there is no memory for it
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_job_json(const agentjob_job *job,
                              size_t *len);

/**
 * A record of your own of the same moment. It costs next to nothing: the texts are shared.
 * @param job the record
 * @return yours; free it with agentjob_job_free(). NULL only for a NULL record
 * @since 0.1.0
 */
AGENTJOB_API agentjob_job *agentjob_job_clone(const agentjob_job *job);

/**
 * Frees a record that is yours, not a borrowed one. Texts borrowed from it end with it.
 * @param job the record, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_job_free(agentjob_job *job);

/**
 * The code, the same that the call returned.
 * @param error the error
 * @return the code; AGENTJOB_OK for NULL
 * @since 0.1.0
 */
AGENTJOB_API agentjob_code agentjob_error_code(const agentjob_error *error);

/**
 * The kind of error in the word that every language shares: "not_found", "wait_timeout".
 * @param error the error
 * @return borrowed from the error; NULL only for a NULL error
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_error_kind(const agentjob_error *error);

/**
 * One sentence for a person: what failed, for which job, what to do.
 * @param error the error
 * @return borrowed from the error; NULL only for a NULL error
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_error_message(const agentjob_error *error);

/**
 * What became of the message: whether sending it again is safe.
 * @param error the error
 * @return an AGENTJOB_DELIVERY_ number; AGENTJOB_DELIVERY_NONE if the call was not to deliver one, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_error_delivery(const agentjob_error *error);

/**
 * The status of the service's answer.
 * @param error the error
 * @return 100 to 999; 0 if no answer was read, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_error_http_status(const agentjob_error *error);

/**
 * How long the service asked to wait before the next request (Retry-After).
 * @param error the error
 * @return milliseconds; -1 if it did not ask, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int64_t agentjob_error_retry_after_ms(const agentjob_error *error);

/**
 * The service's id of the request, to quote to its operators.
 * @param error the error
 * @return borrowed from the error; NULL if there is none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_error_request_id(const agentjob_error *error);

/**
 * The text of the answer's body, at most 8 KiB of it. It is the service's text, unchecked.
 * @param error the error
 * @param len where the length goes, in bytes without the NUL at the end; NULL if you do not want it
 * @return borrowed from the error; NULL, and 0 in *len, if there is none
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_error_body(const agentjob_error *error, size_t *len);

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
 * The last record that was seen before a wait ended with this error.
 * @param error the error
 * @return borrowed from the error; NULL if none was seen
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_job *agentjob_error_job(const agentjob_error *error);

/**
 * Frees an error. Texts and the job borrowed from it end with it.
 * @param error the error, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_error_free(agentjob_error *error);

/**
 * Begins a wait in steps. Nothing is sent.
 * @param client the client
 * @param job_id the job
 * @param call the wait's settings (its time, pauses, lateness and settle time), copied; or NULL
 * @param out where the poller goes; free it with agentjob_poller_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_poller(const agentjob_client *client,
                                     const char *job_id,
                                     const agentjob_call *call,
                                     agentjob_poller **out,
                                     agentjob_error **err);

/**
 * Goes on from a poller's text, also in another process. The time since it was written counts as waited.
 * @param text what agentjob_poller_to_text() gave
 * @param out where the poller goes; free it with agentjob_poller_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API agentjob_code agentjob_poller_from_text(const char *text, agentjob_poller **out, agentjob_error **err);

/**
 * How long until the next look is due, or until the wait's time is over if that comes first.
 * @param poller the poller
 * @return milliseconds; 0 if it is due now, if the job is done, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_poller_due_in_ms(const agentjob_poller *poller);

/**
 * Looks at the job once, now, whether it is due or not. A poll that fails for a passing reason (connection, timeout, 408,
 * 429, 5xx, a 2xx that is not this job's record) is counted and is no error.
 *
 * Records and texts that were borrowed from the poller end here.
 * @param poller the poller
 * @param client a client of the job's project; after agentjob_poller_from_text() any client that can see the job
 * @param call settings of this look (its timeout and cancel token), or NULL
 * @param done where it goes whether the job is done; agentjob_poller_job() then has its last record
 * @param err where an error goes, or NULL; agentjob_error_job() has the last record that was seen
 * @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT when the wait's time was over, or what else a look at a job can end with
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_poller_poll(agentjob_poller *poller,
                                   const agentjob_client *client,
                                   const agentjob_call *call,
                                   bool *done,
                                   agentjob_error **err);

/**
 * The job that is waited for, which a poller from agentjob_poller_from_text() knows, too.
 * @param poller the poller
 * @return borrowed from the poller; NULL only for a NULL poller
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_poller_job_id(const agentjob_poller *poller);

/**
 * The last record that this poller saw.
 * @param poller the poller
 * @return borrowed from the poller until its next poll; NULL if it has seen none yet
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_job *agentjob_poller_job(const agentjob_poller *poller);

/**
 * Whether the job is done.
 * @param poller the poller
 * @return false also for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_poller_is_done(const agentjob_poller *poller);

/**
 * Where the wait stands, as a short text for agentjob_poller_from_text(). It holds the job's id but no key.
 * @param poller the poller
 * @return borrowed from the poller until its next poll or text; NULL only for a NULL poller
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_poller_to_text(agentjob_poller *poller);

/**
 * Frees a poller. Records and texts borrowed from it end with it.
 * @param poller the poller, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_poller_free(agentjob_poller *poller);

/**
 * Makes an empty batch. Nothing is sent, and the journal is not opened before agentjob_batch_start().
 * @param client the client; the batch keeps a reference of its own, so it may be freed before it. agentjob_client_close() ends it
 * @param journal the path of the file that keeps the batch's place; one that exists is gone on with. It holds the jobs' ids and
 * the service's answers, but no prompt and no key
 * @param out where the batch goes; free it with agentjob_batch_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_client_batch(const agentjob_client *client,
                                    const char *journal,
                                    agentjob_batch **out,
                                    agentjob_error **err);

/**
 * Adds a message. Nothing is sent; beyond NULL and UTF-8 it is checked by agentjob_batch_start(), which names a wrong one.
 * Messages to one job are sent one after the other, in the order in which they were added.
 * @param batch a batch that was not started
 * @param job_id the job, copied
 * @param prompt the instruction, UTF-8, at least 1 byte, copied; a NUL byte inside is sent like any other
 * @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
 * @param key a name that is this message's own in the batch, 1 to 1024 bytes, by which the journal knows it wherever it stands;
 * or NULL, and it is known by its content and its place
 * @param line the line of the file that the message is from, to be named in errors; 0 if it is from none
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_add(agentjob_batch *batch,
                                 const char *job_id,
                                 const char *prompt,
                                 size_t prompt_len,
                                 const char *key,
                                 uint64_t line,
                                 agentjob_error **err);

/**
 * Begins: every setting and every message is checked, the journal is opened and locked, and the threads are started. Before it
 * returns with an error, nothing was sent by this batch.
 *
 * AGENTJOB_ERR_INVALID_ARGUMENT names what is wrong: a setting, a message by its line or its number from 1, two messages with one
 * key, or a message that is not the one that the journal has. AGENTJOB_ERR_JOURNAL: the journal cannot be opened or written, is
 * damaged (its line is named), is another service's or project's, or is in use by another batch, of this process or of another.
 * @param batch a batch that was not started; after an error it is good for nothing but to be freed
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, AGENTJOB_ERR_JOURNAL, or AGENTJOB_ERR_CONNECT if no thread could be started
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_start(agentjob_batch *batch,
                                   agentjob_error **err);

/**
 * Waits for what happens next. The outcomes of earlier runs come first, then each outcome as it comes; every message has one
 * when the batch is over.
 *
 * A 429 holds the whole batch back until the service allows more, trouble on the way (no connection, timeouts, 5xx) for a time that
 * grows: both are told as AGENTJOB_BATCH_PAUSED and are no error. What every other message would meet alike ends the batch with an
 * error: 401, 403, 3xx, TLS, a journal that cannot be written, too long trouble, the batch's token, a closed client. The messages
 * that are left are for the next run.
 * @param batch a batch that was started
 * @param timeout_ms how long to wait: milliseconds, 0 to 604800000 (7 days), or AGENTJOB_FOREVER
 * @param out where the event goes, NULL if none came in time and when the batch is over; free it with agentjob_batch_event_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or what ended the batch before every message had its outcome:
 * AGENTJOB_ERR_AUTHENTICATION, _PERMISSION_DENIED, _REDIRECT, _TLS, _RATE_LIMIT (for more than a day), _CONNECT, _CONNECTION_LOST,
 * _TIMEOUT, _SERVER, _INVALID_RESPONSE, _CANCELLED, _CLOSED or _JOURNAL. That comes once; agentjob_batch_is_over() is true after it
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_next(agentjob_batch *batch,
                                  uint64_t timeout_ms,
                                  agentjob_batch_event **out,
                                  agentjob_error **err);

/**
 * Whether nothing more comes from a batch: agentjob_batch_next() said all, or what ended it, or the start failed.
 * @param batch the batch
 * @return true also for NULL, so that a loop ends
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_is_over(const agentjob_batch *batch);

/**
 * How far the batch is at this moment; what earlier runs of its journal did counts.
 * @param batch the batch, started or not
 * @return borrowed from the batch until it is used again; NULL only for a NULL batch
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_progress *agentjob_batch_progress(agentjob_batch *batch);

/**
 * Sends nothing more, and returns at once. The messages that are under way have their answers, for at most the grace; go on with
 * agentjob_batch_next() until the batch is over. Run it again with the same journal to go on.
 * @param batch the batch; NULL, and one that is not at work, is nothing to stop
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_batch_stop(agentjob_batch *batch);

/**
 * Frees a batch. One at work is stopped first, and waited for: the messages under way have their answers, for at most the
 * grace; their outcomes are in the journal. Events that came from it live on.
 * @param batch the batch, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API
void agentjob_batch_free(agentjob_batch *batch);

/**
 * Adds the messages of a file, each with its line. Nothing is sent. A file whose name ends in .csv is CSV with a header that names
 * the columns job_id, prompt and, optionally, key; any other file has one JSON object with these fields per line. All of the file
 * is read and checked: after an error nothing of it was added.
 * @param batch a batch that was not started
 * @param path the path of the file
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT: the file can't be read, has no messages, or has a wrong line, which the
 * error names by its number
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_add_file(agentjob_batch *batch,
                                      const char *path,
                                      agentjob_error **err);

/**
 * How many messages are under way at once, never two for one job. Default 4.
 * @param batch a batch that was not started
 * @param messages 1 to 64
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_set_concurrency(agentjob_batch *batch,
                                             uint32_t messages,
                                             agentjob_error **err);

/**
 * How fast messages are sent: at most so many in any span of time, over all runs of the journal. By default as fast as they are
 * answered.
 * @param batch a batch that was not started
 * @param rate "100/h", "2/s", "30/min", "500/d": 1 to 1000000 messages a second, minute, hour or day
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_set_rate(agentjob_batch *batch,
                                      const char *rate,
                                      agentjob_error **err);

/**
 * Follows each accepted message until its job is done: its outcome comes then, with the job's last record. By default an outcome
 * comes with the service's answer to the message.
 * @param batch a batch that was not started
 * @param call the waits' settings (their time, pauses, lateness and settle time), copied; its token and its progress function
 * are not used. NULL: the defaults
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_set_wait(agentjob_batch *batch,
                                      const agentjob_call *call,
                                      agentjob_error **err);

/**
 * Sends the messages again of which an earlier run does not know whether they arrived. Those that did arrive are worked on
 * twice, so look at their jobs first (agentjob_batch_status_item_job_id()). Default false.
 * @param batch a batch that was not started
 * @param resend whether to
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_set_resend_unknown(agentjob_batch *batch,
                                                bool resend,
                                                agentjob_error **err);

/**
 * How long the batch goes on trying while no message is answered: no connection, timeouts, 5xx. Default 3600000 (1 hour).
 * @param batch a batch that was not started
 * @param ms milliseconds, 1 to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_set_max_outage_ms(agentjob_batch *batch,
                                               uint64_t ms,
                                               agentjob_error **err);

/**
 * How long a batch that is stopped, cancelled or freed waits for the answers to the messages under way, so that it need not call
 * them unknown. Default 5000.
 * @param batch a batch that was not started
 * @param ms milliseconds, 0 to 604800000 (7 days)
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_set_grace_ms(agentjob_batch *batch,
                                          uint64_t ms,
                                          agentjob_error **err);

/**
 * A token that ends the batch with AGENTJOB_ERR_CANCELLED, pulled by another thread or in a signal handler: nothing more is sent, and
 * the answers to the messages under way are taken for at most the grace.
 * @param batch a batch that was not started
 * @param cancel the token; the batch keeps a reference of its own, so it may be freed before it
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_set_cancel(agentjob_batch *batch,
                                        const agentjob_cancel *cancel,
                                        agentjob_error **err);

/**
 * What the event is.
 * @param event the event
 * @return an AGENTJOB_BATCH_ number; AGENTJOB_BATCH_NOTHING for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_batch_event_kind(const agentjob_batch_event *event);

/**
 * Which message it is about: its place in the batch, from 1.
 * @param event the event
 * @return the number; 0 for a pause and its end, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_event_number(const agentjob_batch_event *event);

/**
 * The line that was given with the message whose outcome it is; for AGENTJOB_BATCH_RECOVERED the journal's first line, from 1, that
 * cannot be read.
 * @param event the event
 * @return the line; 0 if none was given, for any other event, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
uint64_t agentjob_batch_event_line(const agentjob_batch_event *event);

/**
 * The key of the message whose outcome it is: yours, or the one that was made from its content and place.
 * @param event the event
 * @return borrowed from the event; NULL for one that is no outcome
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_event_key(const agentjob_batch_event *event);

/**
 * The job that the message is for.
 * @param event the event
 * @return borrowed from the event; NULL for a pause and its end
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_event_job_id(const agentjob_batch_event *event);

/**
 * What became of the message whose outcome it is.
 * @param event the event
 * @return AGENTJOB_DELIVERY_ACCEPTED, AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN; AGENTJOB_DELIVERY_NONE for an event
 * that is no outcome, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
int32_t agentjob_batch_event_delivery(const agentjob_batch_event *event);

/**
 * The job's last record: the answer to the message or, if the batch waits, what the wait saw last.
 * @param event the event
 * @return borrowed from the event; NULL if there is none
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_job *agentjob_batch_event_job(const agentjob_batch_event *event);

/**
 * Why a message was rejected, why nobody knows whether it arrived, or, for an accepted one, why its record or the end of its job
 * was not seen; for a pause, the failure behind it.
 * @param event the event
 * @return borrowed from the event; NULL if there is none
 * @since 0.1.0
 */
AGENTJOB_API
const agentjob_error *agentjob_batch_event_error(const agentjob_batch_event *event);

/**
 * Whether an earlier run of the journal found the outcome out.
 * @param event the event
 * @return false also for an event that is no outcome, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_event_is_earlier(const agentjob_batch_event *event);

/**
 * Why the batch pauses.
 * @param event the event
 * @return an AGENTJOB_PAUSE_ number; AGENTJOB_PAUSE_NONE for an event that is no pause, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_batch_event_pause(const agentjob_batch_event *event);

/**
 * How long the batch pauses, from when the pause began.
 * @param event the event
 * @return milliseconds; 0 for an event that is no pause, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_event_pause_ms(const agentjob_batch_event *event);

/**
 * How many bytes of a damaged journal are passed over.
 * @param event the event
 * @return bytes; 0 for an event that is no AGENTJOB_BATCH_RECOVERED, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_event_dropped_bytes(const agentjob_batch_event *event);

/**
 * Frees an event. Texts, the job and the error borrowed from it end with it.
 * @param event the event, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_batch_event_free(agentjob_batch_event *event);

/**
 * A kind's name, the same in every language: "outcome", "accepted", "job", "paused", "resumed", "recovered"; "nothing" for
 * AGENTJOB_BATCH_NOTHING.
 * @param kind any number
 * @return a text that lives for ever; "?" for a number that is no kind
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_batch_kind_name(int32_t kind);

/**
 * One of the counts.
 * @param progress the progress
 * @param count an AGENTJOB_COUNT_ number
 * @return the count; 0 for any other number, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_progress_count(const agentjob_progress *progress, int32_t count);

/**
 * Why nothing was sent at that moment.
 * @param progress the progress
 * @return an AGENTJOB_PAUSE_ number; AGENTJOB_PAUSE_NONE if there was no pause, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int32_t agentjob_progress_pause(const agentjob_progress *progress);

/**
 * How long the pause still lasted.
 * @param progress the progress
 * @return milliseconds; 0 if there was no pause, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_progress_pause_ms(const agentjob_progress *progress);

/**
 * In how long the last message is sent, at this pace.
 * @param progress the progress
 * @return milliseconds, 0 when none is left; -1 as long as there is no pace, for a journal, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API int64_t agentjob_progress_finishes_in_ms(const agentjob_progress *progress);

/**
 * A pause's name, the same in every language: "rate_limit", "service_failure"; "none" for AGENTJOB_PAUSE_NONE.
 * @param pause any number
 * @return a text that lives for ever; "?" for a number that is no pause
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_pause_name(int32_t pause);

/**
 * Reads a batch's journal, also while another process runs the batch. Nothing is written, and nothing is sent.
 * @param journal the path of the journal
 * @param out where the status goes; free it with agentjob_batch_status_free()
 * @param err where an error goes, or NULL
 * @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_JOURNAL: it cannot be read, is damaged (its line is named),
 * or is no journal
 * @since 0.1.0
 */
AGENTJOB_API
agentjob_code agentjob_batch_status_new(const char *journal,
                                        agentjob_batch_status **out,
                                        agentjob_error **err);

/**
 * How far the batch is. AGENTJOB_COUNT_ITEMS is what its last run was given.
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const agentjob_progress *agentjob_batch_status_progress(const agentjob_batch_status *status);

/**
 * Whether a run is on.
 * @param status the status
 * @return false also for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_status_is_running(const agentjob_batch_status *status);

/**
 * Whether the last run waits for the jobs of its messages.
 * @param status the status
 * @return false also for NULL
 * @since 0.1.0
 */
AGENTJOB_API bool agentjob_batch_status_waits(const agentjob_batch_status *status);

/**
 * The process of the last run.
 * @param status the status
 * @return its id; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint32_t agentjob_batch_status_pid(const agentjob_batch_status *status);

/**
 * How often the batch was run.
 * @param status the status
 * @return at least 1; 0 for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_status_runs(const agentjob_batch_status *status);

/**
 * Where the batch's service is.
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_status_base_url(const agentjob_batch_status *status);

/**
 * The project that the batch's jobs belong to.
 * @param status the status
 * @return borrowed from the status; NULL only for a NULL status
 * @since 0.1.0
 */
AGENTJOB_API const char *agentjob_batch_status_project_id(const agentjob_batch_status *status);

/**
 * The last run's rate, like "100/h".
 * @param status the status
 * @return borrowed from the status; NULL if it has none
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
 * How many damaged bytes of the journal runs have passed over, or the next run will.
 * @param status the status
 * @return bytes; 0 also for NULL
 * @since 0.1.0
 */
AGENTJOB_API uint64_t agentjob_batch_status_dropped_bytes(const agentjob_batch_status *status);

/**
 * The place in the batch, from 1, of a message that was rejected, or of which nobody knows whether it arrived.
 * @param status the status
 * @param delivery AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN
 * @param index which of them, from 0, in the order of the batch
 * @return the number; 0 past the last one, for another delivery, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
uint64_t agentjob_batch_status_item_number(const agentjob_batch_status *status,
                                           int32_t delivery,
                                           uint64_t index);

/**
 * The job of that message: look at it before you send the message again.
 * @param status the status
 * @param delivery AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN
 * @param index which of them, from 0, in the order of the batch
 * @return borrowed from the status; NULL past the last one, for another delivery, and for NULL
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_batch_status_item_job_id(const agentjob_batch_status *status,
                                              int32_t delivery,
                                              uint64_t index);

/**
 * Why the service refused that message, or why nobody knows whether it arrived.
 * @param status the status
 * @param delivery AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN
 * @param index which of them, from 0, in the order of the batch
 * @return borrowed from the status; NULL if its run ended before it noted an answer, past the last one, for another delivery, and
 * for NULL
 * @since 0.1.0
 */
AGENTJOB_API
const char *agentjob_batch_status_item_reason(const agentjob_batch_status *status,
                                              int32_t delivery,
                                              uint64_t index);

/**
 * Frees a status. Texts and the progress borrowed from it end with it.
 * @param status the status, used no more; NULL does nothing
 * @since 0.1.0
 */
AGENTJOB_API void agentjob_batch_status_free(agentjob_batch_status *status);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AGENTJOB_H */
