//! The error in C: a code to branch on, a message to read, and the facts behind it.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use agentjob_core::{Delivery, Error};

use crate::code::agentjob_code;
use crate::delivery::agentjob_delivery;
use crate::handle::{self, read};
use crate::job::agentjob_job;
use crate::milliseconds::milliseconds_or_none;
use crate::text::{NO_TEXT, Text, borrow, read_sized};

/// Why a call failed. It exists only if the caller passed `agentjob_error **err`; free it with agentjob_error_free().
///
/// It never contains the API key, and no prompt unless the service repeats one. Several threads may read it at once. Texts and the
/// job are borrowed from it and are valid until it is freed.
/// @since 0.1.0
pub struct agentjob_error(Arc<Parts>);

struct Parts {
    code: agentjob_code,
    kind: Text,
    message: Text,
    reason: Text,
    hint: Option<Text>,
    item: u64,
    line: u64,
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
        agentjob_error(Arc::new(Parts {
            code: error.kind().into(),
            kind: Text::new(error.kind().as_str()),
            message: Text::new(error.message()),
            reason: Text::new(error.reason()),
            hint: error.hint().map(Text::new),
            item: error.item().unwrap_or(0),
            line: error.line().unwrap_or(0),
            delivery: delivery.into(),
            http_status: error.http_status().map_or(0, i32::from),
            retry_after_ms: milliseconds_or_none(error.retry_after()),
            request_id: error.request_id().map(Text::new),
            body: error.body().map(Text::new),
            attempts: error.attempts(),
            elapsed_ms: u64::try_from(error.elapsed().as_millis()).unwrap_or(u64::MAX),
            job: error.job().cloned().map(agentjob_job::new),
        }))
    }
}

/// The error's code, the same that the call returned.
/// @param error the error
/// @return the code; AGENTJOB_OK for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_code(error: *const agentjob_error) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { read(error, agentjob_code::AGENTJOB_OK, |error| error.0.code) }
}

/// The error's kind, spelled as in every language: "not_found", "wait_timeout".
/// @param error the error
/// @return borrowed from the error; NULL only for a NULL error
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_kind(error: *const agentjob_error) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(error, NO_TEXT, |error| error.0.kind.as_ptr()) }
}

/// The whole message for a person: what failed, for which job, why, and what to do.
/// @param error the error
/// @return borrowed from the error; NULL only for a NULL error
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_message(error: *const agentjob_error) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(error, NO_TEXT, |error| error.0.message.as_ptr()) }
}

/// Why the call failed, without the job, the verdict and advice: "no connection to 127.0.0.1:9 (connection refused)". It is a part
/// of agentjob_error_message(), for programs that write their own message.
/// @param error the error
/// @return borrowed from the error; NULL only for a NULL error
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_reason(error: *const agentjob_error) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(error, NO_TEXT, |error| error.0.reason.as_ptr()) }
}

/// How to fix the cause, as a sentence: "Check base_url and the network." Whether to send the message again is not part of it; that
/// follows from agentjob_error_delivery().
/// @param error the error
/// @return borrowed from the error; NULL if there is no advice for this error
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_hint(error: *const agentjob_error) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(error, NO_TEXT, |error| borrow(error.0.hint.as_ref())) }
}

/// The message of a batch that is wrong: its number in the batch, in the order in which the messages were added.
/// @param error the error
/// @return the number, from 1; 0 if the error is not about a message of a batch, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_item(error: *const agentjob_error) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(error, 0, |error| error.0.item) }
}

/// The wrong line of a file of messages, or the line that was given to agentjob_batch_add() for the message that is wrong.
/// @param error the error
/// @return the line, from 1; 0 if the error is not about a line, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_line(error: *const agentjob_error) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(error, 0, |error| error.0.line) }
}

/// The delivery verdict: what happened to the message, and so whether sending it again is safe.
/// @param error the error
/// @return the verdict; AGENTJOB_DELIVERY_NONE for NULL, and if the call does not deliver a message, like a setter, whatever it prepares
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_delivery(error: *const agentjob_error) -> agentjob_delivery {
    // SAFETY: the header's contract.
    unsafe { read(error, agentjob_delivery::AGENTJOB_DELIVERY_NONE, |error| error.0.delivery) }
}

/// The HTTP status of the service's response.
/// @param error the error
/// @return 100 to 999; 0 if no response was read, as when a proxy refused, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_http_status(error: *const agentjob_error) -> i32 {
    // SAFETY: the header's contract.
    unsafe { read(error, 0, |error| error.0.http_status) }
}

/// How long the service, or a proxy that refused, asks you to wait before the next request (Retry-After).
/// @param error the error
/// @return milliseconds; -1 if it does not ask, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_retry_after_ms(error: *const agentjob_error) -> i64 {
    // SAFETY: the header's contract.
    unsafe { read(error, -1, |error| error.0.retry_after_ms) }
}

/// The service's id of the request. Quote it when you report a problem to the service.
/// @param error the error
/// @return borrowed from the error; NULL if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_request_id(error: *const agentjob_error) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(error, NO_TEXT, |error| borrow(error.0.request_id.as_ref())) }
}

/// The start of the response's body, at most 8 KiB. It is the text of the service, or of a proxy that refused, and was not checked.
/// @param error the error
/// @param len gets the length in bytes, without the NUL at the end; may be NULL
/// @return borrowed from the error; NULL, and 0 in *len, if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_body(error: *const agentjob_error, len: *mut usize) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read_sized(error, len, |error| error.0.body.as_ref()) }
}

/// How many requests the call made.
/// @param error the error
/// @return the number; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_attempts(error: *const agentjob_error) -> u32 {
    // SAFETY: the header's contract.
    unsafe { read(error, 0, |error| error.0.attempts) }
}

/// How long the call took.
/// @param error the error
/// @return milliseconds; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_elapsed_ms(error: *const agentjob_error) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(error, 0, |error| error.0.elapsed_ms) }
}

/// The job's last record that a wait received before it ended with this error; or the record of the job that was created, if the call
/// was ended when its response was there.
/// @param error the error
/// @return borrowed from the error; NULL if there is none, or if that may be the job's previous result
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_job(error: *const agentjob_error) -> *const agentjob_job {
    // SAFETY: the header's contract.
    unsafe { read(error, ptr::null(), |error| error.0.job.as_ref().map_or(ptr::null(), ptr::from_ref)) }
}

/// A new reference to the same error: to keep one that is borrowed from an event of a batch, or to hand it to another thread.
/// @param error the error
/// @return the new reference, freed with agentjob_error_free(); NULL for NULL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_clone(error: *const agentjob_error) -> *mut agentjob_error {
    // SAFETY: the header's contract.
    unsafe { read(error, ptr::null_mut(), |error| handle::give(agentjob_error(error.0.clone()))) }
}

/// Frees an error, and with it the texts and the job that are borrowed from it.
/// @param error the error; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_error_free(error: *mut agentjob_error) {
    // SAFETY: the header's contract.
    unsafe { handle::free(error) }
}
