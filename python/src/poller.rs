//! `agentjob.Poller`: a wait whose loop the program runs, one poll at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentjob_core as core;
use agentjob_core::{CallOptions, Delivery, Headers};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Argument, Refused, headers, seconds, text};
use crate::caller::Caller;
use crate::cancel_token::CancelToken;
use crate::convert;
use crate::in_use::claim;
use crate::keywords::{Keywords, set};
use crate::options::{Call, wait_options};
use crate::panic::guarded;
use crate::request::message;
use crate::signals::blocking;

/// A wait whose loop the program runs; see Client.poller.
#[pyclass(frozen, weakref, module = "agentjob")]
pub(crate) struct Poller {
    caller: Caller,
    /// Of each poll.
    headers: Headers,
    /// Held during a poll.
    polling: Mutex<()>,
    core: Mutex<core::Poller>,
}

/// How the sending of a step's message ended.
pub(crate) struct SentStep {
    pub(crate) delivery: Delivery,
    /// What its failure affects; see `agentjob_core::step_scope`.
    pub(crate) scope: &'static str,
}

impl Default for SentStep {
    fn default() -> SentStep {
        SentStep { delivery: Delivery::NotSent, scope: "batch" }
    }
}

impl Poller {
    fn new(py: Python<'_>, caller: &Caller, core: core::Poller, headers: Headers) -> Poller {
        Poller { caller: caller.share(py), headers, polling: Mutex::default(), core: Mutex::new(core) }
    }

    pub(crate) fn of_job(caller: &Caller, job_id: Argument<'_, '_>, keywords: Keywords<'_>) -> PyResult<Poller> {
        let (poller, headers) = keywords.read(job_id.py(), false, |keywords| {
            let options = wait_options(keywords)?;
            Ok((caller.core().poller(&text("job_id", job_id)?, &options)?, of_each_poll(keywords)?))
        })?;
        Ok(Poller::new(job_id.py(), caller, poller, headers))
    }

    pub(crate) fn of_text(caller: &Caller, given: Argument<'_, '_>, keywords: Keywords<'_>) -> PyResult<Poller> {
        let py = given.py();
        let read = |keywords: &mut Keywords<'_>| Ok((text("text", given)?.parse()?, of_each_poll(keywords)?));
        let (poller, headers) = keywords.read(py, false, read)?;
        Ok(Poller::new(py, caller, poller, headers))
    }

    /// The wait for the result of a step, from its stored text, if there is one.
    pub(crate) fn of_step(
        py: Python<'_>,
        caller: &Caller,
        (job_id, stored): (&str, Option<&str>),
        keywords: Keywords<'_>,
    ) -> PyResult<Poller> {
        let (poller, headers) = keywords.read(py, false, |keywords| {
            let options = wait_options(keywords)?;
            Ok((caller.core().resume_step(job_id, stored, &options)?, of_each_poll(keywords)?))
        })?;
        Ok(Poller::new(py, caller, poller, headers))
    }

    /// Sends a message, and returns the wait for its result. `step`: it is a step's, which leaves in the time of its call or not at all; it
    /// gets how that ended, whatever is raised, but for what is raised before the call begins.
    pub(crate) fn of_message(
        caller: &Caller,
        (job_id, prompt): (Argument<'_, '_>, Argument<'_, '_>),
        keywords: Keywords<'_>,
        step: Option<&mut SentStep>,
    ) -> PyResult<Poller> {
        let py = job_id.py();
        let ((job_id, prompt), options, call, headers) = keywords.read(py, true, |keywords| {
            let (options, call) = (wait_options(keywords)?, Call::read(keywords)?);
            Ok((message(job_id, prompt)?, options, call, of_each_poll(keywords)?))
        })?;
        let ends = call.ends;
        let (watcher, call) = call.watched(py, caller, true)?;
        let call = if step.is_some() { call.of_step(ends) } else { call };
        let options = options.call(call.headers(headers.clone()));
        let mut ignored = SentStep::default();
        let step = step.unwrap_or(&mut ignored);
        let poller = blocking(py, &watcher, true, || {
            // In case it panics.
            step.delivery = Delivery::Unknown;
            let sent = caller.core().send_and_poll(&job_id, &prompt, &options);
            match &sent {
                Ok(_) => *step = SentStep { delivery: Delivery::Accepted, scope: "item" },
                Err(error) => {
                    step.delivery = error.delivery().unwrap_or(step.delivery);
                    step.scope = core::step_scope(error);
                }
            }
            sent
        })?;
        Ok(Poller::new(py, caller, poller, headers))
    }

