//! What is recorded and reported of an item that has ended.

use crate::batch::events::{BatchEvent, BatchOutcome};
use crate::batch::item::Planned;
use crate::batch::journal::item_lines;
use crate::batch::run::engine::Engine;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;

/// The outcome of the item at this place, from 0.
pub(crate) fn outcome(
    items: &[Planned],
    at: u32,
    delivery: Delivery,
    job: Option<Job>,
    error: Option<Error>,
    earlier: bool,
) -> BatchOutcome {
    let item = &items[at as usize];
    BatchOutcome {
        number: u64::from(at) + 1,
        line: item.line(),
        key: item.key(),
        job_id: item.job_id().into(),
        delivery,
        job,
        error,
        earlier,
    }
}

impl Engine {
    /// Gives the owner an item's outcome.
    pub(crate) fn report_outcome(&self, at: u32, delivery: Delivery, job: Option<Job>, error: Option<Error>) {
        let mut state = self.lock();
        state.progress.done += 1;
        let outcome = outcome(&self.items, at, delivery, job, error.map(Error::in_batch), false);
        state.events.push_back(BatchEvent::Outcome(outcome));
        drop(state);
        self.for_owner.notify_all();
    }

    /// Records that a job is done. The line isn't synced: if it is lost, the next run polls the job again.
    pub(crate) fn record_finished(&self, at: u32, job: &Job) {
        let (place, now) = (at as usize, self.clock.stamp());
        let line =
            self.with_record_filter(place, |filter| item_lines::finished(place, &self.items[place], job, filter, now));
        if let Err(error) = self.journal.append(line) {
            self.stop(Some(error));
        }
        self.checkpoint("finished_written");
    }
}
