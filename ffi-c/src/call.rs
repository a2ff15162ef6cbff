//! Settings of one call that override the client's. The progress function is in `on_progress.rs`.

use std::sync::Arc;
use std::time::Duration;

use agentjob_core::{CallOptions, Control, Error, MetaHandler, WaitOptions};

use crate::cancel::agentjob_cancel;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle;
use crate::milliseconds::{checked_interval, checked_time};
use crate::panic::guard_or;
use crate::setter::{Has, set};

/// Pass this as a wait's deadline to wait without one.
/// @since 0.1.0
pub const AGENTJOB_FOREVER: u64 = u64::MAX;

/// The deadline of a wait, or none.
pub(crate) fn checked_wait(ms: u64) -> Result<Option<Duration>, Error> {
    (ms != AGENTJOB_FOREVER).then(|| checked_time("wait_timeout_ms", ms, 1)).transpose()
}

/// Settings of a call. NULL always means the client's own settings.
///
/// Made by agentjob_call_new(), freed by agentjob_call_free(). Any number of calls may use it, also at once, as long as no thread
/// changes it meanwhile. A setter refuses a wrong value at once, and the settings stay as they were.
/// @since 0.1.0
#[derive(Default)]
pub struct agentjob_call {
    options: CallOptions,
    wait: WaitOptions,
    /// The progress function, apart from the options so that it can be taken back.
    progress: Option<Arc<dyn Control>>,
    /// The function for metadata, likewise.
    meta: Option<MetaHandler>,
}

impl agentjob_call {
    fn options(&self) -> CallOptions {
        let mut options = self.options.clone();
        if let Some(progress) = &self.progress {
            options = options.control(Arc::clone(progress));
        }
        if let Some(meta) = &self.meta {
            options = options.meta(Arc::clone(meta));
        }
        options
    }
}

/// The settings of one request.
///
/// # Safety
/// `call` is NULL, or a living call that nothing changes meanwhile.
pub(crate) unsafe fn call_options(call: *const agentjob_call) -> CallOptions {
    // SAFETY: the caller promises the same.
    unsafe { call.as_ref() }.map(agentjob_call::options).unwrap_or_default()
}

/// The settings of a wait.
///
/// # Safety
/// As for [`call_options`].
pub(crate) unsafe fn wait_options(call: *const agentjob_call) -> WaitOptions {
    // SAFETY: the caller promises the same.
    unsafe { call.as_ref() }.map(|call| call.wait.clone().call(call.options())).unwrap_or_default()
}

/// Of the request.
impl Has<CallOptions> for agentjob_call {
    const NAME: &str = "call";

    fn settings(&mut self) -> Result<&mut CallOptions, Error> {
        Ok(&mut self.options)
    }
}

/// The progress function.
impl Has<Option<Arc<dyn Control>>> for agentjob_call {
    const NAME: &str = "call";

    fn settings(&mut self) -> Result<&mut Option<Arc<dyn Control>>, Error> {
        Ok(&mut self.progress)
    }
}

/// The function for metadata.
impl Has<Option<MetaHandler>> for agentjob_call {
    const NAME: &str = "call";

    fn settings(&mut self) -> Result<&mut Option<MetaHandler>, Error> {
        Ok(&mut self.meta)
    }
}

impl Has<WaitOptions> for agentjob_call {
    const NAME: &str = "call";

    fn settings(&mut self) -> Result<&mut WaitOptions, Error> {
        Ok(&mut self.wait)
    }

    fn check(settings: &WaitOptions) -> Result<(), Error> {
        settings.check()
    }
}

/// Makes settings that override nothing yet.
/// @return yours; free it with agentjob_call_free(). NULL only after a bug in this library.
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_call_new() -> *mut agentjob_call {
    guard_or(std::ptr::null_mut(), || handle::give(agentjob_call::default()))
}

/// The deadline of one request, of a message, a job to create or one poll, instead of the client's timeout. For the deadline of
/// a wait use agentjob_call_set_wait_timeout_ms().
/// @param call the settings
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_timeout_ms(
    call: *mut agentjob_call,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(call, err, &|options: CallOptions| Ok(options.timeout(checked_time("timeout_ms", ms, 1)?))) }
}

/// The deadline of a wait for a job. Default: the client's, 1800000 (30 minutes).
/// @param call the settings
/// @param ms milliseconds, 1 to 604800000 (7 days), or AGENTJOB_FOREVER
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_wait_timeout_ms(
    call: *mut agentjob_call,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(call, err, &|wait: WaitOptions| Ok(wait.timeout(checked_wait(ms)?))) }
}

/// The shortest and the longest pause between two polls. Default: the client's, 2000 and 60000. Polls 250, 500, 1000 and 2000 ms after a message
/// come in any case.
/// @param call the settings
/// @param min_ms milliseconds, 1 to max_ms
/// @param max_ms milliseconds, min_ms to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_poll_interval_ms(
    call: *mut agentjob_call,
    min_ms: u64,
    max_ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        set(call, err, &|wait: WaitOptions| {
            let (min, max) = checked_interval(min_ms, max_ms)?;
            Ok(wait.min_interval(min).max_interval(max))
        })
    }
}

/// How late a wait may notice that the job is done, as a fraction of the time it has waited: the pauses between polls grow in
/// proportion. Default: the client's, 0.15.
/// @param call the settings
/// @param fraction more than 0, at most 1
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_lateness(
    call: *mut agentjob_call,
    fraction: f64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(call, err, &|wait: WaitOptions| Ok(wait.lateness(fraction))) }
}

/// The settle time: how long after a message of this client a finished job may still show its previous result. During that time a
/// wait accepts a finished record only if one of its polls has seen the job active since the message; that the response to the
/// message says so does not count. Default: the client's, 10000; 0 accepts the first record.
/// @param call the settings
/// @param ms milliseconds, 0 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_settle_ms(
    call: *mut agentjob_call,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(call, err, &|wait: WaitOptions| Ok(wait.settle(checked_time("settle_ms", ms, 0)?))) }
}

/// A token that cancels the calls made with these settings. Default none.
/// @param call the settings
/// @param cancel the token, or NULL to take one back. The settings keep their own reference, so you may free it before them
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_cancel(
    call: *mut agentjob_call,
    cancel: *const agentjob_cancel,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(call, err, &|options: CallOptions| Ok(options.cancel(cancel.as_ref().map(|cancel| &cancel.0)))) }
}

/// Frees the settings of a call.
/// @param call the settings; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_free(call: *mut agentjob_call) {
    // SAFETY: the header's contract.
    unsafe { handle::free(call) }
}
