//! What calls and waits take, as Python gives it. What a wait is not given is the client's.

use std::sync::Arc;
use std::time::Duration;

use agentjob_core::{CallOptions, WaitOptions};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::{Refused, callback, cancel_token, number, seconds, seconds_or_zero};
use crate::caller::Caller;
use crate::keywords::{Keywords, set};
use crate::watcher::{Callbacks, Watcher};

/// The options of a wait.
pub(crate) fn wait_options(keywords: &mut Keywords<'_>) -> Result<WaitOptions, Refused> {
    let mut options = WaitOptions::new();
    match keywords.given("timeout") {
        // The client's.
        None => {}
        Some(given) if given.cast::<PyString>().is_ok_and(|text| text.to_string_lossy() == "client") => {}
        Some(given) if given.is_none() => options = options.timeout(None),
        Some(given) => options = options.timeout(wait_timeout("timeout", &given)?),
    }
    set! { options, keywords.optional:
        min_interval = seconds;
        max_interval = seconds;
        lateness = number;
        settle = seconds_or_zero;
    }
    Ok(options)
}

/// Seconds of a wait, or math.inf, which is no deadline.
pub(crate) fn wait_timeout(name: &str, given: &Bound<'_, PyAny>) -> Result<Option<Duration>, Refused> {
    let forever = number(name, given)? == f64::INFINITY;
    if forever { Ok(None) } else { seconds(name, given).map(Some) }
}

/// A call as its keyword arguments describe it.
#[derive(Default)]
pub(crate) struct Call {
    pub(crate) callbacks: Callbacks,
    pub(crate) options: CallOptions,
    /// Its deadline, in the time since the machine started; none if it was not queued.
    pub(crate) ends: Option<Duration>,
}

/// What observes a call, and the call's options, which report to it.
pub(crate) type Watched = (Arc<Watcher>, CallOptions);

impl Call {
    /// What every call takes: `meta`, and what may cancel it.
    pub(crate) fn read(keywords: &mut Keywords<'_>) -> Result<Call, Refused> {
        let mut call = Call::default();
        if let Some(given) = keywords.optional("cancel") {
            let token = cancel_token("cancel", &given)?;
            call.options = call.options.cancel(token.core());
            if let Some(started) = token.started() {
                call.options = call.options.started_at(started);
                call.ends = token.ends();
            }
        }
        call.callbacks.meta = callback("meta", keywords.optional("meta"))?;
        Ok(call)
    }

    /// The call as it is made. `delivers`: it is to deliver a message.
    pub(crate) fn watched(self, py: Python<'_>, caller: &Caller, delivers: bool) -> PyResult<Watched> {
        let watcher = caller.watcher(py, self.callbacks, delivers)?;
        let options = self.options.control(watcher.clone());
        if !watcher.wants_meta() {
            return Ok((watcher, options));
        }
        let to = watcher.clone();
        Ok((watcher, options.meta(Arc::new(move |meta| to.meta(meta)))))
    }
}
