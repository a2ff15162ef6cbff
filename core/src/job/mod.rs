//! The job record (docs/contract.md, "Job record"): the service's JSON, kept whole, with typed accessors.

pub(crate) mod record;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::job::record::{Record, TextField, required};
use crate::json::{each_member, text, with_whole_characters};
use crate::redact::Redactor;
use crate::timestamp::unix_ms;

/// Unused capacity up to this is kept: freeing it may cost a copy.
const MAX_SPARE_BYTES: usize = 16;

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
    pub(crate) fn parse(status: &str) -> JobStatus {
        match status {
            "active" => JobStatus::Active,
            "completed" => JobStatus::Completed,
            "archived" => JobStatus::Archived,
            "failed" => JobStatus::Failed,
            other => JobStatus::Other(other.into()),
        }
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
/// as they came. Two records are equal if [`to_json`](Job::to_json) is.
#[derive(Debug, Clone)]
pub struct Job(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    /// The service's JSON.
    response: String,
    /// Followed by a NUL, for C.
    id: String,
    status: JobStatus,
    /// Made when it is asked for.
    record: OnceLock<Record>,
}

impl Job {
    /// Reads a record from the service's JSON.
    ///
    /// # Errors
    /// What is wrong with it, as a clause.
    pub(crate) fn read(json: Vec<u8>) -> Result<Job, String> {
        let mut response = with_whole_characters(String::from_utf8(json).map_err(|_| "it is not UTF-8")?);
        if response.capacity() > response.len() + MAX_SPARE_BYTES {
            response.shrink_to_fit();
        }
        let [id, status] = required(&response)?;
        let (status, id) = (JobStatus::parse(&required_text("status", status)?), required_text("id", id)? + "\0");
        Ok(Job(Arc::new(Kept { id: id.into_owned(), status, record: OnceLock::new(), response })))
    }

    /// The job's id.
    pub fn id(&self) -> &str {
        self.0.id.strip_suffix('\0').unwrap_or_default()
    }

    /// The job's status.
    pub fn status(&self) -> &JobStatus {
        &self.0.status
    }

    /// The status without secrets: an undocumented one may be any text.
    pub(crate) fn redacted_status(&self, redactor: &Redactor<'_>) -> Cow<'_, str> {
        match &self.0.status {
            JobStatus::Other(other) => redactor.redact_beginning(other),
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

    /// Any field of the record by its key, also one that this version does not know: its JSON, as in [`to_json`](Job::to_json), so
    /// `null` for a documented one that the service left out. `None` if the record does not have it.
    pub fn get(&self, key: &str) -> Option<&str> {
        let mut found = None;
        each_member(self.to_json(), |name, value| {
            if text(name).is_some_and(|name| name == key) {
                found = Some(value);
            }
        })
        .expect("the record was checked");
        found
    }

    /// The whole record as compact JSON: the documented keys in their order, `null` where the service left one out, then the others as
    /// the service wrote them.
    pub fn to_json(&self) -> &str {
        self.json_with_nul().strip_suffix('\0').unwrap_or_default()
    }

    /// The same, followed by a NUL, for C.
    #[doc(hidden)]
    pub fn json_with_nul(&self) -> &str {
        self.record().json_with_nul()
    }

    /// The service's JSON, with whole characters only, for a face that has its own parser.
    #[doc(hidden)]
    pub fn response(&self) -> &str {
        &self.0.response
    }

    fn text(&self, field: TextField) -> Option<&str> {
        self.text_with_nul(field)?.strip_suffix('\0')
    }

    /// A documented field's text followed by a NUL, for C.
    #[doc(hidden)]
    pub fn text_with_nul(&self, field: TextField) -> Option<&str> {
        if field == TextField::Id { Some(&self.0.id) } else { self.record().text_with_nul(field) }
    }

    fn record(&self) -> &Record {
        self.0.record.get_or_init(|| Record::of(&self.0.response))
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Job) -> bool {
        // Not kept: a wait compares every record with the one before, and long ones would stay in memory twice.
        self.0.response == other.0.response || Record::of(&self.0.response) == Record::of(&other.0.response)
    }
}

impl Eq for Job {}

fn required_text<'a>(name: &str, value: Option<&'a str>) -> Result<Cow<'a, str>, String> {
    match value.map(text) {
        Some(Some(text)) if text.is_empty() => Err(format!("its {name:?} is empty")),
        Some(Some(text)) => Ok(text),
        Some(None) => Err(format!("its {name:?} is not a string")),
        None => Err(format!("it has no {name:?}")),
    }
}

#[cfg(test)]
mod tests;
