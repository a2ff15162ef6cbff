//! What a client does: send, look, create, wait.

use std::ffi::c_char;

use crate::call::{agentjob_call, call_options, wait_options};
use crate::client::agentjob_client;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard};
use crate::job::agentjob_job;
use crate::pointer::{give, place, required};
use crate::text::{sized_text, text};

/// Sends a follow-up instruction to a job, and gives the job's record. The record may still be the previous one: a job takes
/// a message asynchronously.
///
/// A message is never sent twice. After an error agentjob_error_delivery() says what became of it.
/// @param client the client
/// @param job_id the job
/// @param prompt the instruction, UTF-8, at least 1 byte; a NUL byte inside is sent like any other
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param call settings of this call, or NULL
/// @param out where the record goes; free it with agentjob_job_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK, or any error but AGENTJOB_ERR_WAIT_TIMEOUT
/// @since 0.1.0
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
    // SAFETY: the pointers are what the header's rules say.
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

/// Asks for a job's record.
/// @param client the client
/// @param job_id the job
/// @param call settings of this call, or NULL
/// @param out where the record goes; free it with agentjob_job_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK, or any error but AGENTJOB_ERR_WAIT_TIMEOUT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_get_job(
    client: *const agentjob_client,
    job_id: *const c_char,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
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

/// Creates a job, and gives its record. After an error agentjob_error_delivery() says whether there may be one.
/// @param client the client
/// @param prompt what the job is to do, UTF-8, at least 1 byte; a NUL byte inside is sent like any other
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param call settings of this call, or NULL
/// @param out where the record goes; free it with agentjob_job_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK, or any error but AGENTJOB_ERR_WAIT_TIMEOUT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_create_job(
    client: *const agentjob_client,
    prompt: *const c_char,
    prompt_len: usize,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
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

/// Waits until a job is completed, archived or failed, and gives its last record. A failed job is no error of the wait: look
/// at agentjob_job_status().
///
/// A poll that fails for a passing reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) does not end the
/// wait. Right after a message of this client a finished record counts only once the job was seen active or the settle time has passed.
/// @param client the client
/// @param job_id the job
/// @param call settings of this call, or NULL
/// @param out where the record goes; free it with agentjob_job_free()
/// @param err where an error goes, or NULL; agentjob_error_job() has the last record that was seen
/// @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT when the wait's time was over, or what else a look at a job can end with
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_wait(
    client: *const agentjob_client,
    job_id: *const c_char,
    call: *const agentjob_call,
    out: *mut *mut agentjob_job,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
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
/// After an error agentjob_error_delivery() says what became of the message: AGENTJOB_DELIVERY_ACCEPTED once the wait began.
/// @param client the client
/// @param job_id the job
/// @param prompt the instruction, UTF-8, at least 1 byte; a NUL byte inside is sent like any other
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param call settings of this call, or NULL
/// @param out where the last record goes; free it with agentjob_job_free()
/// @param err where an error goes, or NULL; agentjob_error_job() has the last record that was seen
/// @return AGENTJOB_OK, or any error
/// @since 0.1.0
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
    // SAFETY: the pointers are what the header's rules say.
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
