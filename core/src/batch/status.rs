//! What a journal says of its batch, whether a run is active or not.

use std::collections::BinaryHeap;
use std::fs::File;
use std::path::Path;

use crate::batch::decisions::desk::BatchDecision;
use crate::batch::events::BatchProgress;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::damaged_tail::DamagedTail;
use crate::batch::journal::decode::decode;
use crate::batch::journal::error::{damage, problem};
use crate::batch::journal::history::History;
use crate::batch::journal::item_history::{ItemHistory, ItemState};
use crate::batch::journal::line::{Content, Line, LineSpan};
use crate::batch::journal::open::{absolute, open_to_read};
use crate::batch::journal::replay::{line_at, read_lines};
use crate::delivery::Delivery;
use crate::error::Error;
use crate::timestamp::iso;

/// A batch as its journal has it; see [`batch_status`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BatchStatus {
    /// How far it is. `items` is the number of items of its last run.
    pub progress: BatchProgress,
    /// Whether a run is active.
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
    /// How many bytes of lines that were cut off runs have skipped, or the next run will.
    pub dropped_bytes: u64,
    /// The messages that may have arrived: check their jobs.
    pub unknown: Vec<BatchStatusItem>,
    /// The messages that the service rejected.
    pub rejected: Vec<BatchStatusItem>,
    /// The messages whose jobs were waited for and failed.
    pub failed: Vec<BatchStatusItem>,
    /// The last decision about each item that has one.
    pub decisions: Vec<BatchDecision>,
    /// How many messages the next run needs a prompt for that a decision gave them.
    pub new_prompts: u64,
}

/// An item of a [`BatchStatus`]: its message was rejected or may have arrived, or its job failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct BatchStatusItem {
    /// Its place in the last run's list, from 1.
    pub number: u64,
    /// Its own key, if the journal could store it, or the one that was derived from its content and place.
    pub key: String,
    /// Its job.
    pub job_id: String,
    /// Why it was rejected, or why it is unknown whether it arrived; none if its run ended before it recorded an outcome, and for a
    /// job that failed.
    pub reason: Option<String>,
}

/// Why a message was not accepted, from the line with its outcome.
fn reason(file: &File, outcome_line: LineSpan, history: &ItemHistory) -> Option<String> {
    let text = line_at(file, outcome_line).ok()?;
    match decode(&text).ok()?.content {
        Content::Ended { delivery, error: Some(reason), .. } => {
            Some(reason.error(&history.job_id, delivery, history.earlier_send_unknown).without_advice())
        }
        _ => None,
    }
}

/// Reads a batch's journal, whether a run is active or not. It sends and writes nothing.
///
/// # Errors
/// `Journal`: it cannot be read, is damaged, or is not a journal.
pub fn batch_status(journal: impl AsRef<Path>) -> Result<BatchStatus, Error> {
    let path = &absolute(journal.as_ref())?;
    let (file, running) = open_to_read(path)?;
    let mut history = History::new(Clock::new(), 0);
    let add = |number, span, line: Line<'_>| history.add(span, line).map_err(|what| damage(path, number, &what));
    // An active run may be in the middle of a line.
    let tail = read_lines(path, &file, add)?.tail.filter(|_| !running);
    status_of(path, &file, running, &history, tail.as_ref())
}

/// The status that a journal's history and its damaged tail make.
pub(crate) fn status_of(
    path: &Path,
    file: &File,
    running: bool,
    history: &History,
    tail: Option<&DamagedTail>,
) -> Result<BatchStatus, Error> {
    let run = history.run.as_ref().ok_or_else(|| problem(path, "has no run in it yet"))?;
    let mut progress = BatchProgress { items: run.items, pause: history.pause, ..BatchProgress::default() };
    let (mut unknown, mut rejected, mut failed) = (BinaryHeap::new(), BinaryHeap::new(), BinaryHeap::new());
    let (mut decisions, mut new_prompts) = (Vec::new(), 0);
    let ids = history.items.ids();
    for place in history.items.listed() {
        let (item_history, id) = (history.items.at(place), &ids[place]);
        let key = || item_history.key(id);
        if let Some(decided) = &item_history.decided {
            let is_to_send = item_history.delivery().is_none() && !item_history.is_dropped();
            new_prompts += u64::from(is_to_send && !decided.earlier_prompts.is_empty());
            decisions.push(BatchDecision {
                number: item_history.number,
                key: key(),
                job_id: (*item_history.job_id).to_owned(),
                decision: decided.decision,
                at: iso(decided.at_unix_ms),
            });
        }
        if item_history.is_dropped() {
            progress.dropped += 1;
            continue;
        }
        let item = || BatchStatusItem {
            number: item_history.number,
            key: key(),
            job_id: (*item_history.job_id).to_owned(),
            reason: item_history.outcome_line.and_then(|line| reason(file, line, item_history)),
        };
        match item_history.delivery() {
            Some(Delivery::Accepted) => {
                progress.accepted += 1;
                let waiting = run.wait && item_history.finished_line.is_none();
                *(if waiting { &mut progress.waiting } else { &mut progress.done }) += 1;
                if item_history.job_failed {
                    failed.push(BatchStatusItem { reason: None, ..item() });
                }
            }
            Some(Delivery::Rejected) => rejected.push(item()),
            Some(Delivery::Unknown) if running && item_history.state == ItemState::Sending => progress.sending += 1,
            Some(Delivery::Unknown) => unknown.push(item()),
            Some(Delivery::NotSent) | None => progress.busy += u64::from(item_history.job_was_busy),
        }
    }
    (progress.unknown, progress.rejected) = (unknown.len() as u64, rejected.len() as u64);
    progress.failed = failed.len() as u64;
    progress.done += progress.unknown + progress.rejected + progress.dropped;
    let settled = progress.accepted + progress.rejected + progress.unknown + progress.dropped;
    progress.left = progress.items.saturating_sub(settled);
    decisions.sort_by_key(|decision| decision.number);
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
        written_at: history.written_at.map_or_else(String::new, |stamp| iso(stamp.unix_ms)),
        unknown: unknown.into_sorted_vec(),
        rejected: rejected.into_sorted_vec(),
        failed: failed.into_sorted_vec(),
        decisions,
        new_prompts,
    })
}
