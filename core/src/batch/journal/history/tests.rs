//! Every order of lines: what it says of an item, or why it cannot be.

use crate::batch::journal::history::*;
use crate::batch::journal::reason::{Cause, Reason};
use crate::error::ErrorKind;

struct Told {
    history: History,
    clock: Clock,
}

impl Told {
    fn new() -> Told {
        let clock = Clock::new();
        let mut told = Told { history: History::new(clock.clone(), 100), clock };
        told.run("http://a", "p").unwrap();
        told
    }

    fn say(&mut self, said: Said<'_>) -> Result<(), String> {
        let line = Line::of(self.clock.stamp(), said);
        self.history.take(Span { start: 7, bytes: 3 }, line)
    }

    fn run(&mut self, base_url: &str, project_id: &str) -> Result<(), String> {
        let (boot, base_url, project_id) = (self.clock.boot.clone(), base_url.into(), project_id.into());
        let boot = boot.as_deref().map(Into::into);
        self.say(Said::Run(Run {
            base_url,
            project_id,
            boot,
            pid: 1,
            items: 9,
            concurrency: 4,
            rate: None,
            wait: false,
        }))
    }

    fn sending(&mut self, key: &str) -> Result<(), String> {
        self.say(Said::Sending { item: item(key), prompt: Digest::of(&[b"p"]), job_id: "job_1".into() })
    }

    fn ended(&mut self, key: &str, delivery: Delivery, status: Option<u16>) -> Result<(), String> {
        let error = Reason { cause: Cause::Request, kind: ErrorKind::Connect, http_status: status, request_id: None };
        let error = (delivery != Delivery::Accepted).then_some(error);
        self.say(Said::Ended { item: item(key), delivery, job: None, poller: None, error, retry_after: None })
    }
}

fn item(key: &str) -> Place {
    Place { id: Digest::of(&[key.as_bytes()]), number: 1 }
}

#[test]
fn every_order_of_lines_that_cannot_be_is_damage() {
    use Delivery::*;
    let mut rows = 0;
    for before in
        [None, Some(None), Some(Some(Accepted)), Some(Some(Rejected)), Some(Some(NotSent)), Some(Some(Unknown))]
    {
        let told = || {
            let mut told = Told::new();
            if let Some(ended) = before {
                told.sending("a").unwrap();
                if let Some(delivery) = ended {
                    told.ended("a", delivery, None).unwrap();
                }
            }
            told
        };
        let may_send = matches!(before, None | Some(Some(NotSent | Unknown)));
        assert_eq!(told().sending("a").is_ok(), may_send, "{before:?}, then sent");
        for delivery in Delivery::ALL {
            let may_end = before == Some(None);
            assert_eq!(told().ended("a", delivery, None).is_ok(), may_end, "{before:?}, then {delivery}");
            rows += 1;
        }
        let waits = before == Some(Some(Accepted));
        let wait = told().say(Said::Waiting { item: item("a"), poller: "{}" });
        assert_eq!(wait.is_ok(), waits, "{before:?}, then waited for");
        let finish = told().say(Said::Finished { item: item("a"), job: "{}" });
        assert_eq!(finish.is_ok(), waits, "{before:?}, then finished");
    }
    assert_eq!(rows, 24);
    let mut told = Told::new();
    assert!(told.run("http://b", "p").is_err());
    assert!(told.run("http://a", "q").is_err());
    assert!(told.run("http://a", "p").is_ok());
}

#[test]
fn a_message_that_may_have_arrived_stays_so_whatever_becomes_of_it_when_it_is_sent_again() {
    use Delivery::*;
    for (again, verdict) in
        [(NotSent, Some(Unknown)), (Rejected, Some(Unknown)), (Unknown, Some(Unknown)), (Accepted, Some(Accepted))]
    {
        let mut told = Told::new();
        for delivery in [Unknown, again] {
            told.sending("a").unwrap();
            told.ended("a", delivery, None).unwrap();
        }
        assert_eq!(told.history.items.iter().next().unwrap().verdict(), verdict, "{again}");
    }
}

#[test]
fn another_message_under_the_same_key_is_damage() {
    let mut told = Told::new();
    told.sending("a").unwrap();
    told.ended("a", Delivery::NotSent, None).unwrap();
    let other = Digest::of(&[b"q"]);
    let changed = told.say(Said::Sending { item: item("a"), prompt: other, job_id: "job_1".into() });
    assert_eq!(changed.unwrap_err(), "item 1 is a different message than before");
}

#[test]
fn the_pace_counts_what_reached_the_service() {
    let mut told = Told::new();
    for (key, delivery, status) in [
        ("a", Delivery::Accepted, None),
        ("b", Delivery::NotSent, None),
        ("c", Delivery::NotSent, Some(429)),
        ("d", Delivery::Unknown, None),
    ] {
        told.sending(key).unwrap();
        told.ended(key, delivery, status).unwrap();
    }
    told.sending("e").unwrap();
    assert_eq!(told.history.sends.len(), 3, "all but the one that found no connection and the one that has not ended");
}

#[test]
fn a_pause_is_over_with_its_time() {
    let mut told = Told::new();
    told.sending("a").unwrap();
    told.say(Said::Paused { reason: PauseReason::RateLimit, pause_ms: 60_000 }).unwrap();
    told.ended("a", Delivery::Accepted, None).unwrap();
    assert!(told.history.pause.is_some(), "what was under way when it began says nothing about it");
    told.say(Said::Paused { reason: PauseReason::RateLimit, pause_ms: 1000 }).unwrap();
    assert!(told.history.pause.unwrap().1 > Duration::from_secs(50), "the longer pause counts");
    let mut told = Told::new();
    told.say(Said::Paused { reason: PauseReason::RateLimit, pause_ms: 0 }).unwrap();
    assert!(told.history.pause.is_none());
}

#[test]
fn what_a_damaged_line_may_have_said_is_held_against_every_state() {
    use Delivery::*;
    let recovered = || {
        let begun = Begun { item: item("a"), prompt: Digest::of(&[b"p"]), job_id: "job_1".into() };
        Said::Recovered { bytes: 40, of: "".into(), items: vec![begun] }
    };
    let rows = [
        (None, Unknown),
        (Some(None), Unknown),
        (Some(Some(NotSent)), Unknown),
        (Some(Some(Unknown)), Unknown),
        (Some(Some(Accepted)), Accepted),
        (Some(Some(Rejected)), Rejected),
    ];
    for (before, verdict) in rows {
        let mut told = Told::new();
        if let Some(ended) = before {
            told.sending("a").unwrap();
            if let Some(delivery) = ended {
                told.ended("a", delivery, None).unwrap();
            }
        }
        told.say(recovered()).unwrap();
        assert_eq!(told.history.items.iter().next().unwrap().verdict(), Some(verdict), "{before:?}");
        assert_eq!(told.history.dropped_bytes, 40);
    }
}
