//! Rules: for which requests the emulator behaves differently, and how.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::fault::{Fault, Spot};
use crate::latin1::Latin1;

/// One rule: matchers, and what happens to the requests that they match. The first rule that matches a request wins.
///
/// A rule with no matcher matches every request; a rule with no action lets a request through untouched, which shields it
/// from the rules below.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Matches this method only.
    pub method: Option<String>,
    /// Matches this path only, as it is on the wire without its query; `*` stands for any one segment.
    pub path: Option<String>,
    /// Matches only the n-th (from 1) of the requests that the other matchers match.
    pub nth: Option<u64>,
    /// Matches only the n-th (from 1) and later of the requests that the other matchers match.
    pub from: Option<u64>,
    /// Matches only on the n-th (from 1) accepted connection.
    pub connection: Option<u64>,

    /// The response's status. A 2xx without a body of its own responds with the real record.
    pub status: Option<u16>,
    /// Header fields of the response, each instead of the one that would be sent.
    pub headers: BTreeMap<String, String>,
    /// The response's body as JSON.
    pub json: Option<Value>,
    /// The response's body as text.
    pub body: Option<String>,
    /// The whole response, status line included.
    pub raw: Option<Latin1>,
    /// Whether the message is really processed before the response. Default: what the response's status says, 2xx or not.
    pub process: Option<bool>,
    /// The pause before the response's first byte, in milliseconds.
    pub delay_ms: u64,
    /// Bytes sent before that pause, such as a `100 Continue`.
    pub interim: Option<Latin1>,
    /// How the response's body is delimited.
    pub framing: Framing,
    /// What `Content-Length` claims, whatever the body's length is.
    pub content_length: Option<u64>,
    /// Writes the response piece by piece.
    pub drip: Option<Drip>,
    /// Makes the response endless.
    pub endless: Option<Endless>,
    /// Responds as soon as the head is read, before the body is.
    pub early: bool,
    /// After an early response: keeps reading and discarding for this many milliseconds, then closes. 0 resets at once.
    pub linger_ms: u64,
    /// How the connection dies after the response, without announcement.
    pub after_response: Option<AfterResponse>,
    /// How long after the response, in milliseconds.
    pub after_response_ms: u64,

    /// Breaks the connection.
    pub fault: Option<Fault>,
}

/// How a response's body is delimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// `Content-Length`.
    #[default]
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// Neither: the body ends where the connection does.
    Close,
}

/// A response written piece by piece, head included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drip {
    /// Bytes a piece.
    pub bytes: usize,
    /// The pause after each piece, in milliseconds.
    pub every_ms: u64,
}

/// A response that never ends: it is sent until the client closes, at most 256 MiB of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Endless {
    /// A head with ever more header fields.
    Headers,
    /// A chunked body that never ends.
    Chunks,
    /// A body without a length.
    Body,
}

/// How a kept connection dies after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterResponse {
    /// A FIN.
    Close,
    /// A reset.
    Reset,
    /// Over TLS a `close_notify`, in plain text a half-close; the other direction stays open until the client closes.
    CloseNotify,
}

