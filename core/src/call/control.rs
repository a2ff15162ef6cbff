//! How a caller observes and interrupts a call.

use std::sync::Arc;
use std::time::Duration;

use crate::call::event::Event;
use crate::job::Job;
use crate::os::flag::Flag;

/// The longest time that a call waits or computes before it checks its cancel token, its control and its deadline.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// Cancels calls from another thread, or from a signal handler.
///
/// Cancelling is async-signal-safe: an atomic store and, if a call waits, a write(2) that wakes it. A call notices it within 100 ms,
/// whatever it is doing, and ends with [`Cancelled`](crate::ErrorKind::Cancelled). A token stays cancelled; use a new one for the next call.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<Flag>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels every call that has this token or a clone of it, current and future ones.
    pub fn cancel(&self) {
        self.0.set();
    }

    pub(crate) fn flag(&self) -> &Flag {
        &self.0
    }

    /// Whether [`cancel`](CancelToken::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_set()
    }
}

/// "End this call": what a [`Control`] returns to stop it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted;

/// Observes one call and can end it. All methods are called on the calling thread, and none after the call has returned.
///
/// Each may return [`Interrupted`] to end the call with [`Cancelled`](crate::ErrorKind::Cancelled). The error still has the delivery
/// verdict.
pub trait Control: Send + Sync {
    /// Called at least every 50 ms while the call waits or pauses, unless [`wants_checks`](Control::wants_checks) returns false; and
    /// after a signal interrupted a system call.
    ///
    /// # Errors
    /// [`Interrupted`] ends the call.
    fn check(&self) -> Result<(), Interrupted> {
        Ok(())
    }

    /// Whether a call that waits must wake every 50 ms to call [`check`](Control::check). The call asks before each wait. A cancel
    /// token, the end of the client and the deadline end a wait either way. Default: true.
    fn wants_checks(&self) -> bool {
        true
    }

    /// Called for each event: an attempt, a response, a retry, a poll.
    ///
    /// # Errors
    /// [`Interrupted`] ends the call.
    fn event(&self, _event: &Event<'_>) -> Result<(), Interrupted> {
        Ok(())
    }

    /// Whether [`event`](Control::event) wants [`Event::Response`]. If nothing that observes a call does, it is not made. Default: true.
    fn wants_responses(&self) -> bool {
        true
    }

    /// Called when a wait sees its first record, and each record that differs from the one before.
    ///
    /// # Errors
    /// [`Interrupted`] ends the wait.
    fn update(&self, _job: &Job) -> Result<(), Interrupted> {
        Ok(())
    }
}
