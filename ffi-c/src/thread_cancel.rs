//! `pthread_cancel` waits until a call has returned: glibc unwinds a cancelled thread through its frames and musl abandons them, and
//! Rust allows neither. A call whose outcome counts shouldn't be lost in its middle, either.
//!
//! Cancellation is off in every function that may reach a cancellation point (POSIX.1-2024, 2.9.5.2): all that can fail (`result.rs`),
//! that free (`handle.rs`), close or stop. A getter reaches none, and is faster without. None of this makes a system call.

#[cfg(not(any(target_os = "android", windows)))]
use std::ffi::c_int;

/// Cancellation of the calling thread is off while this lives, and then as it was before.
#[must_use]
pub(crate) struct Held {
    #[cfg(not(any(target_os = "android", windows)))]
    before: c_int,
}

/// Android and Windows have no `pthread_cancel`.
#[cfg(any(target_os = "android", windows))]
pub(crate) fn hold() -> Held {
    Held {}
}

#[cfg(not(any(target_os = "android", windows)))]
pub(crate) fn hold() -> Held {
    Held { before: set_state(DISABLE) }
}

/// For a thread that is about to run a function of the program. If the thread is the program's own, cancellation is already off. If it is
/// one of ours, the program now learns its `pthread_t`, and from then on nothing but this keeps it from being cancelled.
pub(crate) fn hold_for_good() {
    std::mem::forget(hold());
}

#[cfg(not(any(target_os = "android", windows)))]
impl Drop for Held {
    fn drop(&mut self) {
        set_state(self.before);
    }
}

/// `PTHREAD_CANCEL_DISABLE` of `<pthread.h>`.
#[cfg(target_vendor = "apple")]
const DISABLE: c_int = 0;
#[cfg(not(any(target_vendor = "apple", target_os = "android", windows)))]
const DISABLE: c_int = 1;

/// Sets the state, and returns the one before.
#[cfg(not(any(target_os = "android", windows)))]
fn set_state(state: c_int) -> c_int {
    unsafe extern "C" {
        fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    }
    let mut before = state;
    // SAFETY: `before` is memory for an int. A state that the function does not know would be refused, without any effect.
    unsafe { pthread_setcancelstate(state, &raw mut before) };
    before
}

#[cfg(all(test, not(any(target_os = "android", windows))))]
mod tests {
    use super::*;

    #[test]
    fn calls_inside_calls_leave_the_state_as_it_was() {
        let at_first = set_state(DISABLE);
        assert_ne!(at_first, DISABLE, "a thread begins with cancellation on");
        set_state(at_first);
        let state = || {
            let now = set_state(DISABLE);
            set_state(now);
            now
        };
        let outer = hold();
        let inner = hold();
        assert_eq!(state(), DISABLE);
        drop(inner);
        assert_eq!(state(), DISABLE);
        drop(outer);
        assert_eq!(state(), at_first);
    }
}
