//! A client's limits: how long, how often, how much. Plain numbers, so they are checked when the client is made.

use std::time::Duration;

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard};
use crate::options::{agentjob_options, set};

/// The total time of one request, its retries and pauses included. Default 60000; also AGENTJOB_TIMEOUT, in seconds.
/// @param options the settings
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_timeout_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.timeout(Duration::from_millis(ms))))) }
}

/// The time to connect: name lookup, TCP, proxy and TLS together. Default 10000.
/// @param options the settings
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_connect_timeout_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.connect_timeout(Duration::from_millis(ms))))) }
}

/// How often a call makes a failed request again, where that cannot deliver a message twice. Default 2.
/// @param options the settings
/// @param max_retries 0 to 100
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_retries(
    options: *mut agentjob_options,
    max_retries: u32,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.max_retries(max_retries)))) }
}

/// The longest Retry-After that a call waits for by itself. Default 60000.
/// @param options the settings
/// @param ms milliseconds, 0 to 604800000 (7 days)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_retry_after_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.max_retry_after(Duration::from_millis(ms))))) }
}

/// The longest prompt that is sent. Default 4194304 (4 MiB).
/// @param options the settings
/// @param bytes bytes of UTF-8, 1 to 1073741824 (1 GiB)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_prompt_bytes(
    options: *mut agentjob_options,
    bytes: usize,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.max_prompt_bytes(bytes)))) }
}

/// The longest answer that is read. Default 8388608 (8 MiB).
/// @param options the settings
/// @param bytes bytes, 1 to 1073741824 (1 GiB)
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_response_bytes(
    options: *mut agentjob_options,
    bytes: usize,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || set(options, |to| Ok(to.max_response_bytes(bytes)))) }
}
