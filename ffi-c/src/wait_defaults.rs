//! A client's defaults for its waits. Each setter checks its value. A call's own settings are in `call.rs`.

use crate::call::checked_wait;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::milliseconds::{checked_interval, checked_time};
use crate::options::agentjob_options;
use crate::setter::set;

/// The deadline of the client's waits, where agentjob_call_set_wait_timeout_ms() sets none. Default 1800000 (30 minutes), or
/// AGENTJOB_WAIT_TIMEOUT, which is in seconds or "none".
/// @param options the options
/// @param ms milliseconds, 1 to 604800000 (7 days), or AGENTJOB_FOREVER
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_wait_timeout_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.wait_timeout(checked_wait(ms)?))) }
}

/// The shortest and the longest pause between two polls of the client's waits, where agentjob_call_set_poll_interval_ms() sets none.
/// Default 2000 and 60000, or AGENTJOB_MIN_INTERVAL and AGENTJOB_MAX_INTERVAL, which are in seconds.
/// @param options the options
/// @param min_ms milliseconds, 1 to max_ms
/// @param max_ms milliseconds, min_ms to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of ranges
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_poll_interval_ms(
    options: *mut agentjob_options,
    min_ms: u64,
    max_ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        set(options, err, &|to| {
            let (min, max) = checked_interval(min_ms, max_ms)?;
            Ok(to.min_interval(min).max_interval(max))
        })
    }
}

/// How late the client's waits may notice that a job is done, as a fraction of the time waited, where agentjob_call_set_lateness()
/// sets none. Default 0.15, or AGENTJOB_LATENESS.
/// @param options the options
/// @param fraction more than 0, at most 1
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_lateness(
    options: *mut agentjob_options,
    fraction: f64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.lateness(fraction))) }
}

/// The settle time of the client's waits, where agentjob_call_set_settle_ms() sets none: how long after a message a finished job may
/// still show its previous result. Default 10000, or AGENTJOB_SETTLE, which is in seconds.
/// @param options the options
/// @param ms milliseconds, 0 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_settle_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.settle(checked_time("settle_ms", ms, 0)?))) }
}
