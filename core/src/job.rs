//! The job record (CONTRACT "Job record"): what the service said, kept whole, with typed ways in.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::timestamp::unix_ms;

/// Keys of a record that are always there, `null` where the service left them out.
const RECORD_KEYS: [&str; 7] = ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"];
/// The same for the record's `source`.
const SOURCE_KEYS: [&str; 2] = ["repository", "ref"];

/// Where a job stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JobStatus {
    /// The job is at work.
    Active,
    /// The job finished; `prLink` is there if it changed files.
    Completed,
    /// The job was put away.
    Archived,
    /// The job gave up.
    Failed,
    /// A word that this version does not know, kept as it is. It is not terminal: the set has grown before.
    Other(Box<str>),
}

impl JobStatus {
    fn from_word(word: &str) -> Self {
        match word {
            "active" => JobStatus::Active,
            "completed" => JobStatus::Completed,
            "archived" => JobStatus::Archived,
            "failed" => JobStatus::Failed,
            other => JobStatus::Other(other.into()),
        }
    }

    /// The service's own word.
    pub fn as_str(&self) -> &str {
        match self {
            JobStatus::Active => "active",
            JobStatus::Completed => "completed",
            JobStatus::Archived => "archived",
            JobStatus::Failed => "failed",
            JobStatus::Other(word) => word,
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

/// One answer of the service about a job: an immutable snapshot.
///
/// The documented keys are always in the record, `null` where the service left them out; keys that this version does
/// not know are handed on untouched, numbers digit by digit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Job {
    record: Map<String, Value>,
    #[serde(skip)]
    status: JobStatus,
}

impl Job {
    /// Reads a record from the service's JSON, or says in a clause what is wrong with it.
    pub(crate) fn from_slice(json: &[u8]) -> Result<Job, String> {
        match serde_json::from_slice::<Value>(json) {
            Ok(Value::Object(record)) => Job::from_record(record),
            Ok(_) => Err("it is JSON, but not an object".to_owned()),
            Err(_) if json.is_empty() => Err("it is empty".to_owned()),
            Err(error) if error.is_eof() => Err("its JSON ends too early".to_owned()),
            // The parser's text names line and column; it never quotes the document.
            Err(error) => Err(format!("it is not JSON ({error})")),
        }
    }

    fn from_record(mut record: Map<String, Value>) -> Result<Job, String> {
        let status = JobStatus::from_word(required_text(&record, "status")?);
        required_text(&record, "id")?;
        complete(&mut record, &RECORD_KEYS);
        match record.get_mut("source") {
            Some(Value::Object(source)) => complete(source, &SOURCE_KEYS),
            Some(source @ Value::Null) => {
                let mut empty = Map::new();
                complete(&mut empty, &SOURCE_KEYS);
                *source = Value::Object(empty);
            }
            // A source of another shape is handed on untouched.
            _ => {}
        }
        Ok(Job { record, status })
    }

    /// The job's id.
    pub fn id(&self) -> &str {
        self.text("id").unwrap_or_default()
    }

    /// Where the job stands.
    pub fn status(&self) -> &JobStatus {
        &self.status
    }

    /// Whether the job is done: `completed`, `archived` or `failed`.
    pub fn is_terminal(&self) -> bool {
        self.status.is_terminal()
    }

    /// The repository that the job works on, usually its full URL.
    pub fn source_repository(&self) -> Option<&str> {
        self.record.get("source")?.get("repository")?.as_str()
    }

    /// The ref that the job works on, usually a branch.
    pub fn source_ref(&self) -> Option<&str> {
        self.record.get("source")?.get("ref")?.as_str()
    }

    /// The AI model.
    pub fn model(&self) -> Option<&str> {
        self.text("model")
    }

    /// The pull request's URL: none while the job is active, and none when no file changed.
    ///
    /// It is the service's text, unchecked: do not open it without looking at it.
    pub fn pr_link(&self) -> Option<&str> {
        self.text("prLink")
    }

    /// When the job was created, as the service wrote it (ISO 8601).
    pub fn created_at(&self) -> Option<&str> {
        self.text("createdAt")
    }

    /// When the job was created, in milliseconds since 1970-01-01T00:00:00Z; none also if the service's text is no moment.
    pub fn created_at_unix_ms(&self) -> Option<i64> {
        unix_ms(self.created_at()?)
    }

    /// When the job was archived, as the service wrote it (ISO 8601).
    pub fn archived_at(&self) -> Option<&str> {
        self.text("archivedAt")
    }

    /// When the job was archived, in milliseconds since 1970-01-01T00:00:00Z; none also if the service's text is no moment.
    pub fn archived_at_unix_ms(&self) -> Option<i64> {
        unix_ms(self.archived_at()?)
    }

    /// Any key of the record, also one that this version does not know.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.record.get(key)
    }

    /// The whole record, in the service's order; documented keys that it left out stand at the end.
    pub fn record(&self) -> &Map<String, Value> {
        &self.record
    }

    /// The whole record as compact JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.record).expect("a record that was JSON can be written as JSON")
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.record.get(key)?.as_str()
    }
}

