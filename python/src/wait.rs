//! The waits that block to their end, and `Watch`, an iterator.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use agentjob_core as core;
use agentjob_core::{Error, JobStatus, WaitOptions};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Argument, callback, headers, text};
use crate::caller::Caller;
use crate::detached::Detached;
use crate::in_use::claim;
use crate::keywords::{Keywords, set};
use crate::options::{Call, wait_options};
use crate::panic::guarded;
use crate::request::{message, returned};
use crate::signals::blocking;
use crate::watcher::Watcher;
use crate::{convert, errors};

pub(crate) fn wait<'py>(
    caller: &Caller,
    job_id: Argument<'_, 'py>,
    keywords: Keywords<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let job_id = text("job_id", job_id).map_err(|refused| refused.raised(py, false))?;
    to_the_end(py, caller, keywords, false, |core, options| core.wait(&job_id, options))
}

pub(crate) fn send_and_wait<'py>(
    caller: &Caller,
    (job_id, prompt): (Argument<'_, 'py>, Argument<'_, 'py>),
    keywords: Keywords<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = job_id.py();
    let (job_id, prompt) = message(job_id, prompt).map_err(|refused| refused.raised(py, true))?;
    to_the_end(py, caller, keywords, true, |core, options| core.send_and_wait(&job_id, &prompt, options))
}

/// The wait for the result of a step, from its stored text, if there is one. Returns the last record, and what is stored of it.
pub(crate) fn wait_step<'py>(
    py: Python<'py>,
    caller: &Caller,
    (job_id, stored): (&str, Option<&str>),
    keywords: Keywords<'py>,
) -> PyResult<(Bound<'py, PyDict>, Option<String>)> {
    let mut record = None;
    let job = to_the_end(py, caller, keywords, false, |core, options| {
        let mut poller = core.resume_step(job_id, stored, options)?;
        let job = core.follow(&mut poller, options)?;
        record = core.stored_wait(&poller, options.each_call()).record;
        Ok(job)
    })?;
    Ok((job, record))
}

fn to_the_end<'py>(
    py: Python<'py>,
    caller: &Caller,
    keywords: Keywords<'py>,
    delivers: bool,
    wait: impl FnOnce(&core::Client, &WaitOptions) -> Result<core::Job, Error> + Send,
) -> PyResult<Bound<'py, PyDict>> {
    let (options, call, check) = keywords.read(py, delivers, |keywords| {
        let options = wait_options(keywords)?;
        let mut call = Call::read(keywords)?;
        set! { call.options, keywords.optional: headers = headers; }
        call.callbacks.on_update = callback("on_update", keywords.optional("on_update"))?;
        Ok((options, call, keywords.flag("check")?))
    })?;
    let (watcher, call) = call.watched(py, caller, delivers)?;
    let options = options.call(call);
    let job = blocking(py, &watcher, delivers, || wait(caller.core(), &options))?;
    if check && *job.status() == JobStatus::Failed {
        return Err(errors::failed(py, &job, delivers));
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
    pub(crate) fn new(caller: &Caller, job_id: Argument<'_, '_>, keywords: Keywords<'_>) -> PyResult<Watch> {
        let py = job_id.py();
        let (job_id, options, call) = keywords.read(py, false, |keywords| {
            let options = wait_options(keywords)?;
            let mut call = Call::read(keywords)?;
            set! { call.options, keywords.optional: headers = headers; }
            Ok((text("job_id", job_id)?, options, call))
        })?;
        let (watcher, call) = call.watched(py, caller, false)?;
        let core = caller.core().watch(&job_id, &options.call(call));
        let core = core.map_err(|error| errors::raised(py, &error))?;
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
