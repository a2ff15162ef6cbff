//! `agentjob.CancelToken`.

use std::time::{Duration, Instant};

use agentjob_core as core;
use pyo3::prelude::*;

use crate::arguments::Number;
use crate::client::Client;

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
    /// Of the one call that it was made for, and that may queue.
    time: Option<Time>,
}

/// When a call's time began, and how long it is.
#[derive(Clone, Copy)]
struct Time {
    started: Instant,
    timeout: Duration,
}

impl CancelToken {
    pub(crate) fn core(&self) -> &core::CancelToken {
        &self.core
    }

    /// When the time of its call began, if it was made for one.
    pub(crate) fn started(&self) -> Option<Instant> {
        self.time.map(|time| time.started)
    }

    pub(crate) fn of_call(timeout: Duration) -> CancelToken {
        CancelToken { core: core::CancelToken::new(), time: Some(Time { started: Instant::now(), timeout }) }
    }
}

/// A token for one call of the client, whose time begins now, before it queues for a thread: for agentjob.aio.
#[pyfunction]
#[pyo3(signature = (client, timeout=None, *, delivers=false))]
pub(crate) fn call_token(
    py: Python<'_>,
    client: &Bound<'_, Client>,
    timeout: Option<Number>,
    delivers: bool,
) -> PyResult<CancelToken> {
    let timeout = match timeout {
        Some(timeout) => timeout.seconds("timeout").map_err(|refused| refused.raised(py, delivers))?,
        None => client.get().core().timeout(),
    };
    Ok(CancelToken::of_call(timeout))
}

#[pymethods]
impl CancelToken {
    #[new]
    fn new() -> CancelToken {
        CancelToken { core: core::CancelToken::new(), time: None }
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

    /// Seconds that are left of its call's time; None for a token that was made for no call.
    #[getter]
    fn _left(&self) -> Option<f64> {
        self.time.map(|time| time.timeout.saturating_sub(time.started.elapsed()).as_secs_f64())
    }

    fn __repr__(&self) -> String {
        format!("<CancelToken{}>", if self.cancelled() { ", cancelled" } else { "" })
    }
}
