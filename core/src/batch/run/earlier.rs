//! The outcomes of earlier runs, for the run that resumes their journal.

use std::vec;

use crate::batch::events::{BatchEvent, BatchOutcome, BatchUpdate};
use crate::batch::journal::decode::decode;
use crate::batch::journal::error::changed;
use crate::batch::journal::file::Journal;
use crate::batch::journal::line::{Content, LineSpan};
use crate::batch::run::engine::Engine;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;

/// The events before those of this run: whether the journal's tail was damaged, whether the list repeats messages, then the outcomes
/// of earlier runs. These are read from the file one by one, so that a long journal needs little memory.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    recovered: Option<BatchUpdate>,
    repeated: Option<BatchUpdate>,
    outcomes: vec::IntoIter<EarlierOutcome>,
}

/// Where the journal has an item's outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EarlierOutcome {
    pub(crate) at: u32,
    pub(crate) delivery: Delivery,
    pub(crate) earlier_send_unknown: bool,
    pub(crate) outcome_line: LineSpan,
    pub(crate) finished_line: Option<LineSpan>,
}

impl Earlier {
    pub(crate) fn new(
        recovered: Option<BatchUpdate>,
        repeated: Option<BatchUpdate>,
        outcomes: Vec<EarlierOutcome>,
    ) -> Earlier {
        Earlier { recovered, repeated, outcomes: outcomes.into_iter() }
    }

    /// The next event; none after the last.
    ///
    /// # Errors
    /// `Journal`: it was changed while the batch ran.
    pub(crate) fn next(&mut self, engine: &Engine) -> Result<Option<BatchEvent>, Error> {
        if let Some(update) = self.recovered.take().or_else(|| self.repeated.take()) {
            return Ok(Some(BatchEvent::Update(update)));
        }
        let Some(earlier) = self.outcomes.next() else { return Ok(None) };
        let job_id = engine.items[earlier.at as usize].job_id();
        let (mut job, error) =
            read_outcome(&engine.journal, earlier.outcome_line, job_id, earlier.earlier_send_unknown)?;
        if let Some(line) = earlier.finished_line {
            job = read_finished(&engine.journal, line)?;
        }
        engine.lock().progress.done += 1;
        let outcome = BatchOutcome::of(&engine.items, earlier.at, earlier.delivery, job, error, true);
        Ok(Some(BatchEvent::Outcome(outcome)))
    }
}

/// The record of an outcome's line, or why the message was not accepted.
fn read_outcome(
    journal: &Journal,
    line: LineSpan,
    job_id: &str,
    earlier_send_unknown: bool,
) -> Result<(Option<Job>, Option<Error>), Error> {
    let text = journal.line_at(line)?;
    match decode(&text).map(|line| line.content) {
        Ok(Content::Ended { delivery, job, error, .. }) => {
            let error = error.map(|reason| reason.error(job_id, delivery, earlier_send_unknown));
            Ok((job.and_then(|job| Job::read(job.into()).ok()), error))
        }
        Ok(Content::Decided { .. }) => Ok((None, None)),
        _ => Err(changed(journal.path())),
    }
}

fn read_finished(journal: &Journal, line: LineSpan) -> Result<Option<Job>, Error> {
    let text = journal.line_at(line)?;
    match decode(&text).map(|line| line.content) {
        Ok(Content::Finished { job, .. }) => {
            job.map(|job| Job::read(job.into()).map_err(|_| changed(journal.path()))).transpose()
        }
        _ => Err(changed(journal.path())),
    }
}
