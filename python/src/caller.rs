//! What every call of a client needs: the core's client, and the program's `on_event`.

use std::sync::Arc;

use agentjob_core::Client;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::detached::Detached;
use crate::watcher::Watcher;

/// A client as its methods, pollers and watches hold it.
pub(crate) struct Caller {
    core: Detached<Client>,
    on_event: Option<Py<PyAny>>,
}

impl Caller {
    pub(crate) fn new(core: Client, on_event: Option<Py<PyAny>>) -> Caller {
        Caller { core: Detached::new(core), on_event }
    }

    /// The same client with other options; without an `on_event` of their own they keep this one.
    pub(crate) fn with(&self, py: Python<'_>, core: Client, on_event: Option<Py<PyAny>>) -> Caller {
        Caller::new(core, on_event.or_else(|| self.on_event.as_ref().map(|call| call.clone_ref(py))))
    }

    pub(crate) fn share(&self, py: Python<'_>) -> Caller {
        self.with(py, self.core().clone(), None)
    }

    pub(crate) fn core(&self) -> &Client {
        &self.core
    }

    /// `delivers`: the call is to deliver a message.
    pub(crate) fn watcher(
        &self,
        py: Python<'_>,
        on_update: Option<Py<PyAny>>,
        delivers: bool,
    ) -> PyResult<Arc<Watcher>> {
        Watcher::new(py, self.on_event.as_ref().map(|call| call.clone_ref(py)), on_update, delivers)
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.on_event.as_ref().map_or(Ok(()), |call| visit.call(call))
    }
}