    /// The options of each poll.
    pub(crate) fn call(&self) -> CallOptions {
        CallOptions::new().headers(self.headers.clone())
    }

    /// The wait's state. Locked for a moment only, never while anything blocks or runs Python.
    pub(crate) fn state(&self) -> MutexGuard<'_, core::Poller> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Poller {
    /// Polls the job once, now. Returns its last record when the job is done, None when it is not.
    #[pyo3(signature = (**keywords))]
    fn poll<'py>(
        &self,
        py: Python<'py>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            let call = Keywords::of("Poller.poll", keywords).read(py, false, |keywords| {
                let mut call = Call::read(keywords)?;
                set! { call.options, keywords.optional: timeout = seconds; }
                Ok(call)
            })?;
            let (watcher, call) = call.watched(py, &self.caller, false)?;
            let call = call.headers(self.headers.clone());
            let _alone = claim(&self.polling, "poller")?;
            // A copy polls, so other threads can read the state meanwhile.
            let mut poller = self.state().clone();
            let polled = blocking(py, &watcher, false, || poller.poll(self.caller.core(), &call));
            *self.state() = poller;
            polled?.map(|job| convert::job(py, &job)).transpose()
        })
    }

    /// A token for the next poll, whose time starts now and ends with the wait's, if that is ahead; see Client._call_token.
    fn _call_token(&self) -> CancelToken {
        let timeout = self.caller.core().timeout();
        CancelToken::of_call(self.state().time_left().map_or(timeout, |left| timeout.min(left)), None)
    }

    /// The job that is waited for.
    #[getter]
    fn job_id(&self) -> String {
        self.state().job_id().to_owned()
    }

    /// Seconds until the next poll is due; 0 when it is due now or the job is done.
    #[getter]
    fn due_in(&self) -> f64 {
        self.state().due_in().as_secs_f64()
    }

    /// The last record that this poller read, or None.
    #[getter]
    fn job<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let job = self.state().job().cloned();
        job.map(|job| convert::job(py, &job)).transpose()
    }

    /// The last record as the service wrote it, for the command line.
    #[getter]
    fn _record_json(&self) -> Option<String> {
        self.state().job().map(|job| job.to_json().to_owned())
    }

    /// Whether the job is done.
    #[getter]
    fn done(&self) -> bool {
        self.state().is_done()
    }

    /// Whether the last poll read a record that differs from the one before it.
    #[getter]
    fn changed(&self) -> bool {
        self.state().changed()
    }

    /// How many polls the wait has made.
    #[getter]
    fn polls(&self) -> u32 {
        self.state().polls()
    }

    /// Seconds that the wait has lasted, over all processes.
    #[getter]
    fn elapsed(&self) -> f64 {
        self.state().elapsed().as_secs_f64()
    }

    /// The wait's state as a short text for Client.resume. It contains no secret.
    fn to_text(&self) -> String {
        self.state().to_string()
    }

    fn __str__(&self) -> String {
        self.to_text()
    }

    fn __repr__(&self) -> String {
        let poller = self.state();
        format!("<Poller of {:?}: {} polls, done={}>", poller.job_id(), poller.polls(), poller.is_done())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.caller.traverse(visit)
    }
}

/// The headers that were given.
fn of_each_poll(keywords: &mut Keywords<'_>) -> Result<Headers, Refused> {
    keywords.optional("headers").map_or_else(|| Ok(Headers::new()), |given| headers("headers", &given))
}
