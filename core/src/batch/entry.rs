//! The journal's lines about one message, as they are written.

use serde_json::Value;

use super::clock::Stamp;
use super::gate::MAX_ASKED;
use super::item::{Planned, prompts_for_job};
use super::line::Writer;
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::operation::shown;
use crate::outcome::without_advice;
use crate::poller::Poller;

/// How many of a record's keys are documented: they come first.
const DOCUMENTED_KEYS: usize = 7;
/// A record longer than this, in bytes, is kept by its id and status alone.
const MAX_RECORD: usize = 16 << 20;
/// A text that has this much of a prompt's beginning quotes it.
const QUOTE_CHARS: usize = 24;
/// A prompt shorter than this is found in any text.
const QUOTED_AT_LEAST: usize = 8;

fn begin(kind: &str, at: usize, item: &Planned) -> Writer {
    Writer::new(kind).number("item", at as u64 + 1).text("key", &item.id.to_string())
}

/// A message is about to leave.
pub(super) fn sending(at: usize, item: &Planned, now: Stamp) -> String {
    let writer = begin("sending", at, item).text("prompt", &item.prompt_digest.to_string());
    writer.text("job_id", item.job_id()).stamp(now).finish()
}

/// What became of it. The service's words may quote a prompt, which is in no journal: then they are left out.
pub(super) fn ended(
    at: usize,
    items: &[Planned],
    delivery: Delivery,
    job: Option<&Job>,
    error: Option<&Error>,
    poller: Option<&Poller>,
    now: Stamp,
) -> String {
    let item = &items[at];
    let mut writer = begin(delivery.as_str(), at, item);
    if let Some(job) = job {
        writer = writer.json("job", &record(job, items, at));
    }
    if let Some(error) = error {
        writer = match prompts_for_job(items, at).any(|prompt| quotes(error.message(), prompt)) {
            true => writer.error(error, &without_words(error, item, delivery)),
            false => writer.error(error, error.message()),
        };
    }
    // With the outcome, so that a run that is killed now leaves it to the next.
    let limited = error.filter(|error| error.kind() == ErrorKind::RateLimited);
    if let Some(pause) = limited.and_then(Error::retry_after).filter(|pause| *pause <= MAX_ASKED) {
        writer = writer.number("retry_after_ms", u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
    }
    if let Some(poller) = poller {
        writer = writer.json("poller", &poller.to_string());
    }
    writer.stamp(now).finish()
}

/// A wait has seen its job at work: what it shows from now on is the message's own result.
pub(super) fn waiting(at: usize, item: &Planned, poller: &Poller, now: Stamp) -> String {
    begin("waiting", at, item).json("poller", &poller.to_string()).stamp(now).finish()
}

/// A wait's job is done.
pub(super) fn finished(at: usize, items: &[Planned], job: &Job, now: Stamp) -> String {
    begin("finished", at, &items[at]).json("job", &record(job, items, at)).stamp(now).finish()
}

/// What is said of a message whose run ended between its two lines.
pub(super) fn interrupted(item: &Planned) -> Error {
    let message = format!(
        "message to job {} may have arrived: the run that sent it ended before it noted an answer; look at the job before sending it again",
        shown(item.job_id())
    );
    Error::new(ErrorKind::ConnectionLost, message).with_delivery(Some(Delivery::Unknown))
}

/// What is said of a message that may have arrived in an earlier run, and was sent again in vain.
pub(super) fn still_in_doubt(job_id: &str, error: &Error) -> Error {
    let job = shown(job_id);
    let again = without_advice(error);
    let again = again.strip_prefix(&format!("message to job {job} ")).unwrap_or(again);
    let message = format!(
        "message to job {job} may have arrived in an earlier run, and when it was sent again it {again}; look at the job before sending it again"
    );
    let doubt = Error::new(error.kind(), message);
    let doubt = match error.http_status() {
        Some(status) => doubt.with_answer(status, error.retry_after(), error.request_id().map(str::to_owned), None),
        None => doubt,
    };
    doubt.with_delivery(Some(Delivery::Unknown))
}

/// The record; without the keys that the service adds to the documented ones, if they quote what was said to the job.
fn record(job: &Job, items: &[Planned], at: usize) -> String {
    let json = job.to_json();
    if json.len() > MAX_RECORD {
        return Writer::of("id", job.id()).text("status", job.status().as_str()).json_text();
    }
    let adds = job.fields().nth(DOCUMENTED_KEYS).is_some();
    let escaped = |prompt: &str| Value::from(prompt).to_string();
    match adds && prompts_for_job(items, at).any(|prompt| quotes(&json, escaped(prompt).trim_matches('"'))) {
        true => {
            let source = serde_json::json!({"repository": job.source_repository(), "ref": job.source_ref()});
            Writer::of("id", job.id())
                .text("status", job.status().as_str())
                .json("source", &source.to_string())
                .text_or_none("model", job.model())
                .text_or_none("prLink", job.pr_link())
                .text_or_none("createdAt", job.created_at())
                .text_or_none("archivedAt", job.archived_at())
                .json_text()
        }
        false => json,
    }
}

fn quotes(text: &str, prompt: &str) -> bool {
    let end = prompt.char_indices().nth(QUOTE_CHARS).map_or(prompt.len(), |(end, _)| end);
    end >= QUOTED_AT_LEAST && text.contains(&prompt[..end])
}

fn without_words(error: &Error, item: &Planned, delivery: Delivery) -> String {
    let status = error.http_status().map_or_else(String::new, |status| format!(" ({status})"));
    format!(
        "message to job {}: {delivery}, {}{status}; the service's words quote the prompt, so they are not kept here",
        shown(item.job_id()),
        error.kind()
    )
}

#[cfg(test)]
mod tests {
    use super::super::item::{BatchItem, plan};
    use super::*;

    const SECRET: &str = "Rename \"Falcon\" to \"Kestrel\" everywhere";

    const OTHER: &str = "And then tell nobody";

    fn items() -> Vec<Planned> {
        plan([BatchItem::new("job_1", SECRET), BatchItem::new("job_1", OTHER)], 1000).unwrap()
    }

    #[test]
    fn a_prompt_that_the_service_quotes_is_not_kept() {
        let now = Stamp { unix_ms: 0, up_ms: 0 };
        for said in [SECRET, OTHER] {
            let echo = serde_json::json!({"id": "job_1", "status": "active", "model": "m", "last": said, "n": 1});
            let job = Job::read(echo.to_string().into()).unwrap();
            let line = ended(0, &items(), Delivery::Accepted, Some(&job), None, None, now);
            assert!(!line.contains("Falcon") && !line.contains("nobody"), "{line}");
            assert!(line.contains("\"model\":\"m\"") && !line.contains("\"n\":1"), "{line}");
        }
        let plain = Job::read(br#"{"id":"job_1","status":"active","n":1}"#.to_vec()).unwrap();
        let line = ended(0, &items(), Delivery::Accepted, Some(&plain), None, None, now);
        assert!(line.contains("\"n\":1"), "what the service adds is kept: {line}");
        let words = format!("message to job job_1 was rejected: the service answered 400 (bad prompt: {SECRET})");
        let error = Error::new(ErrorKind::BadRequest, words).with_answer(400, None, None, None);
        let line = ended(0, &items(), Delivery::Rejected, None, Some(&error), None, now);
        assert!(!line.contains("Falcon") && line.contains("rejected, bad_request (400)"), "{line}");
    }
}
