//! CSV records by RFC 4180, strictly, with the line on which each begins.
//!
//! Strict is why this isn't the `csv` crate: its reader accepts a quote that is never closed and text behind a closing quote
//! (BurntSushi/rust-csv issue 77), so one missing quote would make the rest of the list one long prompt.

use std::borrow::Cow;

/// The records of a text. After a record that is wrong there are no more: where the next one begins is unknown.
pub(crate) struct Records<'a> {
    rest: &'a str,
    line: u64,
}

/// The line on which a record begins, from 1, and its fields or what is wrong with it. An empty line has one empty field.
pub(crate) type Record<'a> = (u64, Result<Vec<Cow<'a, str>>, &'static str>);

const NEVER_CLOSED: &str = "a quoted field begins here and is never closed";
const TEXT_AFTER_QUOTE: &str = r#"text follows a closing quote; write a quote inside a quoted field as """#;

impl<'a> Records<'a> {
    pub(crate) fn new(text: &'a str) -> Records<'a> {
        Records { rest: text, line: 1 }
    }

    fn fields(&mut self) -> Result<Vec<Cow<'a, str>>, &'static str> {
        let mut fields = Vec::new();
        loop {
            fields.push(self.field()?);
            match self.rest.strip_prefix(',') {
                Some(rest) => self.rest = rest,
                None => return Ok(fields),
            }
        }
    }

    fn field(&mut self) -> Result<Cow<'a, str>, &'static str> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let field = self.advance(self.rest.find([',', '\r', '\n']).unwrap_or(self.rest.len()));
            return Ok(Cow::Borrowed(field));
        };
        self.rest = quoted;
        let field = self.advance(closing_quote(quoted).ok_or(NEVER_CLOSED)?);
        self.rest = &self.rest[1..];
        if !(self.rest.is_empty() || self.rest.starts_with([',', '\r', '\n'])) {
            return Err(TEXT_AFTER_QUOTE);
        }
        Ok(if field.contains('"') { field.replace("\"\"", "\"").into() } else { field.into() })
    }

    /// Moves over this many bytes and returns them.
    fn advance(&mut self, bytes: usize) -> &'a str {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += line_ends(passed.as_bytes());
        self.rest = rest;
        passed
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let line = self.line;
        let fields = self.fields();
        match fields {
            Ok(_) => self.advance(if self.rest.starts_with("\r\n") { 2 } else { self.rest.len().min(1) }),
            Err(_) => self.advance(self.rest.len()),
        };
        Some((line, fields))
    }
}

/// Where the quote is that closes a field: one that isn't doubled.
fn closing_quote(quoted: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += quoted[at..].find('"')?;
        if !quoted[at + 1..].starts_with('"') {
            return Some(at);
        }
        at += 2;
    }
}

/// How many line ends a text has: `\r\n`, `\n`, and the `\r` of old spreadsheets.
pub(crate) fn line_ends(bytes: &[u8]) -> u64 {
    let is_end = |at: &usize| bytes[*at] == b'\n' || bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    (0..bytes.len()).filter(is_end).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str) -> Vec<(u64, Result<Vec<String>, &'static str>)> {
        let owned = |fields: Vec<Cow<'_, str>>| fields.into_iter().map(Cow::into_owned).collect();
        Records::new(text).map(|(line, fields)| (line, fields.map(owned))).collect()
    }

    fn good(line: u64, fields: &[&str]) -> (u64, Result<Vec<String>, &'static str>) {
        (line, Ok(fields.iter().map(|field| (*field).to_owned()).collect()))
    }

    #[test]
    fn records_end_with_any_line_end_or_with_the_text() {
        for end in ["\n", "\r\n", "\r"] {
            let text = format!("a,b{end},{end}{end}\"x{end}y\",z{end}last");
            let quoted = format!("x{end}y");
            let expected = [
                good(1, &["a", "b"]),
                good(2, &["", ""]),
                good(3, &[""]),
                good(4, &[&quoted, "z"]),
                good(6, &["last"]),
            ];
            assert_eq!(records(&text), expected, "{end:?}");
        }
        assert_eq!(records(""), []);
    }

    #[test]
    fn quotes_are_read_strictly() {
        assert_eq!(records(r#""a ""b"", c","""",a "b"#), [good(1, &[r#"a "b", c"#, "\"", "a \"b"])]);
        assert_eq!(records("a\n\"b\nc\n"), [good(1, &["a"]), (2, Err(NEVER_CLOSED))]);
        assert_eq!(records("a\n\"b\"c\nd\n"), [good(1, &["a"]), (2, Err(TEXT_AFTER_QUOTE))]);
        assert_eq!(records("\"b\"\"\n"), [(1, Err(NEVER_CLOSED))]);
    }
}
