//! What of the service's texts is stored in the journal: of a record the status, the times and the address of the pull request, and
//! names such as a request's id. Each only if it is short, has plain characters and no key in it. The run that gets a record passes all of it on;
//! a later run reports what is stored.

use crate::batch::journal::encode::LineWriter;
use crate::job::{Job, JobStatus};

/// The longest of each, in bytes.
const MAX_URL: usize = 512;
const MAX_NAME: usize = 128;

/// Decides what of a response is stored.
pub(crate) struct RecordFilter<'a> {
    /// Whether a text contains the API key.
    pub(crate) is_secret: &'a dyn Fn(&str) -> bool,
}

impl RecordFilter<'_> {
    /// What is stored of a record. The id is the one that was requested.
    pub(crate) fn record(&self, requested_id: &str, job: &Job) -> String {
        let status = match job.status() {
            JobStatus::Other(_) => "other",
            known => known.as_str(),
        };
        let pr_link = job.pr_link().filter(|link| link.len() <= MAX_URL && is_address(link) && !(self.is_secret)(link));
        LineWriter::object("id", Some(requested_id))
            .text("status", status)
            .text_or_none("prLink", pr_link)
            .text_or_none("createdAt", self.name(job.created_at().filter(|_| job.created_at_unix_ms().is_some())))
            .text_or_none("archivedAt", self.name(job.archived_at().filter(|_| job.archived_at_unix_ms().is_some())))
            .json_text()
    }

    /// A name, such as a request's id or an item's key, if it may be stored.
    pub(crate) fn name<'t>(&self, name: Option<&'t str>) -> Option<&'t str> {
        name.filter(|name| name.len() <= MAX_NAME && is_plain(name) && !(self.is_secret)(name))
    }
}

/// Letters, digits, and the separators of names, times and addresses; nothing that escapes anything.
fn is_plain(text: &str) -> bool {
    let between = |byte| matches!(byte, b'.' | b'_' | b'/' | b':' | b'@' | b'+' | b'~' | b'-');
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || between(byte))
}

/// An https URL of plain characters: no user, no query, no fragment, no escapes.
fn is_address(text: &str) -> bool {
    text.strip_prefix("https://").is_some_and(|rest| is_plain(rest) && !rest.contains('@'))
        && text.parse::<ureq::http::Uri>().is_ok_and(|url| url.host().is_some_and(|host| !host.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"id":"job_1","status":"active","prLink":"https://example.com/r/pull/1","createdAt":"2026-01-02T03:04:05.678Z"}"#;

    fn stored(json: &str) -> String {
        let filter = RecordFilter { is_secret: &|text| text.contains("adm_marker") };
        filter.record("job_1", &Job::read(json.into()).unwrap())
    }

    #[test]
    fn the_status_the_times_and_the_pull_request_of_a_record_are_stored_and_nothing_else() {
        let more =
            RECORD.replace("\"prLink\"", "\"source\":{\"ref\":\"main\"},\"model\":\"m\",\"note\":\"any\",\"prLink\"");
        assert_eq!(stored(&more), RECORD);
        let bare = r#"{"id":"job_1","status":"completed"}"#;
        assert_eq!(stored(r#"{"id":"job_2","status":"completed","prLink":null,"archivedAt":7}"#), bare);
    }

    #[test]
    fn a_text_of_another_shape_is_not_stored() {
        let with = |field: &str, value: &str| {
            let mut record: serde_json::Value = serde_json::from_str(RECORD).unwrap();
            record[field] = value.into();
            serde_json::from_str::<serde_json::Value>(&stored(&record.to_string())).unwrap()[field].take()
        };
        for link in [
            "javascript:alert(1)",
            "http://example.com/1",
            "https://u:p@example.com/",
            "https://example.com/?q=1",
            "https://example.com/#f",
            "https://example.com/a%20b",
            "https:///x",
            "https://:80/x",
            "//example.com/1",
            "https://example.com/a b",
            "https://example.com/adm_marker",
            &format!("https://example.com/{}", "x".repeat(500)),
        ] {
            assert_eq!(with("prLink", link), serde_json::Value::Null, "{link}");
        }
        assert_eq!(with("prLink", "https://127.0.0.1:8080/pull/7"), "https://127.0.0.1:8080/pull/7");
        assert_eq!(with("createdAt", "yesterday"), serde_json::Value::Null);
        assert_eq!(with("archivedAt", "2026-01-02T03:04:05Z"), "2026-01-02T03:04:05Z");
        assert_eq!(with("status", "paused by the operator"), "other");
    }

    #[test]
    fn a_name_is_stored_if_it_is_short_and_plain_and_no_key() {
        let filter = RecordFilter { is_secret: &|text| text.contains("adm_marker") };
        let long = "x".repeat(129);
        for (name, is_stored) in [
            ("req-7/a:b", true),
            ("", false),
            ("two words", false),
            ("adm_marker", false),
            (&*long, false),
            (&long[1..], true),
        ] {
            assert_eq!(filter.name(Some(name)).is_some(), is_stored, "{name}");
        }
    }
}
