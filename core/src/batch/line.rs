//! The journal's lines as text: one JSON object a line, its last field a checksum of what stands before it.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::clock::Stamp;
use super::digest::{Digest, checksum};
use super::gate::PauseReason;
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::timestamp::{iso, unix_ms};

/// The journal's format. One of another version is refused, not guessed at.
pub(super) const VERSION: u32 = 1;
/// How every journal begins.
pub(super) const BEGINNING: &str = r#"{"line":"run","journal":1,"#;
const SUM: &str = r#","sum":""#;
const END: &str = "\"}\n";

/// A line under construction.
#[derive(Debug)]
pub(super) struct Writer(String);

impl Writer {
    pub(super) fn new(kind: &str) -> Writer {
        Writer(format!("{{\"line\":\"{kind}\""))
    }

    pub(super) fn text(mut self, name: &str, text: &str) -> Writer {
        let text = serde_json::to_string(text).expect("a string always becomes JSON");
        self.push(name, &text);
        self
    }

    pub(super) fn text_or_none(self, name: &str, text: Option<&str>) -> Writer {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    pub(super) fn number(mut self, name: &str, number: u64) -> Writer {
        self.push(name, &number.to_string());
        self
    }

    /// JSON as it is.
    pub(super) fn json(mut self, name: &str, json: &str) -> Writer {
        self.push(name, json);
        self
    }

    pub(super) fn stamp(self, at: Stamp) -> Writer {
        self.text("at", &iso(at.unix_ms)).number("up_ms", at.up_ms)
    }

    pub(super) fn error(self, error: &Error, message: &str) -> Writer {
        let mut facts = Writer::new("error");
        facts.0 = "{\"kind\":\"".to_owned() + error.kind().as_str() + "\"";
        let mut facts = facts.text("message", message);
        if let Some(status) = error.http_status() {
            facts = facts.number("http_status", status.into());
        }
        facts = facts.text_or_none("request_id", error.request_id());
        self.json("error", &(facts.0 + "}"))
    }

    fn push(&mut self, name: &str, json: &str) {
        write!(self.0, ",\"{name}\":{json}").expect("a String takes every write");
    }

    /// The whole line, its end included.
    pub(super) fn finish(mut self) -> String {
        let sum = checksum(self.0.as_bytes());
        self.0.push_str(SUM);
        self.0.push_str(std::str::from_utf8(&sum).expect("hexadecimal digits are ASCII"));
        self.0.push_str(END);
        self.0
    }
}

/// A line that was read. Which fields must be there is its kind's affair.
#[derive(Debug, Deserialize)]
pub(super) struct Fields<'a> {
    #[serde(borrow)]
    line: Cow<'a, str>,
    journal: Option<u32>,
    #[serde(borrow)]
    at: Option<Cow<'a, str>>,
    up_ms: Option<u64>,
    item: Option<u64>,
    #[serde(borrow)]
    key: Option<Cow<'a, str>>,
    #[serde(borrow)]
    prompt: Option<Cow<'a, str>>,
    #[serde(borrow)]
    job_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    job: Option<&'a RawValue>,
    #[serde(borrow)]
    poller: Option<&'a RawValue>,
    error: Option<ErrorFields<'a>>,
    #[serde(borrow)]
    reason: Option<Cow<'a, str>>,
    pause_ms: Option<u64>,
    #[serde(borrow)]
    base_url: Option<Cow<'a, str>>,
    #[serde(borrow)]
    project_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    boot: Option<Cow<'a, str>>,
    pid: Option<u32>,
    items: Option<u64>,
    #[serde(borrow)]
    rate: Option<Cow<'a, str>>,
    wait: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct ErrorFields<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    message: Cow<'a, str>,
    http_status: Option<u16>,
    #[serde(borrow)]
    request_id: Option<Cow<'a, str>>,
}

/// A line of the journal.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) stamp: Stamp,
    pub(super) said: Said<'a>,
}

