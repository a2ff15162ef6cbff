//! The settings of one wait.

use std::time::Duration;

use crate::call::options::CallOptions;
use crate::duration::check_time;
use crate::error::Error;
use crate::wait::schedule::{
    DEFAULT_LATENESS, DEFAULT_MAX_INTERVAL, DEFAULT_MIN_INTERVAL, DEFAULT_SETTLE, DEFAULT_WAIT_TIMEOUT, Schedule,
};

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
