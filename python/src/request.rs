//! How a method makes one request: arguments in, the core without the GIL, a dict or an exception out.

use std::borrow::Cow;

use agentjob_core::{CallOptions, Client, Delivery, EncodedPrompt, Error, Job};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arguments::{Argument, Refused, encoded, headers, seconds, text};
use crate::caller::Caller;
use crate::convert;
use crate::errors::{add_note, note_id};
use crate::keywords::{Keywords, set};
use crate::options::{Call, Watched};
use crate::signals::blocking;
use crate::watcher::Watcher;

pub(crate) fn send_message<'py>(
    caller: &Caller,
    (job_id, prompt): (Argument<'_, 'py>, Argument<'_, 'py>),
    keywords: Keywords<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let (job_id, prompt) = message(job_id, prompt).map_err(|refused| refused.raised(py, true))?;
    request(py, caller, keywords, true, |core, call| core.send_message_with(&job_id, &prompt, call))
}

pub(crate) fn get_job<'py>(
    caller: &Caller,
    job_id: Argument<'_, 'py>,
    keywords: Keywords<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let job_id = text("job_id", job_id).map_err(|refused| refused.raised(py, false))?;
    request(py, caller, keywords, false, |core, call| core.get_job_with(&job_id, call))
}

pub(crate) fn create_job<'py>(
    caller: &Caller,
    prompt: Argument<'_, 'py>,
    keywords: Keywords<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = prompt.py();
    let prompt = encoded("prompt", prompt).map_err(|refused| refused.raised(py, true))?;
    let (watcher, options) = prepared(py, caller, keywords, true)?;
    let job = creating(py, caller, (&watcher, &options), &prompt)?;
    returned(py, &job, true).inspect_err(|raised| note_new_job(py, caller, &options, raised, &job))
}

/// A call that creates a job. An exception that ends it when its response is there gets the record: nothing else has the job's id.
fn creating(
    py: Python<'_>,
    caller: &Caller,
    (watcher, options): (&Watcher, &CallOptions),
    prompt: &EncodedPrompt,
) -> PyResult<Job> {
    let mut created = None;
    let ended = blocking(py, watcher, true, || {
        let ended = caller.core().create_job_with(prompt, options);
        created = ended.as_ref().map_or_else(|error| error.job().cloned(), |job| Some(job.clone()));
        ended
    });
    ended.inspect_err(|raised| {
        if let Some(job) = &created {
            note_new_job(py, caller, options, raised, job);
        }
    })
}

fn note_new_job(py: Python<'_>, caller: &Caller, options: &CallOptions, raised: &PyErr, job: &Job) {
    // If there is no memory for the record, the note with its id still stands.
    note_id(raised.value(py), &caller.core().redact(job.id(), options), convert::job(py, job).ok());
}

/// The same for a call that agentjob.aio made. Returns the job's id, without secrets.
pub(crate) fn add_new_job(
    caller: &Caller,
    exception: &Bound<'_, PyAny>,
    job: Bound<'_, PyDict>,
    given: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let mut options = CallOptions::new();
    if let Some(given) = given {
        options = options.headers(headers("headers", &given).map_err(|refused| refused.raised(job.py(), false))?);
    }
    let id: String = job.as_any().get_item(intern!(job.py(), "id"))?.extract()?;
    let id = caller.core().redact(&id, &options);
    note_id(exception, &id, Some(job));
    Ok(id)
}

/// A call as the command line makes it, which prints the record as the service wrote it. Without a prompt it reads the job; without
/// a job's id it creates one.
pub(crate) fn record_json<'py>(
    caller: &Caller,
    py: Python<'py>,
    job_id: Option<Bound<'py, PyAny>>,
    prompt: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyString>> {
    let delivers = prompt.is_some();
    let read = || -> Result<_, Refused> {
        let job_id = job_id.as_ref().map(|given| text("job_id", given)).transpose()?;
        Ok((job_id, prompt.as_ref().map(|given| encoded("prompt", given)).transpose()?))
    };
    let (job_id, prompt) = read().map_err(|refused| refused.raised(py, delivers))?;
    let (watcher, options) = Call::default().watched(py, caller, delivers)?;
    let core = caller.core();
    let job = match (&job_id, &prompt) {
        (Some(job_id), Some(prompt)) => {
            blocking(py, &watcher, true, || core.send_message_with(job_id, prompt, &options))
        }
        (None, Some(prompt)) => creating(py, caller, (&watcher, &options), prompt),
        (job_id, None) => {
            blocking(py, &watcher, false, || core.get_job_with(job_id.as_deref().unwrap_or_default(), &options))
        }
    };
    let job = job?;
    handed_over(py, Ok(PyString::new(py, job.to_json())), delivers).inspect_err(|raised| {
        if delivers && job_id.is_none() {
            note_new_job(py, caller, &options, raised, &job);
        }
    })
}

fn request<'py>(
    py: Python<'py>,
    caller: &Caller,
    keywords: Keywords<'py>,
    delivers: bool,
    make: impl FnOnce(&Client, &CallOptions) -> Result<Job, Error> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let (watcher, options) = prepared(py, caller, keywords, delivers)?;
    let job = blocking(py, &watcher, delivers, || make(caller.core(), &options))?;
    returned(py, &job, delivers)
}

/// What a call needs in addition to its arguments.
fn prepared(py: Python<'_>, caller: &Caller, keywords: Keywords<'_>, delivers: bool) -> PyResult<Watched> {
    let call = keywords.read(py, delivers, |keywords| {
        let mut call = Call::read(keywords)?;
        set! { call.options, keywords.optional: timeout = seconds; headers = headers; }
        Ok(call)
    })?;
    call.watched(py, caller, delivers)
}

/// The record that a call returns. `delivers`: the call delivered a message, so an error here must say that.
pub(crate) fn returned<'py>(py: Python<'py>, job: &Job, delivers: bool) -> PyResult<Bound<'py, PyDict>> {
    handed_over(py, convert::job(py, job), delivers)
}

/// What was made of a record for Python. A long one takes its time, and a signal that came meanwhile is handled here, where the verdict is
/// known.
fn handed_over<T>(py: Python<'_>, made: PyResult<T>, delivers: bool) -> PyResult<T> {
    made.and_then(|made| py.check_signals().map(|()| made)).inspect_err(|raised| {
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
