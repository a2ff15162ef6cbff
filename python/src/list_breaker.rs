//! When a worker that sends a list may send: the core's circuit breaker, for `agentjob.once`. Times are seconds of the caller's clock.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentjob_core as core;
use pyo3::prelude::*;

#[pyclass(frozen, module = "agentjob._native")]
#[derive(Default)]
pub(crate) struct ListBreaker(Mutex<core::ListBreaker>);

impl ListBreaker {
    fn core(&self) -> MutexGuard<'_, core::ListBreaker> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ListBreaker {
    #[new]
    fn new() -> ListBreaker {
        ListBreaker::default()
    }

    /// How many seconds a message has to wait at least, None if it may be sent; and whether its job is polled first.
    fn admit(&self, now: f64, in_flight: usize) -> (Option<f64>, bool) {
        match self.core().admit(seconds(now), in_flight) {
            Ok(poll_first) => (None, poll_first),
            Err(wait) => (Some(wait.as_secs_f64()), false),
        }
    }

    /// The service responded to a message. Returns whether that ended a pause.
    fn responded(&self) -> bool {
        self.core().responded()
    }

    /// The service returned 429.
    fn rate_limited(&self, now: f64) {
        self.core().rate_limited(seconds(now));
    }

    /// The service failed, or can't be reached. Returns for how many seconds it has.
    fn failed(&self, now: f64) -> f64 {
        self.core().failed(seconds(now)).as_secs_f64()
    }
}

fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time).unwrap_or_default()
}
