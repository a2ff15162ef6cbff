//! A call's and a wait's options, as Python gives them. The defaults of a wait are the core's; every method that waits takes them
//! from here.

use std::sync::Arc;

use agentjob_core::{
    CallOptions, DEFAULT_LATENESS, DEFAULT_MAX_INTERVAL, DEFAULT_MIN_INTERVAL, DEFAULT_SETTLE, DEFAULT_WAIT_TIMEOUT,
    WaitOptions,
};
use pyo3::prelude::*;

use crate::arguments::{Flag, Given, Number, Refused, cancel_token};
use crate::watcher::Watcher;

pub(crate) const WAIT_TIMEOUT: Option<Number> = Some(Given::Right(DEFAULT_WAIT_TIMEOUT.as_secs_f64()));
pub(crate) const MIN_INTERVAL: Number = Given::Right(DEFAULT_MIN_INTERVAL.as_secs_f64());
pub(crate) const MAX_INTERVAL: Number = Given::Right(DEFAULT_MAX_INTERVAL.as_secs_f64());
pub(crate) const LATENESS: Number = Given::Right(DEFAULT_LATENESS);
pub(crate) const SETTLE: Number = Given::Right(DEFAULT_SETTLE.as_secs_f64());
pub(crate) const NO: Flag = Given::Right(false);

/// The options that every wait has.
pub(crate) struct WaitSchedule {
    pub(crate) timeout: Option<Number>,
    pub(crate) min_interval: Number,
    pub(crate) max_interval: Number,
    pub(crate) lateness: Number,
    pub(crate) settle: Number,
}

impl WaitSchedule {
    pub(crate) fn options(&self) -> Result<WaitOptions, Refused> {
        Ok(WaitOptions::new()
            .timeout(self.timeout.as_ref().map(|timeout| timeout.seconds("timeout")).transpose()?)
            .min_interval(self.min_interval.seconds("min_interval")?)
            .max_interval(self.max_interval.seconds("max_interval")?)
            .lateness(self.lateness.number("lateness")?)
            .settle(self.settle.seconds_or_zero("settle")?))
    }
}

/// What `wait` and `send_and_wait` take besides the schedule.
pub(crate) struct WaitSettings<'py> {
    pub(crate) schedule: WaitSchedule,
    pub(crate) check: Flag,
    pub(crate) on_update: Option<Bound<'py, PyAny>>,
    pub(crate) cancel: Option<Bound<'py, PyAny>>,
}

/// A call's options, with everything that may end it.
pub(crate) fn call_options(
    watcher: &Arc<Watcher>,
    timeout: Option<Number>,
    cancel: Option<Bound<'_, PyAny>>,
) -> Result<CallOptions, Refused> {
    let mut options = CallOptions::new().control(watcher.clone());
    if let Some(timeout) = timeout {
        options = options.timeout(timeout.seconds("timeout")?);
    }
    if let Some(cancel) = cancel {
        let token = cancel_token("cancel", &cancel)?;
        options = options.cancel(token.core());
        if let Some(started) = token.started() {
            options = options.started_at(started);
        }
    }
    Ok(options)
}
