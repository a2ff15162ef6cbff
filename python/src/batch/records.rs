//! A batch's outcomes, updates, progress and status as dicts.

use std::time::Duration;

use agentjob_core::{
    BatchDecision, BatchOutcome, BatchProgress, BatchStatus, BatchStatusItem, BatchUpdate, Error, Job, PauseReason,
};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::{convert, errors};

type Dict<'py> = PyResult<Bound<'py, PyDict>>;

/// `types.BatchOutcome`.
pub(crate) fn outcome<'py>(py: Python<'py>, outcome: &BatchOutcome) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "item"), outcome.number())?;
    dict.set_item(intern!(py, "line"), outcome.line())?;
    dict.set_item(intern!(py, "key"), outcome.key())?;
    dict.set_item(intern!(py, "job_id"), outcome.job_id())?;
    dict.set_item(intern!(py, "delivery"), outcome.delivery().as_str())?;
    dict.set_item(intern!(py, "job"), job(py, outcome.job())?)?;
    let error = outcome.error().map(|error| {
        let verdict = error.delivery().or(Some(outcome.delivery()));
        errors::raised_with(py, error, verdict).into_value(py)
    });
    dict.set_item(intern!(py, "error"), error)?;
    dict.set_item(intern!(py, "earlier"), outcome.is_earlier())?;
    dict.set_item(intern!(py, "extra"), outcome.extra().map(|json| convert::json(py, json)).transpose()?)?;
    Ok(dict)
}

/// `types.BatchUpdate`.
pub(crate) fn update<'py>(py: Python<'py>, update: &BatchUpdate, progress: &BatchProgress) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "event"), update.name())?;
    match update {
        BatchUpdate::Accepted { number, job_id, job } => {
            dict.set_item(intern!(py, "item"), number)?;
            dict.set_item(intern!(py, "job_id"), &**job_id)?;
            dict.set_item(intern!(py, "job"), self::job(py, job.as_ref())?)?;
        }
        BatchUpdate::Job { number, job_id, job } => {
            dict.set_item(intern!(py, "item"), number)?;
            dict.set_item(intern!(py, "job_id"), &**job_id)?;
            dict.set_item(intern!(py, "job"), convert::job(py, job)?)?;
        }
        BatchUpdate::Busy { number, job_id, error } => {
            dict.set_item(intern!(py, "item"), number)?;
            dict.set_item(intern!(py, "job_id"), &**job_id)?;
            dict.set_item(intern!(py, "error"), raised(py, error))?;
        }
        BatchUpdate::Paused { reason, pause, error } => {
            dict.set_item(intern!(py, "reason"), reason.as_str())?;
            dict.set_item(intern!(py, "pause"), pause.as_secs_f64())?;
            dict.set_item(intern!(py, "error"), error.as_ref().map(|error| raised(py, error)))?;
        }
        BatchUpdate::Repeated { count, number, line, first_number, first_line } => {
            dict.set_item(intern!(py, "count"), count)?;
            dict.set_item(intern!(py, "item"), number)?;
            dict.set_item(intern!(py, "line"), line)?;
            dict.set_item(intern!(py, "first_item"), first_number)?;
            dict.set_item(intern!(py, "first_line"), first_line)?;
        }
        BatchUpdate::Recovered { dropped_bytes, journal_line, unknown } => {
            dict.set_item(intern!(py, "dropped_bytes"), dropped_bytes)?;
            dict.set_item(intern!(py, "journal_line"), journal_line)?;
            dict.set_item(intern!(py, "unknown"), unknown)?;
        }
        _ => {}
    }
    dict.set_item(intern!(py, "progress"), self::progress(py, progress)?)?;
    Ok(dict)
}

/// `types.BatchProgress`.
pub(crate) fn progress<'py>(py: Python<'py>, progress: &BatchProgress) -> Dict<'py> {
    let dict = PyDict::new(py);
    for (name, count) in [
        (intern!(py, "items"), progress.items),
        (intern!(py, "accepted"), progress.accepted),
        (intern!(py, "rejected"), progress.rejected),
        (intern!(py, "unknown"), progress.unknown),
        (intern!(py, "left"), progress.left),
        (intern!(py, "sending"), progress.sending),
        (intern!(py, "waiting"), progress.waiting),
        (intern!(py, "busy"), progress.busy),
        (intern!(py, "done"), progress.done),
        (intern!(py, "failed"), progress.failed),
        (intern!(py, "dropped"), progress.dropped),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item(intern!(py, "pause"), progress.pause.map(|pause| self::pause(py, pause)).transpose()?)?;
    dict.set_item(intern!(py, "finishes_in"), progress.finishes_in.map(|time| time.as_secs_f64()))?;
    Ok(dict)
}

