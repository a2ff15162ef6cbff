//! Writes a line of the journal as JSON. [`decode`](crate::batch::journal::decode) is its opposite.

use std::fmt::Write as _;

use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::{Checksum, checksum};
use crate::batch::journal::line::{END, LINK, SUM};
use crate::batch::journal::reason::{Origin, Reason};
use crate::timestamp::iso;

/// A line to which fields are added, one after the other. It also writes objects inside a line.
#[derive(Debug, Default)]
pub(crate) struct LineWriter(String);

impl LineWriter {
    pub(crate) fn new(kind: &str) -> LineWriter {
        LineWriter(format!("{{\"line\":\"{kind}\""))
    }

    pub(crate) fn text(mut self, name: &str, text: &str) -> LineWriter {
        let text = serde_json::to_string(text).expect("a string always becomes JSON");
        self.push(name, &text);
        self
    }

    pub(crate) fn text_or_none(self, name: &str, text: Option<&str>) -> LineWriter {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    pub(crate) fn number(mut self, name: &str, number: u64) -> LineWriter {
        self.push(name, &number.to_string());
        self
    }

    /// Adds a field whose JSON is ready.
    pub(crate) fn json(mut self, name: &str, json: &str) -> LineWriter {
        self.push(name, json);
        self
    }

    pub(crate) fn stamp(self, at: Stamp) -> LineWriter {
        self.text("at", &iso(at.unix_ms)).number("up_ms", at.up_ms)
    }

    /// Begins an object inside a line, with this text, if there is one.
    pub(crate) fn object(name: &str, text: Option<&str>) -> LineWriter {
        LineWriter::default().text_or_none(name, text)
    }

    /// The JSON of an object inside a line.
    pub(crate) fn json_text(mut self) -> String {
        match self.0.is_empty() {
            true => self.0.push('{'),
            false => self.0.replace_range(..1, "{"),
        }
        self.0 + "}"
    }

    pub(crate) fn reason(self, reason: &Reason, request_id: Option<&str>) -> LineWriter {
        self.json("error", &LineWriter::default().reason_fields(reason, request_id).json_text())
    }

    /// Why a message was not accepted, as fields.
    pub(crate) fn reason_fields(self, reason: &Reason, request_id: Option<&str>) -> LineWriter {
        let mut fields = self.text("kind", reason.kind.as_str());
        if reason.origin != Origin::Request {
            fields = fields.text("origin", reason.origin.as_str());
        }
        if let Some(status) = reason.http_status {
            fields = fields.number("http_status", status.into());
        }
        fields.text_or_none("request_id", request_id)
    }

    fn push(&mut self, name: &str, json: &str) {
        write!(self.0, ",\"{name}\":{json}").expect("a String takes every write");
    }

    /// The complete line with its line end, and its checksum. `before` is the checksum of the line before it.
    pub(crate) fn finish(mut self, before: &Checksum) -> (String, Checksum) {
        self = self.text("after", ascii(&before[..LINK]));
        let sum = checksum(self.0.as_bytes());
        self.0.push_str(SUM);
        self.0.push_str(ascii(&sum));
        self.0.push_str(END);
        (self.0, sum)
    }
}

/// Hexadecimal digits as a string.
pub(crate) fn ascii(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).expect("hexadecimal digits are ASCII")
}
