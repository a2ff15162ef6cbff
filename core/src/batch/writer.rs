//! The journal's lines as they are written: see [`line`](super::line).

use std::fmt::Write as _;

use super::clock::Stamp;
use super::digest::{Checksum, checksum};
use super::line::{Begun, END, LINK, SUM};
use super::reason::{Cause, Reason};
use crate::timestamp::iso;

/// A line under construction.
#[derive(Debug, Default)]
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

    /// An object that is no line, and begins with this text, if there is one.
    pub(super) fn of(name: &str, text: Option<&str>) -> Writer {
        Writer::default().text_or_none(name, text)
    }

    /// An object that is no line, whole.
    pub(super) fn json_text(mut self) -> String {
        match self.0.is_empty() {
            true => self.0.push('{'),
            false => self.0.replace_range(..1, "{"),
        }
        self.0 + "}"
    }

    pub(super) fn reason(self, reason: &Reason, request_id: Option<&str>) -> Writer {
        let mut parts = Writer::of("kind", Some(reason.kind.as_str()));
        if reason.cause != Cause::Request {
            parts = parts.text("cause", reason.cause.as_str());
        }
        if let Some(status) = reason.http_status {
            parts = parts.number("http_status", status.into());
        }
        self.json("error", &parts.text_or_none("request_id", request_id).json_text())
    }

    fn push(&mut self, name: &str, json: &str) {
        write!(self.0, ",\"{name}\":{json}").expect("a String takes every write");
    }

    /// The whole line, its end included, and its checksum. `before` is that of the line before it.
    pub(super) fn finish(mut self, before: &Checksum) -> (String, Checksum) {
        self = self.text("after", ascii(&before[..LINK]));
        let sum = checksum(self.0.as_bytes());
        self.0.push_str(SUM);
        self.0.push_str(ascii(&sum));
        self.0.push_str(END);
        (self.0, sum)
    }
}

/// The messages of a line `recovered`.
pub(super) fn begun_text<'a>(items: impl Iterator<Item = &'a Begun>) -> String {
    let texts = items.map(|begun| {
        let key = begun.item.id.to_string();
        Writer::of("key", Some(&key))
            .number("item", begun.item.number)
            .text("prompt", &begun.prompt.to_string())
            .text("job_id", &begun.job_id)
            .json_text()
    });
    format!("[{}]", texts.collect::<Vec<_>>().join(","))
}

/// Hexadecimal digits as text.
pub(super) fn ascii(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).expect("hexadecimal digits are ASCII")
}
