//! How a method makes one request: arguments in, the core without the GIL, a dict or an exception out.

use std::borrow::Cow;

use agentjob_core::{CallOptions, Client, Delivery, EncodedPrompt, Error, Job};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Argument, Number, Refused, encoded, text};
use crate::caller::Caller;
use crate::convert;
use crate::errors::add_note;
use crate::options::call_options;
use crate::signals::blocking;
use crate::watcher::Callbacks;

/// A call's own options.
pub(crate) struct Call<'py> {
    pub(crate) timeout: Option<Number>,
    pub(crate) meta: Option<Bound<'py, PyAny>>,
    pub(crate) cancel: Option<Bound<'py, PyAny>>,
    pub(crate) headers: Option<Bound<'py, PyAny>>,
}

pub(crate) fn send_message<'py>(
    caller: &Caller,
    (job_id, prompt): (Argument<'_, 'py>, Argument<'_, 'py>),
    call: Call<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let (job_id, prompt) = message(job_id, prompt).map_err(|refused| refused.raised(py, true))?;
    request(py, caller, call, true, |core, call| core.send_message_with(&job_id, &prompt, call))
}

pub(crate) fn get_job<'py>(
    caller: &Caller,
    job_id: Argument<'_, 'py>,
    call: Call<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let job_id = text("job_id", job_id).map_err(|refused| refused.raised(py, false))?;
    request(py, caller, call, false, |core, call| core.get_job_with(&job_id, call))
}

pub(crate) fn create_job<'py>(
    caller: &Caller,
    prompt: Argument<'_, 'py>,
    call: Call<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = prompt.py();
    let prompt = encoded("prompt", prompt).map_err(|refused| refused.raised(py, true))?;
    request(py, caller, call, true, |core, call| core.create_job_with(&prompt, call))
}

/// A call as the command line makes it, which prints the record as the service wrote it. Without a prompt it reads the job; without
/// a job's id it creates one.
pub(crate) fn record_json<'py>(
    caller: &Caller,
    py: Python<'py>,
    job_id: Option<Bound<'py, PyAny>>,
    prompt: Option<Bound<'py, PyAny>>,
) -> PyResult<String> {
    let delivers = prompt.is_some();
    let read = || -> Result<_, Refused> {
        let job_id = job_id.as_ref().map(|given| text("job_id", given)).transpose()?;
        Ok((job_id, prompt.as_ref().map(|given| encoded("prompt", given)).transpose()?))
    };
    let (job_id, prompt) = read().map_err(|refused| refused.raised(py, delivers))?;
    let watcher = caller.watcher(py, Callbacks::default(), delivers)?;
    let options = call_options(&watcher, None, None, None).map_err(|refused| refused.raised(py, delivers))?;
    let core = caller.core();
    let job = blocking(py, &watcher, delivers, || match (&job_id, &prompt) {
        (Some(job_id), Some(prompt)) => core.send_message_with(job_id, prompt, &options),
        (None, Some(prompt)) => core.create_job_with(prompt, &options),
        (job_id, None) => core.get_job_with(job_id.as_deref().unwrap_or_default(), &options),
    })?;
    Ok(job.to_json())
}

fn request<'py>(
    py: Python<'py>,
    caller: &Caller,
    call: Call<'py>,
    delivers: bool,
    make: impl FnOnce(&Client, &CallOptions) -> Result<Job, Error> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let callbacks = Callbacks::meta(call.meta).map_err(|refused| refused.raised(py, delivers))?;
    let watcher = caller.watcher(py, callbacks, delivers)?;
    let options = call_options(&watcher, call.timeout, call.cancel, call.headers)
        .map_err(|refused| refused.raised(py, delivers))?;
    let job = blocking(py, &watcher, delivers, || make(caller.core(), &options))?;
    returned(py, &job, delivers)
}

/// The record that a call returns. `delivers`: the call delivered a message, so an error here must say that.
pub(crate) fn returned<'py>(py: Python<'py>, job: &Job, delivers: bool) -> PyResult<Bound<'py, PyDict>> {
    convert::job(py, job).inspect_err(|raised| {
        if delivers {
            add_note(raised.value(py), Delivery::Accepted);
        }
    })
}

/// The arguments of a message.
pub(crate) fn message<'a>(
    job_id: &'a Bound<'_, PyAny>,
    prompt: &Bound<'_, PyAny>,
) -> Result<(Cow<'a, str>, EncodedPrompt), Refused> {
    Ok((text("job_id", job_id)?, encoded("prompt", prompt)?))
}
