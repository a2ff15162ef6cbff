//! A running batch as its owner holds it: an iterator of outcomes, or one event after the other.

use std::fmt;
use std::mem;
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fd::BorrowedFd;

use crate::batch::events::{BatchEvent, BatchOutcome, BatchProgress};
use crate::batch::handle::BatchHandle;
use crate::batch::run::earlier::Earlier;
use crate::batch::run::engine::Engine;
use crate::batch::run::stop_errors::cancelled;
use crate::call::control::CancelToken;
use crate::error::{Error, ErrorKind};
use crate::os::bell::Bell;

/// A running batch, with its own threads: `concurrency` of them to send, and up to 8 that wait for jobs.
///
/// As an iterator it returns the outcomes as they come, those of earlier runs first, and ends when every message has one. When
/// it is dropped before its end it [stops](Batch::stop) and waits for the responses to the messages in flight, for at most
/// [`grace`](crate::BatchOptions::grace). It belongs to the process that began it: after a fork it is the parent's.
pub struct Batch {
    engine: Arc<Engine>,
    earlier: Earlier,
    pid: u32,
    is_finished: bool,
}

impl Batch {
    pub(crate) fn new(engine: Arc<Engine>, earlier: Earlier) -> Batch {
        Batch { engine, earlier, pid: process::id(), is_finished: false }
    }

    /// Waits for the next event, for at most this long.
    ///
    /// # Errors
    /// What stopped the batch: `Journal`, `Authentication`, `PermissionDenied`, `Redirect`, `Tls`, `Closed`, `Cancelled`, the service
    /// failure that lasted longer than `max_outage`, `RateLimit` with a pause of more than a day, `Connect` if the system has no thread
    /// left, `InvalidArgument` in a forked child, or `Internal`. Each but the last two says to run the batch again. After it the batch is
    /// finished.
    pub fn next_event(&mut self, timeout: Duration) -> Result<BatchEvent, Error> {
        self.next_event_or(timeout, None)
    }

    /// The same; `Idle` also when this token is cancelled, which does not stop the batch: the batch's own does.
    ///
    /// # Errors
    /// Those of [`next_event`](Batch::next_event).
    pub fn next_event_or_cancelled(&mut self, timeout: Duration, cancel: &CancelToken) -> Result<BatchEvent, Error> {
        self.next_event_or(timeout, Some(cancel))
    }

    fn next_event_or(&mut self, timeout: Duration, cancel: Option<&CancelToken>) -> Result<BatchEvent, Error> {
        if self.is_finished {
            return Ok(BatchEvent::Finished);
        }
        if self.pid != process::id() {
            self.is_finished = true;
            return Err(Error::invalid("this batch belongs to another process: a forked child cannot use it"));
        }
        match self.earlier.next(&self.engine) {
            Ok(None) => {}
            Ok(Some(event)) => return Ok(event),
            Err(error) => {
                self.is_finished = true;
                self.engine.stop_and_wait();
                return Err(error);
            }
        }
        let end = Instant::now().checked_add(timeout);
        loop {
            self.engine.check_end();
            let mut state = self.engine.lock();
            if let Some(event) = state.events.pop() {
                return Ok(event);
            }
            if self.engine.has_ended(&state) {
                drop(state);
                return self.finish();
            }
            if let Some(bell) = self.engine.bell.get() {
                // Under the lock: an event that comes later rings again.
                bell.hush();
            }
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() || cancel.is_some_and(CancelToken::is_cancelled) {
                return Ok(BatchEvent::Idle);
            }
            self.engine.wait_for_event(state, left, cancel);
        }
    }

    /// How many messages the batch has.
    pub fn len(&self) -> usize {
        self.engine.items.len()
    }

    /// Whether the batch has no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// For a program with its own event loop: what becomes readable when [`next_event`](Batch::next_event) has something. Then call
    /// `next_event(Duration::ZERO)` until it returns `Idle` or the batch is finished; also after [`due_in`](Batch::due_in), and after
    /// you cancelled its token or closed its client. Do not read or close the descriptor; it lives as long as the batch.
    ///
    /// # Errors
    /// `Connect`: no descriptor is free. `InvalidArgument`: the batch belongs to the parent process.
    pub fn descriptor(&self) -> Result<BorrowedFd<'_>, Error> {
        if self.pid != process::id() {
            return Err(Error::invalid("this batch belongs to another process: a forked child cannot use it"));
        }
        if self.engine.bell.get().is_none() {
            let no_descriptor =
                |error| Error::new(ErrorKind::Connect, format!("no descriptor for the batch's events: {error}"));
            // There may be events already.
            let bell = Bell::new().map_err(no_descriptor)?;
            bell.ring();
            let _ = self.engine.bell.set(bell);
        }
        Ok(self.engine.bell.get().expect("it was just set").descriptor())
    }

    /// How long until `next_event` has to be called even if the descriptor is not readable: a batch that is stopping ends the calls in
    /// flight when their grace has passed, and waits for its threads for 1 s after that. `None` if nothing is due.
    pub fn due_in(&self) -> Option<Duration> {
        if self.is_finished || self.pid != process::id() { None } else { self.engine.due_in() }
    }

    /// How far the batch is.
    pub fn progress(&self) -> BatchProgress {
        if self.pid != process::id() {
            return BatchProgress::default();
        }
        self.engine.lock().progress(self.engine.now())
    }

    /// Sends nothing more. The batch is finished when the messages in flight have their responses, after at most
    /// [`grace`](crate::BatchOptions::grace). Run it again with the same journal to continue.
    pub fn stop(&self) {
        if self.pid == process::id() {
            self.engine.stop(None);
        }
    }

    /// [Stops](Batch::stop) it and leaves the rest to its own threads, unlike dropping it, which waits for them. The last one unlocks the
    /// journal. A [`BatchHandle`] can still wait for the responses, or end the grace, which nothing else does then.
    pub fn detach(mut self) {
        if !self.is_finished {
            self.stop();
        }
        // Dropping it does nothing more.
        self.is_finished = true;
    }

    /// A handle that reaches this batch from any thread.
    pub fn handle(&self) -> BatchHandle {
        BatchHandle::new(&self.engine, self.pid)
    }

    /// The batch has ended.
    fn finish(&mut self) -> Result<BatchEvent, Error> {
        self.is_finished = true;
        self.engine.join_threads();
        let is_cancelled = self.engine.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled);
        let mut state = self.engine.lock();
        let is_unfinished = state.unsettled.contains(&true) || state.progress.waiting > 0;
        match state.failure.take() {
            // Its client was closed when nothing was left to do.
            Some(failure) if failure.kind() == ErrorKind::Closed && !is_unfinished => Ok(BatchEvent::Finished),
            Some(failure) => Err(failure),
            None if is_cancelled && is_unfinished => {
                drop(state);
                Err(cancelled(self.progress().left))
            }
            None => Ok(BatchEvent::Finished),
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("options", &self.engine.options)
            .field("is_finished", &self.is_finished)
            .finish_non_exhaustive()
    }
}

impl Iterator for Batch {
    type Item = Result<BatchOutcome, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_event(Duration::MAX) {
                Ok(BatchEvent::Outcome(outcome)) => return Some(Ok(outcome)),
                Ok(BatchEvent::Update(_) | BatchEvent::Call(_) | BatchEvent::Idle) => {}
                Ok(BatchEvent::Finished) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.pid != process::id() {
            // The threads are the parent's.
            let threads = self.engine.threads.try_lock().map(|mut threads| mem::take(&mut *threads));
            return mem::forget(threads);
        }
        if !self.is_finished {
            self.engine.stop_and_wait();
        }
    }
}
