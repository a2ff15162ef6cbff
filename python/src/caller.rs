//! What every call of a client needs: the core's client, and the program's `on_event`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agentjob_core::Client;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::detached::Detached;
use crate::watcher::{Callbacks, Listeners, Watcher};

/// A client as its methods, pollers and watches hold it.
pub(crate) struct Caller {
    core: Detached<Client>,
    listeners: Listeners,
    /// What must live as long as the client and what it makes: the callable that returns its key, the emulator that it is of.
    companion: Option<Py<PyAny>>,
    in_with: Arc<AtomicBool>,
}

impl Caller {
    pub(crate) fn new(core: Client, on_event: Option<Py<PyAny>>, companion: Option<Py<PyAny>>) -> Caller {
        let listeners = Listeners { on_event, on_warning: None };
        Caller { core: Detached::new(core), listeners, companion, in_with: Arc::default() }
    }

    /// The same client with other options; without an `on_event` of their own they keep this one.
    pub(crate) fn with(&self, py: Python<'_>, core: Client, on_event: Option<Py<PyAny>>) -> Caller {
        let kept = self.listeners.clone_ref(py);
        let listeners = Listeners { on_event: on_event.or(kept.on_event), ..kept };
        let in_with = Arc::clone(&self.in_with);
        Caller { core: Detached::new(core), listeners, companion: self.companion(py), in_with }
    }

    pub(crate) fn share(&self, py: Python<'_>) -> Caller {
        self.with(py, self.core().clone(), None)
    }

    /// The same client, which keeps an object alive.
    pub(crate) fn keeping(&self, companion: &Bound<'_, PyAny>) -> PyResult<Caller> {
        let py = companion.py();
        let both = (self.companion(py), companion).into_pyobject(py)?;
        Ok(Caller { companion: Some(both.into_any().unbind()), ..self.share(py) })
    }

    /// The same client, whose warnings are reported to a callable, too.
    pub(crate) fn warning_to(&self, on_warning: &Bound<'_, PyAny>) -> Caller {
        let mut caller = self.share(on_warning.py());
        caller.listeners.on_warning = Some(on_warning.clone().unbind());
        caller
    }

    /// What a watch or a batch must keep alive, too.
    pub(crate) fn companion(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.companion.as_ref().map(|companion| companion.clone_ref(py))
    }

    /// Whether the client was entered in a `with` statement: its end waits for batches that the program has dropped, too.
    pub(crate) fn in_with(&self) -> &Arc<AtomicBool> {
        &self.in_with
    }

    pub(crate) fn enter(&self) {
        self.in_with.store(true, Ordering::SeqCst);
    }

    pub(crate) fn core(&self) -> &Client {
        &self.core
    }

    /// `delivers`: the call is to deliver a message.
    pub(crate) fn watcher(&self, py: Python<'_>, callbacks: Callbacks, delivers: bool) -> PyResult<Arc<Watcher>> {
        Watcher::new(py, self.listeners.clone_ref(py), callbacks, delivers)
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.listeners.iter().chain(&self.companion).try_for_each(|object| visit.call(object))
    }
}
