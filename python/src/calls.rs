//! How a method of the client makes its call: arguments in, the core without the GIL, a dict or an exception out.

use std::borrow::Cow;
use std::sync::Arc;

use agentjob_core as core;
use agentjob_core::{CallOptions, Delivery, EncodedPrompt, Error, JobStatus, WaitOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Flag, Number, Refused, callback, cancel_token, encoded, text};
use crate::client::Client;
use crate::signals::{Watcher, add_note, blocking};
use crate::waits::Schedule;
use crate::{convert, errors};

impl Client {
    /// One request: reads the timeout, blocks, converts.
    pub(crate) fn request<'py>(
        &self,
        py: Python<'py>,
        (timeout, cancel): (Option<Number>, Option<Bound<'py, PyAny>>),
        delivers: bool,
        call: impl FnOnce(&core::Client, &CallOptions) -> Result<core::Job, Error> + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let watcher = self.watcher(py, None, delivers)?;
        let options = call_options(&watcher, timeout, cancel).map_err(|refused| refused.raised(py, delivers))?;
        let job = blocking(py, &watcher, delivers, || call(self.core(), &options))?;
        returned(py, &job, delivers)
    }

    /// One wait, to its end.
    pub(crate) fn whole_wait<'py>(
        &self,
        py: Python<'py>,
        wait: WholeWait<'py>,
        delivers: bool,
        call: impl FnOnce(&core::Client, &WaitOptions) -> Result<core::Job, Error> + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let refused = |refused: Refused| refused.raised(py, delivers);
        let on_update = callback("on_update", wait.on_update).map_err(refused)?;
        let watcher = self.watcher(py, on_update, delivers)?;
        let read = || -> Result<_, Refused> {
            let options = wait.schedule.options()?.call(call_options(&watcher, None, wait.cancel)?);
            Ok((options, wait.check.flag("check")?))
        };
        let (options, check) = read().map_err(refused)?;
        let job = blocking(py, &watcher, delivers, || call(self.core(), &options))?;
        if check && *job.status() == JobStatus::Failed {
            return Err(errors::job_failed(py, &job, delivers));
        }
        returned(py, &job, delivers)
    }
}

/// The record as what a call returns. `delivers` says that it delivered a message, which an error has to tell.
fn returned<'py>(py: Python<'py>, job: &core::Job, delivers: bool) -> PyResult<Bound<'py, PyDict>> {
    convert::job(py, job).inspect_err(|raised| {
        if delivers {
            add_note(raised.value(py), Delivery::Accepted);
        }
    })
}

/// What `wait` and `send_and_wait` take.
pub(crate) struct WholeWait<'py> {
    pub(crate) schedule: Schedule,
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

/// What a message is made of.
pub(crate) fn message<'a>(
    job_id: &'a Bound<'_, PyAny>,
    prompt: &Bound<'_, PyAny>,
) -> Result<(Cow<'a, str>, EncodedPrompt), Refused> {
    Ok((text("job_id", job_id)?, encoded("prompt", prompt)?))
}
