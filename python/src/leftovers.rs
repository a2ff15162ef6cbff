//! Batches at the program's end, and those without a holder that still await the answers to their messages in flight: each on a
//! thread of its own, for at most its `grace`. The next run of the same journal waits for them, and so does the program's end.

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

use crate::signals::{SLICE, Watcher, blocking, is_interrupted};

/// Locked with the GIL held only, and for a moment: whoever forks has the GIL, so a forked child does not find it locked.
static LEFT: Mutex<Vec<Leftover>> = Mutex::new(Vec::new());

/// Those that somebody holds, for the program's end. Locked as `LEFT` is.
static LIVE: Mutex<Vec<Live>> = Mutex::new(Vec::new());

/// A batch that its object and the program's end share: whoever comes first takes it.
pub(crate) type Shared = Arc<Mutex<Option<Batch>>>;

struct Live {
    journal: PathBuf,
    pid: u32,
    batch: Weak<Mutex<Option<Batch>>>,
}

impl Live {
    /// Takes the batch, which a step holds for a slice at most.
    fn begin(&self) -> Option<Leftover> {
        let batch = self.batch.upgrade().filter(|_| self.pid == process::id())?;
        let batch = batch.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Leftover::begin(batch, &self.journal))
    }
}

/// Keeps in mind that somebody holds this one.
pub(crate) fn hold(batch: &Shared, journal: &Path) {
    let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    live.retain(|live| live.batch.strong_count() > 0);
    live.push(Live { journal: journal.to_owned(), pid: process::id(), batch: Arc::downgrade(batch) });
}

/// A batch that ends by itself.
pub(crate) struct Leftover {
    journal: PathBuf,
    batch: BatchHandle,
    pid: u32,
    /// Hangs up when the batch is gone.
    gone: Receiver<()>,
}

impl Leftover {
    /// Lets go of a batch in the background, or here if there is no thread to be had.
    pub(crate) fn begin(batch: Batch, journal: &Path) -> Leftover {
        let handle = batch.handle();
        let (going, gone) = channel::<()>();
        let end = move || {
            drop(batch);
            drop(going);
        };
        // Without a thread the batch is dropped with what was to run on it.
        drop(spawn(Builder::new().name("agentjob-batch-end".to_owned()), end));
        Leftover { journal: journal.to_owned(), batch: handle, pid: process::id(), gone }
    }

    /// Answers whether it is gone, after this wait at most. A forked child has no such thread, and waits for none.
    fn is_gone(&self) -> bool {
        self.pid != process::id() || self.gone.recv_timeout(SLICE) == Err(RecvTimeoutError::Disconnected)
    }
}

/// Waits for these without the GIL, and answers the ones that are not gone when `enough` says so.
pub(crate) fn wait_for(leftovers: Vec<Leftover>, mut enough: impl FnMut() -> bool) -> Vec<Leftover> {
    let mut waiting = leftovers;
    while let Some(last) = waiting.last()
        && !enough()
    {
        if last.is_gone() {
            waiting.pop();
        }
    }
    waiting
}

/// Takes those that have this journal: a run of it is about to begin.
pub(crate) fn take(journal: &Path) -> Vec<Leftover> {
    take_those(|old| old.journal == journal)
}

fn take_those(wanted: impl FnMut(&Leftover) -> bool) -> Vec<Leftover> {
    with_left(|left| {
        let (mine, others) = mem::take(left).into_iter().partition(wanted);
        *left = others;
        mine
    })
}

/// Closes a client, and waits for the answers to its batches' messages in flight: for their grace, until `token` is cancelled, or until a
/// signal handler raises, which in the wake of a first interruption ends the grace, too. Returns whether none is in flight any more.
pub(crate) fn close(py: Python<'_>, client: &Client, token: Option<&CancelToken>) -> PyResult<bool> {
    py.detach(|| client.close());
    let (watcher, again, batches) = (Watcher::default(), is_interrupted(py), client.batches());
    let mut left = take_those(|old| batches.contains(&old.batch));
    let mut over = true;
    let ended = blocking(py, &watcher, false, || {
        let enough = || {
            let interrupted = watcher.check().is_err();
            if interrupted && again {
                batches.iter().for_each(BatchHandle::abort);
            }
            interrupted || token.is_some_and(CancelToken::is_cancelled)
        };
        over = batches.iter().all(|batch| {
            while !batch.wait(Duration::ZERO) {
                if enough() {
                    return false;
                }
                batch.wait(SLICE);
            }
            true
        });
        if over {
            left = wait_for(mem::take(&mut left), enough);
        }
        Ok(())
    });
    over &= left.is_empty();
    put(left);
    ended.map(|()| over)
}

/// Leaves them to themselves.
pub(crate) fn put(leftovers: Vec<Leftover>) {
    with_left(|left| {
        left.retain(|old| old.pid == process::id() && old.gone.try_recv().is_err_and(|why| why != HUNG_UP));
        left.extend(leftovers);
    });
}

const HUNG_UP: std::sync::mpsc::TryRecvError = std::sync::mpsc::TryRecvError::Disconnected;

fn with_left<T>(work: impl FnOnce(&mut Vec<Leftover>) -> T) -> T {
    work(&mut LEFT.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Lets go of a batch wherever its last reference goes. At the interpreter's end, when nobody will wait for a thread any more,
/// that is done here. Nothing here asks Python for anything: an exception may be on its way.
pub(crate) fn leave(batch: Batch, journal: &Path) {
    let mut batch = Some(batch);
    let _ = Python::try_attach(|py| {
        if let Some(batch) = batch.take() {
            put(vec![py.detach(|| Leftover::begin(batch, journal))]);
        }
    });
}

/// Has the program's end wait for those that are left then.
pub(crate) fn wait_at_exit(py: Python<'_>) -> PyResult<()> {
    static ASKED: PyOnceLock<()> = PyOnceLock::new();
    let ask = || py.import("atexit")?.call_method1("register", (pyo3::wrap_pyfunction!(end_all, py)?,)).map(drop);
    ASKED.get_or_try_init(py, ask).map(drop)
}

/// Ctrl-C ends it: what has no answer then is unknown to the next run.
#[pyfunction]
fn end_all(py: Python<'_>) {
    let (watcher, mut left) = (Watcher::default(), with_left(mem::take));
    let live = mem::take(&mut *LIVE.lock().unwrap_or_else(PoisonError::into_inner));
    let _interrupted = blocking(py, &watcher, false, || {
        left.extend(live.iter().filter_map(Live::begin));
        wait_for(left, || watcher.check().is_err());
        Ok(())
    });
}
