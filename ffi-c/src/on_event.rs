//! The caller's event function, and when its user data is released.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use agentjob_core::Event;

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::null;
use crate::options::agentjob_options;
use crate::setter::set;
use crate::thread_cancel;

/// A function that receives events.
///
/// It runs on the thread that makes the call, so several threads call it at once if several use the client. A batch calls it on
/// its own threads. It must return soon, and must not throw, longjmp, enable cancellation or end its thread.
/// @param json one object, like {"event":"attempt","operation":"send_message","job_id":"job_123","attempt":1}, borrowed until
/// you return. It never contains the API key, a prompt or a body. Times are in seconds. Later versions may add keys and events.
/// @param user_data the pointer that was passed with the function
/// @since 0.1.0
pub type agentjob_event_fn = Option<unsafe extern "C" fn(json: *const c_char, user_data: *mut c_void)>;

/// A function that releases user data. It is called once, when the user data is no longer needed.
/// @param user_data the pointer that was passed with the function
/// @since 0.1.0
pub type agentjob_destroy_fn = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// The caller's event function. Dropped when the options and every client made from them are freed.
struct Listener {
    on_event: unsafe extern "C" fn(*const c_char, *mut c_void),
    user_data: *mut c_void,
    destroy: agentjob_destroy_fn,
}

// SAFETY: the header says that every thread that uses the client calls the function, and that any of them may call `destroy`.
// The program that passes the function promises that its user data allows this.
unsafe impl Send for Listener {}
// SAFETY: as above.
unsafe impl Sync for Listener {}

impl Listener {
    fn notify(&self, event: &Event<'_>) {
        // JSON escapes every control character, so it has no NUL.
        let json = CString::new(event.to_json()).unwrap_or_default();
        thread_cancel::hold_for_good();
        // SAFETY: the program passed this function for this purpose, with its own user data.
        unsafe { (self.on_event)(json.as_ptr(), self.user_data) }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            thread_cancel::hold_for_good();
            // SAFETY: the program passed this function for this purpose, and nothing uses the user data afterwards.
            unsafe { destroy(self.user_data) }
        }
    }
}

/// Sets a function that receives each event: an attempt, a response, a retry, a poll. docs/events.md has all events with their keys,
/// and says when each comes. Default none.
/// @param options the options
/// @param on_event the function
/// @param user_data passed to the function; may be NULL. Every thread that uses the client uses it
/// @param destroy called once with user_data when these options and every client and batch made from them are freed, or when
/// another event function replaces this one; may be NULL. After an error it is not called: user_data stays yours
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if options or on_event is NULL
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_options_set_on_event(
    options: *mut agentjob_options,
    on_event: agentjob_event_fn,
    user_data: *mut c_void,
    destroy: agentjob_destroy_fn,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        set(options, err, &|to| {
            let on_event = on_event.ok_or_else(|| null("on_event"))?;
            let listener = Listener { on_event, user_data, destroy };
            Ok(to.on_event(Arc::new(move |event: &Event<'_>| listener.notify(event))))
        })
    }
}
