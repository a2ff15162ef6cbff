//! What the threads of a batch share.
//!
//! [`resume`](crate::batch::run::resume) makes an engine and starts its [threads](crate::batch::run::threads): senders, which run
//! [`sender`](crate::batch::run::sender), and, if the batch waits for its jobs, job waiters, which run
//! [`job_waiters`](crate::batch::run::job_waiters). The owner of the [`Batch`](crate::Batch) takes events out of the
//! [`State`]. [`stopping`](crate::batch::run::stopping) says how a batch stops.

use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::batch::item::Planned;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::encode::LineWriter;
use crate::batch::journal::file::Journal;
use crate::batch::journal::stored_record::RecordFilter;
use crate::batch::options::BatchOptions;
use crate::batch::pace::moment::{Moment, moment};
use crate::batch::run::state::State;
use crate::call::control::CancelToken;
use crate::os::bell::Bell;
use crate::redact::Redactor;
use crate::shared::Shared;

/// The longest sleep, so that a thread soon notices that the machine was suspended meanwhile.
pub(crate) const MAX_SLEEP: Duration = Duration::from_secs(30);

/// A batch that is running.
pub(crate) struct Engine {
    pub(crate) shared: Shared,
    pub(crate) options: BatchOptions,
    pub(crate) journal: Journal,
    pub(crate) items: Vec<Planned>,
    pub(crate) clock: Clock,
    /// Cancels the calls in flight.
    pub(crate) abort: CancelToken,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    pub(crate) state: Mutex<State>,
    /// Signalled when the state changes for senders, for job waiters, for the owner.
    pub(crate) for_senders: Condvar,
    pub(crate) for_job_waiters: Condvar,
    pub(crate) for_owner: Condvar,
    /// For an owner whose event loop waits for the batch's descriptor, or who waits for it and a token.
    pub(crate) bell: OnceLock<Bell>,
}

impl Engine {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Moment {
        moment(self.clock.now())
    }

    /// Notifies the batch's tests when a point of the journal's protocol is reached.
    pub(crate) fn checkpoint(&self, name: &'static str) {
        if let Some(handler) = &self.options.on_checkpoint {
            handler(name);
        }
    }

    /// Notifies the owner that there is an event, that the batch is stopping, or that a thread has ended.
    pub(crate) fn notify_owner(&self) {
        self.for_owner.notify_all();
        if let Some(bell) = self.bell.get() {
            bell.ring();
        }
    }

    /// Sleeps until `on` is signalled or this time has come, or for [`MAX_SLEEP`].
    pub(crate) fn sleep<'a>(&self, on: &Condvar, state: MutexGuard<'a, State>, until: Moment) -> MutexGuard<'a, State> {
        let left = u64::try_from(until.saturating_sub(self.now())).unwrap_or(0).max(1);
        let left = Duration::from_millis(left).min(MAX_SLEEP);
        on.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Writes a line with what may be stored of a response.
    pub(crate) fn with_record_filter(&self, write: impl FnOnce(&RecordFilter<'_>) -> LineWriter) -> LineWriter {
        let call = self.options.call();
        let secrets = self.shared.secrets(&call);
        write(&RecordFilter { is_secret: &Redactor::new(&secrets).finder() })
    }
}
