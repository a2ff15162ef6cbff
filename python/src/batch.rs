//! `agentjob.Batch`: a batch at work, as an iterator.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agentjob_core as core;
use agentjob_core::{BatchEvent, BatchHandle, BatchOutcome, BatchProgress, BatchUpdate, Control, Error};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::{Number, Refused, cancel_token};
use crate::batch_records;
use crate::errors;
use crate::leftovers::{self, Leftover};
use crate::signals::{SLICE, Watcher, blocking, guarded, is_interrupted};
use crate::waits::hold;

/// As many outcomes and updates at once for a program that takes them in bulk.
const MAX_TAKEN: usize = 256;

/// Many messages at work; see Client.send_all.
///
/// As an iterator it answers the outcome of each message, those of earlier runs first, and ends when every message has one.
/// It works in threads of its own, whether somebody iterates or not. Ctrl-C in a step, and what on_update raises, stop it: what
/// is under way has its answer, and whoever goes on iterating has the rest of the outcomes.
///
/// Close it, or use it in a with statement, or its client; leaving that awaits the answers to its messages in flight, for at most grace.
/// One that is let go of before its end stops, and they are awaited in the background; the program's end waits for that. Only one
/// thread at a time may iterate; progress() and stop() are for every thread.
///
/// >>> with client.send_all([("job_demo", "Add tests")], journal=journal, wait=True, min_interval=0.02) as batch:
/// ...     while not batch.over:
/// ...         if outcome := batch.step(timeout=0.5):
/// ...             print(outcome["job"]["status"])
/// completed
#[pyclass(frozen, module = "agentjob")]
pub(crate) struct Batch {
    watcher: Arc<Watcher>,
    journal: PathBuf,
    pid: u32,
    /// Held for a whole step.
    reader: Mutex<Reader>,
    /// Held for a slice of a step. Nothing once the batch is over: its journal is free again then.
    core: leftovers::Shared,
    /// Stops it, whoever has the core.
    handle: BatchHandle,
    over: AtomicBool,
    /// As it was after the last slice.
    progress: Mutex<BatchProgress>,
}

/// What the core has told, and the program has not heard yet: an exception may have come first.
#[derive(Default)]
struct Reader {
    told: VecDeque<Told>,
    failure: Option<Error>,
}

enum Told {
    Outcome(BatchOutcome),
    Update(BatchUpdate, BatchProgress),
}

impl Batch {
    pub(crate) fn new(core: core::Batch, watcher: Arc<Watcher>, journal: PathBuf) -> Batch {
        let progress = Mutex::new(core.progress());
        let handle = core.handle();
        let core = Arc::new(Mutex::new(Some(core)));
        leftovers::hold(&core, &journal);
        Batch {
            watcher,
            journal,
            pid: std::process::id(),
            reader: Mutex::default(),
            progress,
            core,
            handle,
            over: AtomicBool::new(false),
        }
    }

    /// A forked child has the batch's memory, and perhaps its locks, but not its threads.
    fn owned(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_owned() {
            return Ok(());
        }
        let error = "this batch belongs to another process; a forked child cannot go on with it";
        Err(errors::raised(py, &Error::invalid_argument(error)))
    }

    fn is_owned(&self) -> bool {
        self.pid == std::process::id()
    }

    /// Does something with the core, if the batch is not over.
    fn with_core<T>(
        &self,
        mut core: MutexGuard<'_, Option<core::Batch>>,
        work: impl FnOnce(&mut core::Batch) -> T,
    ) -> Option<T> {
        core.as_mut().map(|core| {
            let done = work(core);
            *guard(&self.progress) = core.progress();
            done
        })
    }

    /// The same if nobody has the core at this moment: nothing waits here.
    fn try_core<T>(&self, work: impl FnOnce(&mut core::Batch) -> T) -> Option<T> {
        self.with_core(self.core.try_lock().ok()?, work)
    }

