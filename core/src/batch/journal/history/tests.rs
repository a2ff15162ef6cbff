//! Every order of lines: what it says of an item, or why no run writes it.

use crate::batch::journal::digest::Digest;
use crate::batch::journal::history::*;
use crate::batch::journal::line::NO_LINE;
use crate::batch::journal::reason::{Origin, Reason};
use crate::error::ErrorKind;

pub(super) struct Replay {
    history: History,
    clock: Clock,
    lines: u64,
}

impl Replay {
    pub(super) fn new() -> Replay {
        let clock = Clock::new();
        let mut replay = Replay { history: History::new(clock.clone(), 100), clock, lines: 0 };
        replay.run("http://a", "p").unwrap();
        replay
    }

    fn add(&mut self, content: Content<'_>) -> Result<(), String> {
        self.add_at(self.clock.stamp(), content)
    }

    fn add_at(&mut self, stamp: Stamp, content: Content<'_>) -> Result<(), String> {
        let line = Line { stamp, content, sum: NO_LINE, after: "".into() };
        self.lines += 1;
        self.history.add(span(self.lines), line)
    }

    fn run(&mut self, base_url: &str, project_id: &str) -> Result<(), String> {
        self.run_behind(0, base_url, project_id)
    }

    fn run_behind(&mut self, numbers: u64, base_url: &str, project_id: &str) -> Result<(), String> {
        let (boot, base_url, project_id) = (self.clock.boot.clone(), base_url.into(), project_id.into());
        let boot = boot.as_deref().map(Into::into);
        self.add(Content::Run(RunHeader {
            base_url,
            project_id,
            boot,
            pid: 1,
            items: 9,
            rate: None,
            wait: false,
            numbers,
        }))
    }

    pub(super) fn sending(&mut self, key: &str) -> Result<(), String> {
        self.add(Content::Sending {
            item: item(key),
            prompt: Digest::of(&[b"p"]),
            job_id: "job_1".into(),
            own_key: None,
        })
    }

    pub(super) fn ended(&mut self, key: &str, delivery: Delivery, status: Option<u16>) -> Result<(), String> {
        let kind = if status == Some(409) { ErrorKind::Conflict } else { ErrorKind::Connect };
        let error = Reason { origin: Origin::Request, kind, http_status: status, request_id: None };
        let error = (delivery != Delivery::Accepted).then_some(error);
        self.add(Content::Ended { item: item(key), delivery, job: None, poller: None, error, retry_after: None })
    }

    pub(super) fn decided(&mut self, decision: Decision, new_prompt: Option<Digest>) -> Result<(), String> {
        self.add(Content::Decided { item: item("a"), decision, new_prompt, new_id: None })
    }

    pub(super) fn first(&self) -> &ItemHistory {
        self.history.items.iter().next().unwrap()
    }
}

fn item(key: &str) -> ItemRef {
    ItemRef { id: Digest::of(&[key.as_bytes()]), number: 1 }
}

/// Where the line with this number is; the first is that of the run.
pub(super) fn span(line: u64) -> LineSpan {
    LineSpan { start: line, bytes: 3 }
}

#[test]
fn every_order_of_lines_that_no_run_writes_is_damage() {
    use Delivery::*;
    for before in
        [None, Some(None), Some(Some(Accepted)), Some(Some(Rejected)), Some(Some(NotSent)), Some(Some(Unknown))]
    {
        let replay = || {
            let mut replay = Replay::new();
            if let Some(ended) = before {
                replay.sending("a").unwrap();
                if let Some(delivery) = ended {
                    replay.ended("a", delivery, None).unwrap();
                }
            }
            replay
        };
        let may_send = matches!(before, None | Some(Some(NotSent | Unknown)));
        assert_eq!(replay().sending("a").is_ok(), may_send, "{before:?}, then sent");
        for delivery in Delivery::ALL {
            let may_end = before == Some(None);
            assert_eq!(replay().ended("a", delivery, None).is_ok(), may_end, "{before:?}, then {delivery}");
        }
        let waits = before == Some(Some(Accepted));
        let wait = replay().add(Content::Waiting { item: item("a"), poller: "{}" });
        assert_eq!(wait.is_ok(), waits, "{before:?}, then waited for");
        if matches!(before, Some(Some(_))) && !waits {
            assert!(wait.unwrap_err().contains("has a `waiting` line"));
        }
        let finish = replay().add(Content::Finished { item: item("a"), job: Some("{}") });
        assert_eq!(finish.is_ok(), waits, "{before:?}, then finished");
        if matches!(before, Some(Some(_))) && !waits {
            assert!(finish.unwrap_err().contains("has a `finished` line"));
        }
    }
    let mut replay = Replay::new();
    assert!(replay.run("http://b", "p").is_err());
    assert!(replay.run("http://a", "q").is_err());
    assert!(replay.run("http://a", "p").is_ok());
}

