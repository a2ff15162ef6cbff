//! The caller's event function, and when its user data goes.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use agentjob_core::Event;

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard};
use crate::options::{agentjob_options, set};
use crate::pointer::null;

/// What is told of an event.
///
/// It is called on the thread that makes the call, so by several threads at once if several use the client, and by the threads of
/// its batches. It must return soon, and must not throw or longjmp.
/// @param json one object, like {"event":"attempt","operation":"send_message","job_id":"job_123","attempt":1}; borrowed until
/// you return. It never holds the key, a prompt or a body. Times are seconds; more keys and events may come.
/// @param user_data what was given with the function
/// @since 0.1.0
pub type agentjob_event_fn = Option<unsafe extern "C" fn(json: *const c_char, user_data: *mut c_void)>;

/// Called once, when the user data given with a function is needed no more.
/// @param user_data what was given with the function
/// @since 0.1.0
pub type agentjob_destroy_fn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// The caller's event function. It goes when the options and every client made from them are gone.
struct Listener {
    on_event: unsafe extern "C" fn(*const c_char, *mut c_void),
    user_data: *mut c_void,
    destroy: agentjob_destroy_fn,
}

// SAFETY: the header says that the function is called by every thread that uses the client, and that the last one to let go
// calls `destroy`; whoever gives the function promises that its user data bears that.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

impl Listener {
    fn tell(&self, event: &Event<'_>) {
        // JSON escapes every control character, so there is no NUL inside.
        let json = CString::new(event.to_json()).unwrap_or_default();
        // SAFETY: a C function that was given for this, with its own user data.
        unsafe { (self.on_event)(json.as_ptr(), self.user_data) }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: a C function that was given for this; nothing uses the user data after it.
            unsafe { destroy(self.user_data) }
        }
    }
}

/// What to call with each event: a request, a retry, a poll.
/// @param options the settings
/// @param on_event the function
/// @param user_data handed to it, may be NULL. It must bear being used by every thread that uses the client
/// @param destroy called once with user_data when these options and every client and batch made from them are gone, or when another
/// function took this one's place; may be NULL. After an error it is not called: user_data stays yours
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_on_event(
    options: *mut agentjob_options,
    on_event: agentjob_event_fn,
    user_data: *mut c_void,
    destroy: agentjob_destroy_fn,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            set(options, |to| {
                let on_event = on_event.ok_or_else(|| null("on_event"))?;
                let listener = Listener { on_event, user_data, destroy };
                Ok(to.on_event(Arc::new(move |event: &Event<'_>| listener.tell(event))))
            })
        })
    }
}
