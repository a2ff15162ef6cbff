//! The wait in steps, for programs that own their loop.

use std::ffi::c_char;
use std::ptr;

use agentjob_core::Poller;

use crate::call::{agentjob_call, call_options, wait_options};
use crate::client::agentjob_client;
use crate::code::agentjob_code;
use crate::error::{agentjob_error, whole_ms};
use crate::guard::{Delivers, guard, guard_or};
use crate::job::agentjob_job;
use crate::pointer::{self, give, place, required, required_mut};
use crate::text::{Text, borrow, text};

/// A wait in steps: no thread, no callback, no sleeping.
///
/// Made by agentjob_client_poller() or agentjob_poller_from_text(), freed by agentjob_poller_free(). Sleep for
/// agentjob_poller_due_in_ms(), then agentjob_poller_poll(), until it is done. agentjob_poller_to_text() lets another process go
/// on from here. To be used by one thread at a time.
/// @since 0.1.0
pub struct agentjob_poller {
    poller: Poller,
    job_id: Text,
    job: Option<agentjob_job>,
    text: Option<Text>,
}

impl agentjob_poller {
    fn new(poller: Poller) -> agentjob_poller {
        agentjob_poller { job_id: Text::new(poller.job_id()), poller, job: None, text: None }
    }
}

/// Begins a wait in steps. Nothing is sent.
/// @param client the client
/// @param job_id the job
/// @param call the wait's settings (its time, pauses, lateness and settle time), copied; or NULL
/// @param out where the poller goes; free it with agentjob_poller_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_poller(
    client: *const agentjob_client,
    job_id: *const c_char,
    call: *const agentjob_call,
    out: *mut *mut agentjob_poller,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let client = &required("client", client)?.client;
            let job_id = text("job_id", job_id)?;
            let out = place("out", out)?;
            out.write(give(agentjob_poller::new(client.poller(job_id, &wait_options(call))?)));
            Ok(())
        })
    }
}

/// Goes on from a poller's text, also in another process. The time since it was written counts as waited.
/// @param text what agentjob_poller_to_text() gave
/// @param out where the poller goes; free it with agentjob_poller_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_from_text(
    text: *const c_char,
    out: *mut *mut agentjob_poller,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let text = crate::text::text("text", text)?;
            let out = place("out", out)?;
            out.write(give(agentjob_poller::new(text.parse()?)));
            Ok(())
        })
    }
}

/// How long until the next look is due, or until the wait's time is over if that comes first.
/// @param poller the poller
/// @return milliseconds; 0 if it is due now, if the job is done, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_due_in_ms(poller: *const agentjob_poller) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living poller by the header's rules.
        unsafe { poller.as_ref() }.map_or(0, |poller| whole_ms(poller.poller.due_in()))
    })
}

/// Looks at the job once, now, whether it is due or not. A poll that fails for a passing reason (connection, timeout, 408,
/// 429, 5xx, a 2xx that is not this job's record) is counted and is no error.
///
/// Records and texts that were borrowed from the poller end here.
/// @param poller the poller
/// @param client a client of the job's project; after agentjob_poller_from_text() any client that can see the job
/// @param call settings of this look (its timeout and cancel token), or NULL
/// @param done where it goes whether the job is done; agentjob_poller_job() then has its last record
/// @param err where an error goes, or NULL; agentjob_error_job() has the last record that was seen
/// @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT when the wait's time was over, or what else a look at a job can end with
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_poll(
    poller: *mut agentjob_poller,
    client: *const agentjob_client,
    call: *const agentjob_call,
    done: *mut bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            // Polled in a copy, with no reference to the handle held: an event function may ask the handle meanwhile.
            let mut polled = required("poller", poller)?.poller.clone();
            let client = &required("client", client)?.client;
            let done = place("done", done)?;
            let looked = polled.poll(client, &call_options(call));
            let job = polled.job().cloned().map(agentjob_job::new);
            let handle = required_mut("poller", poller)?;
            (handle.poller, handle.job, handle.text) = (polled, job, None);
            done.write(looked?.is_some());
            Ok(())
        })
    }
}

/// The job that is waited for, which a poller from agentjob_poller_from_text() knows, too.
/// @param poller the poller
/// @return borrowed from the poller; NULL only for a NULL poller
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_job_id(poller: *const agentjob_poller) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living poller by the header's rules.
        borrow(unsafe { poller.as_ref() }.map(|poller| &poller.job_id))
    })
}

/// The last record that this poller saw.
/// @param poller the poller
/// @return borrowed from the poller until its next poll; NULL if it has seen none yet
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_job(poller: *const agentjob_poller) -> *const agentjob_job {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living poller by the header's rules.
        unsafe { poller.as_ref() }.and_then(|poller| poller.job.as_ref()).map_or(ptr::null(), ptr::from_ref)
    })
}

/// Whether the job is done.
/// @param poller the poller
/// @return false also for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_is_done(poller: *const agentjob_poller) -> bool {
    guard_or(false, || {
        // SAFETY: NULL or a living poller by the header's rules.
        unsafe { poller.as_ref() }.is_some_and(|poller| poller.poller.is_done())
    })
}

/// Where the wait stands, as a short text for agentjob_poller_from_text(). It holds the job's id but no key.
/// @param poller the poller
/// @return borrowed from the poller until its next poll or text; NULL only for a NULL poller
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_to_text(poller: *mut agentjob_poller) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living poller that nobody else uses meanwhile, by the header's rules.
        unsafe { poller.as_mut() }.map_or(ptr::null(), |poller| {
            let text = Text::new(poller.poller.to_string());
            poller.text.insert(text).as_ptr()
        })
    })
}

/// Frees a poller. Records and texts borrowed from it end with it.
/// @param poller the poller, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_free(poller: *mut agentjob_poller) {
    guard_or((), || {
        // SAFETY: NULL or a poller that is used no more by the header's rules.
        unsafe { pointer::free(poller) }
    });
}
