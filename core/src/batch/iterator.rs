//! A running batch as its owner holds it: an iterator of outcomes, or one step after the other.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::batch::events::{BatchOutcome, BatchProgress, BatchStep};
use crate::batch::handle::BatchHandle;
use crate::batch::run::earlier::Earlier;
use crate::batch::run::engine::Engine;
use crate::batch::run::state::Told;
use crate::batch::run::stop_errors::cancelled;
use crate::call::control::{CancelToken, SLICE};
use crate::error::Error;

/// A batch at work, in threads of its own: `concurrency` of them, and up to 8 that look after jobs.
///
/// As an iterator it answers the outcomes as they come, those of earlier runs first, and ends when every message has one. When
/// it is dropped before its end it [stops](Batch::stop) and lets the messages that are under way have their answers, for at most
/// [`grace`](BatchOptions::grace). It belongs to the process that began it: after a fork it is the parent's.
pub struct Batch {
    work: Arc<Engine>,
    earlier: Earlier,
    pid: u32,
    over: bool,
}

impl Batch {
    pub(crate) fn new(work: Arc<Engine>, earlier: Earlier) -> Batch {
        Batch { work, earlier, pid: std::process::id(), over: false }
    }

    /// Waits for the next thing that happens, for at most this long.
    ///
    /// # Errors
    /// What stopped the batch: `Journal`, `Authentication`, `PermissionDenied`, `Redirect`, `Tls`, `Closed`, `Cancelled`, or the trouble
    /// that lasted too long. Each says to run it again. After it the batch is over.
    pub fn step(&mut self, time: Duration) -> Result<BatchStep, Error> {
        if self.over {
            return Ok(BatchStep::Over);
        }
        if self.pid != std::process::id() {
            self.over = true;
            return Err(Error::invalid("this batch belongs to another process: a forked child cannot use it"));
        }
        match self.earlier.next(&self.work) {
            Ok(None) => {}
            Ok(Some(step)) => return Ok(step),
            Err(error) => {
                self.finish();
                return Err(error);
            }
        }
        self.work.attend();
        let end = Instant::now().checked_add(time);
        let mut state = self.work.lock();
        loop {
            match state.told.pop_front() {
                Some(Told::Outcome(outcome)) => return Ok(BatchStep::Outcome(outcome)),
                Some(Told::Update(update)) => return Ok(BatchStep::Update(update)),
                None => {}
            }
            if state.live == 0 {
                drop(state);
                return self.end();
            }
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(BatchStep::Nothing);
            }
            let waited = self.work.for_owner.wait_timeout(state, left.min(SLICE));
            drop(waited.unwrap_or_else(PoisonError::into_inner).0);
            self.work.attend();
            state = self.work.lock();
        }
    }

    /// How far the batch is.
    pub fn progress(&self) -> BatchProgress {
        if self.pid != std::process::id() {
            return BatchProgress::default();
        }
        self.work.lock().progress(self.work.now())
    }

    /// Sends nothing more. What is under way has its answer, for at most [`grace`](BatchOptions::grace); then the batch is over.
    /// Run it again with the same journal to go on.
    pub fn stop(&self) {
        if self.pid == std::process::id() {
            self.work.stop(None);
        }
    }

    /// What reaches this batch from any thread: to stop it, to wait for its answers, or to end its grace.
    pub fn handle(&self) -> BatchHandle {
        BatchHandle::new(&self.work, self.pid)
    }

    fn cancelled(&self) -> Error {
        cancelled(self.progress().left)
    }

    /// Every thread is gone.
    fn end(&mut self) -> Result<BatchStep, Error> {
        self.over = true;
        self.join();
        let synced = self.work.journal.close();
        let token = self.work.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
        let mut state = self.work.lock();
        let unfinished = state.open.contains(&true) || state.progress.waiting > 0;
        match state.failure.take() {
            Some(failure) => Err(failure),
            None if token && unfinished => {
                drop(state);
                Err(self.cancelled())
            }
            None => synced.map(|()| BatchStep::Over),
        }
    }

    /// Stops, and waits until every thread is gone: for the messages under way at most what is left of their grace.
    fn finish(&mut self) {
        self.over = true;
        self.work.stop(None);
        let mut state = self.work.lock();
        while state.live > 0 && state.stopping.is_some_and(|since| since.elapsed() < self.work.options.grace) {
            state = self.work.for_owner.wait_timeout(state, SLICE).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        self.work.abort.cancel();
        self.join();
        // Whatever is lost here is asked for again.
        drop(self.work.journal.close());
    }

    fn join(&mut self) {
        let threads = std::mem::take(&mut *self.work.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // How it ended is in the state.
            drop(thread.join());
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("options", &self.work.options).field("over", &self.over).finish_non_exhaustive()
    }
}

impl Iterator for Batch {
    type Item = Result<BatchOutcome, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.step(Duration::MAX) {
                Ok(BatchStep::Outcome(outcome)) => return Some(Ok(outcome)),
                Ok(BatchStep::Update(_) | BatchStep::Nothing) => {}
                Ok(BatchStep::Over) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            // The threads are the parent's.
            let threads = self.work.threads.try_lock().map(|mut threads| std::mem::take(&mut *threads));
            return std::mem::forget(threads);
        }
        if !self.over {
            self.finish();
        }
    }
}
