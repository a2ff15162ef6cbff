//! What a batch's threads do that look after jobs: one look after the other, each when it is due.

use std::sync::Arc;
use std::time::Duration;

use crate::batch::events::BatchUpdate;
use crate::batch::journal::entry;
use crate::batch::pace::circuit_breaker::MAX_ASKED;
use crate::batch::pace::failure_scope::{Concern, concern};
use crate::batch::pace::rate::moment;
use crate::batch::run::engine::Engine;
use crate::batch::run::state::{Look, Told};
use crate::delivery::Delivery;
use crate::job::Job;
use crate::wait::poller::Poller;

/// How many threads look after jobs; another one comes when a look was late by more than this.
const MAX_WATCHERS: usize = 8;
const LATE: Duration = Duration::from_millis(250);

impl Engine {
    /// Looks at one job after the other, until none is waited for.
    pub(crate) fn watch(self: &Arc<Engine>) {
        let mut state = self.lock();
        loop {
            match state.look(self.now()) {
                Look::Over => break,
                Look::Until(time) => state = self.sleep(&self.for_watchers, state, time),
                Look::At { at, poller, late } => {
                    let another = late > LATE && state.watchers < MAX_WATCHERS.min(state.waits());
                    if another {
                        state.count(true);
                    }
                    drop(state);
                    // A thread that cannot be had is missed by nobody: this one is there.
                    if another && self.spawn(true).is_ok() {
                        self.for_watchers.notify_one();
                    }
                    self.look(at, poller);
                    state = self.lock();
                }
            }
        }
        drop(state);
        self.for_watchers.notify_all();
    }

    fn look(self: &Arc<Engine>, at: u32, mut poller: Box<Poller>) {
        let (place, item) = (at as usize, &self.items[at as usize]);
        let was_at_work = poller.has_settled();
        let looked = poller.poll_with(&self.shared, &self.call());
        if let Err(error) = &looked
            && concern(error) == Concern::All
        {
            self.lock().looked(at, poller, self.now());
            return self.concerned(error);
        }
        match looked {
            Ok(None) => {
                if !was_at_work && poller.has_settled() {
                    // Not on the disk at once: what is lost is asked for again.
                    let line = entry::waiting(place, item, &poller, self.clock.stamp());
                    drop(self.journal.append(line));
                    self.step("waiting_written");
                }
                let update = match (poller.changed(), poller.job()) {
                    (true, Some(job)) => Some(BatchUpdate::Job {
                        number: u64::from(at) + 1,
                        job_id: item.job_id().into(),
                        job: job.clone(),
                    }),
                    _ => None,
                };
                let heard = update.is_some();
                let asked = poller.retry_after();
                let now = self.now();
                let mut state = self.lock();
                state.told.extend(update.map(Told::Update));
                if let Some(asked) = asked {
                    state.be_quiet(now.saturating_add(moment(asked.min(MAX_ASKED))));
                }
                state.looked(at, poller, now);
                drop(state);
                if heard {
                    self.for_owner.notify_all();
                }
                return;
            }
            Ok(Some(job)) => {
                self.finish(at, &job);
                self.tell(at, Delivery::Accepted, Some(job), None);
            }
            Err(error) => {
                let error = error.with_delivery(Some(Delivery::Accepted));
                self.tell(at, Delivery::Accepted, error.job().cloned(), Some(error));
            }
        }
        self.lock().done_waiting();
        self.for_watchers.notify_all();
    }

    /// Notes that a job is done. Not on the disk at once: what is lost is asked for again.
    pub(crate) fn finish(&self, at: u32, job: &Job) {
        let (place, now) = (at as usize, self.clock.stamp());
        let line = self.keeping(place, |kept| entry::finished(place, &self.items[place], job, kept, now));
        if let Err(error) = self.journal.append(line) {
            self.stop(Some(error));
        }
        self.step("finished_written");
    }
}
