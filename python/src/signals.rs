//! The one place that blocks: without the GIL, and awake for Ctrl-C.

use std::time::Duration;

use agentjob_core::{Delivery, Error};
use pyo3::prelude::*;

use crate::errors::{self, add_note};
use crate::main_thread;
use crate::panic::caught;
use crate::watcher::Watcher;

/// The longest that code which blocks here goes without checking for signals and cancel tokens.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// Makes a call of the core that may take long. `delivers`: the call is to deliver a message.
pub(crate) fn blocking<T: Send>(
    py: Python<'_>,
    watcher: &Watcher,
    delivers: bool,
    call: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    main_thread::identify(py).inspect_err(|raised| {
        if delivers {
            add_note(raised.value(py), Delivery::NotSent);
        }
    })?;
    let ended = py.detach(|| caught(delivers, call));
    // A signal that arrives together with the response is handled here, where the verdict is known, and not a line later.
    let raised = watcher.take_raised().or_else(|| py.check_signals().err());
    match (raised, ended) {
        (None, Ok(done)) => Ok(done),
        (None, Err(error)) => Err(errors::raised(py, &error)),
        // The handler's or callback's exception is raised, however the call ended. It only gets the verdict.
        (Some(raised), ended) => {
            let verdict = match &ended {
                Ok(_) => delivers.then_some(Delivery::Accepted),
                Err(error) => error.delivery(),
            };
            if let Some(verdict) = verdict {
                add_note(raised.value(py), verdict);
            }
            Err(raised)
        }
    }
}

/// Blocks every signal but the thread's own faults on the calling thread, for a thread of agentjob.aio.
#[pyfunction]
pub(crate) fn block_signals() {
    agentjob_core::thread::block_signals();
}
