//! `agentjob.Batch`: a running batch, as an iterator.

use std::slice;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentjob_core as core;
use agentjob_core::{BatchOutcome, BatchProgress, BatchUpdate, Control, Error};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Refused, cancel_token, seconds_or_zero};
use crate::batch::running::{Event, Received, Running};
use crate::batch::{closing, records};
use crate::caller::Caller;
use crate::errors;
use crate::in_use::claim;
use crate::panic::guarded;
use crate::signals::{SLICE, blocking};
use crate::watcher::Watcher;

/// The most outcomes and updates that agentjob.aio takes at once.
const MAX_EVENTS: usize = 256;

/// A batch of messages that are being sent; see Client.send_all.
///
/// Iterating returns the outcome of each message, those of earlier runs first, and ends when every message has one. The batch
/// runs on threads of its own, whether the program iterates or not. Ctrl-C while it waits for an outcome, and an exception from
/// on_update, stop it: requests in flight still get their responses, and iterating again returns the remaining outcomes.
///
/// Close the batch, or use it or its client in a with statement: that waits for the responses to messages in flight, for at most
/// grace. Without that, a batch that is dropped before its end has them reported as unknown by the next run. Only one thread at a
/// time may iterate. Any thread may call progress() and stop().
///
/// >>> with client.send_all([("job_demo", "Add tests")], journal=journal, wait=True, min_interval=0.02) as batch:
/// ...     while not batch.finished:
/// ...         if outcome := batch.next_event(timeout=0.5):
/// ...             print(outcome["job"]["status"])
/// completed
#[pyclass(frozen, weakref, module = "agentjob")]
pub(crate) struct Batch {
    watcher: Arc<Watcher>,
    /// Held while a thread waits for the next event.
    received: Mutex<Received>,
    running: Running,
    companion: Option<Py<PyAny>>,
}

impl Batch {
    pub(crate) fn new(py: Python<'_>, core: core::Batch, watcher: Arc<Watcher>, caller: &Caller) -> Batch {
        let running = Running::new(core, Arc::clone(caller.in_with()));
        Batch { watcher, received: Mutex::default(), running, companion: caller.companion(py) }
    }

    fn check_owner(&self, py: Python<'_>) -> PyResult<()> {
        if self.running.is_owned() {
            return Ok(());
        }
        let error = "this batch belongs to another process: a forked child cannot use it";
        Err(errors::raised(py, &Error::invalid_argument(error)))
    }

    /// Waits for the next outcome, and reports the updates before it.
    fn next_outcome(&self, py: Python<'_>, time: Option<Duration>) -> PyResult<Option<BatchOutcome>> {
        self.check_owner(py)?;
        let received = &mut *claim(&self.received, "batch")?;
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let ended = blocking(py, &self.watcher, false, || {
            loop {
                match received.pending.front() {
                    Some(Event::Outcome(_)) => return Ok(()),
                    Some(Event::Update(..)) => {
                        let Some(Event::Update(update, progress)) = received.pending.pop_front() else { continue };
                        // send_all has reported it.
                        if matches!(update, BatchUpdate::Repeated { .. }) {
                            continue;
                        }
                        if self.watcher.batch(&update, &progress).is_err() {
                            return Ok(());
                        }
                    }
                    Some(Event::Call(_)) => {
                        let Some(Event::Call(event)) = received.pending.pop_front() else { continue };
                        if self.watcher.event(&event).is_err() {
                            return Ok(());
                        }
                    }
                    None => {}
                }
                if let Some(failure) = received.failure.take() {
                    return Err(failure);
                }
                let longest = self.longest_wait();
                let left = end.map_or(longest, |end| end.saturating_duration_since(Instant::now()).min(longest));
                if !self.running.receive(received, left, None)
                    && received.failure.is_none()
                    && (self.running.is_finished() || left.is_zero())
                {
                    return Ok(());
                }
                if self.watcher.check().is_err() {
                    return Ok(());
                }
            }
        });
        ended.inspect_err(|_| self.running.handle.stop())?;
        Ok(match received.pending.pop_front() {
            Some(Event::Outcome(outcome)) => Some(outcome),
            _ => None,
        })
    }

    /// How long this thread may wait for an event without a check for signals.
    fn longest_wait(&self) -> Duration {
        if self.watcher.wants_checks() { SLICE } else { Duration::MAX }
    }

    /// Reports the events of calls, until a callback raises. What came before and after them stays.
    fn report_calls(&self, received: &mut Received) {
        let mut is_raised = false;
        received.pending.retain(|event| match event {
            Event::Call(event) if !is_raised => {
                is_raised = self.watcher.event(event).is_err();
                false
            }
            _ => true,
        });
    }

    /// Stops the batch and waits for the responses to its messages in flight: for its grace, until the token is cancelled, or until an
    /// interruption.
    fn stop_and_wait(&self, py: Python<'_>, token: Option<&core::CancelToken>) -> PyResult<()> {
        if !self.running.is_owned() {
            return Ok(());
        }
        // Also if another thread is iterating, which is refused: it ends soon, then.
        self.running.handle.stop();
        let received = &mut *match claim(&self.received, "batch") {
            Ok(received) => received,
            Err(_) if token.is_some_and(core::CancelToken::is_cancelled) => {
                // A thread of a coroutine that was closed has it for another moment.
                self.running.handle.abort();
                self.running.set_finished();
                return Ok(());
            }
            Err(in_use) => return Err(in_use),
        };
        *received = Received::default();
        self.running.set_finished();
        let ended = closing::wait(py, slice::from_ref(&self.running.handle), token);
        py.detach(|| self.running.close());
        ended
    }
}

