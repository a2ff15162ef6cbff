//! How a running batch is reached from outside its owner: any thread can stop it, wait for its answers, or end its grace. A client
//! knows its batches, so that closing it lets them keep their promise.

use std::fmt;
use std::process;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::batch::run::engine::Engine;
use crate::batch::run::stop_errors::closed;
use crate::call::control::SLICE;
use crate::os::process::PerProcess;

/// Reaches a [`Batch`](crate::batch::iterator::Batch) from any thread; see [`Batch::handle`](crate::batch::iterator::Batch::handle).
///
/// It keeps nothing alive. For a batch that is gone, or that belongs to another process, its methods do nothing.
#[derive(Clone)]
pub struct BatchHandle {
    work: Weak<Engine>,
    pid: u32,
}

impl BatchHandle {
    pub(crate) fn new(work: &Arc<Engine>, pid: u32) -> BatchHandle {
        BatchHandle { work: Arc::downgrade(work), pid }
    }

    /// Sends nothing more, and returns at once; see [`Batch::stop`](crate::batch::iterator::Batch::stop).
    pub fn stop(&self) {
        if let Some(work) = self.work() {
            work.stop(None);
        }
    }

    /// Sends nothing more, and ends the messages in flight at once, whatever is left of their grace: those that have no answer yet
    /// are `unknown`. It returns at once; the batch is over within 100 ms.
    pub fn abort(&self) {
        if let Some(work) = self.work() {
            work.stop(None);
            work.abort.cancel();
        }
    }

    /// Waits until no message of the batch is in flight, for at most `time`. Returns whether none is: then every answer that came
    /// is in the journal. It does not stop the batch; it does end the calls of a stopped one when their grace is over.
    pub fn wait(&self, time: Duration) -> bool {
        let Some(work) = self.work() else { return true };
        let end = Instant::now().checked_add(time);
        loop {
            work.attend();
            let state = work.lock();
            if state.live == 0 {
                return true;
            }
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            drop(work.for_owner.wait_timeout(state, left.min(SLICE)).unwrap_or_else(PoisonError::into_inner).0);
        }
    }

    fn work(&self) -> Option<Arc<Engine>> {
        (self.pid == process::id()).then(|| self.work.upgrade()).flatten()
    }
}

/// Whether both reach the same batch.
impl PartialEq for BatchHandle {
    fn eq(&self, other: &BatchHandle) -> bool {
        Weak::ptr_eq(&self.work, &other.work)
    }
}

impl Eq for BatchHandle {}

impl fmt::Debug for BatchHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchHandle").field("pid", &self.pid).finish_non_exhaustive()
    }
}

/// The batches of one client, in each process that uses it: a forked child has none of its parent's.
#[derive(Debug)]
pub(crate) struct Batches(PerProcess<Mutex<Vec<BatchHandle>>>);

impl Default for Batches {
    fn default() -> Batches {
        Batches(PerProcess::new(Mutex::default()))
    }
}

impl Batches {
    pub(crate) fn add(&self, batch: BatchHandle) {
        self.with(|batches| batches.push(batch));
    }

    pub(crate) fn list(&self) -> Vec<BatchHandle> {
        self.with(|batches| batches.clone())
    }

    /// The client was closed. Each batch takes no more messages from now on, and has the answers in flight within its grace.
    pub(crate) fn close(&self) {
        for batch in self.list() {
            if let Some(work) = batch.work() {
                work.stop(Some(closed()));
            }
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Vec<BatchHandle>) -> T) -> T {
        let batches = self.0.get(process::id(), Mutex::default);
        let mut batches = batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.retain(|batch| batch.work.strong_count() > 0);
        change(&mut batches)
    }
}
