//! Batches that no object holds any more, but whose messages in flight have no response yet: each waits on a thread of its own, for
//! at most its `grace`. The next run with the same journal waits for it, and so does the interpreter's exit.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::Builder;
use std::time::Duration;
use std::{mem, process};

use agentjob_core::thread::spawn;
use agentjob_core::{Batch, BatchHandle, CancelToken, Client, Control};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::signals::{SLICE, blocking, is_interrupted};
use crate::watcher::Watcher;

/// Locked only with the GIL held, and for a moment. A thread that forks has the GIL, so a forked child never finds it locked.
static CLOSING: Mutex<Vec<ClosingBatch>> = Mutex::new(Vec::new());

/// Batches that an object still holds, for the interpreter's exit. Locked like `CLOSING`.
static OPEN: Mutex<Vec<OpenBatch>> = Mutex::new(Vec::new());

/// A batch that its object and the interpreter's exit share: the first of them takes it.
pub(crate) type Shared = Arc<Mutex<Option<Batch>>>;

struct OpenBatch {
    journal: PathBuf,
    pid: u32,
    batch: Weak<Mutex<Option<Batch>>>,
}

impl OpenBatch {
    /// Takes the batch, which a thread that waits for an event holds for a slice at most.
    fn close(&self) -> Option<ClosingBatch> {
        let batch = self.batch.upgrade().filter(|_| self.pid == process::id())?;
        let batch = batch.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(ClosingBatch::start(batch, &self.journal))
    }
}

/// Remembers a batch that an object holds.
pub(crate) fn register(batch: &Shared, journal: &Path) {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.retain(|open| open.batch.strong_count() > 0);
    open.push(OpenBatch { journal: journal.to_owned(), pid: process::id(), batch: Arc::downgrade(batch) });
}

/// A batch that closes in the background.
pub(crate) struct ClosingBatch {
    journal: PathBuf,
    batch: BatchHandle,
    pid: u32,
    /// Disconnects when the batch is closed.
    gone: Receiver<()>,
}

impl ClosingBatch {
    /// Closes a batch in the background.
    pub(crate) fn start(batch: Batch, journal: &Path) -> ClosingBatch {
        let (closing, end) = ClosingBatch::of(batch, journal);
        in_background(end);
        closing
    }

    /// The batch, and what closes it.
    fn of(batch: Batch, journal: &Path) -> (ClosingBatch, impl FnOnce() + Send + 'static) {
        let handle = batch.handle();
        let (going, gone) = channel::<()>();
        let end = move || {
            drop(batch);
            drop(going);
        };
        (ClosingBatch { journal: journal.to_owned(), batch: handle, pid: process::id(), gone }, end)
    }

    /// Waits for a slice, and returns whether the batch is closed. A forked child does not have the thread, so it does not wait.
    fn is_gone(&self) -> bool {
        self.pid != process::id() || self.gone.recv_timeout(SLICE) == Err(RecvTimeoutError::Disconnected)
    }
}

/// Closes a batch on a thread of its own, or here if the system has no thread left: dropping the closure drops the batch.
fn in_background(end: impl FnOnce() + Send + 'static) {
    drop(spawn(Builder::new().name("agentjob-batch-end".to_owned()), end));
}

/// Waits for these without the GIL, and returns those that are not closed when `enough` returns true.
pub(crate) fn wait_for(batches: Vec<ClosingBatch>, mut enough: impl FnMut() -> bool) -> Vec<ClosingBatch> {
    let mut waiting = batches;
    while let Some(last) = waiting.last()
        && !enough()
    {
        if last.is_gone() {
            waiting.pop();
        }
    }
    waiting
}

/// Takes the batches with this journal: another run of it is about to start.
pub(crate) fn take(journal: &Path) -> Vec<ClosingBatch> {
    take_those(|old| old.journal == journal)
}

fn take_those(wanted: impl FnMut(&ClosingBatch) -> bool) -> Vec<ClosingBatch> {
    with_closing(|closing| {
        let (mine, others) = mem::take(closing).into_iter().partition(wanted);
        *closing = others;
        mine
    })
}

/// Closes a client, and waits for the responses to its batches' messages in flight: for their grace, until `token` is cancelled, or
/// until a signal handler raises, which ends the grace if it is the second interruption. Returns whether no message is in flight.
pub(crate) fn close(py: Python<'_>, client: &Client, token: Option<&CancelToken>) -> PyResult<bool> {
    py.detach(|| client.close());
    let (watcher, again, batches) = (Watcher::default(), is_interrupted(py), client.batches());
    let mut closing = take_those(|old| batches.contains(&old.batch));
    let mut done = true;
    let ended = blocking(py, &watcher, false, || {
        let enough = || {
            let interrupted = watcher.check().is_err();
            if interrupted && again {
                batches.iter().for_each(BatchHandle::abort);
            }
            interrupted || token.is_some_and(CancelToken::is_cancelled)
        };
        done = batches.iter().all(|batch| {
            while !batch.wait(Duration::ZERO) {
                if enough() {
                    return false;
                }
                batch.wait(SLICE);
            }
            true
        });
        if done {
            closing = wait_for(mem::take(&mut closing), enough);
        }
        Ok(())
    });
    done &= closing.is_empty();
    put(closing);
    ended.map(|()| done)
}

/// Lets these close in the background.
pub(crate) fn put(batches: Vec<ClosingBatch>) {
    with_closing(|closing| {
        closing.retain(|old| old.pid == process::id() && old.gone.try_recv().is_err_and(|why| why != HUNG_UP));
        closing.extend(batches);
    });
}

const HUNG_UP: std::sync::mpsc::TryRecvError = std::sync::mpsc::TryRecvError::Disconnected;

fn with_closing<T>(work: impl FnOnce(&mut Vec<ClosingBatch>) -> T) -> T {
    work(&mut CLOSING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Closes a batch in the background, wherever its last reference was dropped; once the interpreter shuts down, right here. It
/// calls nothing in Python, where an exception may be pending.
pub(crate) fn start(batch: Batch, journal: &Path) {
    let mut batch = Some(batch);
    let _ = Python::try_attach(|py| {
        if let Some(batch) = batch.take() {
            let (closing, end) = ClosingBatch::of(batch, journal);
            // Before the GIL is released, for another thread may be about to run the same journal.
            put(vec![closing]);
            py.detach(|| in_background(end));
        }
    });
}

/// Makes the interpreter's exit wait for the batches that are not closed by then.
pub(crate) fn wait_at_exit(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: PyOnceLock<()> = PyOnceLock::new();
    let register =
        || py.import("atexit")?.call_method1("register", (pyo3::wrap_pyfunction!(close_all, py)?,)).map(drop);
    REGISTERED.get_or_try_init(py, register).map(drop)
}

/// Ctrl-C ends it: messages without a response are unknown to the next run.
#[pyfunction]
fn close_all(py: Python<'_>) {
    let (watcher, mut closing) = (Watcher::default(), with_closing(mem::take));
    let open = mem::take(&mut *OPEN.lock().unwrap_or_else(PoisonError::into_inner));
    let _interrupted = blocking(py, &watcher, false, || {
        closing.extend(open.iter().filter_map(OpenBatch::close));
        wait_for(closing, || watcher.check().is_err());
        Ok(())
    });
}
