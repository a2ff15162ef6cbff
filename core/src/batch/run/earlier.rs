//! What a journal has of earlier runs, for the run that resumes it.

use crate::batch::events::{BatchStep, BatchUpdate};
use crate::batch::journal::file::{Journal, problem};
use crate::batch::journal::format::{self, Line, Said};
use crate::batch::journal::replay::Span;
use crate::batch::run::engine::{Engine, outcome};
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;

/// What the journal has of earlier runs: what was wrong with it, then the outcomes. They are read when they are asked for, so that
/// a long journal takes little memory.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    recovered: Option<BatchUpdate>,
    found: std::vec::IntoIter<Found>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) at: u32,
    pub(crate) delivery: Delivery,
    pub(crate) doubtful: bool,
    pub(crate) ended: Span,
    pub(crate) finished: Option<Span>,
}

impl Earlier {
    pub(crate) fn new(recovered: Option<BatchUpdate>, found: Vec<Found>) -> Earlier {
        Earlier { recovered, found: found.into_iter() }
    }

    pub(crate) fn next(&mut self, engine: &Engine) -> Result<Option<BatchStep>, Error> {
        if let Some(recovered) = self.recovered.take() {
            return Ok(Some(BatchStep::Update(recovered)));
        }
        let Some(found) = self.found.next() else { return Ok(None) };
        let job_id = engine.items[found.at as usize].job_id();
        let (mut job, error) = read_ended(&engine.journal, found.ended, job_id, found.doubtful)?;
        if let Some(span) = found.finished {
            job = Some(read_finished(&engine.journal, span)?);
        }
        engine.lock().progress.done += 1;
        let outcome = outcome(&engine.items, found.at, found.delivery, job, error, true);
        Ok(Some(BatchStep::Outcome(outcome)))
    }
}

/// The record of a line that says how a message ended, or why it was not accepted.
fn read_ended(
    journal: &Journal,
    span: Span,
    job_id: &str,
    doubtful: bool,
) -> Result<(Option<Job>, Option<Error>), Error> {
    let text = journal.line_at(span)?;
    match format::read(&text) {
        Ok(Line { said: Said::Ended { delivery, job, error, .. }, .. }) => {
            let error = error.map(|reason| reason.error(job_id, delivery, doubtful));
            Ok((job.and_then(|job| Job::read(job.into()).ok()), error))
        }
        _ => Err(problem(journal.path(), "was changed while the batch ran")),
    }
}

fn read_finished(journal: &Journal, span: Span) -> Result<Job, Error> {
    let changed = || problem(journal.path(), "was changed while the batch ran");
    let text = journal.line_at(span)?;
    match format::read(&text) {
        Ok(Line { said: Said::Finished { job, .. }, .. }) => Job::read(job.into()).map_err(|_| changed()),
        _ => Err(changed()),
    }
}
