//! The metadata of a success, and the caller's function that receives it.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use agentjob_core::{MetaHandler, ResponseMeta};

use crate::call::agentjob_call;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::read;
use crate::setter::set;
use crate::text::{NO_TEXT, Text, borrow, read_sized, text};
use crate::thread_cancel;

/// The metadata of a success: everything about the response except its record. You get it in an agentjob_meta_fn and must not free it.
/// @since 0.1.0
pub struct agentjob_meta {
    meta: ResponseMeta,
    operation: Text,
    job_id: Text,
    request_id: Option<Text>,
    /// Names in lower case, and values.
    headers: Vec<(String, Text)>,
    json: Text,
}

impl agentjob_meta {
    fn new(meta: ResponseMeta) -> agentjob_meta {
        agentjob_meta {
            operation: Text::new(meta.operation()),
            job_id: Text::new(meta.job_id()),
            request_id: meta.request_id().map(Text::new),
            headers: meta.headers().map(|(name, value)| (name.to_owned(), Text::new(value))).collect(),
            json: Text::new(meta.to_json()),
            meta,
        }
    }
}

/// A phase of a request; see agentjob_meta_time_us().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_phase {
    /// The lookup of the host's name, or of the proxy's.
    AGENTJOB_PHASE_RESOLVE = 0,
    /// The TCP connection, to the service or to the proxy.
    AGENTJOB_PHASE_CONNECT = 1,
    /// The tunnel through the proxy.
    AGENTJOB_PHASE_PROXY = 2,
    /// The TLS handshake; for the first connection of a client also reading the trusted roots.
    AGENTJOB_PHASE_TLS = 3,
    /// From when the connection was there until the first byte of the response.
    AGENTJOB_PHASE_FIRST_BYTE = 4,
}

/// A function that receives the metadata of a success.
///
/// It runs on the thread that makes the call, before the call returns. No lock is held, so it may use the client. It must not throw,
/// longjmp, enable cancellation or end its thread, and must not free anything that the call uses.
/// @param meta the metadata, borrowed until you return
/// @param user_data the pointer that was passed with the function
/// @since 0.1.0
pub type agentjob_meta_fn = Option<unsafe extern "C" fn(meta: *const agentjob_meta, user_data: *mut c_void)>;

/// The caller's function.
struct Receiver {
    receive: unsafe extern "C" fn(*const agentjob_meta, *mut c_void),
    user_data: *mut c_void,
}

// SAFETY: the function is called only on the thread that makes the call. A program that uses one `agentjob_call` on several
// threads promises that its user data allows this.
unsafe impl Send for Receiver {}
// SAFETY: as above.
unsafe impl Sync for Receiver {}

impl Receiver {
    fn receive(&self, meta: &ResponseMeta) {
        let meta = agentjob_meta::new(meta.clone());
        thread_cancel::hold_for_good();
        // SAFETY: the program passed this function for this purpose, with its own user data. The metadata lives until it returns.
        unsafe { (self.receive)(&raw const meta, self.user_data) }
    }
}

/// Sets a function that receives the metadata of a success: status, header fields, request id, attempts and times. A call that
/// returns a record calls it once before; a wait calls it for each record that it reads, so the last call is for the returned record. A
/// failure has the same facts in its error. Default none.
/// @param call the settings
/// @param meta the function, or NULL to take one back
/// @param user_data passed to the function; may be NULL. It stays yours and must live as long as calls use these settings. If
/// several threads make calls with them at once, the function runs on each of these threads.
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_meta(
    call: *mut agentjob_call,
    meta: agentjob_meta_fn,
    user_data: *mut c_void,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        set(call, err, &|_: Option<MetaHandler>| {
            Ok(meta.map(|receive| -> MetaHandler {
                let receiver = Receiver { receive, user_data };
                Arc::new(move |meta| receiver.receive(meta))
            }))
        })
    }
}

/// The call: "send_message", "get_job" or "create_job".
/// @param meta the metadata
/// @return borrowed from the metadata; NULL for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_operation(meta: *const agentjob_meta) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(meta, NO_TEXT, |meta| meta.operation.as_ptr()) }
}

