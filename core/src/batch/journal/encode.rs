//! The journal's lines as they are written: see [`line`](crate::batch::journal::format).

use std::fmt::Write as _;

use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::{Checksum, checksum};
use crate::batch::journal::format::{Begun, END, LINK, SUM};
use crate::batch::journal::reason::{Cause, Reason};
use crate::timestamp::iso;

/// A line under construction.
#[derive(Debug, Default)]
pub(crate) struct Writer(String);

impl Writer {
    pub(crate) fn new(kind: &str) -> Writer {
        Writer(format!("{{\"line\":\"{kind}\""))
    }

    pub(crate) fn text(mut self, name: &str, text: &str) -> Writer {
        let text = serde_json::to_string(text).expect("a string always becomes JSON");
        self.push(name, &text);
        self
    }

    pub(crate) fn text_or_none(self, name: &str, text: Option<&str>) -> Writer {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    pub(crate) fn number(mut self, name: &str, number: u64) -> Writer {
        self.push(name, &number.to_string());
        self
    }

    /// JSON as it is.
    pub(crate) fn json(mut self, name: &str, json: &str) -> Writer {
        self.push(name, json);
        self
    }

    pub(crate) fn stamp(self, at: Stamp) -> Writer {
        self.text("at", &iso(at.unix_ms)).number("up_ms", at.up_ms)
    }

    /// An object that is no line, and begins with this text, if there is one.
    pub(crate) fn of(name: &str, text: Option<&str>) -> Writer {
        Writer::default().text_or_none(name, text)
    }

    /// An object that is no line, whole.
    pub(crate) fn json_text(mut self) -> String {
        match self.0.is_empty() {
            true => self.0.push('{'),
            false => self.0.replace_range(..1, "{"),
        }
        self.0 + "}"
    }

    pub(crate) fn reason(self, reason: &Reason, request_id: Option<&str>) -> Writer {
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
    pub(crate) fn finish(mut self, before: &Checksum) -> (String, Checksum) {
        self = self.text("after", ascii(&before[..LINK]));
        let sum = checksum(self.0.as_bytes());
        self.0.push_str(SUM);
        self.0.push_str(ascii(&sum));
        self.0.push_str(END);
        (self.0, sum)
    }
}

/// The messages of a line `recovered`.
pub(crate) fn begun_text<'a>(items: impl Iterator<Item = &'a Begun>) -> String {
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
pub(crate) fn ascii(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).expect("hexadecimal digits are ASCII")
}
