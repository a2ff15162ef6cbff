//! The waits that block to their end, and `Watch`, an iterator.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use agentjob_core as core;
use agentjob_core::{Error, JobStatus, WaitOptions};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Argument, Refused, callback, text};
use crate::caller::Caller;
use crate::detached::Detached;
use crate::in_use::claim;
use crate::options::{WaitSchedule, WaitSettings, call_options};
use crate::panic::guarded;
use crate::request::{message, returned};
use crate::signals::blocking;
use crate::watcher::{Callbacks, Watcher};
use crate::{convert, errors};

pub(crate) fn wait<'py>(
    caller: &Caller,
    job_id: Argument<'_, 'py>,
    settings: WaitSettings<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let job_id = text("job_id", job_id).map_err(|refused| refused.raised(py, false))?;
    to_the_end(py, caller, settings, false, |core, options| core.wait(&job_id, options))
}

pub(crate) fn send_and_wait<'py>(
    caller: &Caller,
    (job_id, prompt): (Argument<'_, 'py>, Argument<'_, 'py>),
    settings: WaitSettings<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let (job_id, prompt) = message(job_id, prompt).map_err(|refused| refused.raised(py, true))?;
    to_the_end(py, caller, settings, true, |core, options| core.send_and_wait(&job_id, &prompt, options))
}

fn to_the_end<'py>(
    py: Python<'py>,
    caller: &Caller,
    settings: WaitSettings<'py>,
    delivers: bool,
    wait: impl FnOnce(&core::Client, &WaitOptions) -> Result<core::Job, Error> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let refused = |refused: Refused| refused.raised(py, delivers);
    let on_update = callback("on_update", settings.on_update).map_err(refused)?;
    let callbacks = Callbacks { on_update, ..Callbacks::meta(settings.meta).map_err(refused)? };
    let watcher = caller.watcher(py, callbacks, delivers)?;
    let read = || -> Result<_, Refused> {
        let options =
            settings.schedule.options()?.call(call_options(&watcher, None, settings.cancel, settings.headers)?);
        Ok((options, settings.check.flag("check")?))
    };
    let (options, check) = read().map_err(refused)?;
    let job = blocking(py, &watcher, delivers, || wait(caller.core(), &options))?;
    if check && *job.status() == JobStatus::Failed {
        return Err(errors::job_failed(py, &job, delivers));
    }
    returned(py, &job, delivers)
}

/// The records of a job as they change; see Client.watch. Leaving its with statement ends it.
#[pyclass(frozen, weakref, module = "agentjob")]
pub(crate) struct Watch {
    core: Detached<Mutex<core::Watch>>,
    watcher: Arc<Watcher>,
    companion: Option<Py<PyAny>>,
    closed: AtomicBool,
}

impl Watch {
    pub(crate) fn new(
        caller: &Caller,
        job_id: Argument<'_, '_>,
        schedule: &WaitSchedule,
        meta: Option<Bound<'_, PyAny>>,
        cancel: Option<Bound<'_, PyAny>>,
        headers: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Watch> {
        let py = job_id.py();
        let callbacks = Callbacks::meta(meta).map_err(|refused| refused.raised(py, false))?;
        let watcher = caller.watcher(py, callbacks, false)?;
        let make = || -> Result<_, Refused> {
            let options = schedule.options()?.call(call_options(&watcher, None, cancel, headers)?);
            Ok(caller.core().watch(&text("job_id", job_id)?, &options)?)
        };
        let core = make().map_err(|refused| refused.raised(py, false))?;
        Ok(Watch {
            core: Detached::new(Mutex::new(core)),
            watcher,
            companion: caller.companion(py),
            closed: AtomicBool::new(false),
        })
    }
}

#[pymethods]
impl Watch {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            if self.closed.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let mut watch = claim(&self.core, "watch")?;
            let watch = &mut *watch;
            let job = blocking(py, &self.watcher, false, || watch.next().transpose())?;
            job.map(|job| convert::job(py, &job)).transpose()
        })
    }

    /// Ends the watch: it returns no more records. It does not end a call of next() in another thread; a cancel token does.
    fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.companion.as_ref().map_or(Ok(()), |companion| visit.call(companion))?;
        self.watcher.traverse(visit)
    }
}
