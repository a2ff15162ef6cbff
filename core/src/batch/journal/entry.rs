//! The journal's lines about one message, as they are written.

use crate::batch::item::Planned;
use crate::batch::journal::clock::Stamp;
use crate::batch::journal::encode::Writer;
use crate::batch::journal::reason::{Cause, Reason};
use crate::batch::journal::stored_record::Kept;
use crate::batch::pace::circuit_breaker::MAX_ASKED;
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::wait::poller::Poller;

/// The key comes first: of a line that was cut it tells most.
fn begin(kind: &str, at: usize, item: &Planned) -> Writer {
    Writer::new(kind).text("key", &item.id.to_string()).number("item", at as u64 + 1)
}

/// A message is about to leave.
pub(crate) fn sending(at: usize, item: &Planned, now: Stamp) -> Writer {
    let writer = begin("sending", at, item).text("prompt", &item.prompt_digest.to_string());
    writer.text("job_id", item.job_id()).stamp(now)
}

/// What became of a message that was sent.
pub(crate) struct Ended<'a> {
    pub(crate) delivery: Delivery,
    pub(crate) job: Option<&'a Job>,
    pub(crate) error: Option<&'a Error>,
    pub(crate) poller: Option<&'a Poller>,
}

/// What became of it, with what may be kept of the answer.
pub(crate) fn ended(at: usize, item: &Planned, ended: &Ended<'_>, kept: &Kept<'_>, now: Stamp) -> Writer {
    let mut writer = begin(ended.delivery.as_str(), at, item);
    if let Some(job) = ended.job {
        writer = writer.json("job", &kept.record(job));
    }
    if let Some(error) = ended.error {
        writer = writer.reason(&Reason::of(error), kept.request_id(error.request_id()));
    }
    writer = retry_after(writer, ended.error);
    if let Some(poller) = ended.poller {
        writer = writer.json("poller", &poller.journal_text());
    }
    writer.stamp(now)
}

/// The same without the record, the request's id and the wait's beginning, where only that has room.
pub(crate) fn ended_short(at: usize, item: &Planned, ended: &Ended<'_>, now: Stamp) -> Writer {
    let mut writer = begin(ended.delivery.as_str(), at, item);
    if let Some(error) = ended.error {
        writer = writer.reason(&Reason::of(error), None);
    }
    retry_after(writer, ended.error).stamp(now)
}

/// With the outcome, so that a run that is killed now leaves it to the next.
fn retry_after(writer: Writer, error: Option<&Error>) -> Writer {
    let limited = error.filter(|error| error.kind() == ErrorKind::RateLimit);
    match limited.and_then(Error::retry_after).filter(|pause| *pause <= MAX_ASKED) {
        Some(pause) => writer.number("retry_after_ms", u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)),
        None => writer,
    }
}

/// Nobody noted how it ended, for this cause.
pub(crate) fn not_noted(at: usize, item: &Planned, cause: Cause, now: Stamp) -> Writer {
    begin(Delivery::Unknown.as_str(), at, item).reason(&Reason::not_noted(cause), None).stamp(now)
}

/// A wait has seen its job at work: what it shows from now on is the message's own result.
pub(crate) fn waiting(at: usize, item: &Planned, poller: &Poller, now: Stamp) -> Writer {
    begin("waiting", at, item).json("poller", &poller.journal_text()).stamp(now)
}

/// A wait's job is done.
pub(crate) fn finished(at: usize, item: &Planned, job: &Job, kept: &Kept<'_>, now: Stamp) -> Writer {
    begin("finished", at, item).json("job", &kept.record(job)).stamp(now)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::batch::item::{BatchItem, plan};
    use crate::batch::journal::disk_space;
    use crate::batch::journal::format::NO_LINE;

    #[test]
    fn a_short_outcome_has_room_where_room_was_kept() {
        let long = "\u{1F600}\"".repeat(200);
        let items = plan([BatchItem::new(long, "p")], 10).unwrap();
        let id = Some("r".repeat(5000));
        let error =
            Error::new(ErrorKind::RateLimit, "x".repeat(9000)).with_response(429, Some(Duration::MAX), id, None);
        let day = error.clone().with_response(429, Some(MAX_ASKED), None, None);
        for error in [error, day] {
            let ended = Ended { delivery: Delivery::Rejected, job: None, error: Some(&error), poller: None };
            let now = Stamp { unix_ms: 253_402_300_799_999, up_ms: u64::MAX };
            let (line, _) = ended_short(u32::MAX as usize, &items[0], &ended, now).finish(&NO_LINE);
            assert!(line.len() as u64 <= disk_space::OUTCOME, "{line}");
        }
    }
}
