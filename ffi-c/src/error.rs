//! The error as C sees it: a code to branch on, a sentence to read, and the facts behind it.

use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

use agentjob_core::{Delivery, Error};

use crate::code::{agentjob_code, agentjob_delivery};
use crate::guard::guard_or;
use crate::job::agentjob_job;
use crate::pointer;
use crate::text::{Text, borrow, borrow_sized};

/// Why a call failed. Made only for a caller who gave `agentjob_error **err`; free it with agentjob_error_free().
///
/// It never holds the key or a prompt. It may be read by several threads at once. Texts and the job are borrowed from it:
/// they live until it is freed.
/// @since 0.1.0
pub struct agentjob_error {
    code: agentjob_code,
    kind: Text,
    message: Text,
    delivery: agentjob_delivery,
    http_status: i32,
    retry_after_ms: i64,
    request_id: Option<Text>,
    body: Option<Text>,
    attempts: u32,
    elapsed_ms: u64,
    job: Option<agentjob_job>,
}

impl agentjob_error {
    pub(crate) fn new(error: &Error, delivery: Option<Delivery>) -> agentjob_error {
        agentjob_error {
            code: error.kind().into(),
            kind: Text::new(error.kind().as_str()),
            message: Text::new(error.message()),
            delivery: delivery.into(),
            http_status: error.http_status().map_or(0, i32::from),
            retry_after_ms: error.retry_after().map_or(-1, |after| i64::try_from(whole_ms(after)).unwrap_or(i64::MAX)),
            request_id: error.request_id().map(Text::new),
            body: error.body().map(Text::new),
            attempts: error.attempts(),
            elapsed_ms: u64::try_from(error.elapsed().as_millis()).unwrap_or(u64::MAX),
            job: error.job().cloned().map(agentjob_job::new),
        }
    }
}

/// Milliseconds, rounded up: who waits so long has waited long enough.
pub(crate) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The code, the same that the call returned.
/// @param error the error
/// @return the code; AGENTJOB_OK for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_code(error: *const agentjob_error) -> agentjob_code {
    guard_or(agentjob_code::AGENTJOB_ERR_INTERNAL, || {
        // SAFETY: NULL or a living error by the header's rules.
        unsafe { error.as_ref() }.map_or(agentjob_code::AGENTJOB_OK, |error| error.code)
    })
}

/// The kind of error in the word that every language shares: "not_found", "wait_timeout".
/// @param error the error
/// @return borrowed from the error; NULL only for a NULL error
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_kind(error: *const agentjob_error) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living error by the header's rules.
        borrow(unsafe { error.as_ref() }.map(|error| &error.kind))
    })
}

/// One sentence for a person: what failed, for which job, what to do.
/// @param error the error
/// @return borrowed from the error; NULL only for a NULL error
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_message(error: *const agentjob_error) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living error by the header's rules.
        borrow(unsafe { error.as_ref() }.map(|error| &error.message))
    })
}

/// What became of the message: whether sending it again is safe.
/// @param error the error
/// @return an AGENTJOB_DELIVERY_ number; AGENTJOB_DELIVERY_NONE if the call was not to deliver one, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_delivery(error: *const agentjob_error) -> i32 {
    guard_or(agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN as i32, || {
        // SAFETY: NULL or a living error by the header's rules.
        unsafe { error.as_ref() }.map_or(agentjob_delivery::AGENTJOB_DELIVERY_NONE, |error| error.delivery) as i32
    })
}

/// The status of the service's answer.
/// @param error the error
/// @return 100 to 999; 0 if no answer was read, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_http_status(error: *const agentjob_error) -> i32 {
    guard_or(0, || {
        // SAFETY: NULL or a living error by the header's rules.
        unsafe { error.as_ref() }.map_or(0, |error| error.http_status)
    })
}

/// How long the service asked to wait before the next request (Retry-After).
/// @param error the error
/// @return milliseconds; -1 if it did not ask, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_retry_after_ms(error: *const agentjob_error) -> i64 {
    guard_or(-1, || {
        // SAFETY: NULL or a living error by the header's rules.
        unsafe { error.as_ref() }.map_or(-1, |error| error.retry_after_ms)
    })
}

/// The service's id of the request, to quote to its operators.
/// @param error the error
/// @return borrowed from the error; NULL if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_request_id(error: *const agentjob_error) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living error by the header's rules.
        borrow(unsafe { error.as_ref() }.and_then(|error| error.request_id.as_ref()))
    })
}

/// The text of the answer's body, at most 8 KiB of it. It is the service's text, unchecked.
/// @param error the error
/// @param len where the length goes, in bytes without the NUL at the end; NULL if you do not want it
/// @return borrowed from the error; NULL, and 0 in *len, if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_body(error: *const agentjob_error, len: *mut usize) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living error, and NULL or a place for a length, by the header's rules.
        unsafe { borrow_sized(error.as_ref().and_then(|error| error.body.as_ref()), len) }
    })
}

/// How many requests the call made.
/// @param error the error
/// @return the number; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_attempts(error: *const agentjob_error) -> u32 {
    guard_or(0, || {
        // SAFETY: NULL or a living error by the header's rules.
        unsafe { error.as_ref() }.map_or(0, |error| error.attempts)
    })
}

/// How long the call took.
/// @param error the error
/// @return milliseconds; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_elapsed_ms(error: *const agentjob_error) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living error by the header's rules.
        unsafe { error.as_ref() }.map_or(0, |error| error.elapsed_ms)
    })
}

/// The last record that was seen before a wait ended with this error.
/// @param error the error
/// @return borrowed from the error; NULL if none was seen
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_job(error: *const agentjob_error) -> *const agentjob_job {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living error by the header's rules.
        unsafe { error.as_ref() }.and_then(|error| error.job.as_ref()).map_or(ptr::null(), ptr::from_ref)
    })
}

/// Frees an error. Texts and the job borrowed from it end with it.
/// @param error the error, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_free(error: *mut agentjob_error) {
    guard_or((), || {
        // SAFETY: NULL or an error that is used no more by the header's rules.
        unsafe { pointer::free(error) }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_rounded_to_less_than_was_asked() {
        assert_eq!(whole_ms(Duration::ZERO), 0);
        assert_eq!(whole_ms(Duration::from_nanos(1)), 1);
        assert_eq!(whole_ms(Duration::from_millis(30_000)), 30_000);
        assert_eq!(whole_ms(Duration::from_micros(1_001)), 2);
        assert_eq!(whole_ms(Duration::MAX), u64::MAX);
    }
}
