//! The settings of one call.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::control::{CancelToken, Control};

/// Settings of one call that differ from the client's.
#[derive(Clone, Default)]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) started_at: Option<Instant>,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) control: Option<Arc<dyn Control>>,
    /// Closing the client does not end the call.
    pub(crate) ignores_close: bool,
}

impl CallOptions {
    /// The client's settings, no cancel token, no control; the time counts from when the call is made.
    pub fn new() -> CallOptions {
        CallOptions::default()
    }

    /// The call's deadline, retries and pauses included: more than 0, at most 7 days. Default: the client's `timeout`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> CallOptions {
        self.timeout = Some(timeout);
        self
    }

    /// When the call's time began, for programs whose calls queue for a thread: the timeout and
    /// [`Error::elapsed`](crate::Error::elapsed) count from this instant. Default: when the call is made. A call whose deadline has
    /// already passed makes no request, and ends with [`Timeout`](crate::ErrorKind::Timeout).
    #[must_use]
    pub fn started_at(mut self, instant: Instant) -> CallOptions {
        self.started_at = Some(instant);
        self
    }

    /// A token that can cancel the call. Default: none.
    #[must_use]
    pub fn cancel(mut self, token: &CancelToken) -> CallOptions {
        self.cancel = Some(token.clone());
        self
    }

    /// A control that observes the call and can end it. Default: none.
    #[must_use]
    pub fn control(mut self, control: Arc<dyn Control>) -> CallOptions {
        self.control = Some(control);
        self
    }

    /// Keeps the call running when the client is closed: a batch ends its calls itself, after their grace.
    #[must_use]
    pub(crate) fn ignoring_close(mut self) -> CallOptions {
        self.ignores_close = true;
        self
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("started_at", &self.started_at)
            .field("cancel", &self.cancel)
            .field("control", &self.control.is_some())
            .finish()
    }
}
