//! Settings of one call: what differs from the client's own. Its progress function is in `progress.rs`.

use std::time::Duration;

use agentjob_core::{CallOptions, Error, WaitOptions};

use crate::cancel::agentjob_cancel;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard, guard_or};
use crate::pointer::{self, required, required_mut};

/// Give this as a wait's time to wait for ever.
/// @since 0.1.0
pub const AGENTJOB_FOREVER: u64 = u64::MAX;

/// Settings of one call. Wherever one is asked for, NULL means the client's own settings.
///
/// Made by agentjob_call_new(), freed by agentjob_call_free(). It may be used for any number of calls, also at once as long as
/// nobody changes it meanwhile. The settings are checked by the call that they are used for.
/// @since 0.1.0
#[derive(Default)]
pub struct agentjob_call {
    options: CallOptions,
    wait: WaitOptions,
}

/// The settings of one request.
///
/// # Safety
/// `call` is NULL, or a living call that nobody changes meanwhile.
pub(crate) unsafe fn call_options(call: *const agentjob_call) -> CallOptions {
    // SAFETY: the caller's promise is the same.
    unsafe { call.as_ref() }.map(|call| call.options.clone()).unwrap_or_default()
}

/// The settings of a wait.
///
/// # Safety
/// As for [`call_options`].
pub(crate) unsafe fn wait_options(call: *const agentjob_call) -> WaitOptions {
    // SAFETY: the caller's promise is the same.
    unsafe { call.as_ref() }.map(|call| call.wait.clone().call(call.options.clone())).unwrap_or_default()
}

/// Changes a wait's setting.
///
/// # Safety
/// `call` is NULL, or a living call that nobody else uses meanwhile.
unsafe fn set_wait(call: *mut agentjob_call, change: impl FnOnce(WaitOptions) -> WaitOptions) -> Result<(), Error> {
    // SAFETY: the caller's promise is the same.
    let call = unsafe { required_mut("call", call) }?;
    call.wait = change(std::mem::take(&mut call.wait));
    Ok(())
}

/// Changes a request's setting.
///
/// # Safety
/// As for [`set_wait`].
pub(crate) unsafe fn set_options(
    call: *mut agentjob_call,
    change: impl FnOnce(CallOptions) -> Result<CallOptions, Error>,
) -> Result<(), Error> {
    // SAFETY: the caller's promise is the same.
    let call = unsafe { required_mut("call", call) }?;
    call.options = change(call.options.clone())?;
    Ok(())
}

/// Makes settings that say nothing yet.
/// @return yours; free it with agentjob_call_free(). NULL only after a bug of this library.
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_call_new() -> *mut agentjob_call {
    guard_or(std::ptr::null_mut(), || pointer::give(agentjob_call::default()))
}

/// The total time of one request instead of the client's timeout: of a message, of a job to create, of each look at a job.
/// How long a wait lasts is agentjob_call_set_wait_timeout_ms().
/// @param call the settings
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_timeout_ms(
    call: *mut agentjob_call,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || set_options(call, |options| Ok(options.timeout(Duration::from_millis(ms)))))
    }
}

/// How long to wait for a job to be done. Default 1800000 (30 minutes).
/// @param call the settings
/// @param ms milliseconds, 1 to 604800000 (7 days), or AGENTJOB_FOREVER
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_wait_timeout_ms(
    call: *mut agentjob_call,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let timeout = (ms != AGENTJOB_FOREVER).then(|| Duration::from_millis(ms));
            set_wait(call, |wait| wait.timeout(timeout))
        })
    }
}

/// The shortest and the longest pause between two looks at a job. Default 2000 and 60000.
/// @param call the settings
/// @param min_ms milliseconds, 1 to max_ms
/// @param max_ms milliseconds, min_ms to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_poll_interval_ms(
    call: *mut agentjob_call,
    min_ms: u64,
    max_ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            set_wait(call, |wait| {
                wait.min_interval(Duration::from_millis(min_ms)).max_interval(Duration::from_millis(max_ms))
            })
        })
    }
}

/// How late the end may be noticed, as a part of the time waited so far: the pauses between two looks grow with it.
/// Default 0.15.
/// @param call the settings
/// @param part more than 0, at most 1
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_lateness(
    call: *mut agentjob_call,
    part: f64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set_wait(call, |wait| wait.lateness(part))) }
}

/// How long after a message a finished job may still show its previous result, which a wait then does not take for the end
/// unless it saw the job at work. Default 10000; 0 trusts the first answer.
/// @param call the settings
/// @param ms milliseconds, 0 to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_settle_ms(
    call: *mut agentjob_call,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set_wait(call, |wait| wait.settle(Duration::from_millis(ms)))) }
}

/// A token that can end the calls made with these settings.
/// @param call the settings
/// @param cancel the token; the settings keep a reference of their own, so it may be freed before them
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_cancel(
    call: *mut agentjob_call,
    cancel: *const agentjob_cancel,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            set_options(call, |options| Ok(options.cancel(&required("cancel", cancel)?.0)))
        })
    }
}

/// Frees settings of a call.
/// @param call the settings, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_free(call: *mut agentjob_call) {
    guard_or((), || {
        // SAFETY: NULL or a call that is used no more by the header's rules.
        unsafe { pointer::free(call) }
    });
}
