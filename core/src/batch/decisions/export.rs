//! Every item that a journal knows, with its state, its outcome and what was decided: as values, as CSV (RFC 4180) and as JSON Lines.

use std::fs::File;
use std::path::Path;
use std::str::FromStr;

use serde_json::Value;

use crate::batch::decisions::decision::Decision;
use crate::batch::decisions::selection::{BatchRef, Selected, select};
use crate::batch::journal::clock::Clock;
use crate::batch::journal::decode::decode;
use crate::batch::journal::error::damage;
use crate::batch::journal::history::History;
use crate::batch::journal::item_history::{ItemHistory, ItemState};
use crate::batch::journal::line::{Content, LineSpan};
use crate::batch::journal::open::{absolute, open_to_read};
use crate::batch::journal::replay::{line_at, read_lines};
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;
use crate::text::describe;
use crate::timestamp::iso;

/// The items of a journal, in the order of their numbers; see [`batch_export`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BatchExport {
    /// The items of the last run that were sent or tried.
    pub items: Vec<BatchExportItem>,
}

/// An item of a [`BatchExport`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BatchExportItem {
    /// Its place in the last run's list, from 1.
    pub number: u64,
    /// Its own key, if the journal could store it, or the one that was derived from its content and place.
    pub key: String,
    /// Its job.
    pub job_id: String,
    /// `accepted`, `rejected`, `unknown`, `not_sent` (a run sends it), `sending` (a run is doing so), or `dropped`.
    pub state: &'static str,
    /// The last decision about it, and when it was made, ISO 8601.
    pub decision: Option<(Decision, String)>,
    /// When its outcome was recorded, ISO 8601.
    pub at: Option<String>,
    /// The status of the response to the message, for one that was not accepted.
    pub http_status: Option<u16>,
    /// Why it was not accepted.
    pub reason: Option<String>,
    /// What the journal stored of its job's last record, once a run has waited for its result. The response to the message may show
    /// the result of an earlier one.
    pub job: Option<Job>,
    /// Whether a run waited for the job, and that failed.
    pub(crate) job_failed: bool,
}

/// How [`BatchExport::text`] writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A header and one record per item (RFC 4180).
    Csv,
    /// One JSON object per line and item.
    JsonLines,
}

impl FromStr for ExportFormat {
    type Err = Error;

    /// Reads `csv` or `jsonl`.
    fn from_str(name: &str) -> Result<ExportFormat, Error> {
        match name {
            "csv" => Ok(ExportFormat::Csv),
            "jsonl" => Ok(ExportFormat::JsonLines),
            _ => Err(Error::invalid(format!("format is {:?}", describe(name))).with_hint("Give csv or jsonl.")),
        }
    }
}

/// The columns of the CSV, which are the keys of each line of JSON, too. `status` and `pr_link` are the job's, once a run
/// has waited for the message's result.
const COLUMNS: [&str; 11] =
    ["item", "key", "job_id", "state", "decision", "decided_at", "at", "http_status", "reason", "status", "pr_link"];

impl BatchExport {
    /// All items as text, in UTF-8.
    pub fn text(&self, format: ExportFormat) -> String {
        let mut text = String::new();
        if format == ExportFormat::Csv {
            text.push_str(&COLUMNS.join(","));
            text.push_str("\r\n");
        }
        for item in &self.items {
            let cells = item.cells();
            match format {
                ExportFormat::Csv => {
                    let cells = cells.map(|cell| match cell {
                        Value::Null => String::new(),
                        Value::String(text) => quoted(&text),
                        number => number.to_string(),
                    });
                    text.push_str(&cells.join(","));
                    text.push_str("\r\n");
                }
                ExportFormat::JsonLines => {
                    let fields = COLUMNS.iter().zip(cells).map(|(name, value)| format!("\"{name}\":{value}"));
                    text.push_str(&format!("{{{}}}\n", fields.collect::<Vec<_>>().join(",")));
                }
            }
        }
        text
    }
}