    /// Takes one thing that the core tells, if one comes in this time. Nothing more comes once the batch is over.
    fn take(&self, reader: &mut Reader, time: Duration) -> bool {
        let step = self.with_core(guard(&self.core), |core| {
            core.next_event(time).map(|event| match event {
                BatchEvent::Outcome(outcome) => Some(Told::Outcome(outcome)),
                BatchEvent::Update(update) => Some(Told::Update(update, core.progress())),
                BatchEvent::Finished => {
                    self.over.store(true, Ordering::SeqCst);
                    None
                }
                _ => None,
            })
        });
        match step {
            Some(Ok(Some(told))) => {
                reader.told.push_back(told);
                return true;
            }
            Some(Err(failure)) => {
                reader.failure = Some(failure);
                self.over.store(true, Ordering::SeqCst);
            }
            Some(Ok(None)) | None => {}
        }
        if self.is_over() {
            drop(guard(&self.core).take());
        }
        false
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Waits for the next outcome, and tells of the updates before it.
    fn next_outcome(&self, py: Python<'_>, time: Option<Duration>) -> PyResult<Option<BatchOutcome>> {
        self.owned(py)?;
        let reader = &mut *hold(&self.reader, "batch")?;
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let ended = blocking(py, &self.watcher, false, || {
            loop {
                match reader.told.front() {
                    Some(Told::Outcome(_)) => return Ok(()),
                    Some(Told::Update(..)) => {
                        let Some(Told::Update(update, progress)) = reader.told.pop_front() else { continue };
                        if self.watcher.batch(&update, &progress).is_err() {
                            return Ok(());
                        }
                    }
                    None => {}
                }
                if let Some(failure) = reader.failure.take() {
                    return Err(failure);
                }
                let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()).min(SLICE));
                if !self.take(reader, left) && reader.failure.is_none() && (self.is_over() || left.is_zero()) {
                    return Ok(());
                }
                if self.watcher.check().is_err() {
                    return Ok(());
                }
            }
        });
        ended.inspect_err(|_| self.handle.stop())?;
        Ok(match reader.told.pop_front() {
            Some(Told::Outcome(outcome)) => Some(outcome),
            _ => None,
        })
    }

    /// Waits until its threads are gone, for about grace, or until the token is cancelled; what then is not over goes on alone. A
    /// second interruption ends it at once.
    fn leave(&self, py: Python<'_>, token: Option<&core::CancelToken>) -> PyResult<()> {
        if !self.is_owned() {
            return Ok(());
        }
        self.handle.stop();
        let reader = &mut *hold(&self.reader, "batch")?;
        *reader = Reader::default();
        self.over.store(true, Ordering::SeqCst);
        let (mut left, again) = (Vec::new(), is_interrupted(py));
        let ended = blocking(py, &self.watcher, false, || {
            if let Some(core) = guard(&self.core).take() {
                left = leftovers::wait_for(vec![Leftover::begin(core, &self.journal)], || {
                    if self.watcher.check().is_err() {
                        if again {
                            self.handle.abort();
                        }
                        return true;
                    }
                    token.is_some_and(core::CancelToken::is_cancelled)
                });
            }
            Ok(())
        });
        leftovers::put(left);
        ended
    }
}

