//! The job record (CONTRACT "Job record"): what the service said, kept whole, with typed ways in.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::record::{Field, Fields, Key, Record, SourceKey};
use crate::timestamp::unix_ms;

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
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    status: JobStatus,
    record: Box<Record>,
}

impl Job {
    /// Reads a record from the service's JSON, or says in a clause what is wrong with it.
    pub(crate) fn read(json: Vec<u8>) -> Result<Job, String> {
        let Ok(text) = String::from_utf8(json) else { return Err("it is not UTF-8".to_owned()) };
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        let read = match text.trim_ascii_start().starts_with('{') {
            true => Record::read(text).map(Job::of),
            false => serde_json::from_str::<Value>(&text).map(|_| Err("it is JSON, but not an object".to_owned())),
        };
        read.unwrap_or_else(|error| match error.is_eof() {
            true => Err("its JSON ends too early".to_owned()),
            // The parser's text names line and column; it never quotes the document.
            false => Err(format!("it is not JSON ({error})")),
        })
    }

    fn of(record: Record) -> Result<Job, String> {
        let status = JobStatus::from_word(required_text(&record, Key::Status)?);
        required_text(&record, Key::Id)?;
        Ok(Job { status, record: Box::new(record) })
    }

    /// The job's id.
    pub fn id(&self) -> &str {
        self.record.field(Key::Id).as_text().unwrap_or_default()
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
        self.record.source_field(SourceKey::Repository)?.as_text()
    }

    /// The ref that the job works on, usually a branch.
    pub fn source_ref(&self) -> Option<&str> {
        self.record.source_field(SourceKey::Ref)?.as_text()
    }

    /// The AI model.
    pub fn model(&self) -> Option<&str> {
        self.record.field(Key::Model).as_text()
    }

    /// The pull request's URL: none while the job is active, and none when no file changed.
    ///
    /// It is the service's text, unchecked: do not open it without looking at it.
    pub fn pr_link(&self) -> Option<&str> {
        self.record.field(Key::PrLink).as_text()
    }

    /// When the job was created, as the service wrote it (ISO 8601).
    pub fn created_at(&self) -> Option<&str> {
        self.record.field(Key::CreatedAt).as_text()
    }

    /// When the job was created, in milliseconds since 1970-01-01T00:00:00Z; none also if the service's text is no moment.
    pub fn created_at_unix_ms(&self) -> Option<i64> {
        unix_ms(self.created_at()?)
    }

    /// When the job was archived, as the service wrote it (ISO 8601).
    pub fn archived_at(&self) -> Option<&str> {
        self.record.field(Key::ArchivedAt).as_text()
    }

    /// When the job was archived, in milliseconds since 1970-01-01T00:00:00Z; none also if the service's text is no moment.
    pub fn archived_at_unix_ms(&self) -> Option<i64> {
        unix_ms(self.archived_at()?)
    }

    /// Any key of the record, also one that this version does not know. `None` only for one that is not there.
    pub fn get(&self, key: &str) -> Option<Field<'_>> {
        self.fields().find(|(known, _)| *known == key).map(|(_, field)| field)
    }

    /// The whole record: the documented keys in their order, then the others in the service's. [`Fields::to_map`] makes a
    /// JSON object of it.
    pub fn fields(&self) -> Fields<'_> {
        self.record.fields()
    }

    /// The whole record as compact JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a record that was JSON can be written as JSON")
    }
}

/// The whole record, as [`Job::fields`] has it.
impl Serialize for Job {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields().serialize(serializer)
    }
}

fn required_text(record: &Record, key: Key) -> Result<&str, String> {
    let name = key.name();
    match record.field(key) {
        Field::Text("") => Err(format!("its {name:?} is empty")),
        Field::Text(text) => Ok(text),
        Field::Value(Value::Null) => Err(format!("it has no {name:?}")),
        _ => Err(format!("its {name:?} is not a string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(json: &str) -> Job {
        Job::read(json.into()).expect(json)
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
            r#"{"id":"a","status":"failed","source":{"repository":null,"ref":null,"sha":"f00"},"model":null,"prLink":null,"createdAt":null,"archivedAt":null,"cost":1.10,"big":123456789012345678901234567890,"tags":[1,{"x":null}]}"#
        );
    }

    #[test]
    fn of_a_key_that_comes_twice_the_last_value_counts() {
        let job = job(
            r#"{"id":"a","x":1,"status":"active","y":2,"id":"b","x":{"n":3},"source":{"ref":"r"},"source" : {"ref":"s","z":0,"z":1}}"#,
        );
        assert_eq!(
            job.to_json(),
            r#"{"id":"b","status":"active","source":{"repository":null,"ref":"s","z":1},"model":null,"prLink":null,"createdAt":null,"archivedAt":null,"y":2,"x":{"n":3}}"#
        );
    }

    #[test]
    fn keys_and_texts_may_be_written_with_escapes() {
        let escaped = job(
            r#"{"\u0069d":"caf\u00e9 \"x\"","status":"\u0061ctive","sourc\u0065":{"r\u0065f":"a\/b"},"k\u00fc":"\n"}"#,
        );
        let plain = job(r#"{"id":"café \"x\"","status":"active","source":{"ref":"a/b"},"kü":"\n"}"#);
        assert_eq!(escaped.id(), "café \"x\"");
        assert_eq!(escaped.status(), &JobStatus::Active);
        assert_eq!(escaped.source_ref(), plain.source_ref());
        assert_eq!(escaped.get("kü").and_then(|field| field.as_text().map(str::to_owned)), Some("\n".to_owned()));
        assert_eq!(escaped.to_json(), plain.to_json());
        assert_eq!(escaped, plain, "however it was written");
        assert_ne!(escaped, job(r#"{"id":"b","status":"active"}"#));
    }

    #[test]
    fn a_documented_field_of_another_type_breaks_nothing() {
        let job = job(r#"{"id":"a","status":"active","model":7,"source":"s","prLink":{}}"#);
        assert_eq!(job.model(), None);
        assert_eq!(job.source_ref(), None);
        assert_eq!(job.get("model").map(|field| field.to_value()), Some(serde_json::json!(7)));
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
            assert_eq!(Job::read(json.into()).unwrap_err(), clause, "{json}");
        }
        assert!(Job::read(b"<html>".into()).unwrap_err().starts_with("it is not JSON"));
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(Job::read(deep.into()).unwrap_err().contains("recursion limit"));
    }
}