#[test]
fn a_message_that_may_have_arrived_still_may_have_after_it_is_sent_again() {
    use Delivery::*;
    for (again, verdict) in
        [(NotSent, Some(Unknown)), (Rejected, Some(Unknown)), (Unknown, Some(Unknown)), (Accepted, Some(Accepted))]
    {
        let mut replay = Replay::new();
        for delivery in [Unknown, again] {
            replay.sending("a").unwrap();
            replay.ended("a", delivery, None).unwrap();
        }
        assert_eq!(replay.first().delivery(), verdict, "{again}");
    }
}

#[test]
fn another_message_under_the_same_key_is_damage() {
    let mut replay = Replay::new();
    replay.sending("a").unwrap();
    replay.ended("a", Delivery::NotSent, None).unwrap();
    let other = Digest::of(&[b"q"]);
    let changed =
        replay.add(Content::Sending { item: item("a"), prompt: other, job_id: "job_1".into(), own_key: None });
    assert_eq!(changed.unwrap_err(), "item 1 is a different message than before");
}

#[test]
fn the_rate_counts_what_reached_the_service() {
    let mut replay = Replay::new();
    for (key, delivery, status, sends) in [
        ("a", Delivery::Accepted, None, 1),
        ("b", Delivery::NotSent, None, 1),
        ("c", Delivery::NotSent, Some(429), 2),
        ("d", Delivery::Unknown, None, 3),
    ] {
        replay.sending(key).unwrap();
        replay.ended(key, delivery, status).unwrap();
        assert_eq!(replay.history.sends.len(), sends, "{key}: all but the one without a connection");
    }
    replay.sending("e").unwrap();
    assert_eq!(replay.history.sends.len(), 3, "one that has not ended does not count");
}

#[test]
fn as_many_of_the_last_sends_are_kept_as_are_wanted() {
    for wanted in [0, 1, 2] {
        let mut replay = Replay::new();
        replay.history.keep_sends = wanted;
        for key in ["a", "b", "c"] {
            replay.sending(key).unwrap();
            replay.ended(key, Delivery::Accepted, None).unwrap();
        }
        assert_eq!(replay.history.sends.len(), wanted);
    }
}

#[test]
fn a_poller_is_as_old_as_its_line() {
    let mut replay = Replay::new();
    replay.sending("a").unwrap();
    replay.ended("a", Delivery::Accepted, None).unwrap();
    let now = replay.clock.stamp();
    // No earlier than the machine's start.
    let ago = now.up_ms.min(5000);
    let earlier = Stamp { unix_ms: now.unix_ms - ago, up_ms: now.up_ms - ago };
    replay.add_at(earlier, Content::Waiting { item: item("a"), poller: "{}" }).unwrap();
    assert!(replay.first().poller_age >= Duration::from_millis(ago));
    // By the clock that no one sets, as long as the machine has not started again.
    let day = Duration::from_secs(24 * 3600);
    let a_day_ago = Stamp { unix_ms: now.unix_ms - day.as_millis() as u64, ..now };
    replay.add_at(a_day_ago, Content::Waiting { item: item("a"), poller: "{}" }).unwrap();
    assert_eq!(replay.first().poller_age < day, replay.clock.boot.is_some());
}

