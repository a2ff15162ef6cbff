//! A batch's settings. Numbers are checked by agentjob_batch_start(), as those of a client are when it is made.

use std::ffi::c_char;
use std::time::Duration;

use agentjob_core::Rate;

use crate::batch::{agentjob_batch, set};
use crate::call::{agentjob_call, wait_options};
use crate::cancel::agentjob_cancel;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard};
use crate::pointer::required;
use crate::text::text;

/// How many messages are under way at once, never two for one job. Default 4.
/// @param batch a batch that was not started
/// @param messages 1 to 64
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_concurrency(
    batch: *mut agentjob_batch,
    messages: u32,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(batch, &|to| Ok(to.concurrency(messages)))) }
}

/// How fast messages are sent: at most so many in any span of time, over all runs of the journal. By default as fast as they are
/// answered.
/// @param batch a batch that was not started
/// @param rate "100/h", "2/s", "30/min", "500/d": 1 to 1000000 messages a second, minute, hour or day
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_rate(
    batch: *mut agentjob_batch,
    rate: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(batch, &|to| Ok(to.rate(text("rate", rate)?.parse::<Rate>()?)))) }
}

/// Follows each accepted message until its job is done: its outcome comes then, with the job's last record. By default an outcome
/// comes with the service's answer to the message.
/// @param batch a batch that was not started
/// @param call the waits' settings (their time, pauses, lateness and settle time), copied; its token and its progress function
/// are not used. NULL: the defaults
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_wait(
    batch: *mut agentjob_batch,
    call: *const agentjob_call,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(batch, &|to| Ok(to.wait(wait_options(call))))) }
}

/// Sends the messages again of which an earlier run does not know whether they arrived. Those that did arrive are worked on
/// twice, so look at their jobs first (agentjob_batch_status_item_job_id()). Default false.
/// @param batch a batch that was not started
/// @param resend whether to
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_resend_unknown(
    batch: *mut agentjob_batch,
    resend: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(batch, &|to| Ok(to.resend_unknown(resend)))) }
}

/// How long the batch goes on trying while no message is answered: no connection, timeouts, 5xx. Default 3600000 (1 hour).
/// @param batch a batch that was not started
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_max_outage_ms(
    batch: *mut agentjob_batch,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(batch, &|to| Ok(to.max_outage(Duration::from_millis(ms))))) }
}

/// How long a batch that is stopped, cancelled or freed waits for the answers to the messages under way, so that it need not call
/// them unknown. Default 5000.
/// @param batch a batch that was not started
/// @param ms milliseconds, 0 to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_grace_ms(
    batch: *mut agentjob_batch,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(batch, &|to| Ok(to.grace(Duration::from_millis(ms))))) }
}

/// A token that ends the batch with AGENTJOB_ERR_CANCELLED, pulled by another thread or in a signal handler: nothing more is sent, and
/// the answers to the messages under way are taken for at most the grace.
/// @param batch a batch that was not started
/// @param cancel the token; the batch keeps a reference of its own, so it may be freed before it
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_cancel(
    batch: *mut agentjob_batch,
    cancel: *const agentjob_cancel,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(batch, &|to| Ok(to.cancel(&required("cancel", cancel)?.0)))) }
}
