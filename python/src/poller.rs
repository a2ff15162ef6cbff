//! `agentjob.Poller`: a wait whose loop the program runs, one poll at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentjob_core as core;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Argument, Number, Refused, text};
use crate::caller::Caller;
use crate::cancel_token::CancelToken;
use crate::convert;
use crate::in_use::claim;
use crate::options::{WaitSchedule, call_options};
use crate::panic::guarded;
use crate::request::message;
use crate::signals::blocking;

/// A wait whose loop the program runs; see Client.poller.
#[pyclass(frozen, module = "agentjob")]
pub(crate) struct Poller {
    caller: Caller,
    /// Held during a poll.
    polling: Mutex<()>,
    core: Mutex<core::Poller>,
}

impl Poller {
    fn new(py: Python<'_>, caller: &Caller, core: core::Poller) -> Poller {
        Poller { caller: caller.share(py), polling: Mutex::default(), core: Mutex::new(core) }
    }

    pub(crate) fn of_job(caller: &Caller, job_id: Argument<'_, '_>, schedule: &WaitSchedule) -> PyResult<Poller> {
        let make = || -> Result<_, Refused> {
            let options = schedule.options()?;
            Ok(caller.core().poller(&text("job_id", job_id)?, &options)?)
        };
        let poller = make().map_err(|refused| refused.raised(job_id.py(), false))?;
        Ok(Poller::new(job_id.py(), caller, poller))
    }

    pub(crate) fn of_text(caller: &Caller, given: Argument<'_, '_>) -> PyResult<Poller> {
        let make = || -> Result<core::Poller, Refused> { Ok(text("text", given)?.parse()?) };
        let poller = make().map_err(|refused| refused.raised(given.py(), false))?;
        Ok(Poller::new(given.py(), caller, poller))
    }

    /// Sends a message, and returns the wait for its result.
    pub(crate) fn of_message(
        caller: &Caller,
        (job_id, prompt): (Argument<'_, '_>, Argument<'_, '_>),
        schedule: &WaitSchedule,
        cancel: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Poller> {
        let py = job_id.py();
        let watcher = caller.watcher(py, None, true)?;
        let read = || -> Result<_, Refused> {
            let options = schedule.options()?;
            Ok((message(job_id, prompt)?, options.call(call_options(&watcher, None, cancel)?)))
        };
        let ((job_id, prompt), options) = read().map_err(|refused| refused.raised(py, true))?;
        let poller = blocking(py, &watcher, true, || caller.core().send_and_poll(&job_id, &prompt, &options))?;
        Ok(Poller::new(py, caller, poller))
    }

    /// The wait's state. Locked for a moment only, never while anything blocks or runs Python.
    fn state(&self) -> MutexGuard<'_, core::Poller> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Poller {
    /// Polls the job once, now. Returns its last record when the job is done, None when it is not.
    ///
    /// timeout: total seconds of this poll instead of the client's. cancel: a CancelToken that can end it. A poll that fails
    /// for a transient reason is counted and returns None. Raises WaitTimeoutError once the wait has timed out.
    #[pyo3(signature = (*, timeout=None, cancel=None))]
    fn poll<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<Number>,
        cancel: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            let watcher = self.caller.watcher(py, None, false)?;
            let call = call_options(&watcher, timeout, cancel).map_err(|refused| refused.raised(py, false))?;
            let _alone = claim(&self.polling, "poller")?;
            // A copy polls, so other threads can read the state meanwhile.
            let mut poller = self.state().clone();
            let polled = blocking(py, &watcher, false, || poller.poll(self.caller.core(), &call));
            *self.state() = poller;
            polled?.map(|job| convert::job(py, &job)).transpose()
        })
    }

    /// A token for the next poll, whose time starts now and ends with the wait's at the latest; see Client._call_token.
    fn _call_token(&self) -> CancelToken {
        let timeout = self.caller.core().timeout();
        CancelToken::of_call(self.state().time_left().map_or(timeout, |left| timeout.min(left)))
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
