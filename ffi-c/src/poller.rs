//! A wait for programs that have their own loop.

use std::ffi::c_char;
use std::ptr;

use agentjob_core::{BackgroundPoll, Error, Poller};

use crate::call::{agentjob_call, call_options, wait_options};
use crate::client::agentjob_client;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::{self, give, place, read, required, required_mut};
use crate::job::agentjob_job;
use crate::milliseconds::milliseconds;
use crate::panic::guard_or;
use crate::result::{Delivers, guard};
use crate::text::{NO_TEXT, Text, text};

/// A wait that your own loop drives, one poll at a time: no thread, no callback, no sleeping.
///
/// Made by agentjob_poller_new() or agentjob_poller_new_from_text(), freed by agentjob_poller_free(). Sleep for
/// agentjob_poller_due_in_ms(), then call agentjob_poller_poll(), until the job is done. In an event loop use agentjob_poller_start()
/// instead, which does not block. agentjob_poller_to_text() lets another process continue the wait. Only one thread may use it at a
/// time.
/// @since 0.1.0
pub struct agentjob_poller {
    pub(crate) poller: Poller,
    /// For agentjob_poller_start(), which `event_loop.rs` has. Dropped first, because it polls for this poller.
    pub(crate) background: Option<BackgroundPoll>,
    job_id: Text,
    job: Option<agentjob_job>,
    text: Option<Text>,
}

impl agentjob_poller {
    fn new(poller: Poller) -> agentjob_poller {
        agentjob_poller { job_id: Text::new(poller.job_id()), poller, background: None, job: None, text: None }
    }

    /// After a poll: what was borrowed before has ended.
    pub(crate) fn update(&mut self) {
        (self.job, self.text) = (self.poller.job().cloned().map(agentjob_job::new), None);
    }
}

/// Begins a wait that your loop drives. Nothing is sent.
/// @param client the client
/// @param job_id the job's id
/// @param call the wait's settings (deadline, poll interval, lateness and settle time), or NULL
/// @param out gets the poller; free it with agentjob_poller_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_new(
    client: *const agentjob_client,
    job_id: *const c_char,
    call: *const agentjob_call,
    out: *mut *mut agentjob_poller,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
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

/// Continues a wait from a poller's text, also in another process. The time since the text was made counts as waited.
/// @param text a text from agentjob_poller_to_text()
/// @param out gets the poller; free it with agentjob_poller_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_new_from_text(
    text: *const c_char,
    out: *mut *mut agentjob_poller,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let text = crate::text::text("text", text)?;
            let out = place("out", out)?;
            out.write(give(agentjob_poller::new(text.parse()?)));
            Ok(())
        })
    }
}

/// How long until the next poll is due, or until the wait's deadline if that is earlier.
/// @param poller the poller
/// @return milliseconds; 0 if a poll is due now, if the job is done, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_due_in_ms(poller: *const agentjob_poller) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(poller, 0, |poller| milliseconds(poller.poller.due_in())) }
}

/// Polls the job once, now, even if no poll is due. A poll that fails for a transient reason (connection, timeout, 408, 429, 5xx,
/// a 2xx that is not this job's record) is counted and is not an error. If the deadline was exceeded although a poll was due
/// before, or during a poll that ended more than a second later, one more poll is made, with the call's timeout.
///
/// Records and texts that were borrowed from the poller become invalid.
/// @param poller the poller
/// @param client a client of the job's project; after agentjob_poller_new_from_text() any client that can see the job
/// @param call settings of this poll (timeout and cancel token), or NULL
/// @param done gets whether the job is done; if so, agentjob_poller_job() is its last record
/// @param err gets the error, in which agentjob_error_job() is the last record that was received, or NULL if that may be
/// the previous result; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_WAIT_TIMEOUT if the wait's deadline was exceeded, or any error of agentjob_client_get_job()
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_poll(
    poller: *mut agentjob_poller,
    client: *const agentjob_client,
    call: *const agentjob_call,
    done: *mut bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            // On a copy, without a reference to the handle: an event function may read the handle meanwhile.
            let handle = required("poller", poller)?;
            if handle.background.as_ref().is_some_and(BackgroundPoll::is_running) {
                return Err(Error::invalid_argument("a poll is in progress")
                    .with_hint("Finish it first, with agentjob_poller_finish()."));
            }
            let mut polled = handle.poller.clone();
            let client = &required("client", client)?.client;
            let done = place("done", done)?;
            let result = polled.poll(client, &call_options(call));
            let handle = required_mut("poller", poller)?;
            handle.poller = polled;
            handle.update();
            done.write(result?.is_some());
            Ok(())
        })
    }
}

/// The id of the job that is waited for.
/// @param poller the poller
/// @return borrowed from the poller; NULL only for a NULL poller
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_job_id(poller: *const agentjob_poller) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(poller, NO_TEXT, |poller| poller.job_id.as_ptr()) }
}

/// The last record that this poller received.
/// @param poller the poller
/// @return borrowed from the poller until its next poll; NULL if there is none yet
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_job(poller: *const agentjob_poller) -> *const agentjob_job {
    // SAFETY: the header's contract.
    unsafe { read(poller, ptr::null(), |poller| poller.job.as_ref().map_or(ptr::null(), ptr::from_ref)) }
}

/// Whether the job is done.
/// @param poller the poller
/// @return true if it is; false for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_is_done(poller: *const agentjob_poller) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(poller, false, |poller| poller.poller.is_done()) }
}

/// The state of the wait as a short text for agentjob_poller_new_from_text(). It contains the job's id and no API key.
/// @param poller the poller
/// @return borrowed from the poller until its next poll or text; NULL only for a NULL poller
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_to_text(poller: *mut agentjob_poller) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: the header's contract.
        unsafe { poller.as_mut() }.map_or(ptr::null(), |poller| {
            let text = Text::new(poller.poller.to_string());
            poller.text.insert(text).as_ptr()
        })
    })
}

/// Frees a poller, and with it the records and texts that are borrowed from it.
/// @param poller the poller; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_poller_free(poller: *mut agentjob_poller) {
    // SAFETY: the header's contract.
    unsafe { handle::free(poller) }
}
