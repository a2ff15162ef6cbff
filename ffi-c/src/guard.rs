//! The guard at the border: a panic in Rust must not unwind into C, so it becomes an error or a plain value here.
//!
//! Every exported function's body begins with one of these two; `tests/guarded.rs` reads the sources and says which does not.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use agentjob_core::{Delivery, Error};

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::pointer::give;

/// Whether a function is to deliver a message, of which every error then has to tell what became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivers {
    Nothing,
    Message,
}

/// Runs a function that can fail: its code goes back, its error into `*err`, which is NULL after a success.
///
/// # Safety
/// `err` is NULL, or a place for one pointer.
pub(crate) unsafe fn guard(
    err: *mut *mut agentjob_error,
    delivers: Delivers,
    body: impl FnOnce() -> Result<(), Error>,
) -> agentjob_code {
    let mut body = Some(body);
    // SAFETY: the caller's promise is the same.
    unsafe { guarded(err, delivers, &mut || body.take().map_or(Ok(()), |body| body())) }
}

/// [`guard`], once for all functions: a copy in each of them was a part of the library's size.
unsafe fn guarded(
    err: *mut *mut agentjob_error,
    delivers: Delivers,
    body: &mut dyn FnMut() -> Result<(), Error>,
) -> agentjob_code {
    // A handle that a panic left half-changed is still a sound value: all of them are plain Rust.
    let ended = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(Error::internal(&words(&*panic), delivers == Delivers::Message)));
    let (code, error) = match ended {
        Ok(()) => (agentjob_code::AGENTJOB_OK, ptr::null_mut()),
        Err(error) if err.is_null() => (error.kind().into(), ptr::null_mut()),
        Err(error) => {
            let made = catch_unwind(AssertUnwindSafe(|| give(agentjob_error::new(&error, verdict(&error, delivers)))));
            (error.kind().into(), made.unwrap_or(ptr::null_mut()))
        }
    };
    if !err.is_null() {
        // SAFETY: the caller's promise; it is written only, so it may be uninitialised.
        unsafe { err.write(error) };
    }
    code
}

/// Runs a function that cannot fail; should it panic all the same, `fallback` goes back.
pub(crate) fn guard_or<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(fallback)
}

/// The core gives every error of a message its verdict. One without is this face's own, made before anything was sent.
fn verdict(error: &Error, delivers: Delivers) -> Option<Delivery> {
    error.delivery().or((delivers == Delivers::Message).then_some(Delivery::NotSent))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without words").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::agentjob_delivery;
    use crate::error::{agentjob_error_code, agentjob_error_delivery, agentjob_error_free, agentjob_error_message};

    /// The code, the verdict and the sentence that C sees.
    fn seen(delivers: Delivers, body: impl FnOnce() -> Result<(), Error>) -> (agentjob_code, i32, String) {
        let mut err = ptr::null_mut();
        // SAFETY: `err` is a place for a pointer, and the handle is used before it is freed.
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
        let (code, delivery, message) = seen(Delivers::Nothing, || panic!("the {} broke", "gear"));
        assert_eq!((code, delivery), (agentjob_code::AGENTJOB_ERR_INTERNAL, 0));
        assert!(message.contains("the gear broke"), "{message}");
        let (.., message) = seen(Delivers::Nothing, || std::panic::panic_any(7));
        assert!(message.contains("a panic without words"), "{message}");
    }

    #[test]
    fn after_a_panic_in_a_send_nobody_knows_whether_it_arrived() {
        let (_, delivery, _) = seen(Delivers::Message, || panic!("late"));
        assert_eq!(delivery, agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN as i32);
    }

    #[test]
    fn an_argument_that_never_reached_the_core_was_not_sent() {
        let (code, delivery, message) = seen(Delivers::Message, || Err(crate::pointer::null("client")));
        assert_eq!(code, agentjob_code::AGENTJOB_ERR_INVALID_ARGUMENT);
        assert_eq!(delivery, agentjob_delivery::AGENTJOB_DELIVERY_NOT_SENT as i32);
        assert_eq!(message, "client is NULL");
    }

    #[test]
    fn without_a_place_for_the_error_there_is_only_the_code() {
        // SAFETY: NULL is allowed.
        let code = unsafe { guard(ptr::null_mut(), Delivers::Nothing, || panic!("unseen")) };
        assert_eq!(code, agentjob_code::AGENTJOB_ERR_INTERNAL);
    }

    #[test]
    fn success_writes_null_over_whatever_the_variable_held() {
        let mut err = ptr::dangling_mut();
        // SAFETY: `err` is a place for a pointer, which is written only.
        let code = unsafe { guard(&raw mut err, Delivers::Message, || Ok(())) };
        assert_eq!(code, agentjob_code::AGENTJOB_OK);
        assert!(err.is_null());
    }

    #[test]
    fn a_function_that_cannot_fail_falls_back() {
        assert_eq!(guard_or(-1, || panic!("gone")), -1);
        assert_eq!(guard_or(-1, || 7), 7);
    }
}
