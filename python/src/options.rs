//! What calls and waits take, as Python gives it. What a wait is not given is the client's.

use std::sync::Arc;
use std::time::Duration;

use agentjob_core::{CallOptions, WaitOptions};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::arguments::{Refused, callback, cancel_token, number, seconds, seconds_or_zero};
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

/// What every call takes: `meta`, and what may cancel it.
pub(crate) fn call_options(keywords: &mut Keywords<'_>) -> Result<(Callbacks, CallOptions), Refused> {
    let mut options = CallOptions::new();
    if let Some(given) = keywords.optional("cancel") {
        let token = cancel_token("cancel", &given)?;
        options = options.cancel(token.core());
        if let Some(started) = token.started() {
            options = options.started_at(started);
        }
    }
    Ok((Callbacks { on_update: None, meta: callback("meta", keywords.optional("meta"))? }, options))
}

/// The options of a call that a watcher observes.
pub(crate) fn watched(options: CallOptions, watcher: &Arc<Watcher>) -> CallOptions {
    let options = options.control(watcher.clone());
    if !watcher.wants_meta() {
        return options;
    }
    let watcher = watcher.clone();
    options.meta(Arc::new(move |meta| watcher.meta(meta)))
}
