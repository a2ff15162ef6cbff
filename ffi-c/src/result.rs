//! How a function that can fail returns: its code to the caller, its error into `*err`.

use std::ptr;

use agentjob_core::{Delivery, Error};

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::give;
use crate::panic::catch;
use crate::thread_cancel;

/// Whether a function delivers a message; if it does, each of its errors has a delivery verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivers {
    Nothing,
    Message,
}

/// Runs the body of a function that can fail, catches its panics, and holds back the thread's cancellation. Every such function starts
/// with this call; `tests/guarded.rs` reads the sources and fails for one that does not.
///
/// # Safety
/// `err` is NULL or points to memory for one pointer.
pub(crate) unsafe fn guard(
    err: *mut *mut agentjob_error,
    delivers: Delivers,
    body: impl FnOnce() -> Result<(), Error>,
) -> agentjob_code {
    let mut body = Some(body);
    // SAFETY: the caller promises the same.
    unsafe { guarded(err, delivers, &mut || body.take().map_or(Ok(()), |body| body())) }
}

/// [`guard`] without its type parameter, so that the library holds it once and not once per function.
unsafe fn guarded(
    err: *mut *mut agentjob_error,
    delivers: Delivers,
    body: &mut dyn FnMut() -> Result<(), Error>,
) -> agentjob_code {
    let _held = thread_cancel::hold();
    let result = catch(body).unwrap_or_else(|panic| Err(Error::internal(&panic, delivers == Delivers::Message)));
    let (code, error) = match result {
        Ok(()) => (agentjob_code::AGENTJOB_OK, ptr::null_mut()),
        Err(error) if err.is_null() => (error.kind().into(), ptr::null_mut()),
        Err(error) => {
            let handle = catch(|| give(agentjob_error::new(&error, verdict(&error, delivers))));
            (error.kind().into(), handle.unwrap_or(ptr::null_mut()))
        }
    };
    if !err.is_null() {
        // SAFETY: the caller promises it. Writing without reading allows an uninitialized variable.
        unsafe { err.write(error) };
    }
    code
}

/// The core gives every error of a message its verdict. An error without one was raised in this crate, before the core was
/// called, so nothing was sent.
fn verdict(error: &Error, delivers: Delivers) -> Option<Delivery> {
    error.delivery().or((delivers == Delivers::Message).then_some(Delivery::NotSent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::agentjob_delivery;
    use crate::error::{agentjob_error_code, agentjob_error_delivery, agentjob_error_free, agentjob_error_message};

    /// The code, the verdict and the message that C gets.
    fn result_of(
        delivers: Delivers,
        body: impl FnOnce() -> Result<(), Error>,
    ) -> (agentjob_code, agentjob_delivery, String) {
        let mut err = ptr::null_mut();
        // SAFETY: `err` is memory for a pointer, and the handle is used before it is freed.
        unsafe {
            let code = guard(&raw mut err, delivers, body);
            assert_eq!(agentjob_error_code(err), code);
            let message = std::ffi::CStr::from_ptr(agentjob_error_message(err)).to_str().unwrap().to_owned();
            let delivery = agentjob_error_delivery(err);
            agentjob_error_free(err);
            (code, delivery, message)
        }
    }

    #[test]
    fn a_panic_becomes_an_error_that_quotes_it() {
        let (code, delivery, message) = result_of(Delivers::Nothing, || panic!("the {} broke", "gear"));
        assert_eq!((code, delivery), (agentjob_code::AGENTJOB_ERR_INTERNAL, agentjob_delivery::AGENTJOB_DELIVERY_NONE));
        assert!(message.contains("the gear broke"), "{message}");
    }

    #[test]
    fn after_a_panic_in_a_send_the_verdict_is_unknown() {
        let (_, delivery, _) = result_of(Delivers::Message, || panic!("late"));
        assert_eq!(delivery, agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN);
    }

    #[test]
    fn an_argument_that_never_reached_the_core_was_not_sent() {
        let (code, delivery, message) = result_of(Delivers::Message, || Err(crate::handle::null("client")));
        assert_eq!(code, agentjob_code::AGENTJOB_ERR_INVALID_ARGUMENT);
        assert_eq!(delivery, agentjob_delivery::AGENTJOB_DELIVERY_NOT_SENT);
        assert_eq!(message, "client is NULL");
    }

    #[test]
    fn without_err_the_caller_gets_only_the_code() {
        // SAFETY: NULL is allowed.
        let code = unsafe { guard(ptr::null_mut(), Delivers::Nothing, || panic!("unseen")) };
        assert_eq!(code, agentjob_code::AGENTJOB_ERR_INTERNAL);
    }

    #[test]
    fn success_overwrites_err_with_null() {
        let mut err = ptr::dangling_mut();
        // SAFETY: `err` is memory for a pointer, which is only written.
        let code = unsafe { guard(&raw mut err, Delivers::Message, || Ok(())) };
        assert_eq!(code, agentjob_code::AGENTJOB_OK);
        assert!(err.is_null());
    }
}