#[pymethods]
impl Batch {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || self.next_outcome(py, None)?.map(|outcome| records::outcome(py, &outcome)).transpose())
    }

    /// How many messages the batch has.
    ///
    /// >>> len(batch)
    /// 20
    fn __len__(&self) -> usize {
        usize::try_from(self.running.progress().items).unwrap_or(usize::MAX)
    }

    /// A batch without messages is one, too.
    fn __bool__(&self) -> bool {
        true
    }

    /// Waits for the next outcome and returns it. None: there was none within timeout seconds, or the batch is finished.
    #[pyo3(signature = (timeout=None))]
    fn next_event<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            let time = timeout.map(|timeout| seconds_or_zero("timeout", &timeout)).transpose();
            let time = time.map_err(|refused| refused.raised(py, false))?;
            self.next_outcome(py, time)?.map(|outcome| records::outcome(py, &outcome)).transpose()
        })
    }

    /// For agentjob.aio: waits for outcomes and updates and returns all there are, as (is_outcome, dict); the events before them are
    /// reported here. Nothing came: there were only events, the batch is finished, or the token was cancelled, which stops the batch.
    fn _next_events<'py>(&self, py: Python<'py>, cancel: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        guarded(py, || {
            let token = cancel_token("cancel", &cancel).map_err(|refused| refused.raised(py, false))?.core();
            self.check_owner(py)?;
            let received = &mut *claim(&self.received, "batch")?;
            let ended = blocking(py, &self.watcher, false, || {
                while received.pending.len() < MAX_EVENTS && received.failure.is_none() {
                    let time = if received.pending.is_empty() { self.longest_wait() } else { Duration::ZERO };
                    let more = self.running.receive(received, time, Some(token));
                    if token.is_cancelled() {
                        self.running.handle.stop();
                        break;
                    }
                    if !more && (self.running.is_finished() || !received.pending.is_empty()) {
                        break;
                    }
                }
                let failure = received.failure.take_if(|_| received.pending.is_empty());
                failure.map_or(Ok(()), Err)
            });
            ended.inspect_err(|_| self.running.handle.stop())?;
            self.report_calls(received);
            if let Some(raised) = self.watcher.take_raised() {
                self.running.handle.stop();
                return Err(raised);
            }
            let taken = PyList::empty(py);
            // A logging handler that raises loses nothing: the events stay pending.
            for event in &received.pending {
                let (is_outcome, record) = match event {
                    Event::Outcome(outcome) => (true, records::outcome(py, outcome)?),
                    // agentjob.aio has reported it.
                    Event::Call(_) | Event::Update(BatchUpdate::Repeated { .. }, _) => continue,
                    Event::Update(update, progress) => {
                        let record = records::update(py, update, progress)?;
                        self.watcher.log_update(py, update, &record)?;
                        (false, record)
                    }
                };
                taken.append((is_outcome, record))?;
            }
            received.pending.clear();
            Ok(taken)
        })
    }

    /// Whether no more outcomes will come: every message has one, or the batch was stopped, was closed or failed.
    #[getter]
    fn finished(&self) -> bool {
        let pending =
            self.received.try_lock().is_ok_and(|received| !received.pending.is_empty() || received.failure.is_some());
        self.running.is_finished() && !pending
    }

    /// The batch's progress (types.BatchProgress). It does not wait.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guarded(py, || {
            self.check_owner(py)?;
            records::progress(py, &self.running.progress())
        })
    }

    /// Sends no more messages. Requests in flight still get their responses, for at most grace; then the batch is finished.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || {
            if self.running.is_owned() {
                self.running.handle.stop();
            }
            Ok(())
        })
    }

    /// Stops the batch, and waits for the responses to its messages in flight, for at most grace. Then it is finished, and another
    /// run may use its journal. Outcomes that the program did not receive are in the journal. Ctrl-C during the wait ends the grace.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || self.stop_and_wait(py, None))
    }

    /// The same for agentjob.aio: the token ends the grace.
    fn _close(&self, py: Python<'_>, cancel: Bound<'_, PyAny>) -> PyResult<()> {
        guarded(py, || {
            let token = cancel_token("cancel", &cancel).map_err(|refused: Refused| refused.raised(py, false))?.core();
            self.stop_and_wait(py, Some(token))
        })
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let BatchProgress { done, items, .. } = self.running.progress();
        format!("<Batch: {done} of {items} done{}>", if self.running.is_finished() { ", finished" } else { "" })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an agentjob.Batch cannot be pickled or copied, because its threads and its journal's lock belong to this process; \
            pass on the items and the journal's path instead, and run it there once it is finished here",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.companion.as_ref().map_or(Ok(()), |companion| visit.call(companion))?;
        self.watcher.traverse(visit)
    }
}
