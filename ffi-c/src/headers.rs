//! Extra request headers: of a client, of a call, of a batch. A setter checks the header at once.

use std::ffi::c_char;

use agentjob_core::{CallOptions, Error, Headers};

use crate::batch::lifecycle::agentjob_batch;
use crate::call::agentjob_call;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::options::agentjob_options;
use crate::setter::set;
use crate::text::text;

/// One header.
///
/// # Safety
/// `name` and `value` are NULL, or NUL-terminated texts.
unsafe fn header(name: *const c_char, value: *const c_char) -> Result<Headers, Error> {
    // SAFETY: the caller promises the same.
    let (name, value) = unsafe { (text("name", name)?, text("value", value)?) };
    Headers::new().with(name, value)
}

/// Sets an extra header of every request of the client, for gateways, tenants and tracing. Default: those in
/// AGENTJOB_HEADERS, lines "Name: value", which this adds to. It replaces a header of the same name, in whatever case. It is not sent
/// to a proxy that tunnels.
///
/// Headers that agentjob or a proxy sets are refused by name: Authorization, Host, User-Agent, Accept, Accept-Encoding, Content-*,
/// Expect, Proxy-*, Range, If-*, and those about the connection. There are at most 64 headers, and their lines have at most 16 KiB
/// together with those of the call. A value may be a secret: like the API key it is removed from every error, event and log line, if it has at
/// least 4 bytes.
/// @param options the options
/// @param name a token of RFC 9110, like "X-Tenant", of at most 256 bytes
/// @param value visible ASCII, with spaces and tabs inside; not empty. The copy is wiped when it is freed
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_header(
    options: *mut agentjob_options,
    name: *const c_char,
    value: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.headers(header(name, value)?))) }
}

/// Sets an extra header of the requests made with these settings. It replaces a header of the same name. For what is allowed see
/// agentjob_options_set_header().
/// @param call the settings
/// @param name a token of RFC 9110, like "traceparent"
/// @param value visible ASCII, with spaces and tabs inside
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT. Whether all headers together are too many or too long is checked by the call
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_header(
    call: *mut agentjob_call,
    name: *const c_char,
    value: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(call, err, &|options: CallOptions| Ok(options.headers(header(name, value)?))) }
}

/// Sets an extra header of the batch's requests: its messages and its polls. It replaces a header of the same name. For what is
/// allowed see agentjob_options_set_header(). The journal does not contain it.
/// @param batch a batch that was not started
/// @param name a token of RFC 9110
/// @param value visible ASCII, with spaces and tabs inside
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT, also if batch was started
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_header(
    batch: *mut agentjob_batch,
    name: *const c_char,
    value: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.headers(header(name, value)?))) }
}
