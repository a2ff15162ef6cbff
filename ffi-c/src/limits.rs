//! A client's limits: how long, how often, how much. Each setter checks its value.

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::milliseconds::checked_time;
use crate::options::agentjob_options;
use crate::setter::set;

/// The deadline of one request, including its retries and the pauses between them. Default 60000, or AGENTJOB_TIMEOUT, which is
/// in seconds.
/// @param options the options
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_timeout_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.timeout(checked_time("timeout_ms", ms, 1)?))) }
}

/// The deadline for connecting: name lookup, TCP, proxy and TLS together. Default 10000.
/// @param options the options
/// @param ms milliseconds, 1 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_connect_timeout_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.connect_timeout(checked_time("connect_timeout_ms", ms, 1)?))) }
}

/// How often a call retries a failed request, in cases where that cannot deliver a message twice. Default 2.
/// @param options the options
/// @param max_retries 0 to 100
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_retries(
    options: *mut agentjob_options,
    max_retries: u32,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.max_retries(max_retries))) }
}

/// The longest Retry-After that a call waits for. With a longer one it fails at once. Default 60000.
/// @param options the options
/// @param ms milliseconds, 0 to 604800000 (7 days)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_retry_after_ms(
    options: *mut agentjob_options,
    ms: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.max_retry_after(checked_time("max_retry_after_ms", ms, 0)?))) }
}

/// The longest prompt that is sent; a longer one is AGENTJOB_ERR_INVALID_ARGUMENT. Default 4194304 (4 MiB).
/// @param options the options
/// @param bytes bytes of UTF-8, 1 to 1073741824 (1 GiB)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_prompt_bytes(
    options: *mut agentjob_options,
    bytes: usize,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.max_prompt_bytes(bytes))) }
}

/// The longest response that is read; a longer one is AGENTJOB_ERR_INVALID_RESPONSE. Default 8388608 (8 MiB).
/// @param options the options
/// @param bytes bytes, 1 to 1073741824 (1 GiB)
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options is NULL, or for a value out of range
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_max_response_bytes(
    options: *mut agentjob_options,
    bytes: usize,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(options, err, &|to| Ok(to.max_response_bytes(bytes))) }
}
