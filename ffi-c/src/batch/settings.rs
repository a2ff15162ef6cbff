//! The settings of a batch. Each setter checks its value.

use agentjob_core::Rate;
use std::ffi::c_char;

use crate::batch::lifecycle::agentjob_batch;
use crate::call::{agentjob_call, wait_options};
use crate::cancel::agentjob_cancel;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::milliseconds::checked_time;
use crate::setter::set;
use crate::text::text;

/// How many messages are in flight at once, never two for one job. Default 4.
/// @param batch a batch that was not started
/// @param messages 1 to 64
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_concurrency(
    batch: *mut agentjob_batch,
    messages: u32,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.concurrency(messages))) }
}

/// The rate limit: at most this many messages in any period of that length, over all runs of the journal. Default none: the
/// batch sends as fast as the service responds.
/// @param batch a batch that was not started
/// @param rate "100/h", "2/s", "30/min", "500/d": 1 to 1000000 messages a second, minute, hour or day
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or if rate is not a rate
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_rate(
    batch: *mut agentjob_batch,
    rate: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.rate(text("rate", rate)?.parse::<Rate>()?))) }
}

/// Waits for the job of each accepted message: the outcome comes when the job is done, with the job's last record, and only then is
/// the job's next message sent. By default an outcome comes with the service's response to the message, and so does the next message.
/// @param batch a batch that was not started
/// @param call the settings of the waits (deadline, poll interval, lateness and settle time), or NULL for the defaults. Its cancel
/// token and progress function are not used
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_wait(
    batch: *mut agentjob_batch,
    call: *const agentjob_call,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.wait(wait_options(call)))) }
}

/// Whether to resend messages whose delivery an earlier run does not know. A message that did arrive is then processed twice, so
/// check the jobs first (agentjob_batch_status_item()). Default false.
/// @param batch a batch that was not started
/// @param resend whether to resend them
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_resend_unknown(
    batch: *mut agentjob_batch,
    resend: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.resend_unknown(resend))) }
}

/// How long the batch keeps trying while no message gets a response: no connection, timeouts, 5xx. Default 3600000 (1 hour).
/// @param batch a batch that was not started
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_max_outage_ms(
    batch: *mut agentjob_batch,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.max_outage(checked_time("max_outage_ms", ms, 1)?))) }
}

/// How long a job may be busy. While the service responds 409 to a message, the batch polls its job and sends the message again when
/// the job is no longer active; the messages of other jobs are sent meanwhile. After this time the message is rejected. Each run of
/// the journal has the whole time again. Default 3600000 (1 hour).
/// @param batch a batch that was not started
/// @param ms milliseconds, 0 to 604800000 (7 days); 0: a 409 rejects the message at once
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_max_busy_ms(
    batch: *mut agentjob_batch,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.max_busy(checked_time("max_busy_ms", ms, 0)?))) }
}

/// The grace period: how long a batch that is stopped, cancelled or freed waits for the responses to its messages in flight. A
/// message without a response by then is unknown. Default 5000.
/// @param batch a batch that was not started
/// @param ms milliseconds, 0 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_grace_ms(
    batch: *mut agentjob_batch,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.grace(checked_time("grace_ms", ms, 0)?))) }
}

/// A token that ends the batch with AGENTJOB_ERR_CANCELLED, from another thread or a signal handler. The batch then sends nothing
/// more and waits, for at most the grace period, for the responses to its messages in flight. Default none.
/// @param batch a batch that was not started
/// @param cancel the token, or NULL to take one back. The batch keeps its own reference, so you may free it before the batch
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch is NULL or was started
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_cancel(
    batch: *mut agentjob_batch,
    cancel: *const agentjob_cancel,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.cancel(cancel.as_ref().map(|cancel| &cancel.0)))) }
}