impl Rule {
    /// The first contradiction in this rule, as `field: what is wrong with it`.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (field, ordinal) in [("nth", self.nth), ("from", self.from), ("connection", self.connection)] {
            if ordinal == Some(0) {
                return Err(format!("{field}: counts from 1"));
            }
        }
        if let Some(status) = self.status
            && !(200..=999).contains(&status)
        {
            return Err("status: must be 200 to 999; an interim response is written with `interim`".into());
        }
        for (name, value) in &self.headers {
            let visible = |c: char| c == '\t' || !c.is_control();
            if name.is_empty() || name.contains([' ', ':']) || !name.chars().chain(value.chars()).all(visible) {
                return Err(format!("headers: {name:?} is no header field; script odd bytes with `raw`"));
            }
        }
        if self.drip.is_some_and(|drip| drip.bytes == 0) {
            return Err("drip: `bytes` must be at least 1".into());
        }
        self.check_combinations()?;
        self.fault.as_ref().map_or(Ok(()), |fault| self.check_fault(fault))
    }

    fn check_combinations(&self) -> Result<(), String> {
        let bodies = [self.json.is_some(), self.body.is_some(), self.raw.is_some()];
        if bodies.into_iter().filter(|given| *given).count() > 1 {
            return Err("body: only one of `json`, `body` and `raw` can be the response".into());
        }
        let shaped = self.status.is_some()
            || !self.headers.is_empty()
            || self.framing != Framing::Length
            || self.content_length.is_some()
            || self.endless.is_some();
        if self.raw.is_some() && shaped {
            return Err(
                "raw: is the whole response, it takes no status, headers, framing, content_length or endless".into()
            );
        }
        if self.early && self.process == Some(true) {
            return Err("process: an early response comes before there is a whole message to process".into());
        }
        if self.early && self.after_response.is_some() {
            return Err("after_response: an early response always ends its connection, see `linger_ms`".into());
        }
        if self.linger_ms > 0 && !self.early {
            return Err("linger_ms: belongs to `early`".into());
        }
        if self.after_response_ms > 0 && self.after_response.is_none() {
            return Err("after_response_ms: belongs to `after_response`".into());
        }
        Ok(())
    }

    fn check_fault(&self, fault: &Fault) -> Result<(), String> {
        let connection_only = matches!(fault.at, Spot::Accept | Spot::Head(_));
        if connection_only && (self.method.is_some() || self.path.is_some()) {
            return Err(format!("fault: at `{}` neither method nor path is known yet", fault.at));
        }
        let whole = matches!(fault.at, Spot::Request | Spot::Response(_));
        if !whole && (fault.process == Some(true) || self.process == Some(true)) {
            return Err(format!("process: at `{}` there is no whole message to process", fault.at));
        }
        if self.after_response.is_some() || self.early || self.endless.is_some() {
            return Err("fault: stands alone, without early, endless or after_response".into());
        }
        let shapes_response = self.status.is_some()
            || !self.headers.is_empty()
            || self.json.is_some()
            || self.body.is_some()
            || self.raw.is_some()
            || self.interim.is_some()
            || self.drip.is_some()
            || self.delay_ms > 0;
        if shapes_response && !matches!(fault.at, Spot::Response(_)) {
            return Err(format!("fault: at `{}` there is no response to shape", fault.at));
        }
        Ok(())
    }

    /// Whether this rule's fault strikes before the request's head is read.
    pub(crate) fn strikes_head(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| matches!(fault.at, Spot::Head(_)))
    }

    /// Whether this rule's fault strikes a connection as it is accepted.
    pub(crate) fn strikes_accept(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.at == Spot::Accept)
    }

    /// Whether the matchers other than the ordinals match.
    pub(crate) fn matches(&self, connection: u64, method: &str, path: &str) -> bool {
        self.connection.is_none_or(|nth| nth == connection)
            && self.method.as_deref().is_none_or(|wanted| wanted == method)
            && self.path.as_deref().is_none_or(|pattern| path_matches(pattern, path))
    }

    /// Whether it applies to the `count`-th of the requests that the other matchers match.
    pub(crate) fn hits(&self, count: u64) -> bool {
        self.nth.is_none_or(|nth| nth == count) && self.from.is_none_or(|from| from <= count)
    }

    /// The status this rule responds with, if the rule decides it.
    pub(crate) fn scripted_status(&self) -> Option<u16> {
        let own_body = self.json.is_some() || self.body.is_some();
        self.status.or_else(|| self.raw.as_ref().and_then(|raw| status_of(raw.as_bytes()))).or(own_body.then_some(200))
    }

    /// Whether a message that this rule matches is still processed.
    pub(crate) fn processes(&self) -> bool {
        let asked = self.fault.as_ref().and_then(|fault| fault.process).or(self.process);
        match self.fault.as_ref().map(|fault| fault.at) {
            Some(Spot::Response(_)) => asked.unwrap_or(true),
            Some(_) => asked.unwrap_or(false),
            None if self.early => false,
            None => asked.unwrap_or_else(|| match self.scripted_status() {
                Some(status) => (200..300).contains(&status),
                None => self.raw.is_none(),
            }),
        }
    }
}

/// The status of a response's bytes, if they begin like an HTTP/1 response.
fn status_of(raw: &[u8]) -> Option<u16> {
    let line = raw.strip_prefix(b"HTTP/1.")?;
    std::str::from_utf8(line.get(2..5)?).ok()?.parse().ok()
}

fn path_matches(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(want), Some(give)) if want == "*" || want == give => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_segment() {
        for (pattern, path, matches) in [
            ("/v2/agent/*/job", "/v2/agent/demo/job", true),
            ("/v2/agent/*/job", "/v2/agent/demo/job/job_1", false),
            ("/v2/agent/*/job/*/message", "/v2/agent/demo/job/job_1/message", true),
            ("*", "/v2", false),
            ("/v2/agent/demo/job", "/v2/agent/demo/job/", false),
        ] {
            assert_eq!(path_matches(pattern, path), matches, "{pattern} on {path}");
        }
    }

    #[test]
    fn a_message_is_processed_when_the_response_says_so() {
        for (rule, processed) in [
            (r#"{}"#, true),
            (r#"{"delay_ms": 5}"#, true),
            (r#"{"status": 202}"#, true),
            (r#"{"json": {}}"#, true),
            (r#"{"status": 503}"#, false),
            (r#"{"status": 503, "process": true}"#, true),
            (r#"{"raw": "HTTP/1.1 200 OK\r\n\r\n"}"#, true),
            (r#"{"raw": "garbage"}"#, false),
            (r#"{"early": true, "status": 200}"#, false),
            (r#"{"fault": {"do": "close", "at": "body:1"}}"#, false),
            (r#"{"fault": {"do": "close", "at": "request"}}"#, false),
            (r#"{"fault": {"do": "close", "at": "request", "process": true}}"#, true),
            (r#"{"fault": {"do": "close", "at": "response:0"}}"#, true),
            (r#"{"fault": {"do": "close", "at": "response:0", "process": false}}"#, false),
        ] {
            let parsed: Rule = serde_json::from_str(rule).unwrap();
            assert_eq!(parsed.check(), Ok(()), "{rule}");
            assert_eq!(parsed.processes(), processed, "{rule}");
        }
    }
}
