//! The head of a response, read by RFC 9112's grammar: bytes in; status, framing and the few fields that matter out.
//!
//! ureq's own reader takes no `100 Continue` with fields, no obs-fold and no more than 128 lines, and a head that it does not
//! take makes a delivered message `unknown`. So ureq gets a head of ours (see [`Head::canonical`]), which says what this one says.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

use crate::http::canonical::Canonical;

/// The longest head that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 64 << 10;
/// The most lines of one head.
const MAX_LINES: usize = 512;

/// The fields by which services and gateways name a request, in the order in which they are asked for.
pub(crate) const REQUEST_IDS: [&str; 6] =
    ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-vercel-id", "cf-ray"];
/// The other fields that are kept.
const KEPT: [&str; 3] = ["retry-after", "date", "content-encoding"];

/// A field that is kept: its name in lower case, and its value.
pub(crate) type Field = (&'static str, String);

/// A head that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// Whether the connection may carry another request after this response.
    pub(crate) reusable: bool,
    pub(crate) fields: Vec<Field>,
}

/// Where the body ends (RFC 9112 section 6.3).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is none.
    Empty,
    /// After this many bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// With the connection.
    UntilClose,
    /// It cannot be read, and this is why.
    Unreadable(String),
}

impl Head {
    /// Whether another head follows. A 101 is final: no protocol was asked for, so what follows it is not HTTP.
    pub(crate) fn is_interim(&self) -> bool {
        matches!(self.status, 100 | 102..=199)
    }

