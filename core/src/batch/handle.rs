//! How a running batch is reached from outside its owner: any thread can stop it, wait for its answers, or end its grace. A client
//! knows its batches, so that closing it lets them keep their promise.

use std::fmt;
use std::process;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::ending::closed;
use super::work::Work;
use crate::client::Client;
use crate::control::{CancelToken, SLICE};
use crate::process::PerProcess;

/// Reaches a [`Batch`](super::Batch) from any thread; see [`Batch::handle`](super::Batch::handle).
///
/// It keeps nothing alive. For a batch that is gone, or that belongs to another process, its methods do nothing.
#[derive(Clone)]
pub struct BatchHandle {
    work: Weak<Work>,
    pid: u32,
}

impl BatchHandle {
    pub(super) fn new(work: &Arc<Work>, pid: u32) -> BatchHandle {
        BatchHandle { work: Arc::downgrade(work), pid }
    }

    /// Sends nothing more, and returns at once; see [`Batch::stop`](super::Batch::stop).
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

    fn work(&self) -> Option<Arc<Work>> {
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

impl Client {
    /// The batches of this client, its clones and those made by [`with_options`](Client::with_options) that are not gone, to wait for
    /// their answers after [`close`](Client::close).
    pub fn batches(&self) -> Vec<BatchHandle> {
        self.batches.list()
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
    pub(super) fn add(&self, batch: BatchHandle) {
        self.with(|batches| batches.push(batch));
    }

    fn list(&self) -> Vec<BatchHandle> {
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

impl Work {
    /// Sees to what may end the batch: its token, the client, and the time of the messages in flight.
    pub(super) fn attend(&self) {
        if self.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            self.stop(None);
        } else if self.client.is_closed() {
            self.stop(Some(closed()));
        }
        let stopping = self.lock().stopping;
        if stopping.is_some_and(|since| since.elapsed() >= self.options.grace) {
            self.abort.cancel();
        }
    }
}
