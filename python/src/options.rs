//! A call's and a wait's options, as Python gives them. What a wait is not given is the client's.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use agentjob_core::{CallOptions, WaitOptions};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::{Flag, Given, Number, Refused, cancel_token, headers as read_headers};
use crate::watcher::Watcher;

/// The default of a wait's timeout, which Python shows as 'client'.
pub(crate) const CLIENTS: Deadline = Deadline::Clients;
pub(crate) const NO: Flag = Given::Right(false);

/// A wait's timeout, as it was given.
pub(crate) enum Deadline {
    /// 'client': that of the client.
    Clients,
    /// None.
    Never,
    Seconds(Number),
}

impl<'py> FromPyObject<'_, 'py> for Deadline {
    type Error = Infallible;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> Result<Self, Infallible> {
        if given.is_none() {
            return Ok(Deadline::Never);
        }
        if given.cast::<PyString>().is_ok_and(|text| text.to_cow().is_ok_and(|text| text == "client")) {
            return Ok(Deadline::Clients);
        }
        Number::extract(given).map(Deadline::Seconds)
    }
}

/// Seconds of a wait, or math.inf, which is no deadline.
pub(crate) fn wait_timeout(name: &str, given: &Number) -> Result<Option<Duration>, Refused> {
    let forever = given.number(name)? == f64::INFINITY;
    if forever { Ok(None) } else { given.seconds(name).map(Some) }
}

/// The options that every wait has; what is not given is the client's.
pub(crate) struct WaitSchedule {
    pub(crate) timeout: Deadline,
    pub(crate) min_interval: Option<Number>,
    pub(crate) max_interval: Option<Number>,
    pub(crate) lateness: Option<Number>,
    pub(crate) settle: Option<Number>,
}

impl WaitSchedule {
    pub(crate) fn options(&self) -> Result<WaitOptions, Refused> {
        let mut options = match &self.timeout {
            Deadline::Clients => WaitOptions::new(),
            Deadline::Never => WaitOptions::new().timeout(None),
            Deadline::Seconds(given) => WaitOptions::new().timeout(wait_timeout("timeout", given)?),
        };
        if let Some(given) = &self.min_interval {
            options = options.min_interval(given.seconds("min_interval")?);
        }
        if let Some(given) = &self.max_interval {
            options = options.max_interval(given.seconds("max_interval")?);
        }
        if let Some(given) = &self.lateness {
            options = options.lateness(given.number("lateness")?);
        }
        if let Some(given) = &self.settle {
            options = options.settle(given.seconds_or_zero("settle")?);
        }
        Ok(options)
    }
}

/// What `wait` and `send_and_wait` take besides the schedule.
pub(crate) struct WaitSettings<'py> {
    pub(crate) schedule: WaitSchedule,
    pub(crate) check: Flag,
    pub(crate) on_update: Option<Bound<'py, PyAny>>,
    pub(crate) meta: Option<Bound<'py, PyAny>>,
    pub(crate) cancel: Option<Bound<'py, PyAny>>,
    pub(crate) headers: Option<Bound<'py, PyAny>>,
}

/// A call's options, with everything that may end it.
pub(crate) fn call_options(
    watcher: &Arc<Watcher>,
    timeout: Option<Number>,
    cancel: Option<Bound<'_, PyAny>>,
    headers: Option<Bound<'_, PyAny>>,
) -> Result<CallOptions, Refused> {
    let mut options = CallOptions::new().control(watcher.clone());
    if watcher.wants_meta() {
        let watcher = watcher.clone();
        options = options.meta(Arc::new(move |meta| watcher.meta(meta)));
    }
    if let Some(timeout) = timeout {
        options = options.timeout(timeout.seconds("timeout")?);
    }
    if let Some(headers) = headers {
        options = options.headers(read_headers(&headers)?);
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
