//! The job record (docs/contract.md, "Job record"): the service's JSON, kept whole, with typed accessors.

pub(crate) mod fields;
mod keys;
mod layout;
mod record;

use std::borrow::Cow;
use std::collections::TryReserveError;
use std::fmt;
use std::sync::Arc;

use crate::job::fields::{Field, Fields};
use crate::job::keys::{Key, SourceKey};
use crate::job::record::{Record, Unread};
use crate::json::scan::{Continue, Flaw, MAX_DEPTH, Scanner};
use crate::redact::Redactor;
use crate::timestamp::unix_ms;

/// The status of a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JobStatus {
    /// `active`: the job is running.
    Active,
    /// `completed`: the job is done. It has a `prLink` if it changed files.
    Completed,
    /// `archived`: the job was archived.
    Archived,
    /// `failed`: the job failed.
    Failed,
    /// A status that this version does not know, as it came. It is not terminal: the service has added statuses before.
    Other(Box<str>),
}

impl JobStatus {
    fn parse(status: &str) -> Result<Self, TryReserveError> {
        Ok(match status {
            "active" => JobStatus::Active,
            "completed" => JobStatus::Completed,
            "archived" => JobStatus::Archived,
            "failed" => JobStatus::Failed,
            other => {
                let mut kept = String::new();
                kept.try_reserve_exact(other.len())?;
                kept.push_str(other);
                JobStatus::Other(kept.into_boxed_str())
            }
        })
    }

    /// The status as the service writes it.
    pub fn as_str(&self) -> &str {
        match self {
            JobStatus::Active => "active",
            JobStatus::Completed => "completed",
            JobStatus::Archived => "archived",
            JobStatus::Failed => "failed",
            JobStatus::Other(other) => other,
        }
    }

    /// Whether the job is done: `completed`, `archived` or `failed`.
    pub fn is_terminal(&self) -> bool {
        matches!(self, JobStatus::Completed | JobStatus::Archived | JobStatus::Failed)
    }
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One record of a job: an immutable snapshot. Cloning is cheap; clones share it.
///
/// The record always has the documented keys, `null` where the service left them out. Keys that this version does not know are kept
/// as they came. Two records are equal if they have the same fields with the same values, however the JSON was written.
#[derive(Debug, Clone)]
pub struct Job(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    status: JobStatus,
    record: Record,
}

/// A documented field that is a text; for the C library.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextField {
    Id,
    Status,
    SourceRepository,
    SourceRef,
    Model,
    PrLink,
    CreatedAt,
    ArchivedAt,
}

/// Why a response is not a job's record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoJob {
    /// What is wrong with it, as a clause.
    Wrong(String),
    /// The caller stopped the reading.
    Stopped,
    /// There is no memory to keep it.
    NoMemory,
}

impl Job {
    /// Reads a record from JSON.
    pub(crate) fn read(json: Vec<u8>) -> Result<Job, NoJob> {
        Job::read_asking(json, &mut || true)
    }

    /// Reads a record from the service's JSON. `proceed` is asked now and then whether to continue.
    pub(crate) fn read_asking(json: Vec<u8>, proceed: Continue<'_>) -> Result<Job, NoJob> {
        let Ok(text) = String::from_utf8(json) else { return Err(NoJob::wrong("it is not UTF-8")) };
        if text.is_empty() {
            return Err(NoJob::wrong("it is empty"));
        }
        if !text.trim_ascii_start().starts_with('{') {
            let mut scanner = Scanner::asking(&text, proceed);
            scanner.value(0).and_then(|_| scanner.end())?;
            return Err(NoJob::wrong("it is JSON, but not an object"));
        }
        let mut kept = Arc::new(Kept { status: JobStatus::Active, record: Record::default() });
        let Kept { status, record } = Arc::get_mut(&mut kept).expect("no clone exists yet");
        record.fill(text, proceed)?;
        *status = JobStatus::parse(required_text(record, Key::Status)?).map_err(|_| NoJob::NoMemory)?;
        required_text(record, Key::Id)?;
        Ok(Job(kept))
    }

    /// The job's id.
    pub fn id(&self) -> &str {
        self.text(TextField::Id).unwrap_or_default()
    }

    /// The job's status.
    pub fn status(&self) -> &JobStatus {
        &self.0.status
    }

