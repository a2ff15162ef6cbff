//! What a journal says of its batch, whether a run is on or not.

use std::collections::BinaryHeap;
use std::fs::File;
use std::path::Path;

use crate::batch::events::BatchProgress;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::damaged_tail::Tail;
use crate::batch::journal::file::{damage, problem};
use crate::batch::journal::format::{self, Line, Said};
use crate::batch::journal::history::{Entry, History, Past};
use crate::batch::journal::reason::{Cause, Reason};
use crate::batch::journal::replay::{Span, absolute, line_at, open_to_read, read_lines};
use crate::delivery::Delivery;
use crate::error::Error;
use crate::timestamp::iso;

/// A batch as its journal has it; see [`batch_status`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BatchStatus {
    /// How far it is. `items` is what its last run was given.
    pub progress: BatchProgress,
    /// Whether a run is on.
    pub running: bool,
    /// The process of the last run.
    pub pid: u32,
    /// How often the batch was run.
    pub runs: u64,
    /// The service.
    pub base_url: String,
    /// The project.
    pub project_id: String,
    /// The last run's rate, as text.
    pub rate: Option<String>,
    /// Whether the last run waits for the jobs.
    pub waits: bool,
    /// When the last run began, ISO 8601.
    pub began_at: String,
    /// When the journal was last written, ISO 8601.
    pub written_at: String,
    /// How many damaged bytes runs have passed over, or the next run will.
    pub dropped_bytes: u64,
    /// The messages of which nobody knows whether they arrived: look at their jobs.
    pub unknown: Vec<BegunItem>,
    /// The messages that the service refused.
    pub rejected: Vec<BegunItem>,
}

/// An item that a journal knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct BegunItem {
    /// Its place in the list, from 1.
    pub number: u64,
    /// Its job.
    pub job_id: String,
    /// Why it was refused, or why nobody knows whether it arrived; none if its run ended before it noted an answer.
    pub reason: Option<String>,
}

/// Why a message was not accepted, by a line that was read before.
fn reason(file: &File, span: Span, entry: &Entry) -> Option<String> {
    let text = line_at(file, span).ok()?;
    match format::read(&text).ok()?.said {
        Said::Ended { delivery, error: Some(reason), .. } => {
            Some(reason.error(&entry.job_id, delivery, entry.doubtful).without_advice())
        }
        _ => None,
    }
}

/// Reads a batch's journal, whether a run is on or not. It writes nothing.
///
/// # Errors
/// `Journal`: it cannot be read, is damaged, or is no journal.
pub fn batch_status(journal: impl AsRef<Path>) -> Result<BatchStatus, Error> {
    let path = &absolute(journal.as_ref())?;
    let (file, running) = open_to_read(path)?;
    let mut history = History::new(Clock::new(), 0);
    let take = |number, span, line: Line<'_>| history.take(span, line).map_err(|what| damage(path, number, &what));
    // A run that is on may be in the middle of a line.
    let tail = read_lines(path, &file, take)?.tail.filter(|_| !running);
    let run = history.run.as_ref().ok_or_else(|| problem(path, "has no run yet"))?;
    let mut progress = BatchProgress { items: run.items, pause: history.pause, ..BatchProgress::default() };
    let (mut unknown, mut rejected) = (BinaryHeap::new(), BinaryHeap::new());
    for entry in history.items.iter() {
        let item = || BegunItem {
            number: entry.number,
            job_id: (*entry.job_id).to_owned(),
            reason: entry.ended.and_then(|span| reason(&file, span, entry)),
        };
        match entry.verdict() {
            Some(Delivery::Accepted) => {
                progress.accepted += 1;
                let waiting = run.wait && entry.finished.is_none();
                *(if waiting { &mut progress.waiting } else { &mut progress.done }) += 1;
            }
            Some(Delivery::Rejected) => rejected.push(item()),
            Some(Delivery::Unknown) if running && entry.past == Past::Sending => progress.sending += 1,
            Some(Delivery::Unknown) => unknown.push(item()),
            Some(Delivery::NotSent) | None => {}
        }
    }
    for (number, job_id) in tail.iter().flat_map(Tail::says) {
        // Whatever it was before.
        let is_known = history.items.iter().any(|entry| entry.number == number && entry.verdict().is_some());
        if !is_known {
            let damaged =
                Reason::not_noted(Cause::LineDamaged).error(&job_id, Delivery::Unknown, false).without_advice();
            unknown.push(BegunItem { number, job_id, reason: Some(damaged) });
        }
    }
    (progress.unknown, progress.rejected) = (unknown.len() as u64, rejected.len() as u64);
    progress.done += progress.unknown + progress.rejected;
    progress.left = progress.items.saturating_sub(progress.accepted + progress.rejected + progress.unknown);
    Ok(BatchStatus {
        progress,
        running,
        pid: run.pid,
        runs: history.runs,
        base_url: (*run.base_url).to_owned(),
        project_id: (*run.project_id).to_owned(),
        rate: run.rate.as_deref().map(str::to_owned),
        waits: run.wait,
        began_at: iso(run.began.unix_ms),
        dropped_bytes: history.dropped_bytes + tail.map_or(0, |tail| tail.bytes.len() as u64),
        written_at: history.last.map_or_else(String::new, |stamp| iso(stamp.unix_ms)),
        unknown: unknown.into_sorted_vec(),
        rejected: rejected.into_sorted_vec(),
    })
}