    /// The shortest head that says the same of status and framing; never longer than the one it stands for.
    pub(crate) fn canonical(&self) -> Canonical {
        let mut out = Canonical::new();
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

/// Finds where a head ends while its bytes come in, each of which is looked at once.
#[derive(Debug, Default)]
pub(crate) struct Search {
    seen: usize,
    line: usize,
    lines: usize,
}

impl Search {
    /// How many of `bytes`, which begin with the head, are the head. `None`: there is more to come.
    ///
    /// # Errors
    /// It is no head, or too long: a clause that says so.
    pub(crate) fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, String> {
        while let Some(length) = memchr(b'\n', &bytes[self.seen..]) {
            let line = without_cr(&bytes[self.line..self.seen + length]);
            let end = self.seen + length + 1;
            if !line.is_empty() {
                self.lines += 1;
            }
            if self.lines > MAX_LINES {
                return Err(format!("its head has more than {MAX_LINES} lines"));
            }
            if end > MAX_BYTES {
                break;
            }
            (self.seen, self.line) = (end, end);
            // A stray line end before the status line belongs to nothing (RFC 9112 2.2).
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

/// Whether these may be the first bytes of a status line: what speaks another protocol need not be waited for.
fn may_begin_a_head(start: &[u8]) -> bool {
    start == b"\r" || start.iter().zip(b"HTTP/1.").all(|(a, b)| a == b)
}

/// Reads a whole head, with the empty line that ends it.
///
/// # Errors
/// Why it cannot be read, as a clause. Nothing about the message can then be said.
pub(crate) fn parse(bytes: &[u8]) -> Result<Head, String> {
    let mut lines = Lines(bytes);
    let mut first = lines.next();
    while first.is_some_and(<[u8]>::is_empty) {
        first = lines.next();
    }
    let (minor_version, status) = status_line(first.unwrap_or_default()).ok_or_else(not_http)?;
    let mut declared = Declared { keep_alive: minor_version > 0, ..Declared::default() };
    let mut fields = Vec::new();
    while let Some(line) = lines.next().filter(|line| !line.is_empty()) {
        if has_forbidden_byte(line) {
            return Err("a line of its head contains a NUL or a bare CR".to_owned());
        }
        if is_fold(line) {
            // A fold before the first field continues nothing; it is skipped (RFC 9112 2.2).
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
            // Of use with Retry-After alone, and on every response.
            && !(name == "date" && (200..300).contains(&status))
        {
            fields.push((name, String::from_utf8_lossy(value).into_owned()));
        }
    }
    let (framing, reusable) = declared.framing(status, minor_version)?;
    Ok(Head { status, framing, reusable, fields })
}

/// `HTTP/1.1 200 OK`, or without the reason: the minor version and the status.
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

/// Without the spaces and tabs around it.
fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

fn is_fold(line: &[u8]) -> bool {
    matches!(line.first(), Some(b' ' | b'\t'))
}

/// The bytes that a field's name may have (RFC 9110 5.6.2).
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

/// A bare CR or a NUL, of which RFC 9110 5.5 says that a field with one is refused, or has it replaced.
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

    /// The next line, if it continues the one before.
    fn next_fold(&mut self) -> Option<&'a [u8]> {
        if is_fold(self.0) { self.next() } else { None }
    }
}

fn kept_name(name: &[u8]) -> Option<&'static str> {
    KEPT.into_iter().chain(REQUEST_IDS).find(|kept| name.eq_ignore_ascii_case(kept.as_bytes()))
}

/// What the head says of its body's end and of the connection.
#[derive(Default)]
struct Declared {
    length: Option<Result<u64, ()>>,
    /// The transfer codings, in one list.
    codings: Option<String>,
    keep_alive: bool,
    close: bool,
}

impl Declared {
    /// Whether the field was one of these.
    fn take(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                let mut options = list(value);
                self.close |= options.clone().any(|option| option.eq_ignore_ascii_case(b"close"));
                self.keep_alive |= options.any(|option| option.eq_ignore_ascii_case(b"keep-alive"));
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                // The same number again and again is one number; anything else is none (RFC 9112 6.3).
                for number in value.split(|byte| *byte == b',').map(|element| decimal(trim(element))) {
                    let agreed = self.length.is_none_or(|before| before == number);
                    self.length = Some(number.and_then(|number| if agreed { Ok(number) } else { Err(()) }));
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let codings = self.codings.get_or_insert_default();
                codings.push_str(if codings.is_empty() { "" } else { ", " });
                codings.push_str(&String::from_utf8_lossy(value));
            }
            _ => return false,
        }
        true
    }

    /// The body's end, and whether the connection is worth keeping.
    fn framing(self, status: u16, minor_version: u8) -> Result<(Framing, bool), String> {
        let reusable = self.keep_alive && !self.close;
        if matches!(status, 100..=199 | 204 | 304) {
            // These have no body, whatever they declare; one that declares one may send it all the same.
            let declares_a_body = self.codings.is_some() || !matches!(self.length, None | Some(Ok(0)));
            return Ok((Framing::Empty, reusable && status != 101 && !declares_a_body));
        }
        match (self.codings, self.length) {
            (Some(codings), length) => {
                let mut elements = list(codings.as_bytes());
                let chunked = elements.next().is_some_and(|first| first.eq_ignore_ascii_case(b"chunked"));
                if minor_version == 0 || !chunked || elements.next().is_some() {
                    let why = format!("its Transfer-Encoding is not supported ({})", crate::text::describe(&codings));
                    return Ok((Framing::Unreadable(why), false));
                }
                // A sender that declares both may be a smuggler: the rest of the connection is not to be trusted.
                Ok((Framing::Chunked, reusable && length.is_none()))
            }
            (None, Some(Ok(length))) => Ok((Framing::Length(length), reusable)),
            // RFC 9112 6.3: "discard the received response".
            (None, Some(Err(()))) => Err("its Content-Length is not a single number".to_owned()),
            (None, None) => Ok((Framing::UntilClose, false)),
        }
    }
}

/// The elements of a list (RFC 9110 5.6.1), empty ones ignored.
fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    value.split(|byte| *byte == b',').map(trim).filter(|element| !element.is_empty())
}

/// `1*DIGIT`, and nothing else.
fn decimal(digits: &[u8]) -> Result<u64, ()> {
    if digits.is_empty() {
        return Err(());
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0')).ok_or(())?;
        number.checked_mul(10).and_then(|number| number.checked_add(digit)).ok_or(())
    })
}

#[cfg(test)]
mod tests;
