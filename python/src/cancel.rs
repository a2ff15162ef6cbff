//! `agentjob.CancelToken`.

use agentjob_core as core;
use pyo3::prelude::*;

/// Ends calls from another thread: give it to a call as cancel=token, then token.cancel().
///
/// The call sees it within 100 ms wherever it is, and raises CancelledError, which says in .delivery what became of the
/// message. A token stays cancelled; take a new one for the next call.
///
/// >>> token = agentjob.CancelToken()
/// >>> timer = threading.Timer(0.1, token.cancel)
/// >>> timer.start()
/// >>> try:
/// ...     client.wait("job_busy", cancel=token)
/// ... except agentjob.CancelledError as error:
/// ...     print(error)
/// the wait for job job_busy ended: the call was cancelled
#[pyclass(frozen, module = "agentjob")]
pub(crate) struct CancelToken {
    core: core::CancelToken,
}

impl CancelToken {
    pub(crate) fn core(&self) -> &core::CancelToken {
        &self.core
    }
}

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> CancelToken {
        CancelToken { core: core::CancelToken::new() }
    }

    /// Ends every call that was given this token, now and later.
    fn cancel(&self) {
        self.core.cancel();
    }

    /// Whether cancel() was called.
    #[getter]
    fn cancelled(&self) -> bool {
        self.core.is_cancelled()
    }

    fn __repr__(&self) -> String {
        format!("<CancelToken{}>", if self.cancelled() { ", cancelled" } else { "" })
    }
}
