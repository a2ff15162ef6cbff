//! The caller's progress function: what a wait tells, and how it is ended by its answer.

use std::ffi::c_void;
use std::sync::Arc;

use agentjob_core::{Control, Interrupted, Job};

use crate::call::{agentjob_call, set_options};
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard};
use crate::job::agentjob_job;
use crate::pointer::null;

/// What is told of a job's progress, by agentjob_client_wait() and agentjob_client_send_and_wait(): each record that differs
/// from the one before it, the first one, too.
///
/// It is called on the thread that makes the call, never after the call returned, and no lock is held, so it may use the
/// client. It must not throw or longjmp, and must not free what the call uses.
/// @param job the record, borrowed until you return; agentjob_job_clone() keeps it
/// @param user_data what was given with the function
/// @return 0 to go on; anything else ends the call with AGENTJOB_ERR_CANCELLED
/// @since 0.1.0
pub type agentjob_progress_fn = Option<unsafe extern "C" fn(job: *const agentjob_job, user_data: *mut c_void) -> i32>;

/// The caller's progress function.
struct Progress {
    progress: unsafe extern "C" fn(*const agentjob_job, *mut c_void) -> i32,
    user_data: *mut c_void,
}

// SAFETY: the function is called on the calling thread alone; whoever uses one `agentjob_call` on several threads promises that
// its user data bears that.
unsafe impl Send for Progress {}
// SAFETY: as above.
unsafe impl Sync for Progress {}

impl Control for Progress {
    fn update(&self, job: &Job) -> Result<(), Interrupted> {
        let job = agentjob_job::new(job.clone());
        // SAFETY: a C function that was given for this, with its own user data; the record lives until it returns.
        match unsafe { (self.progress)(&raw const job, self.user_data) } {
            0 => Ok(()),
            _ => Err(Interrupted),
        }
    }
}

/// What to call with each new record that a wait sees. It is no cancel button: between two records it is not called.
/// @param call the settings
/// @param progress the function; non-zero from it ends the call
/// @param user_data handed to it, may be NULL; it stays yours and must live as long as calls are made with these settings. If
/// several threads make calls with them at once, the function is called on each of these threads.
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_call_set_progress(
    call: *mut agentjob_call,
    progress: agentjob_progress_fn,
    user_data: *mut c_void,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            set_options(call, |options| {
                let progress = progress.ok_or_else(|| null("progress"))?;
                Ok(options.control(Arc::new(Progress { progress, user_data })))
            })
        })
    }
}
