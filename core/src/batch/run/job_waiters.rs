//! A thread that waits for jobs: it polls one after the other, each when its poll is due.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::batch::events::BatchUpdate;
use crate::batch::journal::item_lines;
use crate::batch::pace::circuit_breaker::LONGEST_PAUSE;
use crate::batch::pace::failure_scope::{FailureScope, failure_scope};
use crate::batch::pace::moment::moment;
use crate::batch::run::engine::Engine;
use crate::batch::run::state::{PollTask, Role};
use crate::delivery::Delivery;
use crate::job::Job;
use crate::redact::Redactor;
use crate::wait::poller::Poller;
use crate::wait::schedule::Schedule;

/// The wait for the job of a message that was just accepted, with the service's response if it was read. `redactor` is for texts about the
/// batch's calls.
pub(crate) fn begin_wait(job_id: &str, schedule: Schedule, response: Option<Job>, redactor: &Redactor<'_>) -> Poller {
    match response {
        Some(response) => Poller::after_message(job_id, schedule, response, redactor),
        None => Poller::after_lost_response(job_id, schedule),
    }
}

/// Polls one job after the other until no job is waited for.
pub(crate) fn run(engine: &Arc<Engine>) {
    let mut state = engine.lock();
    loop {
        match state.next_poll(engine.now()) {
            PollTask::Done => break,
            PollTask::WaitUntil(time) => state = engine.sleep(&engine.for_job_waiters, state, time),
            PollTask::Poll { at, poller, missed, is_parked } => {
                let needs_another = state.needs_job_waiter();
                if needs_another {
                    state.thread_started(Role::JobWaiter);
                }
                drop(state);
                if needs_another {
                    // If no thread can be started, this one does all the polls.
                    drop(engine.spawn(Role::JobWaiter, run));
                }
                // What this thread put back may be late before what another one sleeps for.
                engine.for_job_waiters.notify_one();
                engine.poll_job(at, poller, missed, is_parked);
                state = engine.lock();
            }
        }
    }
    drop(state);
    engine.for_job_waiters.notify_all();
}

impl Engine {
    fn poll_job(self: &Arc<Engine>, at: u32, mut poller: Box<Poller>, missed: Option<Duration>, is_parked: bool) {
        let had_settled = poller.has_settled();
        let mut call = self.call_options(at);
        call.started_at = missed.and_then(|missed| Instant::now().checked_sub(missed));
        let polled = poller.poll_with(&self.shared, &call);
        let (job, error) = match polled {
            Err(error) if failure_scope(&error) == FailureScope::Batch => {
                self.lock().poll_again(at, poller, self.now());
                return self.handle_failure(&error);
            }
            polled if is_parked => return self.after_busy_poll(at, poller, &polled),
            Ok(None) => return self.keep_waiting(at, poller, had_settled),
            Ok(Some(job)) => {
                let own = Some(job).filter(|_| !self.items[at as usize].lacks_own_result);
                // Before the job's next message can leave.
                self.record_finished(at, own.as_ref());
                (own, None)
            }
            Err(error) => (error.job().cloned(), Some(error.with_delivery(Some(Delivery::Accepted)))),
        };
        let has_result = error.is_none();
        let mut state = self.lock();
        self.push_outcome(&mut state, at, Delivery::Accepted, job, error);
        state.done_waiting(at, &self.items, has_result, self.now());
        drop(state);
        self.checkpoint("next_of_job");
        self.notify_owner();
        self.for_senders.notify_all();
        self.for_job_waiters.notify_all();
    }

    /// After a poll of a job that is not done yet.
    fn keep_waiting(&self, at: u32, poller: Box<Poller>, had_settled: bool) {
        let (place, item) = (at as usize, &self.items[at as usize]);
        if !had_settled && poller.has_settled() {
            // The line isn't synced: if it is lost, the next run polls once more.
            drop(self.journal.append(item_lines::waiting(place, item, &poller, self.clock.stamp())));
            self.checkpoint("waiting_written");
        }
        let changed = poller.job().filter(|_| poller.changed()).cloned();
        let update = |job| BatchUpdate::Job { number: u64::from(at) + 1, job_id: item.job_id().into(), job };
        let update = changed.map(update);
        self.keep_polling(at, poller, update);
    }

    /// Polls the job again when it is due.
    pub(crate) fn keep_polling(&self, at: u32, poller: Box<Poller>, update: Option<BatchUpdate>) {
        let is_changed = update.is_some();
        let retry_after = poller.retry_after();
        let now = self.now();
        let mut state = self.lock();
        if let Some(update) = update {
            state.events.update(update);
        }
        if let Some(retry_after) = retry_after {
            state.polls.pause_until(now.saturating_add(moment(retry_after.min(LONGEST_PAUSE))));
        }
        state.poll_again(at, poller, now);
        drop(state);
        if is_changed {
            self.notify_owner();
        }
    }
}
