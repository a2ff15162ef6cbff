//! The cancel token: one atomic flag.

use agentjob_core::CancelToken;

use crate::handle::{self, read};
use crate::panic::guard_or;

/// Cancels calls from another thread or from a signal handler.
///
/// Made by agentjob_cancel_new(), freed by agentjob_cancel_free(). Pass it to calls with agentjob_call_set_cancel(), and cancel
/// them with agentjob_cancel_trigger(). Any number of threads may use it at once.
/// @since 0.1.0
pub struct agentjob_cancel(pub(crate) CancelToken);

/// Makes a token that is not triggered.
/// @return yours; free it with agentjob_cancel_free(). NULL only after a bug in this library.
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_cancel_new() -> *mut agentjob_cancel {
    guard_or(std::ptr::null_mut(), || handle::give(agentjob_cancel(CancelToken::new())))
}

/// Ends every call that has this token, running or later, with AGENTJOB_ERR_CANCELLED. A running call notices within 100 ms. It
/// cannot be undone: make a new token for the next call.
///
/// Any thread may call it. It is the only function here that a signal handler may call: it is one atomic store.
/// @param cancel the token; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_cancel_trigger(cancel: *const agentjob_cancel) {
    // No guard: nothing here can panic, and a signal handler may do nothing but the store.
    // SAFETY: the header's contract.
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.0.cancel();
    }
}

/// Whether a token was triggered.
/// @param cancel the token
/// @return true after agentjob_cancel_trigger(); false for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_cancel_is_triggered(cancel: *const agentjob_cancel) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(cancel, false, |cancel| cancel.0.is_cancelled()) }
}

/// Frees a token. Calls and settings that have it keep their own reference. A signal handler does not, so remove the handler
/// first.
/// @param cancel the token; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_cancel_free(cancel: *mut agentjob_cancel) {
    // SAFETY: the header's contract.
    unsafe { handle::free(cancel) }
}