#[pymethods]
impl Batch {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || self.next_outcome(py, None)?.map(|outcome| batch_records::outcome(py, &outcome)).transpose())
    }

    /// The next outcome, or None if there is none within timeout seconds, or the batch is over: over tells which.
    ///
    /// timeout: None waits as long as it takes; 0 does not wait.
    #[pyo3(signature = (timeout=None))]
    fn step<'py>(&self, py: Python<'py>, timeout: Option<Number>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            let time = timeout.map(|timeout| timeout.seconds_or_none("timeout")).transpose();
            let time = time.map_err(|refused| refused.raised(py, false))?;
            self.next_outcome(py, time)?.map(|outcome| batch_records::outcome(py, &outcome)).transpose()
        })
    }

    /// What agentjob.aio takes: outcomes and updates as (is_outcome, dict), as many as there are, at least one unless the batch is
    /// over or the token is cancelled, which stops the batch.
    fn _take<'py>(&self, py: Python<'py>, cancel: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        guarded(py, || {
            let token = cancel_token("cancel", &cancel).map_err(|refused| refused.raised(py, false))?.core();
            self.owned(py)?;
            let reader = &mut *hold(&self.reader, "batch")?;
            let ended = blocking(py, &self.watcher, false, || {
                while reader.told.len() < MAX_TAKEN && reader.failure.is_none() {
                    let time = if reader.told.is_empty() { SLICE } else { Duration::ZERO };
                    let more = self.take(reader, time);
                    if token.is_cancelled() {
                        self.handle.stop();
                        break;
                    }
                    if !more && (self.is_over() || !reader.told.is_empty()) {
                        break;
                    }
                }
                let failure = reader.failure.take_if(|_| reader.told.is_empty());
                failure.map_or(Ok(()), Err)
            });
            ended.inspect_err(|_| self.handle.stop())?;
            let taken = PyList::empty(py);
            // A handler that raises loses nothing: what it was told of is heard in the next step.
            for told in &reader.told {
                let (is_outcome, record) = match told {
                    Told::Outcome(outcome) => (true, batch_records::outcome(py, outcome)?),
                    Told::Update(update, progress) => {
                        let record = batch_records::update(py, update, progress)?;
                        self.watcher.note(py, update, &record)?;
                        (false, record)
                    }
                };
                taken.append((is_outcome, record))?;
            }
            reader.told.clear();
            Ok(taken)
        })
    }

    /// Whether there is nothing more to come: every message had its outcome, the batch was stopped, failed, or was closed.
    #[getter]
    fn over(&self) -> bool {
        let unheard = self.reader.try_lock().is_ok_and(|reader| !reader.told.is_empty() || reader.failure.is_some());
        self.is_over() && !unheard
    }

    /// How far the batch is (types.BatchProgress). It does not wait.
    ///
    /// >>> batch.progress()["items"]
    /// 20
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        guarded(py, || {
            self.owned(py)?;
            self.try_core(|_| ());
            let progress = *guard(&self.progress);
            batch_records::progress(py, &progress)
        })
    }

    /// Sends nothing more. What is under way has its answer, for at most grace; then the batch is over.
    ///
    /// From any thread, at once. Whoever iterates has the remaining outcomes first. The same items and journal go on with it.
    ///
    /// >>> batch.stop()
    /// >>> sum(1 for outcome in batch) < 20
    /// True
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || {
            if self.is_owned() {
                self.handle.stop();
            }
            Ok(())
        })
    }

    /// Stops the batch, and waits for the answers to its messages in flight, for at most grace. Then it is over, and its journal is
    /// free for another run. Outcomes that were not heard are in the journal. Ctrl-C while it waits leaves the rest of the grace to
    /// the background; in the wake of a first one it ends the grace, too.
    ///
    /// >>> batch.close()
    /// >>> batch.over, list(batch)
    /// (True, [])
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        guarded(py, || self.leave(py, None))
    }

    /// The same for agentjob.aio: the token ends the waiting.
    fn _close(&self, py: Python<'_>, cancel: Bound<'_, PyAny>) -> PyResult<()> {
        guarded(py, || {
            let token = cancel_token("cancel", &cancel).map_err(|refused: Refused| refused.raised(py, false))?.core();
            self.leave(py, Some(token))
        })
    }

    /// Ends the grace: what has no answer yet is unknown. For agentjob.aio.
    fn _abort(&self) {
        self.handle.abort();
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        if self.is_owned() {
            self.try_core(|_| ());
        }
        let BatchProgress { done, items, .. } = *guard(&self.progress);
        format!("<Batch: {done} of {items} done{}>", if self.is_over() { ", over" } else { "" })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an agentjob.Batch cannot be pickled or copied, for its threads and its journal's lock are this process's; \
            hand on the items and the journal's path instead, and run it there when it is over here",
        ))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.watcher.traverse(visit)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // Locked only where a forked child got it from a step of its parent, to whom it belongs.
        let Some(core) = self.core.try_lock().ok().and_then(|mut core| core.take()) else { return };
        // Whoever lets go of it by an exception is not to wait here for the answers that are under way.
        leftovers::leave(core, &self.journal);
    }
}

/// Locks what is held for a moment only, or for a slice.
fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