fn pause(py: Python<'_>, (reason, time): (PauseReason, Duration)) -> Dict<'_> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "reason"), reason.as_str())?;
    dict.set_item(intern!(py, "seconds"), time.as_secs_f64())?;
    Ok(dict)
}

/// `types.BatchStatus`.
pub(crate) fn status<'py>(py: Python<'py>, status: &BatchStatus) -> Dict<'py> {
    let dict = PyDict::new(py);
    dict.set_item(intern!(py, "progress"), progress(py, &status.progress)?)?;
    dict.set_item(intern!(py, "running"), status.running)?;
    dict.set_item(intern!(py, "pid"), status.pid)?;
    dict.set_item(intern!(py, "runs"), status.runs)?;
    dict.set_item(intern!(py, "base_url"), &status.base_url)?;
    dict.set_item(intern!(py, "project_id"), &status.project_id)?;
    dict.set_item(intern!(py, "rate"), &status.rate)?;
    dict.set_item(intern!(py, "waits"), status.waits)?;
    dict.set_item(intern!(py, "began_at"), &status.began_at)?;
    dict.set_item(intern!(py, "written_at"), &status.written_at)?;
    dict.set_item(intern!(py, "dropped_bytes"), status.dropped_bytes)?;
    dict.set_item(intern!(py, "unknown"), status_items(py, &status.unknown)?)?;
    dict.set_item(intern!(py, "rejected"), status_items(py, &status.rejected)?)?;
    dict.set_item(intern!(py, "failed"), status_items(py, &status.failed)?)?;
    dict.set_item(intern!(py, "decisions"), decisions(py, &status.decisions)?)?;
    dict.set_item(intern!(py, "new_prompts"), status.new_prompts)?;
    Ok(dict)
}

fn status_items<'py>(py: Python<'py>, items: &[BatchStatusItem]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "item"), item.number)?;
        dict.set_item(intern!(py, "key"), &item.key)?;
        dict.set_item(intern!(py, "job_id"), &item.job_id)?;
        dict.set_item(intern!(py, "reason"), &item.reason)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// `types.BatchDecision`s.
pub(crate) fn decisions<'py>(py: Python<'py>, made: &[BatchDecision]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for made in made {
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "item"), made.number)?;
        dict.set_item(intern!(py, "key"), &made.key)?;
        dict.set_item(intern!(py, "job_id"), &made.job_id)?;
        dict.set_item(intern!(py, "decision"), made.decision.as_str())?;
        dict.set_item(intern!(py, "at"), &made.at)?;
        list.append(dict)?;
    }
    Ok(list)
}

fn job<'py>(py: Python<'py>, job: Option<&Job>) -> PyResult<Option<Bound<'py, PyDict>>> {
    job.map(|job| convert::job(py, job)).transpose()
}

fn raised<'py>(py: Python<'py>, error: &Error) -> Bound<'py, PyAny> {
    errors::raised(py, error).into_value(py).into_bound(py).into_any()
}

/// The log message for an update. Changes of jobs' records are not logged.
pub(crate) fn sentence(update: &BatchUpdate) -> Option<String> {
    match update {
        BatchUpdate::Busy { error, .. } => Some(format!("batch: waits for a busy job: {}", error.unquoted_reason())),
        BatchUpdate::Paused { reason, pause, error } => {
            let why = error.as_ref().map_or("it began in an earlier run", Error::unquoted_reason);
            Some(format!("batch: paused for {pause:.1?} ({}): {why}", reason.as_str()))
        }
        BatchUpdate::Resumed => Some("batch: resumed".to_owned()),
        BatchUpdate::Recovered { dropped_bytes, journal_line, unknown } => Some(format!(
            "batch: line {journal_line} of the journal was cut off: {dropped_bytes} bytes skipped, {unknown} messages may have been sent"
        )),
        _ => None,
    }
}

/// The warning about messages that the list has twice.
pub(crate) fn repeated(update: &BatchUpdate) -> String {
    let BatchUpdate::Repeated { count, number, first_number, .. } = update else { return String::new() };
    let which = format!("item {number} repeats item {first_number}, with the same job and the same prompt");
    let others = match count - 1 {
        0 => String::new(),
        1 => ", as does 1 other".to_owned(),
        others => format!(", as do {others} others"),
    };
    format!("batch: {which}{others}; each of them is sent")
}
