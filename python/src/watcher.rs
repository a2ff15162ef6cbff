//! What a call of the core runs in Python, on the calling thread: signal handlers, callbacks and the logger.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentjob_core::{BatchProgress, BatchUpdate, Control, Delivery, Event, Interrupted, Job};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::batch::records;
use crate::convert;
use crate::errors::add_note;
use crate::logging::Log;
use crate::main_thread::runs_signal_handlers;

/// Calls a program's callbacks, and its signal handlers. An exception from one of them ends the call: it is kept here, and raised
/// instead of the call's own result.
#[derive(Default)]
pub(crate) struct Watcher {
    on_event: Option<Py<PyAny>>,
    on_update: Option<Py<PyAny>>,
    log: Option<Log>,
    raised: Mutex<Option<PyErr>>,
}

impl Watcher {
    /// `delivers`: the call is to deliver a message.
    pub(crate) fn new(
        py: Python<'_>,
        on_event: Option<Py<PyAny>>,
        on_update: Option<Py<PyAny>>,
        delivers: bool,
    ) -> PyResult<Arc<Watcher>> {
        let log = Log::wanted(py).inspect_err(|raised| {
            if delivers {
                add_note(raised.value(py), Delivery::NotSent);
            }
        })?;
        Ok(Arc::new(Watcher { on_event, on_update, log, raised: Mutex::default() }))
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        [&self.on_event, &self.on_update].into_iter().flatten().try_for_each(|call| visit.call(call))
    }

    /// The exception that ended the call, if one did.
    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.raised().take()
    }

    /// Reports a batch's update to `on_update` and to the logger.
    pub(crate) fn batch(&self, update: &BatchUpdate, progress: &BatchProgress) -> Result<(), Interrupted> {
        if self.on_update.is_none() && (self.log.is_none() || records::sentence(update).is_none()) {
            return Ok(());
        }
        self.run(|py| {
            let record = records::update(py, update, progress)?;
            self.log_update(py, update, &record)?;
            self.on_update.as_ref().map_or(Ok(()), |on_update| on_update.call1(py, (record,)).map(drop))
        })
    }

    /// Reports a batch's update to the logger alone.
    pub(crate) fn log_update(&self, py: Python<'_>, update: &BatchUpdate, record: &Bound<'_, PyDict>) -> PyResult<()> {
        match (&self.log, records::sentence(update)) {
            (Some(log), Some(sentence)) => log.info(py, sentence, record),
            _ => Ok(()),
        }
    }

    /// Runs Python. An interpreter that shuts down runs no more Python, and ends the call.
    fn run(&self, call: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<(), Interrupted> {
        match Python::try_attach(call) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                self.raised().get_or_insert(error);
                Err(Interrupted)
            }
            None => Err(Interrupted),
        }
    }

    fn raised(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control for Watcher {
    fn check(&self) -> Result<(), Interrupted> {
        if runs_signal_handlers() { self.run(|py| py.check_signals()) } else { Ok(()) }
    }

    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        let log = self.log.as_ref().filter(|log| log.takes(event));
        if log.is_none() && self.on_event.is_none() {
            return Ok(());
        }
        self.run(|py| {
            let record = convert::event(py, event)?;
            log.map_or(Ok(()), |log| log.write(py, event, &record))?;
            self.on_event.as_ref().map_or(Ok(()), |on_event| on_event.call1(py, (record,)).map(drop))
        })
    }

    fn update(&self, job: &Job) -> Result<(), Interrupted> {
        let Some(on_update) = &self.on_update else { return Ok(()) };
        self.run(|py| on_update.call1(py, (convert::job(py, job)?,)).map(drop))
    }
}
