//! How a batch stops, and who waits for its grace.
//!
//! A batch stops when its owner, a [`BatchHandle`](crate::BatchHandle), its cancel token or the client's `close` says so, or when a
//! failure makes every other message fail, too. From then on, [`State::stopping`](crate::batch::run::state::State) has the time.
//!
//! 1. [`Engine::stop`] makes the threads take nothing more. The messages in flight continue: their responses are still wanted.
//! 2. When the batch's `grace` has passed since then, [`Engine::check_end`] cancels the calls in flight. No thread is started for
//!    that: each caller that waits for the batch does it in time. Callers wait in
//!    [`Batch::next_event`](crate::Batch::next_event) and in [`Engine::wait`], which is behind the drop of a `Batch` and
//!    [`BatchHandle::wait`](crate::BatchHandle::wait).
//! 3. Each thread records how its message ended in the journal, and ends. The last one closes the journal, which syncs and unlocks it.
//! 4. A thread that is in a function of the program (for the API key or for events), or that the disk keeps, ends when that returns. The
//!    callers wait no longer than [`ABORT_TIME`] for it. If it never returns, its message is unknown to the next run.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::batch::run::engine::{Engine, MAX_SLEEP};
use crate::batch::run::state::State;
use crate::batch::run::stop_errors::closed;
use crate::call::control::{CancelToken, SLICE};
use crate::error::{Error, ErrorKind};

/// How long the owner still waits for the batch's threads when their calls were cancelled. They end far earlier, unless a function of
/// the program or the disk keeps one.
const ABORT_TIME: Duration = Duration::from_secs(1);

impl State {
    /// Why the batch stops. Its owner gets the first reason, except that a journal that can't be written comes before everything: what
    /// was reported about the messages in flight is not in it. Returns whether this is the reason now.
    pub(crate) fn fail(&mut self, why: Error) -> bool {
        let is_journal = |error: &Error| error.kind() == ErrorKind::Journal;
        let counts = self.failure.as_ref().is_none_or(|first| is_journal(&why) && !is_journal(first));
        if counts {
            self.failure = Some(why);
        }
        counts
    }
}

impl Engine {
    /// Stops the batch.
    pub(crate) fn stop(&self, failure: Option<Error>) {
        let mut state = self.lock();
        let begins = state.stopping.is_none();
        state.stopping.get_or_insert_with(Instant::now);
        let counts = failure.is_some_and(|failure| state.fail(failure));
        drop(state);
        if !begins && !counts {
            // Those who wait for the batch call this each time that they wake, and would wake each other.
            return;
        }
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
            self.abort();
        }
    }

    /// Cancels the calls in flight of a batch that is stopping.
    pub(crate) fn abort(&self) {
        let mut state = self.lock();
        let begins = state.aborted.is_none();
        state.aborted.get_or_insert_with(Instant::now);
        drop(state);
        self.abort.cancel();
        if begins {
            // They wait for less time now.
            self.notify_owner();
        }
    }

    /// How long until [`check_end`](Engine::check_end) or [`has_ended`](Engine::has_ended) changes without an event: when the grace has
    /// passed, and when the threads had their time after it.
    pub(crate) fn due_in(&self) -> Option<Duration> {
        self.due(&self.lock())
    }

    /// The same for a caller that has locked the state.
    pub(crate) fn due(&self, state: &State) -> Option<Duration> {
        let (since, time) = match state.aborted {
            Some(aborted) => (aborted, ABORT_TIME),
            None => (state.stopping?, self.options.grace),
        };
        Some(time.saturating_sub(since.elapsed()))
    }

    /// How long a caller sleeps who wants to sleep for at most this time: until the batch's end is [due](Engine::due), and never so long
    /// that it would notice late that the machine was suspended.
    pub(crate) fn until_due(&self, state: &State, at_most: Duration) -> Duration {
        at_most.min(self.due(state).unwrap_or(MAX_SLEEP)).min(MAX_SLEEP)
    }

    /// Whether the batch has ended for its callers.
    pub(crate) fn has_ended(&self, state: &State) -> bool {
        state.is_closed || state.aborted.is_some_and(|since| since.elapsed() >= ABORT_TIME)
    }

    /// Waits until the batch has ended, for at most `timeout`, and returns whether it has.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let end = Instant::now().checked_add(timeout);
        loop {
            self.check_end();
            let state = self.lock();
            if self.has_ended(&state) {
                return true;
            }
            let left = end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            // A token, which a signal handler may cancel, notifies no Condvar. Once the batch is stopping, it has done what it can.
            let slice = if self.options.cancel.is_some() && state.stopping.is_none() { SLICE } else { Duration::MAX };
            let left = self.until_due(&state, left.min(slice));
            drop(self.for_owner.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0);
        }
    }

    /// Stops the batch, and waits for the messages in flight within the grace.
    pub(crate) fn stop_and_wait(&self) {
        self.stop(None);
        self.wait(Duration::MAX);
        self.join_threads();
    }
}
