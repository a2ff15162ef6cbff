//! The head of a response, parsed by RFC 9112's grammar: bytes in; status, framing and the few fields that matter out.
//!
//! ureq's own parser rejects a `100 Continue` with fields, obs-fold and more than 128 lines, and a rejected head would make a
//! delivered message `unknown`. So we parse the head, and give ureq a short one that means the same ([`ResponseHead::canonical`]).

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::http::canonical::CanonicalHead;
use crate::http::field_value::trim;
use crate::http::framing::{Decided, Declared, Framing};

/// The longest head that is accepted, in bytes.
pub(crate) const MAX_BYTES: usize = 64 << 10;
/// How every head begins.
const VERSION: &[u8] = b"HTTP/1.";
/// The most lines that a head may have.
const MAX_LINES: usize = 512;

/// The fields in which services and gateways return a request id, most specific first.
pub(crate) const REQUEST_IDS: [&str; 6] =
    ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-vercel-id", "cf-ray"];
/// The other fields that are kept.
const KEPT: [&str; 3] = ["retry-after", "date", "content-encoding"];

/// A field that is kept: its name in lower case, and its value.
pub(crate) type Field = (&'static str, String);

/// A parsed head.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// Whether the connection may carry another request after this response.
    pub(crate) reusable: bool,
    /// After how many idle seconds the service closes the connection, if it says so.
    pub(crate) idle_timeout: Option<u64>,
    pub(crate) fields: Vec<Field>,
    /// The head's bytes, if the caller wants all of its fields.
    pub(crate) raw: Vec<u8>,
}

impl ResponseHead {
    /// Whether another head follows. A 101 is final: we requested no other protocol, so what follows it is not HTTP.
    pub(crate) fn is_interim(&self) -> bool {
        matches!(self.status, 100 | 102..=199)
    }

    /// The shortest head with the same status and framing; never longer than the original, so it can replace that in place.
    pub(crate) fn canonical(&self) -> CanonicalHead {
        let mut out = CanonicalHead::new();
        out.push(b"HTTP/1.1 ");
        out.push_number(u64::from(self.status));
        match &self.framing {
            Framing::Empty if matches!(self.status, 100..=199 | 204 | 304) => {}
            Framing::Length(length) => {
                out.push(b"\nContent-Length:");
                out.push_number(*length);
            }
            Framing::Empty | Framing::Unreadable(_) => out.push(b"\nContent-Length:0"),
            Framing::Chunked => out.push(b"\nTransfer-Encoding:chunked"),
            Framing::UntilClose => {}
        }
        out.push(b"\n\n");
        out
    }
}

/// Finds the end of a head while its bytes arrive; each byte is examined once.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// How many bytes were examined.
    seen: usize,
    /// Where the current line begins.
    line: usize,
    /// How many non-empty lines there were.
    lines: usize,
}

impl Search {
    /// How many of `bytes` are the head, which they begin with; `None` if it is still incomplete.
    ///
    /// # Errors
    /// It is not a head, or too long, as a clause.
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, String> {
        while let Some(length) = memchr(b'\n', &bytes[self.seen..]) {
            let line = without_cr(&bytes[self.line..self.seen + length]);
            let end = self.seen + length + 1;
            if !line.is_empty() {
                // Such as SSH's first line, which comes in one piece.
                if self.lines == 0 && !line.starts_with(VERSION) {
                    return Err(not_http());
                }
                self.lines += 1;
            }
            if self.lines > MAX_LINES {
                return Err(format!("its head has more than {MAX_LINES} lines"));
            }
            if end > MAX_BYTES {
                break;
            }
            (self.seen, self.line) = (end, end);
            // An empty line before the status line is ignored (RFC 9112 2.2).
            if line.is_empty() && self.lines > 0 {
                return Ok(Some(end));
            }
        }
        self.seen = bytes.len();
        if self.seen > MAX_BYTES {
            return Err(format!("its head is longer than {} KiB", MAX_BYTES >> 10));
        }
        if self.lines == 0 && !may_begin_a_head(&bytes[self.line..]) { Err(not_http()) } else { Ok(None) }
    }
}

fn not_http() -> String {
    "it is not HTTP/1.1".to_owned()
}

/// Whether these may be the first bytes of a status line: a server of another protocol is recognised at once.
fn may_begin_a_head(start: &[u8]) -> bool {
    start == b"\r" || start.iter().zip(VERSION).all(|(a, b)| a == b)
}

/// Parses a complete head, including the empty line at its end.
///
/// # Errors
/// Why it cannot be parsed, as a clause. Then nothing is known about the message.
pub(crate) fn parse(bytes: &[u8]) -> Result<ResponseHead, String> {
    parse_after(false, bytes)
}

