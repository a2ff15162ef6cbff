//! The settings of one call and of one wait: what differs from the client's own.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::check_time;
use crate::control::{CancelToken, Control};
use crate::error::Error;
use crate::poll::{
    DEFAULT_LATENESS, DEFAULT_MAX_INTERVAL, DEFAULT_MIN_INTERVAL, DEFAULT_SETTLE, DEFAULT_WAIT_TIMEOUT, Schedule,
};

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
    /// [`Error::elapsed`](crate::Error::elapsed) count from here. By default, when the call is made. A call whose time is
    /// over already makes no request, and ends with [`Timeout`](crate::ErrorKind::Timeout).
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

    /// A control that watches the call and can end it.
    #[must_use]
    pub fn control(mut self, control: Arc<dyn Control>) -> CallOptions {
        self.control = Some(control);
        self
    }

    /// Closing the client does not end the call: a batch ends its own, after their grace.
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

/// Settings of one wait.
#[derive(Debug, Clone)]
#[must_use]
pub struct WaitOptions {
    pub(crate) schedule: Schedule,
    pub(crate) call: CallOptions,
}

impl Default for WaitOptions {
    fn default() -> Self {
        WaitOptions {
            schedule: Schedule {
                timeout: Some(DEFAULT_WAIT_TIMEOUT),
                min_interval: DEFAULT_MIN_INTERVAL,
                max_interval: DEFAULT_MAX_INTERVAL,
                lateness: DEFAULT_LATENESS,
                settle: DEFAULT_SETTLE,
            },
            call: CallOptions::default(),
        }
    }
}

impl WaitOptions {
    /// 30 minutes, looks 2 s to 60 s apart, never more than about 15 % late.
    pub fn new() -> WaitOptions {
        WaitOptions::default()
    }

    /// How long to wait; `None` is for ever. 30 minutes.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> WaitOptions {
        self.schedule.timeout = timeout.into();
        self
    }

    /// The shortest pause between two looks. 2 s.
    pub fn min_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.min_interval = interval;
        self
    }

    /// The longest pause between two looks. 60 s.
    pub fn max_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.max_interval = interval;
        self
    }

    /// How late the end may be noticed, as a part of the time waited so far. 0.15.
    pub fn lateness(mut self, part: f64) -> WaitOptions {
        self.schedule.lateness = part;
        self
    }

    /// How long after a message a finished job may still show its previous result. 10 s; 0 trusts the first answer.
    pub fn settle(mut self, settle: Duration) -> WaitOptions {
        self.schedule.settle = settle;
        self
    }

    /// The request's settings: the total time of one look, a cancel token, a control.
    pub fn call(mut self, call: CallOptions) -> WaitOptions {
        self.call = call;
        self
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.call.timeout.map_or(Ok(Duration::ZERO), |timeout| check_time("timeout", timeout))?;
        self.schedule.check()
    }
}
