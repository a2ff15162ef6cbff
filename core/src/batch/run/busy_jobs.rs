//! Jobs that are busy: the service responds 409 to a message to them. The job is polled until it isn't active, by the threads that
//! wait for jobs, and then the message is sent again. Nothing else waits meanwhile.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use crate::batch::events::BatchUpdate;
use crate::batch::item::Planned;
use crate::batch::pace::failure_scope::{FailureScope, failure_scope};
use crate::batch::pace::moment::Moment;
use crate::batch::pace::sequence::Recheck;
use crate::batch::run::engine::Engine;
use crate::batch::run::job_waiters;
use crate::batch::run::state::{Role, State};
use crate::batch::run::stop_errors::{describe_time, no_thread};
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::wait::options::WaitOptions;
use crate::wait::poller::Poller;
use crate::wait::schedule::Schedule;

/// A poller that waits until a job isn't active, or until `max_busy` is over.
pub(crate) fn busy_poller(
    job_id: &str,
    wait: Option<&WaitOptions>,
    waits: &Schedule,
    recheck: Recheck,
    now: Moment,
) -> Result<Poller, Error> {
    let left = u64::try_from(recheck.until.saturating_sub(now)).unwrap_or(0).max(1);
    let timeout = Some(Duration::from_millis(left));
    Poller::new(job_id, Schedule { timeout, settle: Duration::ZERO, ..schedule(wait, waits) }, None)
}

/// Busy jobs are polled as often as jobs that are waited for. `waits`: what the client's waits take where their options are open.
fn schedule(wait: Option<&WaitOptions>, waits: &Schedule) -> Schedule {
    wait.map_or(*waits, |wait| wait.schedule.over(waits))
}

impl Engine {
    /// Whether this failure says that the item's job is busy, and if so, when that is checked. None also if the job has been busy
    /// for too long.
    pub(crate) fn recheck_if_busy(&self, item: &Planned, error: &Error) -> Option<Recheck> {
        if failure_scope(error) != FailureScope::Job {
            return None;
        }
        let pause = schedule(self.options.wait.as_ref(), &self.shared.config.waits).min_interval;
        let (now, max_busy) = (self.now(), self.options.max_busy);
        self.lock().sequence.refused(item.first_for_job, now, max_busy, pause, error.retry_after())
    }

    /// The refusal of a message whose job has been busy for too long.
    pub(crate) fn too_busy(&self, error: Error) -> Error {
        match self.options.max_busy {
            Duration::ZERO => error,
            time => error.with_hint(format!("The job was busy for {} (max_busy).", describe_time(time))),
        }
    }

    /// Polls the job of a message that was refused.
    pub(crate) fn wait_while_busy(
        self: &Arc<Engine>,
        mut state: MutexGuard<'_, State>,
        at: u32,
        recheck: Recheck,
        error: &Error,
    ) {
        let job_id = self.items[at as usize].job_id();
        match busy_poller(job_id, self.options.wait.as_ref(), &self.shared.config.waits, recheck, self.now()) {
            Ok(poller) => state.park(at, Box::new(poller), recheck.first, self.now()),
            Err(error) => {
                drop(state);
                return self.stop(Some(error));
            }
        }
        // The batch sends it again itself, and its caller must not.
        let error = error.clone().in_batch().with_delivery(Some(Delivery::NotSent));
        let update = BatchUpdate::Busy { number: u64::from(at) + 1, job_id: job_id.into(), error };
        state.events.update(update);
        self.start_polling(state);
        self.checkpoint("job_busy");
    }

    /// Starts the thread that polls jobs, unless it is running.
    pub(crate) fn start_polling(self: &Arc<Engine>, mut state: MutexGuard<'_, State>) {
        let is_first = state.job_waiters == 0 && state.stopping.is_none();
        if is_first {
            state.thread_started(Role::JobWaiter);
        }
        drop(state);
        match is_first.then(|| self.spawn(Role::JobWaiter, job_waiters::run)) {
            Some(Err(error)) => self.stop(Some(no_thread(&error))),
            _ => self.for_job_waiters.notify_one(),
        }
        self.notify_owner();
    }

    /// After a poll of a busy job: its message is sent again unless the job is still active. A poll that failed for good lets the
    /// message find out why.
    pub(crate) fn after_busy_poll(&self, at: u32, poller: Box<Poller>, polled: &Result<Option<Job>, Error>) {
        if let Ok(None) = polled {
            return self.keep_polling(at, poller, None);
        }
        let mut state = self.lock();
        if matches!(polled, Err(error) if error.kind() == ErrorKind::WaitTimeout) {
            state.sequence.stayed_busy(self.items[at as usize].first_for_job);
        }
        state.unpark(at, self.now());
        drop(state);
        self.checkpoint("busy_over");
        self.for_senders.notify_all();
        self.for_job_waiters.notify_all();
    }
}
