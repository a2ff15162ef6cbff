//! Waits that a program holds in its hands: `Watch`, an iterator, and `Poller`, a wait in steps.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use agentjob_core as core;
use agentjob_core::WaitOptions;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Given, Number, Refused};
use crate::calls::{call_options, message};
use crate::cancel::CancelToken;
use crate::client::Client;
use crate::convert;
use crate::signals::{Detached, Watcher, blocking, guarded};

/// The options that every wait has, as they were given.
pub(crate) struct Schedule {
    pub(crate) timeout: Option<Number>,
    pub(crate) min_interval: Number,
    pub(crate) max_interval: Number,
    pub(crate) lateness: Number,
    pub(crate) settle: Number,
}

impl Schedule {
    pub(crate) fn options(&self) -> Result<WaitOptions, Refused> {
        Ok(WaitOptions::new()
            .timeout(self.timeout.as_ref().map(|timeout| timeout.seconds("timeout")).transpose()?)
            .min_interval(self.min_interval.seconds("min_interval")?)
            .max_interval(self.max_interval.seconds("max_interval")?)
            .lateness(self.lateness.number("lateness")?)
            .settle(self.settle.seconds_or_none("settle")?))
    }
}

/// Takes hold of a wait for one step. Two threads never step it at once, nor a callback from within a step: waiting for
/// the other would block with the GIL held.
pub(crate) fn hold<'a, T>(wait: &'a Mutex<T>, name: &str) -> PyResult<MutexGuard<'a, T>> {
    match wait.try_lock() {
        Ok(held) => Ok(held),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(format!("this {name} is at work already"))),
    }
}

/// The records of a job as they change; see Client.watch.
#[pyclass(frozen, module = "agentjob")]
pub(crate) struct Watch {
    core: Detached<Mutex<core::Watch>>,
    watcher: Arc<Watcher>,
}

impl Watch {
    pub(crate) fn new(core: core::Watch, watcher: Arc<Watcher>) -> Watch {
        Watch { core: Detached::new(Mutex::new(core)), watcher }
    }
}

#[pymethods]
impl Watch {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            let mut watch = hold(&self.core, "watch")?;
            let watch = &mut *watch;
            let job = blocking(py, &self.watcher, false, || watch.next().transpose())?;
            job.map(|job| convert::job(py, &job)).transpose()
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.watcher.traverse(visit)
    }
}

/// A wait in steps; see Client.poller.
#[pyclass(frozen, module = "agentjob")]
pub(crate) struct Poller {
    client: Py<Client>,
    /// Held while it looks.
    looking: Mutex<()>,
    core: Mutex<core::Poller>,
}

impl Poller {
    pub(crate) fn new(client: Py<Client>, core: core::Poller) -> Poller {
        Poller { client, looking: Mutex::default(), core: Mutex::new(core) }
    }

    /// Where it stands. Held for a moment only, never while anything blocks or runs Python.
    fn stand(&self) -> MutexGuard<'_, core::Poller> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Client.send_message, and the wait for its result in steps: what agentjob.aio and the command line stand on.
#[pyfunction]
#[pyo3(signature = (client, job_id, prompt, *, timeout=Some(Given::Right(1800.0)), min_interval=Given::Right(2.0),
    max_interval=Given::Right(60.0), lateness=Given::Right(0.15), settle=Given::Right(10.0), cancel=None),
    text_signature = "(client, job_id, prompt, *, timeout=1800.0, min_interval=2.0, max_interval=60.0, lateness=0.15, \
    settle=10.0, cancel=None)")]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub(crate) fn send_and_poll(
    py: Python<'_>,
    client: &Bound<'_, Client>,
    job_id: &Bound<'_, PyAny>,
    prompt: &Bound<'_, PyAny>,
    timeout: Option<Number>,
    min_interval: Number,
    max_interval: Number,
    lateness: Number,
    settle: Number,
    cancel: Option<Bound<'_, PyAny>>,
) -> PyResult<Poller> {
    guarded(py, || {
        let core = client.get().core();
        let watcher = client.get().watcher(py, None, true)?;
        let read = || -> Result<_, Refused> {
            let options = Schedule { timeout, min_interval, max_interval, lateness, settle }.options()?;
            Ok((message(job_id, prompt)?, options.call(call_options(&watcher, None, cancel)?)))
        };
        let ((job_id, prompt), options) = read().map_err(|refused| refused.raised(py, true))?;
        let poller = blocking(py, &watcher, true, || core.send_and_poll(&job_id, &prompt, &options))?;
        Ok(Poller::new(client.clone().unbind(), poller))
    })
}

#[pymethods]
impl Poller {
    /// Looks at the job once, now. Returns its last record when the job is done, None when it is not.
    ///
    /// timeout: total seconds of this look instead of the client's. cancel: a CancelToken that can end it. A look that fails
    /// for a passing reason is counted and returns None. Raises WaitTimeoutError once the wait's time is over.
    #[pyo3(signature = (*, timeout=None, cancel=None))]
    fn poll<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<Number>,
        cancel: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            let client = self.client.get();
            let watcher = client.watcher(py, None, false)?;
            let call = call_options(&watcher, timeout, cancel).map_err(|refused| refused.raised(py, false))?;
            let _alone = hold(&self.looking, "poller")?;
            // A copy looks, so that others can read where the wait stands meanwhile.
            let mut poller = self.stand().clone();
            let looked = blocking(py, &watcher, false, || poller.poll(client.core(), &call));
            *self.stand() = poller;
            looked?.map(|job| convert::job(py, &job)).transpose()
        })
    }

    /// A token for the next look, whose time begins now and is over with the wait's at the latest; see call_token.
    fn _call_token(&self) -> CancelToken {
        let timeout = self.client.get().core().timeout();
        CancelToken::of_call(self.stand().time_left().map_or(timeout, |left| timeout.min(left)))
    }

    /// The job that is waited for.
    #[getter]
    fn job_id(&self) -> String {
        self.stand().job_id().to_owned()
    }

    /// Seconds until the next look is due; 0 when it is due now or the job is done.
    #[getter]
    fn due_in(&self) -> f64 {
        self.stand().due_in().as_secs_f64()
    }

    /// The last record that was seen by this poller, or None.
    #[getter]
    fn job<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let job = self.stand().job().cloned();
        job.map(|job| convert::job(py, &job)).transpose()
    }

    /// Whether the job is done.
    #[getter]
    fn done(&self) -> bool {
        self.stand().is_done()
    }

    /// Whether the last look showed a record that differs from the one before it.
    #[getter]
    fn changed(&self) -> bool {
        self.stand().changed()
    }

    /// How many looks were made.
    #[getter]
    fn polls(&self) -> u32 {
        self.stand().polls()
    }

    /// Seconds that the wait has lasted, over all processes.
    #[getter]
    fn elapsed(&self) -> f64 {
        self.stand().elapsed().as_secs_f64()
    }

    /// Where the wait stands, as a short text for Client.resume. It holds no secret.
    fn to_text(&self) -> String {
        self.stand().to_string()
    }

    fn __str__(&self) -> String {
        self.to_text()
    }

    fn __repr__(&self) -> String {
        let poller = self.stand();
        format!("<Poller of {:?}: {} polls, done={}>", poller.job_id(), poller.polls(), poller.is_done())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.client)
    }
}
