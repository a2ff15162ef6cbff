//! What is recorded and reported of an item that has ended.

use crate::batch::events::{BatchEvent, BatchOutcome};
use crate::batch::journal::item_lines;
use crate::batch::run::engine::Engine;
use crate::batch::run::state::State;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::{Job, JobStatus};

impl Engine {
    /// Gives the owner an item's outcome. The caller wakes it.
    pub(crate) fn push_outcome(
        &self,
        state: &mut State,
        at: u32,
        delivery: Delivery,
        job: Option<Job>,
        error: Option<Error>,
    ) {
        state.progress.done += 1;
        let job_failed = job.as_ref().is_some_and(|job| *job.status() == JobStatus::Failed);
        state.progress.failed += u64::from(self.options.wait.is_some() && error.is_none() && job_failed);
        let outcome = BatchOutcome::of(&self.items, at, delivery, job, error.map(Error::in_batch), false);
        state.events.push(BatchEvent::Outcome(outcome));
    }

    /// Records that a job is done, with its record if the result is the message's own. The line isn't synced: if it is lost, the next
    /// run polls the job again.
    pub(crate) fn record_finished(&self, at: u32, job: Option<&Job>) {
        let (place, now) = (at as usize, self.clock.stamp());
        let line = self.with_record_filter(|filter| item_lines::finished(place, &self.items[place], job, filter, now));
        if let Err(error) = self.journal.append(line) {
            self.stop(Some(error));
        }
        self.checkpoint("finished_written");
    }
}