/// The same of a response to CONNECT. A success is a tunnel and has no body, whatever its head declares (RFC 9110 9.3.6).
///
/// # Errors
/// Why it cannot be parsed, as a clause.
pub(crate) fn parse_for_connect(bytes: &[u8]) -> Result<ResponseHead, String> {
    parse_after(true, bytes)
}

fn parse_after(connect: bool, bytes: &[u8]) -> Result<ResponseHead, String> {
    let mut lines = Lines(bytes);
    let mut first = lines.next();
    while first.is_some_and(<[u8]>::is_empty) {
        first = lines.next();
    }
    let (minor_version, status) = status_line(first.unwrap_or_default()).ok_or_else(not_http)?;
    let mut declared = Declared::new(minor_version);
    let mut fields = Vec::new();
    while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
        if has_forbidden_byte(line) {
            return Err("a line of its head contains a NUL or a bare CR".to_owned());
        }
        if is_fold(line) {
            // A fold before the first field continues nothing, so it is skipped (RFC 9112 2.2).
            continue;
        }
        let (name, rest) = line.split_at(line.iter().position(|byte| !TOKEN[usize::from(*byte)]).unwrap_or(line.len()));
        // Whitespace before the colon is removed, as proxies must (RFC 9112 5.1).
        let Some(value) = trim(rest).strip_prefix(b":").filter(|_| !name.is_empty()) else {
            return Err(match memchr(b':', line) {
                Some(_) => "a header field has no valid name".to_owned(),
                None => "a line of its head is not a header field".to_owned(),
            });
        };
        let mut value = Cow::Borrowed(trim(value));
        while let Some(more) = lines.next_fold() {
            if has_forbidden_byte(more) {
                return Err("a line of its head contains a NUL or a bare CR".to_owned());
            }
            // RFC 9112 5.2: a fold means one space.
            let value = value.to_mut();
            value.push(b' ');
            value.extend_from_slice(trim(more));
        }
        let value = trim(&value);
        if !declared.take(name, value)
            && let Some(name) = kept_name(name)
            // Every response has a Date, and only an error's Retry-After needs it.
            && !(name == "date" && (200..300).contains(&status))
        {
            fields.push((name, String::from_utf8_lossy(value).into_owned()));
        }
    }
    let Decided { framing, reusable, idle_timeout } = match connect && (200..300).contains(&status) {
        true => Decided { framing: Framing::Empty, reusable: true, idle_timeout: None },
        false => declared.decide(status, minor_version)?,
    };
    Ok(ResponseHead { status, framing, reusable, idle_timeout, fields, raw: Vec::new() })
}

/// The minor version and the status of `HTTP/1.1 200 OK`, with or without the reason.
fn status_line(line: &[u8]) -> Option<(u8, u16)> {
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let [minor @ b'0'..=b'9', b' ', code @ ..] = rest else { return None };
    let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', reason @ ..] = code else { return None };
    let digit = |byte: &u8| u16::from(byte - b'0');
    (matches!(reason.first(), None | Some(b' ')) && !has_forbidden_byte(reason))
        .then(|| (minor - b'0', digit(a) * 100 + digit(b) * 10 + digit(c)))
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_fold(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'\t'))
}

/// The bytes that a field name may contain (RFC 9110 5.6.2).
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let marks = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};

/// Whether there is a bare CR or a NUL, which RFC 9110 5.5 says to reject or replace.
fn has_forbidden_byte(line: &[u8]) -> bool {
    memchr2(b'\r', 0, line).is_some()
}

/// The lines of a head, without their ends.
struct Lines<'a>(&'a [u8]);

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr(b'\n', self.0)?;
        let line = without_cr(&self.0[..end]);
        self.0 = &self.0[end + 1..];
        Some(line)
    }

    /// The next line if it continues the one before.
    fn next_fold(&mut self) -> Option<&'a [u8]> {
        if is_fold(self.0) { self.next() } else { None }
    }
}

/// All fields of a head that [`parse`] accepted, in its order: name and value.
pub(crate) fn all_fields(head: &[u8]) -> Vec<(Cow<'_, str>, String)> {
    let mut lines = Lines(head);
    while lines.next().is_some_and(<[u8]>::is_empty) {}
    let mut fields: Vec<(Cow<'_, str>, String)> = Vec::new();
    while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
        if is_fold(line) {
            if let Some((_, value)) = fields.last_mut() {
                value.push(' ');
                value.push_str(&String::from_utf8_lossy(trim(line)));
            }
        } else if let Some(colon) = memchr(b':', line) {
            let value = String::from_utf8_lossy(trim(&line[colon + 1..])).into_owned();
            fields.push((String::from_utf8_lossy(trim(&line[..colon])), value));
        }
    }
    fields
}

fn kept_name(name: &[u8]) -> Option<&'static str> {
    KEPT.into_iter().chain(REQUEST_IDS).find(|kept| name.eq_ignore_ascii_case(kept.as_bytes()))
}

#[cfg(test)]
mod tests;
