//! The caller's progress function: it receives a wait's records and can end the wait.

use std::ffi::c_void;
use std::sync::Arc;

use agentjob_core::{Control, Interrupted, Job};

use crate::call::agentjob_call;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::job::agentjob_job;
use crate::setter::set;
use crate::thread_cancel;

/// A function that receives a job's records during agentjob_client_wait() and agentjob_client_send_and_wait(): the first record,
/// and then each one that differs from the previous one.
///
/// It runs on the thread that makes the call, never after the call returned. No lock is held, so it may use the client. It must
/// not throw, longjmp, enable cancellation or end its thread, and must not free anything that the call uses.
/// @param job the record, borrowed until you return; agentjob_job_clone() keeps it
/// @param user_data the pointer that was passed with the function
/// @return 0 to continue; any other number ends the call with AGENTJOB_ERR_CANCELLED
/// @since 0.1.0
pub type agentjob_job_progress_fn =
    Option<unsafe extern "C" fn(job: *const agentjob_job, user_data: *mut c_void) -> i32>;

/// The caller's progress function.
struct Progress {
    progress: unsafe extern "C" fn(*const agentjob_job, *mut c_void) -> i32,
    user_data: *mut c_void,
}

// SAFETY: the function is called only on the thread that makes the call. A program that uses one `agentjob_call` on several
// threads promises that its user data allows this.
unsafe impl Send for Progress {}
// SAFETY: as above.
unsafe impl Sync for Progress {}

impl Control for Progress {
    fn wants_checks(&self) -> bool {
        false
    }

    fn wants_responses(&self) -> bool {
        false
    }

    fn update(&self, job: &Job) -> Result<(), Interrupted> {
        let job = agentjob_job::new(job.clone());
        thread_cancel::hold_for_good();
        // SAFETY: the program passed this function for this purpose, with its own user data. The record lives until it returns.
        match unsafe { (self.progress)(&raw const job, self.user_data) } {
            0 => Ok(()),
            _ => Err(Interrupted),
        }
    }
}

/// Sets a function that receives each new record that a wait gets. Default none. To cancel a wait at any moment use a cancel
/// token: this function is not called between two records.
/// @param call the settings
/// @param progress the function, or NULL to take one back
/// @param user_data passed to the function; may be NULL. It stays yours and must live as long as calls use these settings. If
/// several threads make calls with them at once, the function runs on each of these threads.
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if call is NULL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_progress(
    call: *mut agentjob_call,
    progress: agentjob_job_progress_fn,
    user_data: *mut c_void,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        set(call, err, &|_: Option<Arc<dyn Control>>| {
            Ok(progress.map(|progress| -> Arc<dyn Control> { Arc::new(Progress { progress, user_data }) }))
        })
    }
}
