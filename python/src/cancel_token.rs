//! `agentjob.CancelToken`.

use std::time::{Duration, Instant};

use agentjob_core as core;
use agentjob_core::uptime::since_boot;
use pyo3::prelude::*;

/// Ends calls from another thread: give it to a call as cancel=token, then token.cancel().
///
/// The call ends within 100 ms, wherever it is, and raises CancelledError with the message's delivery verdict. A token stays
/// cancelled; use a new one for the next call.
///
/// >>> token = agentjob.CancelToken()
/// >>> timer = threading.Timer(0.1, token.cancel)
/// >>> timer.start()
/// >>> try:
/// ...     client.wait("job_busy", cancel=token)
/// ... except agentjob.CancelledError as error:
/// ...     print(error)
/// wait for job job_busy ended: the call was cancelled
#[pyclass(frozen, weakref, module = "agentjob")]
pub(crate) struct CancelToken {
    core: core::CancelToken,
    /// Of the one call that it was made for, which may queue for a thread.
    time: Option<Time>,
}

/// When a call's time began, and how long it is.
#[derive(Clone, Copy)]
struct Time {
    started: Instant,
    timeout: Duration,
    /// When it ends, in the time since the machine started, which includes its sleep.
    ends: Option<Duration>,
}

impl CancelToken {
    pub(crate) fn core(&self) -> &core::CancelToken {
        &self.core
    }

    /// When the time of its call began, if it was made for one.
    pub(crate) fn started(&self) -> Option<Instant> {
        self.time.map(|time| time.started)
    }

    /// The deadline of its call, in the time since the machine started, which includes its sleep.
    pub(crate) fn ends(&self) -> Option<Duration> {
        self.time.and_then(|time| time.ends)
    }

    /// A token for one call, whose time starts now. It is also cancelled by `other`, whose time it has, if that was made for a call.
    pub(crate) fn of_call(timeout: Duration, other: Option<&CancelToken>) -> CancelToken {
        let from_now = || {
            let ends = since_boot().map(|now| now + timeout);
            Time { started: Instant::now(), timeout, ends }
        };
        let time = other.and_then(|other| other.time).unwrap_or_else(from_now);
        CancelToken { core: other.map(|other| other.core.clone()).unwrap_or_default(), time: Some(time) }
    }
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

    /// Seconds that remain of the call's time; None for a token that was not made for a call.
    #[getter]
    fn _remaining(&self) -> Option<f64> {
        self.time.map(|time| time.timeout.saturating_sub(time.started.elapsed()).as_secs_f64())
    }

    fn __repr__(&self) -> String {
        format!("<CancelToken{}>", if self.cancelled() { ", cancelled" } else { "" })
    }
}
