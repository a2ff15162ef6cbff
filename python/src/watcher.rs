//! What a call of the core runs in Python, on the calling thread: signal handlers, callbacks and the logger.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentjob_core::{BatchProgress, BatchUpdate, Control, Delivery, Event, EventLevel, Interrupted, Job, ResponseMeta};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{PyTraverseError, PyVisit};

use crate::batch::records;
use crate::convert;
use crate::errors::add_note;
use crate::interpreter_end;
use crate::logging::{self, Log};
use crate::main_thread::{self, runs_signal_handlers};

/// Calls a program's callbacks, and its signal handlers. An exception from one of them ends the call: it is kept here, and raised
/// instead of the call's own result.
#[derive(Default)]
pub(crate) struct Watcher {
    listeners: Listeners,
    callbacks: Callbacks,
    log: Option<Log>,
    raised: Mutex<Option<PyErr>>,
}

/// What a client calls for the events of its calls.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) on_event: Option<Py<PyAny>>,
    /// Gets the warnings alone: the command line's own.
    pub(crate) on_warning: Option<Py<PyAny>>,
}

impl Listeners {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Listeners {
        let [on_event, on_warning] =
            [&self.on_event, &self.on_warning].map(|call| call.as_ref().map(|call| call.clone_ref(py)));
        Listeners { on_event, on_warning }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Py<PyAny>> {
        self.on_event.iter().chain(&self.on_warning)
    }
}

/// What one call adds to its client's listeners.
#[derive(Default)]
pub(crate) struct Callbacks {
    pub(crate) on_update: Option<Py<PyAny>>,
    pub(crate) meta: Option<Py<PyAny>>,
}

impl Callbacks {
    pub(crate) fn on_update(on_update: Option<Py<PyAny>>) -> Callbacks {
        Callbacks { on_update, meta: None }
    }
}

impl Watcher {
    /// `delivers`: the call is to deliver a message.
    pub(crate) fn new(
        py: Python<'_>,
        listeners: Listeners,
        callbacks: Callbacks,
        delivers: bool,
    ) -> PyResult<Arc<Watcher>> {
        let log = main_thread::identify(py).and_then(|()| interpreter_end::run(Log::wanted).unwrap_or(Ok(None)));
        let log = log.inspect_err(|raised| {
            if delivers {
                add_note(raised.value(py), Delivery::NotSent);
            }
        })?;
        Ok(Arc::new(Watcher { listeners, callbacks, log, raised: Mutex::default() }))
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let callbacks = [&self.callbacks.on_update, &self.callbacks.meta];
        self.listeners.iter().chain(callbacks.into_iter().flatten()).try_for_each(|call| visit.call(call))
    }

    /// The exception that ended the call, if one did.
    pub(crate) fn take_raised(&self) -> Option<PyErr> {
        self.raised().take()
    }

    /// Reports a batch's update to `on_update` and to the logger.
    pub(crate) fn batch(&self, update: &BatchUpdate, progress: &BatchProgress) -> Result<(), Interrupted> {
        if self.callbacks.on_update.is_none() && (self.log.is_none() || records::sentence(update).is_none()) {
            return Ok(());
        }
        self.run(|py| {
            let record = records::update(py, update, progress)?;
            self.log_update(py, update, &record)?;
            self.callbacks.on_update.as_ref().map_or(Ok(()), |on_update| on_update.call1(py, (record,)).map(drop))
        })
    }

    /// How much a batch must report of its calls.
    pub(crate) fn batch_level(&self) -> EventLevel {
        match &self.log {
            _ if self.wants_responses() => EventLevel::Debug,
            Some(_) => EventLevel::Info,
            None => EventLevel::Warning,
        }
    }

    /// Reports a batch's update to the logger alone.
    pub(crate) fn log_update(&self, py: Python<'_>, update: &BatchUpdate, record: &Bound<'_, PyDict>) -> PyResult<()> {
        match (&self.log, records::sentence(update)) {
            (Some(log), Some(sentence)) => log.info(py, sentence, record),
            _ => Ok(()),
        }
    }

    /// Whether the program wants the metadata of successes.
    pub(crate) fn wants_meta(&self) -> bool {
        self.callbacks.meta.is_some()
    }

    /// Reports the metadata of a success. An exception ends the call at its next event or check, and a call that is done with
    /// this response raises it.
    pub(crate) fn meta(&self, meta: &ResponseMeta) {
        let Some(callback) = &self.callbacks.meta else { return };
        // An exception is kept.
        let _ = self.run(|py| callback.call1(py, (convert::json(py, &meta.to_json())?,)).map(drop));
    }

    /// Ends the call after an exception from `meta`.
    fn check_raised(&self) -> Result<(), Interrupted> {
        if self.wants_meta() && self.raised().is_some() { Err(Interrupted) } else { Ok(()) }
    }

    /// Runs Python. An interpreter that shuts down runs no more Python, and ends the call.
    fn run(&self, call: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<(), Interrupted> {
        match interpreter_end::run(call) {
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
    fn wants_checks(&self) -> bool {
        runs_signal_handlers()
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.check_raised()?;
        if runs_signal_handlers() { self.run(|py| py.check_signals()) } else { Ok(()) }
    }

    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        self.check_raised()?;
        // Of a batch's pause it gets the update.
        let is_update = matches!(event, Event::Paused { .. } | Event::Resumed);
        let log = self.log.as_ref().filter(|log| log.takes(event) && !is_update);
        let is_warning = event.level() == EventLevel::Warning;
        if log.is_none() && self.listeners.on_event.is_none() && !is_warning {
            return Ok(());
        }
        self.run(|py| {
            let record = convert::event(py, event)?;
            match log {
                Some(log) => log.write(py, event, &record)?,
                // Most programs log no less than this, so the logger is asked only now.
                None if is_warning => logging::warning(py, event.to_string(), &record)?,
                None => {}
            }
            let on_warning = self.listeners.on_warning.iter().filter(|_| is_warning);
            let mut heard = self.listeners.on_event.iter().chain(on_warning);
            heard.try_for_each(|call| call.call1(py, (&record,)).map(drop))
        })
    }

    fn wants_responses(&self) -> bool {
        self.listeners.on_event.is_some() || self.log.as_ref().is_some_and(Log::is_debug)
    }

    fn update(&self, job: &Job) -> Result<(), Interrupted> {
        let Some(on_update) = &self.callbacks.on_update else { return Ok(()) };
        self.run(|py| on_update.call1(py, (convert::job(py, job)?,)).map(drop))
    }
}
