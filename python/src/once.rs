//! What `agentjob.once` needs of the core: how a step's message is identified, what a store keeps of its outcome, and what a later call
//! returns. The stores themselves are in the package.

use std::path::Path;
use std::time::Duration;

use agentjob_core as core;
use agentjob_core::{CallOptions, Delivery, ErrorKind, Headers, Rate, Resolution, uptime};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::{self, Refused, callback, encoded, text};
use crate::batch::begin::batch_options;
use crate::batch::items;
use crate::client::Client;
use crate::keywords::Keywords;
use crate::panic::guarded;
use crate::poller::{Poller, SentStep};
use crate::{convert, errors, wait};

/// Checks a step's arguments, and returns the digest of its message.
#[pyfunction]
#[pyo3(signature = (client, key, job_id, prompt, meta=None, headers=None))]
pub(crate) fn step_message<'py>(
    client: &Bound<'_, Client>,
    key: &Bound<'py, PyAny>,
    job_id: &Bound<'py, PyAny>,
    prompt: &Bound<'py, PyAny>,
    meta: Option<Bound<'py, PyAny>>,
    headers: Option<Bound<'py, PyAny>>,
) -> PyResult<String> {
    guarded(key.py(), || {
        let digest = || {
            let (key, job_id, prompt) = (text("key", key)?, text("job_id", job_id)?, encoded("prompt", prompt)?);
            callback("meta", meta)?;
            let headers = headers.map_or_else(|| Ok(Headers::new()), |given| arguments::headers("headers", &given))?;
            Ok(client.get().caller().core().step_message(&key, &job_id, &prompt, &headers)?)
        };
        digest().map_err(|refused: Refused| refused.raised(key.py(), true))
    })
}

/// Checks the messages of a list for `Once.send_all`, and its options. Returns of each the key, the job's id, the prompt, the line, the extra,
/// and the digest; and how long the shortest pause between two polls is.
#[pyfunction]
#[pyo3(signature = (client, items, headers=None, **keywords))]
pub(crate) fn step_list<'py>(
    client: &Bound<'py, Client>,
    items: &Bound<'py, PyAny>,
    headers: Option<&Bound<'py, PyAny>>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyList>, f64)> {
    let py = items.py();
    guarded(py, || {
        let core = client.get().caller().core();
        let (headers, pause) = Keywords::of("Once.send_all", keywords).read(py, false, |keywords| {
            let (options, wait) = batch_options(keywords, Path::new("no journal"))?;
            options.check()?;
            let headers = headers.map_or_else(|| Ok(Headers::new()), |given| arguments::headers("headers", given))?;
            Ok((headers, core.shortest_pause(&wait)?))
        })?;
        let items = items::read(items)?;
        let digests = py.detach(|| core.step_list(&items, &headers)).map_err(|error| errors::raised(py, &error))?;
        let list = PyList::empty(py);
        for (item, digest) in items.iter().zip(digests) {
            let extra = item.extra().map(|json| convert::json(py, json)).transpose()?;
            list.append((item.key(), item.job_id(), item.prompt(), item.line(), extra, digest))?;
        }
        Ok((list, pause.as_secs_f64()))
    })
}

/// Whether the exception that ended a poll would end each other poll, too; see `agentjob_core::ends_every_poll`.
#[pyfunction]
pub(crate) fn ends_every_poll(exception: &Bound<'_, PyAny>) -> bool {
    core::ends_every_poll(
        kind_of(exception).unwrap_or(ErrorKind::Internal),
        is_a_setting(exception),
        fact(exception, "http_status"),
    )
}

/// For how many seconds an engine waits before it runs a step again that raised this exception, and how many failures in a row there are then;
/// None if that doesn't help, or there are more than `most`.
#[pyfunction]
pub(crate) fn step_retry(exception: &Bound<'_, PyAny>, failures: u32, most: u32) -> Option<(f64, u32)> {
    let delivery = fact::<String>(exception, "delivery").map(|delivery| named(&delivery));
    let failure = match kind_of(exception) {
        Some(kind) => {
            let retry_after =
                fact(exception, "retry_after").and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            core::StepFailure::Call {
                kind,
                is_a_setting: is_a_setting(exception),
                http_status: fact(exception, "http_status"),
                delivery,
                retry_after,
            }
        }
        None => match fact::<String>(exception, "kind").as_deref() {
            Some("step_in_flight") => core::StepFailure::InFlight,
            Some("store") if !is_a_setting(exception) => core::StepFailure::Store(delivery),
            // Such as that of a job that failed.
            _ => return None,
        },
    };
    core::step_retry(failure, failures, most).map(|(pause, failures)| (pause.as_secs_f64(), failures))
}

