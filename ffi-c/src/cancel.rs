//! The cancel token: one atomic, nothing else.

use agentjob_core::CancelToken;

use crate::guard::guard_or;
use crate::pointer;

/// Ends calls from elsewhere: another thread, or a signal handler.
///
/// Made by agentjob_cancel_new(), freed by agentjob_cancel_free(). Give it to calls with agentjob_call_set_cancel() and pull
/// it with agentjob_cancel_trigger(). It may be used by any number of threads at once.
/// @since 0.1.0
pub struct agentjob_cancel(pub(crate) CancelToken);

/// Makes a token that is not triggered.
/// @return yours; free it with agentjob_cancel_free(). NULL only after a bug of this library.
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_cancel_new() -> *mut agentjob_cancel {
    guard_or(std::ptr::null_mut(), || pointer::give(agentjob_cancel(CancelToken::new())))
}

/// Ends every call that was given this token, now and later, with AGENTJOB_ERR_CANCELLED. A call notices within 100 ms
/// wherever it is. There is no way back: take a new token for the next call.
///
/// From any thread, and the only function here that may be called in a signal handler: it is one atomic store.
/// @param cancel the token; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_cancel_trigger(cancel: *const agentjob_cancel) {
    // No guard: nothing here can panic, and in a signal handler nothing but the store may happen.
    // SAFETY: NULL or a living token by the header's rules.
    if let Some(cancel) = unsafe { cancel.as_ref() } {
        cancel.0.cancel();
    }
}

/// Whether a token was triggered.
/// @param cancel the token; NULL is not triggered
/// @return true once agentjob_cancel_trigger() was called
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_cancel_is_triggered(cancel: *const agentjob_cancel) -> bool {
    guard_or(false, || {
        // SAFETY: NULL or a living token by the header's rules.
        unsafe { cancel.as_ref() }.is_some_and(|cancel| cancel.0.is_cancelled())
    })
}

/// Frees a token. Calls and settings that were given it keep a reference of their own; a signal handler does not, so take
/// the handler away first.
/// @param cancel the token, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_cancel_free(cancel: *mut agentjob_cancel) {
    guard_or((), || {
        // SAFETY: NULL or a token that is used no more by the header's rules.
        unsafe { pointer::free(cancel) }
    });
}