/// The job's id; for agentjob_client_create_job() that of the new job, into which the service may put a NUL byte.
/// @param meta the metadata
/// @param len gets the length in bytes, without the NUL at the end; may be NULL
/// @return borrowed from the metadata; NULL, and 0 in *len, for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_job_id(meta: *const agentjob_meta, len: *mut usize) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read_sized(meta, len, |meta| Some(&meta.job_id)) }
}

/// The HTTP status.
/// @param meta the metadata
/// @return 200 to 299; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_http_status(meta: *const agentjob_meta) -> i32 {
    // SAFETY: the header's contract.
    unsafe { read(meta, 0, |meta| meta.meta.status().into()) }
}

/// The service's or a gateway's id of the request. Quote it when you report a problem to the service.
/// @param meta the metadata
/// @return borrowed from the metadata; NULL if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_request_id(meta: *const agentjob_meta) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(meta, NO_TEXT, |meta| borrow(meta.request_id.as_ref())) }
}

/// The value of a header field of the response; the values of a repeated field are joined by ", ".
///
/// "***" stands for the API key, the proxy's password, and the value of each field whose name says that it is a secret, such as
/// Set-Cookie. At most 100 fields of at most 2048 characters each are kept.
/// @param meta the metadata
/// @param name the field's name, in any case
/// @return borrowed from the metadata; NULL if there is no such field, if name is not UTF-8, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_header(meta: *const agentjob_meta, name: *const c_char) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe {
        read(meta, NO_TEXT, |meta| {
            let Ok(name) = text("name", name) else { return NO_TEXT };
            borrow(meta.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value))
        })
    }
}

/// How many bytes the record had.
/// @param meta the metadata
/// @return the number; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_bytes(meta: *const agentjob_meta) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(meta, 0, |meta| meta.meta.bytes()) }
}

/// How many requests the call made; each poll of a wait is a call of its own.
/// @param meta the metadata
/// @return the number; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_attempts(meta: *const agentjob_meta) -> u32 {
    // SAFETY: the header's contract.
    unsafe { read(meta, 0, |meta| meta.meta.attempts()) }
}

/// How long the call took until the response had been read, its retries and pauses included.
/// @param meta the metadata
/// @return milliseconds; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_elapsed_ms(meta: *const agentjob_meta) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(meta, 0, |meta| u64::try_from(meta.meta.elapsed().as_millis()).unwrap_or(u64::MAX)) }
}

/// How long a phase of the last request took. A request over a kept connection has only AGENTJOB_PHASE_FIRST_BYTE.
/// @param meta the metadata
/// @param phase an AGENTJOB_PHASE_ number
/// @return microseconds; -1 if the request had no such phase, if phase is no such number, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_time_us(meta: *const agentjob_meta, phase: i32) -> i64 {
    // SAFETY: the header's contract.
    unsafe {
        read(meta, -1, |meta| {
            use agentjob_phase::*;
            let timings = meta.meta.timings();
            let phases = [
                (AGENTJOB_PHASE_RESOLVE, timings.resolve),
                (AGENTJOB_PHASE_CONNECT, timings.connect),
                (AGENTJOB_PHASE_PROXY, timings.proxy),
                (AGENTJOB_PHASE_TLS, timings.tls),
                (AGENTJOB_PHASE_FIRST_BYTE, timings.first_byte),
            ];
            let us = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
            phases.into_iter().find(|(known, _)| *known as i32 == phase).and_then(|(_, time)| time).map_or(-1, us)
        })
    }
}

/// All of the metadata as a JSON object, with every header field; times are seconds. docs/events.md has its keys.
/// @param meta the metadata
/// @param len gets the length in bytes, without the NUL at the end; may be NULL
/// @return borrowed from the metadata; NULL, and 0 in *len, for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_meta_json(meta: *const agentjob_meta, len: *mut usize) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read_sized(meta, len, |meta| Some(&meta.json)) }
}