/// The exception of a step that is held behind another one of its job; see `agentjob_core::step_held`.
#[pyfunction]
pub(crate) fn step_held<'py>(
    py: Python<'py>,
    key: &str,
    job_id: &str,
    behind: &str,
    is_unknown: bool,
    delivery: &str,
) -> Bound<'py, PyAny> {
    exception(py, &core::step_held(key, job_id, behind, is_unknown, named(delivery)))
}

/// The pace of a client's steps: the scope, how many messages, and in how many seconds.
#[pyfunction]
#[pyo3(signature = (client, rate=None))]
pub(crate) fn step_pace(
    client: &Bound<'_, Client>,
    rate: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, Option<u32>, Option<f64>)> {
    let rate = || rate.map(|rate| Ok(text("rate", rate)?.parse::<Rate>()?)).transpose();
    let rate = rate().map_err(|refused: Refused| refused.raised(client.py(), false))?;
    let pace = client.get().caller().core().step_pace(rate);
    Ok((pace.scope, pace.rate.map(|rate| rate.messages()), pace.rate.map(|rate| rate.per().as_secs_f64())))
}

/// For how many seconds a 429 pauses all workers.
#[pyfunction]
#[pyo3(signature = (retry_after=None))]
pub(crate) fn step_pause(retry_after: Option<f64>) -> f64 {
    core::step_pause(retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())).as_secs_f64()
}

/// Whether a call that got a 429 waits for the end of the pause and sends its message again; it has done so `retries` times.
#[pyfunction]
pub(crate) fn may_retry_after(client: &Bound<'_, Client>, pause: f64, retries: u32) -> bool {
    let pause = Duration::try_from_secs_f64(pause).unwrap_or(Duration::MAX);
    client.get().caller().core().may_retry_after(pause, retries)
}

/// The exception of a call that may not send its message before it must end; see `agentjob_core::step_throttled`.
#[pyfunction]
pub(crate) fn step_throttled<'py>(
    py: Python<'py>,
    key: &str,
    job_id: &str,
    is_pause: bool,
    retry_after: f64,
) -> Bound<'py, PyAny> {
    let retry_after = Duration::try_from_secs_f64(retry_after).unwrap_or_default();
    exception(py, &core::step_throttled(key, job_id, is_pause, retry_after))
}

/// Checks the key of a step.
#[pyfunction]
pub(crate) fn check_step_key(key: &Bound<'_, PyAny>) -> PyResult<()> {
    let check = || Ok(core::check_step_key(&text("key", key)?)?);
    check().map_err(|refused: Refused| refused.raised(key.py(), false))
}

/// Sends the message of a step, for which `cancel` is a token of `Client._call_token`. Before it returns or raises, it appends to `outcome`
/// the delivery, the wait for the result if it returns, and what a failure affects: no signal comes in between.
#[pyfunction]
#[pyo3(signature = (outcome, client, job_id, prompt, **keywords))]
pub(crate) fn send_step<'py>(
    outcome: &Bound<'py, PyList>,
    client: &Bound<'py, Client>,
    job_id: &Bound<'py, PyAny>,
    prompt: &Bound<'py, PyAny>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<()> {
    let mut step = SentStep::default();
    let keywords = Keywords::of("Once.send_message", keywords);
    let caller = client.get().caller();
    let sent = guarded(outcome.py(), || Poller::of_message(caller, (job_id, prompt), keywords, Some(&mut step)));
    let (poller, ended) = match sent.and_then(|poller| Bound::new(outcome.py(), poller)) {
        Ok(poller) => (Some(poller), Ok(())),
        Err(raised) => (None, Err(raised)),
    };
    outcome.append((step.delivery.as_str(), poller, step.scope))?;
    ended
}

/// What is stored of a wait: the record, None if it has none, and the wait itself.
#[pyfunction]
pub(crate) fn stored_wait(client: &Bound<'_, Client>, poller: &Bound<'_, Poller>) -> (Option<String>, String) {
    let poller = poller.get();
    let stored = client.get().caller().core().stored_wait(&poller.state(), &poller.call());
    (stored.record, stored.poller)
}

/// What is stored of the exception that ended a send, whose message had this delivery.
#[pyfunction]
#[pyo3(signature = (client, exception, delivery, headers=None))]
pub(crate) fn stored_failure(
    client: &Bound<'_, Client>,
    exception: &Bound<'_, PyAny>,
    delivery: &str,
    headers: Option<&Bound<'_, PyAny>>,
) -> String {
    let delivery = named(delivery);
    let (status, request_id) = (fact(exception, "http_status"), fact::<String>(exception, "request_id"));
    // Wrong headers were refused before.
    let headers = headers.and_then(|given| arguments::headers("headers", given).ok());
    let call = CallOptions::new().headers(headers.unwrap_or_default());
    let core = client.get().caller().core();
    core.stored_failure(
        delivery,
        kind_of(exception).unwrap_or(ErrorKind::Cancelled),
        (status, request_id.as_deref()),
        &call,
    )
}

