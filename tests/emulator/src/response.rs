//! A response, and its bytes.

use std::io::Write;

use serde::Serialize;
use serde_json::json;

use crate::rule::{Framing, Rule};

/// What the service responds with.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Fields besides those that every response has.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}

/// How a response is put on the wire.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// The request's number, for `x-request-id`; responses of the truth endpoints have none.
    pub(crate) request: Option<u64>,
    pub(crate) framing: Framing,
    pub(crate) content_length: Option<u64>,
    /// Whether to announce that the connection ends with this response.
    pub(crate) closing: bool,
}

impl Response {
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        // Cannot fail: all values here have a JSON form. If it did, the body would be empty.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self { status, headers: Vec::new(), body }
    }

    /// A refusal in the contract's shape.
    pub(crate) fn error(status: u16, text: &str) -> Self {
        Self::json(status, &json!({ "error": text }))
    }

    pub(crate) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// This response as `rule` changes it. A 2xx rule without a body keeps the service's own response, refusals included.
    pub(crate) fn scripted(mut self, rule: &Rule) -> Self {
        let own_body = match (&rule.json, &rule.body) {
            (Some(value), _) => Some(serde_json::to_vec(value).unwrap_or_default()),
            (None, Some(text)) => Some(text.clone().into_bytes()),
            (None, None) => None,
        };
        let Some(status) = rule.scripted_status() else {
            return self;
        };
        match own_body {
            Some(body) => Self { status, headers: Vec::new(), body },
            None if !is_success(status) => Self::error(status, "a rule of the emulator says so"),
            None => {
                if is_success(self.status) {
                    self.status = status;
                }
                self
            }
        }
    }

    /// Appends the response's bytes to `out`. `rule` may replace header fields.
    pub(crate) fn encode(&self, out: &mut Vec<u8>, shape: &Shape, rule: Option<&Rule>) {
        self.encode_head(out, shape, rule);
        if is_bodyless(self.status) {
            return;
        }
        match shape.framing {
            Framing::Length | Framing::Close => out.extend_from_slice(&self.body),
            Framing::Chunked => {
                // Two chunks, so a client that reads only one fails.
                let (first, second) = self.body.split_at(self.body.len() / 2);
                for piece in [first, second] {
                    if !piece.is_empty() {
                        put(out, format_args!("{:x}\r\n", piece.len()));
                        out.extend_from_slice(piece);
                        out.extend_from_slice(b"\r\n");
                    }
                }
                out.extend_from_slice(b"0\r\n\r\n");
            }
        }
    }

    fn encode_head(&self, out: &mut Vec<u8>, shape: &Shape, rule: Option<&Rule>) {
        put(out, format_args!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status)));
        let replaced =
            |name: &str| rule.is_some_and(|rule| rule.headers.keys().any(|given| given.eq_ignore_ascii_case(name)));
        if !replaced("content-type") {
            out.extend_from_slice(b"content-type: application/json\r\n");
        }
        if let Some(request) = shape.request
            && !replaced("x-request-id")
        {
            put(out, format_args!("x-request-id: req_{request}\r\n"));
        }
        for (name, value) in self.headers.iter().filter(|(name, _)| !replaced(name)) {
            put(out, format_args!("{name}: {value}\r\n"));
        }
        for (name, value) in rule.iter().flat_map(|rule| &rule.headers) {
            put(out, format_args!("{name}: {value}\r\n"));
        }
        if (shape.closing || shape.framing == Framing::Close) && !replaced("connection") {
            out.extend_from_slice(b"connection: close\r\n");
        }
        match shape.framing {
            _ if is_bodyless(self.status) => {}
            Framing::Length if !replaced("content-length") => {
                let length = shape.content_length.unwrap_or(self.body.len() as u64);
                put(out, format_args!("content-length: {length}\r\n"));
            }
            Framing::Chunked if !replaced("transfer-encoding") => {
                out.extend_from_slice(b"transfer-encoding: chunked\r\n");
            }
            Framing::Length | Framing::Chunked | Framing::Close => {}
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// Formats into a buffer in memory, which cannot fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    let _ = out.write_fmt(text);
}

pub(crate) fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// RFC 9110, 6.4.1: these have no content, whatever the header fields say.
fn is_bodyless(status: u16) -> bool {
    matches!(status, 204 | 304)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        425 => "Too Early",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Scripted",
    }
}