fn required_text<'a>(record: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    match record.iter().find(|(known, _)| *known == key).map(|(_, value)| value) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(Value::String(_)) => Err(format!("its {key:?} is empty")),
        Some(Value::Null) | None => Err(format!("it has no {key:?}")),
        Some(_) => Err(format!("its {key:?} is not a string")),
    }
}

/// Adds the documented keys that the service left out.
fn complete(record: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        // A handful of short keys: comparing them is several times quicker than hashing.
        if !record.keys().any(|known| known == key) {
            record.insert((*key).to_owned(), Value::Null);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(json: &str) -> Job {
        Job::from_slice(json.as_bytes()).expect(json)
    }

    #[test]
    fn a_full_record_is_read_field_by_field() {
        let job = job(
            r#"{"id":"job_1","status":"archived","source":{"repository":"https://example.com/r","ref":"main"},
            "model":"m","prLink":"https://example.com/pull/1","createdAt":"2026-01-02T03:04:05.678Z","archivedAt":"2026-01-03T00:00:00Z"}"#,
        );
        assert_eq!(job.id(), "job_1");
        assert_eq!(job.status(), &JobStatus::Archived);
        assert!(job.is_terminal());
        assert_eq!(job.source_repository(), Some("https://example.com/r"));
        assert_eq!(job.source_ref(), Some("main"));
        assert_eq!(job.model(), Some("m"));
        assert_eq!(job.pr_link(), Some("https://example.com/pull/1"));
        assert_eq!(job.created_at(), Some("2026-01-02T03:04:05.678Z"));
        assert_eq!(job.archived_at(), Some("2026-01-03T00:00:00Z"));
        assert_eq!(job.created_at_unix_ms(), Some(1_767_323_045_678));
        assert_eq!(job.archived_at_unix_ms(), Some(1_767_398_400_000));
    }

    #[test]
    fn missing_fields_and_nulls_are_the_same_and_the_keys_are_always_there() {
        let bare = job(r#"{"id":"a","status":"active"}"#);
        let nulls = job(
            r#"{"id":"a","status":"active","source":null,"model":null,"prLink":null,"createdAt":null,"archivedAt":null}"#,
        );
        assert_eq!(bare, nulls);
        assert_eq!(
            bare.to_json(),
            r#"{"id":"a","status":"active","source":{"repository":null,"ref":null},"model":null,"prLink":null,"createdAt":null,"archivedAt":null}"#
        );
        assert_eq!(bare.source_repository(), None);
    }

    #[test]
    fn an_unknown_status_is_kept_and_is_not_terminal() {
        let job = job(r#"{"id":"a","status":"paused"}"#);
        assert_eq!(job.status(), &JobStatus::Other("paused".into()));
        assert_eq!(job.status().as_str(), "paused");
        assert!(!job.is_terminal());
    }

    #[test]
    fn unknown_fields_are_handed_on_digit_by_digit() {
        let job = job(
            r#"{"cost":1.10,"big":123456789012345678901234567890,"id":"a","status":"failed","source":{"sha":"f00"},"tags":[1,{"x":null}]}"#,
        );
        assert_eq!(
            job.to_json(),
            r#"{"cost":1.10,"big":123456789012345678901234567890,"id":"a","status":"failed","source":{"sha":"f00","repository":null,"ref":null},"tags":[1,{"x":null}],"model":null,"prLink":null,"createdAt":null,"archivedAt":null}"#
        );
    }

    #[test]
    fn a_documented_field_of_another_type_breaks_nothing() {
        let job = job(r#"{"id":"a","status":"active","model":7,"source":"s","prLink":{}}"#);
        assert_eq!(job.model(), None);
        assert_eq!(job.source_ref(), None);
        assert_eq!(job.get("model"), Some(&serde_json::json!(7)));
    }

    #[test]
    fn a_record_without_id_or_status_is_told_apart() {
        let cases = [
            (r#"{"status":"active"}"#, r#"it has no "id""#),
            (r#"{"id":"a"}"#, r#"it has no "status""#),
            (r#"{"id":"a","status":null}"#, r#"it has no "status""#),
            (r#"{"id":7,"status":"active"}"#, r#"its "id" is not a string"#),
            (r#"{"id":"","status":"active"}"#, r#"its "id" is empty"#),
            ("[]", "it is JSON, but not an object"),
            (r#"{"id":"a""#, "its JSON ends too early"),
            ("", "it is empty"),
        ];
        for (json, clause) in cases {
            assert_eq!(Job::from_slice(json.as_bytes()).unwrap_err(), clause, "{json}");
        }
        assert!(Job::from_slice(b"<html>").unwrap_err().starts_with("it is not JSON"));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Job::from_slice(deep.as_bytes()).unwrap_err().contains("recursion limit"));
    }
}