/// The wait for a step's result, with `wait`'s options.
#[pyfunction]
#[pyo3(signature = (client, job_id, poller=None, **keywords))]
pub(crate) fn resume_step(
    client: &Bound<'_, Client>,
    job_id: &str,
    poller: Option<&str>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Poller> {
    guarded(client.py(), || {
        let keywords = Keywords::of("Once.wait", keywords);
        Poller::of_step(client.py(), client.get().caller(), (job_id, poller), keywords)
    })
}

/// Waits for a step's result, with `wait`'s options but `check`. Returns the last record, and what is stored of it.
#[pyfunction]
#[pyo3(signature = (client, job_id, poller=None, **keywords))]
pub(crate) fn wait_step<'py>(
    client: &Bound<'py, Client>,
    job_id: &str,
    poller: Option<&str>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyDict>, Option<String>)> {
    guarded(client.py(), || {
        let keywords = Keywords::of("Once.wait", keywords);
        wait::wait_step(client.py(), client.get().caller(), (job_id, poller), keywords)
    })
}

/// The record that a store has.
#[pyfunction]
pub(crate) fn stored_job<'py>(py: Python<'py>, record: &str) -> PyResult<Bound<'py, PyDict>> {
    convert::job(py, &core::stored_job(record).map_err(|error| errors::raised(py, &error))?)
}

/// The exception of a step whose message may have arrived; see `agentjob_core::step_error`.
#[pyfunction]
#[pyo3(signature = (key, job_id, failure, may_have_arrived))]
pub(crate) fn step_error<'py>(
    py: Python<'py>,
    key: &str,
    job_id: &str,
    failure: Option<&str>,
    may_have_arrived: bool,
) -> Bound<'py, PyAny> {
    exception(py, &core::step_error(key, job_id, failure, may_have_arrived))
}

/// The exception of a step whose key has another message.
#[pyfunction]
pub(crate) fn other_message<'py>(py: Python<'py>, key: &str, known_job_id: &str, job_id: &str) -> Bound<'py, PyAny> {
    exception(py, &core::other_message(key, known_job_id, job_id))
}

/// The exception of a call that waited for another worker's outcome; `kind`: timeout, cancelled or closed.
#[pyfunction]
pub(crate) fn step_in_flight<'py>(py: Python<'py>, key: &str, job_id: &str, kind: &str) -> Bound<'py, PyAny> {
    let kind = ErrorKind::ALL.into_iter().find(|known| known.as_str() == kind).unwrap_or(ErrorKind::Timeout);
    exception(py, &core::step_in_flight(key, job_id, kind))
}

/// The state that a decision makes of a step.
#[pyfunction]
pub(crate) fn resolved_step(py: Python<'_>, resolution: &Bound<'_, PyAny>) -> PyResult<&'static str> {
    let resolution = || Ok(text("resolution", resolution)?.parse::<Resolution>()?);
    resolution().map(core::resolved_step).map_err(|refused: Refused| refused.raised(py, false))
}

/// The exception of a step in a state that has no result.
#[pyfunction]
pub(crate) fn unwaitable_step<'py>(py: Python<'py>, key: &str, state: &str) -> Bound<'py, PyAny> {
    exception(py, &core::unwaitable_step(key, state))
}

/// The exception of a step in a state that can't be resolved.
#[pyfunction]
pub(crate) fn unresolvable_step<'py>(py: Python<'py>, key: &str, state: &str) -> Bound<'py, PyAny> {
    exception(py, &core::unresolvable_step(key, state))
}

/// What identifies this start of the machine, and how many seconds ago it was; None where the system does not say.
#[pyfunction]
pub(crate) fn machine_time() -> Option<(String, f64)> {
    Some((uptime::boot_id()?.into(), uptime::since_boot()?.as_secs_f64()))
}

fn fact<T: for<'a, 'py> FromPyObject<'a, 'py>>(exception: &Bound<'_, PyAny>, name: &str) -> Option<T> {
    exception.getattr(name).ok()?.extract().ok()
}

/// The kind of an error of the core; none of Ctrl-C, of an exception of the program's own, and of the kinds that only the package has.
fn kind_of(exception: &Bound<'_, PyAny>) -> Option<ErrorKind> {
    let kind = fact::<String>(exception, "kind")?;
    ErrorKind::ALL.into_iter().find(|known| known.as_str() == kind)
}

/// Whether a setting has to change before a call like the one that raised this can succeed.
fn is_a_setting(exception: &Bound<'_, PyAny>) -> bool {
    fact(exception, "_is_a_setting").unwrap_or(false)
}

fn named(delivery: &str) -> Delivery {
    Delivery::ALL.into_iter().find(|known| known.as_str() == delivery).unwrap_or(Delivery::Unknown)
}

fn exception<'py>(py: Python<'py>, error: &core::Error) -> Bound<'py, PyAny> {
    errors::raised(py, error).into_value(py).into_bound(py).into_any()
}