/// What a line says.
#[derive(Debug)]
pub(super) enum Said<'a> {
    /// A run began.
    Run(Run<'a>),
    /// A message is about to leave.
    Sending { item: Place, prompt: Digest, job_id: Cow<'a, str> },
    /// What became of it, with the job's record and, if its job is waited for, the wait's beginning; or with an error.
    Ended { item: Place, delivery: Delivery, job: Option<&'a str>, poller: Option<&'a str>, error: Option<Error> },
    /// A wait has seen its job at work.
    Waiting { item: Place, poller: &'a str },
    /// A wait's job is done.
    Finished { item: Place, job: &'a str },
    /// Nothing is sent for a while.
    Paused { reason: PauseReason, pause_ms: u64 },
}

/// An item as the journal knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) id: Digest,
    /// Its place in the list when it was written, from 1: for people.
    pub(super) number: u64,
}

/// What a run begins with.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) base_url: Cow<'a, str>,
    pub(super) project_id: Cow<'a, str>,
    pub(super) boot: Option<Cow<'a, str>>,
    pub(super) pid: u32,
    pub(super) items: u64,
    pub(super) rate: Option<Cow<'a, str>>,
    pub(super) wait: bool,
}

/// Reads one line, without its end, or says in a clause what is wrong with it.
pub(super) fn read(line: &str) -> Result<Line<'_>, &'static str> {
    let (body, sum) = line.rsplit_once(SUM).ok_or("it has no checksum")?;
    let sum = sum.strip_suffix("\"}").ok_or("it has no checksum")?;
    if sum.as_bytes() != checksum(body.as_bytes()) {
        return Err("its checksum is not that of its text");
    }
    let fields: Fields<'_> = serde_json::from_str(line).map_err(|_| "it is no line of a journal")?;
    fields.said().ok_or("it lacks a field that its kind has")
}

impl<'a> Fields<'a> {
    fn said(self) -> Option<Line<'a>> {
        let unix_ms = u64::try_from(unix_ms(self.at.as_deref()?)?).ok()?;
        let stamp = Stamp { unix_ms, up_ms: self.up_ms? };
        let item = || Some(Place { id: Digest::from_hex(self.key.as_deref()?)?, number: self.item? });
        let said = match &*self.line {
            "run" if self.journal == Some(VERSION) => Said::Run(Run {
                base_url: self.base_url?,
                project_id: self.project_id?,
                boot: self.boot,
                pid: self.pid?,
                items: self.items?,
                rate: self.rate,
                wait: self.wait?,
            }),
            "sending" => {
                let prompt = Digest::from_hex(self.prompt.as_deref()?)?;
                Said::Sending { item: item()?, prompt, job_id: self.job_id? }
            }
            "waiting" => Said::Waiting { item: item()?, poller: self.poller?.get() },
            "finished" => Said::Finished { item: item()?, job: self.job?.get() },
            "paused" => {
                Said::Paused { reason: PauseReason::from_name(self.reason.as_deref()?)?, pause_ms: self.pause_ms? }
            }
            word => {
                let delivery = Delivery::ALL.into_iter().find(|delivery| delivery.as_str() == word)?;
                let (item, job, poller) = (item()?, self.job.map(RawValue::get), self.poller.map(RawValue::get));
                let error = match self.error {
                    Some(error) => Some(error.read(delivery)?),
                    None => None,
                };
                Said::Ended { item, delivery, job, poller, error }
            }
        };
        Some(Line { stamp, said })
    }
}

impl ErrorFields<'_> {
    fn read(self, delivery: Delivery) -> Option<Error> {
        let kind = ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind)?;
        let error = Error::new(kind, self.message).with_delivery(Some(delivery));
        Some(match self.http_status {
            Some(status) => error.with_answer(status, None, self.request_id.map(Cow::into_owned), None),
            None => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Stamp = Stamp { unix_ms: 1_767_323_045_678, up_ms: 12 };

    fn sending() -> String {
        let id = Digest::of(&[b"key"]).to_string();
        let writer = Writer::new("sending").number("item", 17).text("key", &id).text("prompt", &id);
        writer.text("job_id", "job \"1\"").stamp(AT).finish()
    }

    #[test]
    fn a_line_is_read_back() {
        let text = sending();
        assert!(text.starts_with(r#"{"line":"sending","item":17,"key":""#), "{text}");
        assert!(text.contains(r#""at":"2026-01-02T03:04:05.678Z","up_ms":12,"sum":""#), "{text}");
        let line = read(text.trim_end()).unwrap();
        assert_eq!(line.stamp, AT);
        let Said::Sending { item, prompt, job_id } = line.said else { panic!("{:?}", line.said) };
        assert_eq!((item.number, item.id, &*job_id), (17, prompt, "job \"1\""));
    }

    #[test]
    fn a_line_that_was_touched_is_not_read() {
        let text = sending();
        let text = text.trim_end();
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= 1;
            if let Ok(touched) = String::from_utf8(bytes) {
                assert!(read(&touched).is_err(), "{touched}");
            }
            assert!(read(&text[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_line_of_another_kind_or_version_is_not_guessed_at() {
        for text in [
            Writer::new("sent").stamp(AT).finish(),
            Writer::new("accepted").stamp(AT).finish(),
            Writer::new("run").number("journal", 2).stamp(AT).finish(),
        ] {
            assert!(read(text.trim_end()).is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_is_read_back_with_what_a_person_needs() {
        let error = Error::new(ErrorKind::NotFound, "not here").with_answer(404, None, Some("req_1".into()), None);
        let id = Digest::of(&[b"key"]).to_string();
        let text = Writer::new("rejected").number("item", 1).text("key", &id).error(&error, error.message()).stamp(AT);
        let text = text.finish();
        let Said::Ended { delivery, error: Some(read), .. } = read(text.trim_end()).unwrap().said else { panic!() };
        assert_eq!((delivery, read.kind(), read.message()), (Delivery::Rejected, ErrorKind::NotFound, "not here"));
        assert_eq!((read.http_status(), read.request_id()), (Some(404), Some("req_1")));
        assert_eq!(read.delivery(), Some(Delivery::Rejected));
    }
}