impl BatchExportItem {
    fn cells(&self) -> [Value; 11] {
        let job = self.job.as_ref();
        [
            self.number.into(),
            (*self.key).into(),
            (*self.job_id).into(),
            self.state.into(),
            self.decision.as_ref().map(|(decision, _)| decision.as_str()).into(),
            self.decision.as_ref().map(|(_, at)| &**at).into(),
            self.at.as_deref().into(),
            self.http_status.into(),
            self.reason.as_deref().into(),
            job.map(|job| job.status().as_str()).into(),
            job.and_then(Job::pr_link).into(),
        ]
    }
}

/// A cell, quoted if it has to be. A spreadsheet would take what begins like a formula for one, so that is quoted with an
/// apostrophe before it.
fn quoted(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let cell = if is_formula { format!("'{cell}") } else { cell.to_owned() };
    match cell.contains(['"', ',', '\n', '\r', '\'']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

/// Reads a batch's journal and lists its items, whether a run is active or not: all of them with no names or [`BatchRef::All`], else
/// those that are named. It sends and writes nothing.
///
/// # Errors
/// `Journal`: it cannot be read, is damaged, or is not a journal. `InvalidArgument`: an item is not in the journal, or is named twice.
pub fn batch_export(journal: impl AsRef<Path>, items: &[BatchRef]) -> Result<BatchExport, Error> {
    let path = &absolute(journal.as_ref())?;
    let (file, running) = open_to_read(path)?;
    let mut history = History::new(Clock::new(), 0);
    read_lines(path, &file, |number, span, line| history.add(span, line).map_err(|what| damage(path, number, &what)))?;
    let places: Vec<usize> = match items {
        [] => history.items.listed().collect(),
        names => match select(names, &history.items)? {
            Selected::All => history.items.listed().collect(),
            Selected::Places(places) => places,
        },
    };
    Ok(BatchExport { items: items_of(&file, running, &history, places) })
}

/// These items of a journal, in the order of their numbers.
pub(crate) fn items_of(file: &File, running: bool, history: &History, places: Vec<usize>) -> Vec<BatchExportItem> {
    let ids = history.items.ids();
    let export = |place: usize| {
        let item = history.items.at(place);
        let outcome = Outcome::read(file, item);
        BatchExportItem {
            number: item.number,
            key: item.key(&ids[place]),
            job_id: (*item.job_id).to_owned(),
            state: state(item, running),
            decision: item.decided.as_ref().map(|decided| (decided.decision, iso(decided.at_unix_ms))),
            at: outcome.at,
            http_status: outcome.http_status,
            reason: outcome.reason,
            job: outcome.job,
            job_failed: item.job_failed,
        }
    };
    let mut exported: Vec<BatchExportItem> = places.into_iter().map(export).collect();
    exported.sort_by_key(|item| item.number);
    exported
}

fn state(item: &ItemHistory, running: bool) -> &'static str {
    match (item.state, item.delivery()) {
        (ItemState::Dropped, _) => "dropped",
        (ItemState::Sending, _) if running => "sending",
        (_, Some(delivery)) => delivery.as_str(),
        (_, None) => Delivery::NotSent.as_str(),
    }
}

/// What the journal has of an item's outcome.
#[derive(Default)]
struct Outcome {
    at: Option<String>,
    http_status: Option<u16>,
    reason: Option<String>,
    job: Option<Job>,
}

impl Outcome {
    fn read(file: &File, item: &ItemHistory) -> Outcome {
        let mut outcome = Outcome::default();
        let mut add = |span: Option<LineSpan>| {
            let text = line_at(file, span?).ok()?;
            let line = decode(&text).ok()?;
            outcome.at = Some(iso(line.stamp.unix_ms));
            match line.content {
                Content::Ended { delivery, error, .. } => {
                    outcome.http_status = error.as_ref().and_then(|error| error.http_status);
                    outcome.reason = error
                        .map(|error| error.error(&item.job_id, delivery, item.earlier_send_unknown).without_advice());
                }
                Content::Finished { job, .. } => outcome.job = job.and_then(|job| Job::read(job.into()).ok()),
                _ => {}
            }
            Some(())
        };
        add(item.outcome_line);
        add(item.finished_line);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_where_it_has_to_be() {
        for (cell, written) in [
            ("job_1", "job_1"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("a\"b", "\"a\"\"b\""),
            ("a\nb", "\"a\nb\""),
            ("=1+1", "\"'=1+1\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("-1", "\"'-1\""),
        ] {
            assert_eq!(quoted(cell), written);
        }
    }
}
