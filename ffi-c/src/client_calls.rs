//! The calls of a client: send a message, get a job, create a job, wait for a job.

use std::ffi::c_char;

use crate::call::{agentjob_call, call_options, wait_options};
use crate::client::agentjob_client;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::{give, place, required};
use crate::job::agentjob_job;
use crate::result::{Delivers, guard};
use crate::text::{sized_text, text};

/// Sends a message, a follow-up instruction, to a job and returns the job's record. The record may still be the previous one,
/// because the service processes a message asynchronously.
///
/// A message is never sent twice. After an error agentjob_error_delivery() says what happened to it.
/// @param client the client
/// @param job_id the job's id
/// @param prompt the message, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param call settings of this call, or NULL
/// @param out gets the record; free it with agentjob_job_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or any error except AGENTJOB_ERR_WAIT_TIMEOUT and AGENTJOB_ERR_JOURNAL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_send_message(
    client: *const agentjob_client,
    job_id: *const c_char,
    prompt: *const c_char,
    prompt_len: usize,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Message, || {
            let client = &required("client", client)?.client;
            let (job_id, prompt) = (text("job_id", job_id)?, sized_text("prompt", prompt, prompt_len)?);
            let out = place("out", out)?;
            let job = client.send_message_with(job_id, prompt, &call_options(call))?;
            out.write(give(agentjob_job::new(job)));
            Ok(())
        })
    }
}

/// Gets a job's record.
/// @param client the client
/// @param job_id the job's id
/// @param call settings of this call, or NULL
/// @param out gets the record; free it with agentjob_job_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or any error except AGENTJOB_ERR_WAIT_TIMEOUT and AGENTJOB_ERR_JOURNAL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_get_job(
    client: *const agentjob_client,
    job_id: *const c_char,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let client = &required("client", client)?.client;
            let job_id = text("job_id", job_id)?;
            let out = place("out", out)?;
            let job = client.get_job_with(job_id, &call_options(call))?;
            out.write(give(agentjob_job::new(job)));
            Ok(())
        })
    }
}

/// Creates a job and returns its record. After an error agentjob_error_delivery() says whether the job may exist; if the call was
/// cancelled or the client closed when the response was there, agentjob_error_job() is the job's record.
/// @param client the client
/// @param prompt the job's first instruction, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param call settings of this call, or NULL
/// @param out gets the record; free it with agentjob_job_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or any error except AGENTJOB_ERR_WAIT_TIMEOUT and AGENTJOB_ERR_JOURNAL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_create_job(
    client: *const agentjob_client,
    prompt: *const c_char,
    prompt_len: usize,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Message, || {
            let client = &required("client", client)?.client;
            let prompt = sized_text("prompt", prompt, prompt_len)?;
            let out = place("out", out)?;
            let job = client.create_job_with(prompt, &call_options(call))?;
            out.write(give(agentjob_job::new(job)));
            Ok(())
        })
    }
}

/// Waits until a job is completed, archived or failed, and returns its last record. A failed job is not an error of the wait:
/// check agentjob_job_status().
///
/// A poll that fails for a transient reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) does not
/// end the wait. After a message of this client, also one sent during the wait, a finished record counts only when a poll has seen
/// the job active since then, or when the settle time has passed.
/// @param client the client
/// @param job_id the job's id
/// @param call settings of this call, or NULL
/// @param out gets the record; free it with agentjob_job_free()
/// @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
/// the previous result; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT if the wait's deadline was exceeded, or any error of agentjob_client_get_job()
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_wait(
    client: *const agentjob_client,
    job_id: *const c_char,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let client = &required("client", client)?.client;
            let job_id = text("job_id", job_id)?;
            let out = place("out", out)?;
            let job = client.wait(job_id, &wait_options(call))?;
            out.write(give(agentjob_job::new(job)));
            Ok(())
        })
    }
}

/// Sends a message and waits for its result: agentjob_client_send_message(), then agentjob_client_wait().
///
/// After an error agentjob_error_delivery() says what happened to the message: AGENTJOB_DELIVERY_ACCEPTED once the wait has begun.
/// @param client the client
/// @param job_id the job's id
/// @param prompt the message, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param call settings of this call, or NULL
/// @param out gets the last record; free it with agentjob_job_free()
/// @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
/// the previous result; may be NULL
/// @return AGENTJOB_OK, or any error except AGENTJOB_ERR_JOURNAL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_send_and_wait(
    client: *const agentjob_client,
    job_id: *const c_char,
    prompt: *const c_char,
    prompt_len: usize,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Message, || {
            let client = &required("client", client)?.client;
            let (job_id, prompt) = (text("job_id", job_id)?, sized_text("prompt", prompt, prompt_len)?);
            let out = place("out", out)?;
            let job = client.send_and_wait(job_id, prompt, &wait_options(call))?;
            out.write(give(agentjob_job::new(job)));
            Ok(())
        })
    }
}
