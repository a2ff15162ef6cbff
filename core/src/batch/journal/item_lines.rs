//! The lines of the journal about one item.

use crate::batch::decisions::decision::Decision;
use crate::batch::item::Planned;
use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::encode::LineWriter;
use crate::batch::journal::line::ItemRef;
use crate::batch::journal::reason::Reason;
use crate::batch::journal::stored_record::RecordFilter;
use crate::batch::pace::circuit_breaker::LONGEST_PAUSE;
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::wait::poller::Poller;

/// The key comes first: if the line is cut off, it still identifies the item.
fn begin(kind: &str, at: usize, item: &Planned) -> LineWriter {
    about(kind, ItemRef { id: item.id, number: at as u64 + 1 })
}

fn about(kind: &str, item: ItemRef) -> LineWriter {
    LineWriter::new(kind).text("key", &item.id.to_string()).number("item", item.number)
}

/// A message is about to be sent. `own_key`: the caller's key for it, if that may be stored.
pub(crate) fn sending(at: usize, item: &Planned, own_key: Option<&str>, now: Stamp) -> LineWriter {
    let writer = begin("sending", at, item).text("prompt", &item.prompt_digest.to_string());
    writer.text("job_id", item.job_id()).text_or_none("own_key", own_key).stamp(now)
}

/// A person decided about an item. `new_prompt`: the digest of its new prompt; `new_id`: what identifies the item with that prompt.
pub(crate) fn decided(
    item: ItemRef,
    decision: Decision,
    new_prompt: Option<Digest>,
    new_id: Option<Digest>,
    now: Stamp,
) -> LineWriter {
    let text = |digest: Option<Digest>| digest.map(|digest| digest.to_string());
    about("decided", item)
        .text("decision", decision.as_str())
        .text_or_none("new_prompt", text(new_prompt).as_deref())
        .text_or_none("new_id", text(new_id).as_deref())
        .stamp(now)
}

/// The outcome of a message that was sent.
pub(crate) struct Outcome<'a> {
    pub(crate) delivery: Delivery,
    pub(crate) job: Option<&'a Job>,
    pub(crate) error: Option<&'a Error>,
    pub(crate) poller: Option<&'a Poller>,
}

/// The outcome of a message, with what may be stored of the response.
pub(crate) fn outcome(
    at: usize,
    item: &Planned,
    outcome: &Outcome<'_>,
    filter: &RecordFilter<'_>,
    now: Stamp,
) -> LineWriter {
    let mut writer = begin(outcome.delivery.as_str(), at, item);
    if let Some(job) = outcome.job {
        writer = writer.json("job", &filter.record(item.job_id(), job));
    }
    if let Some(error) = outcome.error {
        writer = writer.reason(&Reason::of(error), filter.name(error.request_id()));
    }
    writer = retry_after(writer, outcome.error);
    if let Some(poller) = outcome.poller {
        writer = writer.json("poller", &poller.journal_text());
    }
    writer.stamp(now)
}

/// The same without the record, the request's id and the poller, for a disk that has room for no more.
pub(crate) fn short_outcome(at: usize, item: &Planned, outcome: &Outcome<'_>, now: Stamp) -> LineWriter {
    let mut writer = begin(outcome.delivery.as_str(), at, item);
    if let Some(error) = outcome.error {
        writer = writer.reason(&Reason::of(error), None);
    }
    retry_after(writer, outcome.error).stamp(now)
}

/// Part of the outcome, so that the next run knows it even if this run is killed now.
fn retry_after(writer: LineWriter, error: Option<&Error>) -> LineWriter {
    let limited = error.filter(|error| error.kind() == ErrorKind::RateLimit);
    match limited.and_then(Error::retry_after).filter(|pause| *pause <= LONGEST_PAUSE) {
        Some(pause) => writer.number("retry_after_ms", u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
        None => writer,
    }
}

/// A message whose outcome was never recorded.
pub(crate) fn unknown_outcome(at: usize, item: &Planned, now: Stamp) -> LineWriter {
    begin(Delivery::Unknown.as_str(), at, item).reason(&Reason::not_noted(), None).stamp(now)
}

/// A poll has seen that the job works on the message: what it shows from now on is that message's result.
pub(crate) fn waiting(at: usize, item: &Planned, poller: &Poller, now: Stamp) -> LineWriter {
    begin("waiting", at, item).json("poller", &poller.journal_text()).stamp(now)
}

/// A job that was waited for is done; `job` is its last record, if its result is the message's own.
pub(crate) fn finished(
    at: usize,
    item: &Planned,
    job: Option<&Job>,
    filter: &RecordFilter<'_>,
    now: Stamp,
) -> LineWriter {
    let writer = begin("finished", at, item);
    match job {
        Some(job) => writer.json("job", &filter.record(item.job_id(), job)).stamp(now),
        None => writer.stamp(now),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::batch::item::{BatchItem, plan};
    use crate::batch::journal::disk_space;
    use crate::batch::journal::line::NO_LINE;

    #[test]
    fn a_short_outcome_fits_into_the_room_that_is_reserved() {
        let long = "\u{1F600}\"".repeat(200);
        let items = plan([BatchItem::new(long, "p")], 10).unwrap();
        let id = Some("r".repeat(5000));
        let error =
            Error::new(ErrorKind::RateLimit, "x".repeat(9000)).with_response(429, Some(Duration::MAX), id, None);
        let day = error.clone().with_response(429, Some(LONGEST_PAUSE), None, None);
        for error in [error, day] {
            let outcome = Outcome { delivery: Delivery::Rejected, job: None, error: Some(&error), poller: None };
            let now = Stamp { unix_ms: 253_402_300_799_999, up_ms: u64::MAX };
            let (line, _) = short_outcome(u32::MAX as usize, &items[0], &outcome, now).finish(&NO_LINE);
            assert!(line.len() as u64 <= disk_space::OUTCOME, "{line}");
        }
    }

    #[test]
    fn an_outcome_has_how_long_a_rate_limit_lasts_and_no_other_pause() {
        let items = plan([BatchItem::new("job_1", "p")], 10).unwrap();
        let seconds = Duration::from_secs;
        for (kind, retry_after, pause) in [
            (ErrorKind::RateLimit, Some(seconds(5)), Some("5000")),
            (ErrorKind::RateLimit, Some(LONGEST_PAUSE), Some("86400000")),
            (ErrorKind::RateLimit, Some(LONGEST_PAUSE + seconds(1)), None),
            (ErrorKind::RateLimit, None, None),
            (ErrorKind::Server, Some(seconds(5)), None),
        ] {
            let error = Error::new(kind, "x").with_response(429, retry_after, None, None);
            let outcome = Outcome { delivery: Delivery::NotSent, job: None, error: Some(&error), poller: None };
            let (line, _) = short_outcome(0, &items[0], &outcome, Stamp { unix_ms: 0, up_ms: 0 }).finish(&NO_LINE);
            let written = line.split_once("\"retry_after_ms\":").map(|(_, rest)| rest.split(',').next().unwrap());
            assert_eq!(written, pause, "{kind:?}, {retry_after:?}: {line}");
        }
    }
}