#[test]
fn a_pause_ends_when_its_time_has_passed() {
    let mut replay = Replay::new();
    replay.sending("a").unwrap();
    replay.add(Content::Paused { reason: PauseReason::RateLimit, pause_ms: 60_000 }).unwrap();
    replay.ended("a", Delivery::Accepted, None).unwrap();
    assert!(replay.history.pause.is_some(), "a message that was in flight when it began does not end it");
    replay.add(Content::Paused { reason: PauseReason::RateLimit, pause_ms: 1000 }).unwrap();
    assert!(replay.history.pause.unwrap().1 > Duration::from_secs(50), "the longer pause counts");
    replay.add(Content::Paused { reason: PauseReason::RateLimit, pause_ms: 600_000 }).unwrap();
    assert!(replay.history.pause.unwrap().1 > Duration::from_secs(500), "also if it began later");
    let mut replay = Replay::new();
    replay.add(Content::Paused { reason: PauseReason::RateLimit, pause_ms: 0 }).unwrap();
    assert!(replay.history.pause.is_none());
    let at = replay.clock.stamp();
    for reason in [PauseReason::RateLimit, PauseReason::ServiceFailure] {
        replay.add_at(at, Content::Paused { reason, pause_ms: 60_000 }).unwrap();
    }
    assert_eq!(replay.history.pause.unwrap().0, PauseReason::RateLimit, "the first of two that end together counts");
}

#[test]
fn numbers_count_once_the_run_behind_them_has_begun() {
    let mut replay = Replay::new();
    for key in ["a", "b", "c"] {
        replay.sending(key).unwrap();
        replay.ended(key, Delivery::NotSent, None).unwrap();
    }
    let numbers = |replay: &Replay| replay.history.items.iter().map(|item| item.number).collect::<Vec<_>>();
    replay.add(Content::Numbers { from: 0, numbers: vec![9, 8, 7] }).unwrap();
    assert_eq!(numbers(&replay), [1, 1, 1], "the run did not begin");
    // The next one begins with its own. Its list lacks the second.
    replay.add(Content::Numbers { from: 0, numbers: vec![3, 0] }).unwrap();
    replay.add(Content::Numbers { from: 2, numbers: vec![1] }).unwrap();
    replay.run_behind(3, "http://a", "p").unwrap();
    assert_eq!(numbers(&replay), [3, 0, 1]);
    assert_eq!(replay.history.items.listed().collect::<Vec<_>>(), [0, 2], "the places of those that the list has");
    replay.run("http://a", "p").unwrap();
    assert_eq!(numbers(&replay), [3, 0, 1], "it has the same list");
    replay.add(Content::Numbers { from: 0, numbers: vec![1, 2, 3] }).unwrap();
    replay.run("http://a", "p").unwrap();
    assert_eq!(numbers(&replay), [3, 0, 1], "the numbers were those of a run that did not begin");
    assert!(replay.run_behind(2, "http://a", "p").is_err());
    for (from, count) in [(1, 1), (0, 4)] {
        assert!(replay.add(Content::Numbers { from, numbers: vec![1; count] }).is_err(), "{count} from {from}");
    }
}

#[test]
fn a_job_was_busy_if_the_last_thing_that_is_known_is_a_409_to_a_message_that_was_not_sent() {
    let mut replay = Replay::new();
    for (delivery, status, was_busy) in [
        (Delivery::NotSent, Some(409), true),
        (Delivery::NotSent, Some(429), false),
        (Delivery::NotSent, Some(409), true),
        (Delivery::Rejected, Some(409), false),
    ] {
        replay.sending("a").unwrap();
        replay.ended("a", delivery, status).unwrap();
        assert_eq!(replay.first().job_was_busy, was_busy, "{delivery}, {status:?}");
    }
}

#[test]
fn whether_a_job_failed_is_its_stored_status() {
    for (job, failed) in [
        (Some(r#"{"status":"failed"}"#), true),
        (Some(r#"{"status":"completed"}"#), false),
        (Some(r#"{"status":1}"#), false),
        (None, false),
    ] {
        let mut replay = Replay::new();
        replay.sending("a").unwrap();
        replay.ended("a", Delivery::Accepted, None).unwrap();
        replay.add(Content::Finished { item: item("a"), job }).unwrap();
        assert_eq!(replay.first().job_failed, failed, "{job:?}");
    }
}

#[test]
fn runs_and_damaged_bytes_are_counted() {
    let mut replay = Replay::new();
    replay.run("http://a", "p").unwrap();
    replay.run("http://a", "p").unwrap();
    for bytes in [5, 7] {
        replay.add(Content::Recovered { bytes, of: "".into() }).unwrap();
    }
    assert_eq!((replay.history.runs, replay.history.dropped_bytes), (3, 12));
}
