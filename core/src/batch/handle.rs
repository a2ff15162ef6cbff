//! Reaches a running batch from any thread: to stop it, to wait for its responses, or to end its grace. A client knows its batches,
//! so that closing it stops them.

use std::fmt;
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::batch::events::BatchProgress;
use crate::batch::run::engine::Engine;
use crate::batch::run::stop_errors::closed;
use crate::os::process::PerProcess;

/// Reaches a [`Batch`](crate::Batch) from any thread; see [`Batch::handle`](crate::Batch::handle).
///
/// It keeps nothing alive. For a batch that was dropped, or that belongs to another process, its methods do nothing.
#[derive(Clone)]
pub struct BatchHandle {
    engine: Weak<Engine>,
    pid: u32,
}

impl BatchHandle {
    pub(crate) fn new(engine: &Arc<Engine>, pid: u32) -> BatchHandle {
        BatchHandle { engine: Arc::downgrade(engine), pid }
    }

    /// Sends nothing more, and returns at once; see [`Batch::stop`](crate::Batch::stop).
    pub fn stop(&self) {
        if let Some(engine) = self.engine() {
            engine.stop(None);
        }
    }

    /// Sends nothing more, and ends the messages in flight without their grace: those without a response are `unknown`. It
    /// returns at once; the batch is finished within 100 ms, or within 1 s if a function of the program (for the API key
    /// or for events) or the disk takes longer.
    pub fn abort(&self) {
        if let Some(engine) = self.engine() {
            engine.stop(None);
            engine.abort();
        }
    }

    /// Waits until no message of the batch is in flight, for at most `timeout`. Returns whether none is: then the journal has every
    /// outcome, and is unlocked. It stops the batch only if its token is cancelled or its client closed, and ends the calls of a stopped
    /// one when their grace has passed. If a
    /// function of the program (for the API key or for events) or the disk takes longer than 1 s after that, it returns true, too:
    /// nothing more is sent, and the journal is unlocked when that has returned.
    pub fn wait(&self, timeout: Duration) -> bool {
        self.engine().is_none_or(|engine| engine.wait(timeout))
    }

    /// How far the batch is; `None` once it was dropped and its threads have ended, and in a forked child.
    pub fn progress(&self) -> Option<BatchProgress> {
        self.engine().map(|engine| engine.lock().progress(engine.now()))
    }

    /// Whether the batch is stopping and has this journal, given as an absolute path.
    pub fn is_stopping_with(&self, journal: &Path) -> bool {
        self.engine().is_some_and(|engine| engine.journal.path() == journal && engine.is_stopping())
    }

    fn engine(&self) -> Option<Arc<Engine>> {
        (self.pid == process::id()).then(|| self.engine.upgrade()).flatten()
    }
}

/// Equal if both reach the same batch.
impl PartialEq for BatchHandle {
    fn eq(&self, other: &BatchHandle) -> bool {
        Weak::ptr_eq(&self.engine, &other.engine)
    }
}

impl Eq for BatchHandle {}

impl fmt::Debug for BatchHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchHandle").field("pid", &self.pid).finish_non_exhaustive()
    }
}

/// The batches of one client in each process that uses it: a forked child does not have its parent's.
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

    /// The client was closed: stops every batch. The messages in flight still have their grace.
    pub(crate) fn close(&self) {
        for batch in self.list() {
            if let Some(engine) = batch.engine() {
                engine.stop(Some(closed()));
            }
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Vec<BatchHandle>) -> T) -> T {
        let batches = self.0.get(process::id(), Mutex::default);
        let mut batches = batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.retain(|batch| batch.engine.strong_count() > 0);
        change(&mut batches)
    }
}
