//! How a batch stops, and who waits for its grace.
//!
//! A batch stops when its owner, a [`BatchHandle`](crate::BatchHandle), its cancel token or the client's `close` says so, or when a
//! failure makes every other message fail, too. From then on, [`State::stopping`](crate::batch::run::state::State) has the time.
//!
//! 1. [`Engine::stop`] makes the threads take nothing more. The messages in flight continue: their responses are still wanted.
//! 2. When the batch's `grace` has passed since then, [`Engine::check_end`] cancels the calls in flight. No thread is started for
//!    that: each caller that waits for the batch does it every [`SLICE`]. Callers wait in
//!    [`Batch::next_event`](crate::Batch::next_event) and in [`Engine::wait_until_idle`], which is behind the drop of a `Batch` and
//!    [`BatchHandle::wait`](crate::BatchHandle::wait).
//! 3. Each thread records how its message ended in the journal, and ends. With the last one the batch is idle.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::batch::run::engine::Engine;
use crate::batch::run::stop_errors::closed;
use crate::call::control::{CancelToken, SLICE};
use crate::error::{Error, ErrorKind};

impl Engine {
    /// Stops the batch. Its owner gets the first failure, except that a journal that can't be written comes before everything: what
    /// was reported about the messages in flight is not in it.
    pub(crate) fn stop(&self, failure: Option<Error>) {
        let mut state = self.lock();
        state.stopping.get_or_insert_with(Instant::now);
        let is_journal =
            |failure: &Option<Error>| failure.as_ref().is_some_and(|error| error.kind() == ErrorKind::Journal);
        if state.failure.is_none() || (is_journal(&failure) && !is_journal(&state.failure)) {
            state.failure = failure;
        }
        drop(state);
        self.for_senders.notify_all();
        self.for_job_waiters.notify_all();
        self.notify_owner();
    }

    /// Whether no more messages may be sent.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_cancelled() || self.lock().stopping.is_some()
    }

    /// Whether the cancel token or the client's `close` ended the batch.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.shared.connections.is_closed() || self.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled)
    }

    /// Stops the batch if its cancel token or the client's `close` says so, and cancels the calls in flight once the grace has
    /// passed.
    pub(crate) fn check_end(&self) {
        if self.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            self.stop(None);
        } else if self.shared.connections.is_closed() {
            self.stop(Some(closed()));
        }
        let stopping = self.lock().stopping;
        if stopping.is_some_and(|since| since.elapsed() >= self.options.grace) {
            self.abort.cancel();
        }
    }

    /// Waits until no thread is running, for at most `timeout`, and returns whether none is.
    pub(crate) fn wait_until_idle(&self, timeout: Duration) -> bool {
        let end = Instant::now().checked_add(timeout);
        loop {
            self.check_end();
            let state = self.lock();
            if state.threads == 0 {
                return true;
            }
            let left = end.map_or(SLICE, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            drop(self.for_owner.wait_timeout(state, left.min(SLICE)).unwrap_or_else(PoisonError::into_inner).0);
        }
    }

    /// Stops the batch, and leaves the rest to its threads: the last one closes the journal.
    pub(crate) fn detach(&self) {
        self.stop(None);
        let mut state = self.lock();
        state.is_detached = true;
        if state.threads == 0 {
            self.close_journal();
        }
    }

    /// For a batch whose owner does not wait for what that returns. A line that isn't on the disk yet is one that the next run can do
    /// without.
    pub(crate) fn close_journal(&self) {
        drop(self.journal.close());
    }

    /// Stops the batch, waits for the messages in flight within the grace, and closes the journal.
    pub(crate) fn stop_and_join(&self) {
        self.stop(None);
        self.wait_until_idle(Duration::MAX);
        self.join_threads();
        self.close_journal();
    }
}