    /// The status without secrets: an undocumented one may be any text.
    pub(crate) fn redacted_status(&self, redactor: &Redactor<'_>) -> Cow<'_, str> {
        match &self.0.status {
            JobStatus::Other(other) => redactor.redact(other),
            known => Cow::Borrowed(known.as_str()),
        }
    }

    /// Whether the job is done: `completed`, `archived` or `failed`.
    pub fn is_terminal(&self) -> bool {
        self.0.status.is_terminal()
    }

    /// The repository that the job works on, usually its full URL. `None` if the service left it out.
    pub fn source_repository(&self) -> Option<&str> {
        self.text(TextField::SourceRepository)
    }

    /// The ref that the job works on, usually a branch. `None` if the service left it out.
    pub fn source_ref(&self) -> Option<&str> {
        self.text(TextField::SourceRef)
    }

    /// The AI model. `None` if the service left it out.
    pub fn model(&self) -> Option<&str> {
        self.text(TextField::Model)
    }

    /// The pull request's URL. `None` while the job is active, and if it changed no file.
    ///
    /// It is the service's text, unchecked: validate it before you open it.
    pub fn pr_link(&self) -> Option<&str> {
        self.text(TextField::PrLink)
    }

    /// When the job was created, as the service wrote it (ISO 8601).
    pub fn created_at(&self) -> Option<&str> {
        self.text(TextField::CreatedAt)
    }

    /// When the job was created, in milliseconds since 1970-01-01T00:00:00Z; `None` if there is none, or if the service's text is not a time with an offset.
    pub fn created_at_unix_ms(&self) -> Option<i64> {
        unix_ms(self.created_at()?)
    }

    /// When the job was archived, as the service wrote it (ISO 8601).
    pub fn archived_at(&self) -> Option<&str> {
        self.text(TextField::ArchivedAt)
    }

    /// When the job was archived, in milliseconds since 1970-01-01T00:00:00Z; `None` if there is none, or if the service's text is not a time with an offset.
    pub fn archived_at_unix_ms(&self) -> Option<i64> {
        unix_ms(self.archived_at()?)
    }

    /// Any field of the record by its key, also one that this version does not know. `None` if the record does not have it.
    pub fn get(&self, key: &str) -> Option<Field<'_>> {
        self.fields().filter(|(known, _)| *known == key).last().map(|(_, field)| field)
    }

    /// The whole record: the documented fields in their order, then the others in the service's order.
    pub fn fields(&self) -> Fields<'_> {
        Fields::of_record(&self.0.record)
    }

    /// The whole record as compact JSON, with the documented keys first.
    ///
    /// # Panics
    /// There is no memory for it; see [`try_to_json`](Job::try_to_json).
    pub fn to_json(&self) -> String {
        self.try_to_json().expect("memory for the record as JSON")
    }

    /// [`to_json`](Job::to_json) for records so large that memory may run out.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn try_to_json(&self) -> Result<String, TryReserveError> {
        self.0.record.to_json()
    }

    /// Whether both have the same fields with the same values. `None` if the caller stopped the comparison.
    pub(crate) fn same_as(&self, other: &Job, proceed: Continue<'_>) -> Option<bool> {
        if Arc::ptr_eq(&self.0, &other.0) { Some(true) } else { self.0.record.same_as(&other.0.record, proceed) }
    }

    fn text(&self, field: TextField) -> Option<&str> {
        self.text_with_nul(field)?.strip_suffix('\0')
    }

    /// A documented field's text followed by a NUL, for C.
    #[doc(hidden)]
    pub fn text_with_nul(&self, field: TextField) -> Option<&str> {
        let record = &self.0.record;
        let key = match field {
            TextField::SourceRepository => return record.source_text_with_nul(SourceKey::Repository),
            TextField::SourceRef => return record.source_text_with_nul(SourceKey::Ref),
            TextField::Id => Key::Id,
            TextField::Status => Key::Status,
            TextField::Model => Key::Model,
            TextField::PrLink => Key::PrLink,
            TextField::CreatedAt => Key::CreatedAt,
            TextField::ArchivedAt => Key::ArchivedAt,
        };
        record.text_with_nul(key)
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Job) -> bool {
        self.same_as(other, &mut || true) == Some(true)
    }
}

impl NoJob {
    fn wrong(clause: impl Into<String>) -> NoJob {
        NoJob::Wrong(clause.into())
    }
}

impl From<Flaw> for NoJob {
    fn from(flaw: Flaw) -> NoJob {
        match flaw {
            Flaw::Ended => NoJob::wrong("its JSON ends too early"),
            Flaw::Expected { what, at } => NoJob::wrong(format!("it is not JSON ({what} is expected at byte {at})")),
            Flaw::TooDeep => NoJob::wrong(format!("its JSON nests deeper than {MAX_DEPTH} levels")),
            Flaw::Stopped => NoJob::Stopped,
        }
    }
}

impl From<Unread> for NoJob {
    fn from(unread: Unread) -> NoJob {
        match unread {
            Unread::Flaw(flaw) => flaw.into(),
            Unread::NoMemory => NoJob::NoMemory,
        }
    }
}

fn required_text(record: &Record, key: Key) -> Result<&str, NoJob> {
    let name = key.name();
    match Field::of(record, key) {
        Field::Text("") => Err(NoJob::wrong(format!("its {name:?} is empty"))),
        Field::Text(text) => Ok(text),
        Field::Json(json) if json.is_null() => Err(NoJob::wrong(format!("it has no {name:?}"))),
        _ => Err(NoJob::wrong(format!("its {name:?} is not a string"))),
    }
}

#[cfg(test)]
mod tests;
