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
    /// The defaults: 30 minutes, polls 2 s to 60 s apart, at most about 15 % late.
    pub fn new() -> WaitOptions {
        WaitOptions::default()
    }

    /// The deadline: 1 ms to 7 days, or `None` for no deadline. Default: 30 minutes.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> WaitOptions {
        self.schedule.timeout = timeout.into();
        self
    }

    /// The shortest pause between two polls: 1 ms to 7 days. Default: 2 s.
    pub fn min_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.min_interval = interval;
        self
    }

    /// The longest pause between two polls: at least `min_interval`, at most 7 days. Default: 60 s.
    pub fn max_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.max_interval = interval;
        self
    }

    /// How late the job's end may be noticed, as a fraction of the time waited so far: more than 0, at most 1. Default: 0.15.
    pub fn lateness(mut self, fraction: f64) -> WaitOptions {
        self.schedule.lateness = fraction;
        self
    }

    /// How long after a message a finished job may still show its previous result: 0 to 7 days. Default: 10 s; 0 accepts the first
    /// record.
    pub fn settle(mut self, settle: Duration) -> WaitOptions {
        self.schedule.settle = settle;
        self
    }

    /// The settings of each poll's request: its timeout, a cancel token, a control. Default: the client's.
    pub fn call(mut self, call: CallOptions) -> WaitOptions {
        self.call = call;
        self
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        self.call.timeout.map_or(Ok(Duration::ZERO), |timeout| check_time("timeout", timeout))?;
        self.schedule.check()
    }
}
