//! The settings of one call: what differs from the client's own.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::control::{CancelToken, Control};

/// Settings of one call: what differs from the client's own.
#[derive(Clone, Default)]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) started: Option<Instant>,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) control: Option<Arc<dyn Control>>,
    /// Closing the client does not end the call.
    pub(crate) outlives_close: bool,
}

impl CallOptions {
    /// The client's settings, from now, no token, no control.
    pub fn new() -> CallOptions {
        CallOptions::default()
    }

    /// The call's total time instead of the client's `timeout`: more than 0, at most 7 days.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> CallOptions {
        self.timeout = Some(timeout);
        self
    }

    /// When the call's time began, for programs whose calls queue for a thread: the timeout and
    /// [`Error::elapsed`](crate::Error::elapsed) count from then. By default it begins when the call is made. A call that
    /// timed out in the queue makes no request, and ends with [`Timeout`](crate::ErrorKind::Timeout).
    #[must_use]
    pub fn started(mut self, at: Instant) -> CallOptions {
        self.started = Some(at);
        self
    }

    /// A token that can end the call.
    #[must_use]
    pub fn cancel(mut self, token: &CancelToken) -> CallOptions {
        self.cancel = Some(token.clone());
        self
    }

    /// A control that observes the call and can end it.
    #[must_use]
    pub fn control(mut self, control: Arc<dyn Control>) -> CallOptions {
        self.control = Some(control);
        self
    }

    /// Closing the client does not end the call: a batch ends its own calls, after their grace.
    #[must_use]
    pub(crate) fn outliving_close(mut self) -> CallOptions {
        self.outlives_close = true;
        self
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("started", &self.started)
            .field("cancel", &self.cancel)
            .field("control", &self.control.is_some())
            .finish()
    }
}
