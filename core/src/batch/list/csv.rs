//! Records by RFC 4180, strictly, with the line on which each begins, and any byte between two fields: a comma in CSV, a tab in TSV.
//!
//! A quote inside a field that isn't quoted is refused in both. In CSV it is mostly a space before a quote, and the quotes would be
//! sent. TSV from a program that doesn't quote at all may have it, too; but of a field that begins with a quote nothing says whether
//! that program meant it, so such a list is refused where it can be noticed.
//!
//! Strict is why this isn't the `csv` crate: its reader accepts a quote that is never closed and text behind a closing quote
//! (BurntSushi/rust-csv issue 77), so one missing quote would make the rest of the list one long prompt.

use std::borrow::Cow;

use crate::text::BYTE_ORDER_MARK;

/// The records of a text. After a record that is wrong there are no more: where the next one begins is unknown.
pub(crate) struct Records<'a> {
    text: &'a str,
    rest: &'a str,
    line: u64,
    separator: char,
}

/// The line on which a record begins, from 1, and its fields. An empty line has one empty field.
pub(crate) type Record<'a> = (u64, Vec<Cow<'a, str>>);

/// What is wrong with a record, and where: the line and the character, both from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongRecord {
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) what: &'static str,
}

const NEVER_CLOSED: &str = "a quoted field begins here and is never closed";
const TEXT_AFTER_QUOTE: &str = r#"text follows a closing quote; write a quote inside a quoted field as """#;
const QUOTE_INSIDE: &str = r#"a quote is inside a field that does not begin with one; quote the whole field, without a space before it, and write a quote inside it as """#;
const MARK_INSIDE: &str =
    "a byte order mark (U+FEFF) is before the line, probably because files were joined; remove it";

impl<'a> Records<'a> {
    /// The records of a text that begins on this line.
    pub(crate) fn new(text: &'a str, line: u64, separator: char) -> Records<'a> {
        Records { text, rest: text, line, separator }
    }

    /// There are no more records.
    pub(crate) fn end(&mut self) {
        self.rest = "";
    }

    fn fields(&mut self) -> Result<Vec<Cow<'a, str>>, WrongRecord> {
        let mut fields = Vec::new();
        if self.rest.starts_with(BYTE_ORDER_MARK) {
            return Err(self.wrong(MARK_INSIDE));
        }
        loop {
            fields.push(self.field()?);
            match self.rest.strip_prefix(self.separator) {
                Some(rest) => self.rest = rest,
                None => return Ok(fields),
            }
        }
    }

    fn field(&mut self) -> Result<Cow<'a, str>, WrongRecord> {
        let ends = [self.separator, '\r', '\n'];
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let field = self.advance(self.rest.find(ends).unwrap_or(self.rest.len()));
            return match field.find('"') {
                Some(quote) => {
                    self.rest = &self.text[self.text.len() - self.rest.len() - field.len() + quote..];
                    Err(self.wrong(QUOTE_INSIDE))
                }
                None => Ok(Cow::Borrowed(field)),
            };
        };
        let closing = closing_quote(quoted).ok_or_else(|| self.wrong(NEVER_CLOSED))?;
        self.rest = quoted;
        let field = self.advance(closing);
        self.rest = &self.rest[1..];
        if !(self.rest.is_empty() || self.rest.starts_with(ends)) {
            return Err(self.wrong(TEXT_AFTER_QUOTE));
        }
        Ok(if field.contains('"') { field.replace("\"\"", "\"").into() } else { field.into() })
    }

    /// What is wrong here.
    fn wrong(&self, what: &'static str) -> WrongRecord {
        let before = &self.text[..self.text.len() - self.rest.len()];
        let line_start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        WrongRecord { line: self.line, column: before[line_start..].chars().count() as u64 + 1, what }
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
    type Item = Result<Record<'a>, WrongRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let line = self.line;
        let fields = self.fields();
        match fields {
            Ok(_) => {
                self.advance(if self.rest.starts_with("\r\n") { 2 } else { self.rest.len().min(1) });
            }
            Err(_) => self.end(),
        }
        Some(fields.map(|fields| (line, fields)))
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

    type Owned = Result<(u64, Vec<String>), WrongRecord>;

    fn records(text: &str) -> Vec<Owned> {
        let owned = |(line, fields): Record<'_>| (line, fields.into_iter().map(Cow::into_owned).collect());
        Records::new(text, 1, ',').map(|record| record.map(owned)).collect()
    }

    fn good(line: u64, fields: &[&str]) -> Owned {
        Ok((line, fields.iter().map(|field| (*field).to_owned()).collect()))
    }

    fn wrong(line: u64, column: u64, what: &'static str) -> Owned {
        Err(WrongRecord { line, column, what })
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
        assert_eq!(records(r#""a ""b"", c","""",a b"#), [good(1, &[r#"a "b", c"#, "\"", "a b"])]);
        assert_eq!(records("a\né,\"b\nc\n"), [good(1, &["a"]), wrong(2, 3, NEVER_CLOSED)]);
        assert_eq!(records("a\n\"b\"c\nd\n"), [good(1, &["a"]), wrong(2, 4, TEXT_AFTER_QUOTE)]);
        assert_eq!(records("\"b\"\"\n"), [wrong(1, 1, NEVER_CLOSED)]);
        assert_eq!(records("\"a\nb\",\"c"), [wrong(2, 4, NEVER_CLOSED)], "the line of the field, not of its record");
    }

    #[test]
    fn a_quote_inside_a_field_that_is_not_quoted_is_refused() {
        assert_eq!(records("a\njob_1, \"Fix it\"\n"), [good(1, &["a"]), wrong(2, 8, QUOTE_INSIDE)]);
        assert_eq!(records("é 5\" disk,b"), [wrong(1, 4, QUOTE_INSIDE)]);
        let mut in_tsv = Records::new("job_1\tSay \"hi\"", 1, '\t');
        assert_eq!(in_tsv.next(), Some(Err(WrongRecord { line: 1, column: 11, what: QUOTE_INSIDE })));
        assert_eq!(in_tsv.next(), None);
    }

    #[test]
    fn a_byte_order_mark_between_joined_files_is_refused() {
        let mark = wrong(2, 1, MARK_INSIDE);
        assert_eq!(records("a,b\n\u{feff}a,b\n"), [good(1, &["a", "b"]), mark.clone()]);
        assert_eq!(records("a,b\n\u{feff}\"a\",b\n"), [good(1, &["a", "b"]), mark]);
        assert_eq!(records("a,b\u{feff}\n"), [good(1, &["a", "b\u{feff}"])], "a prompt may have one");
    }

    #[test]
    fn a_tab_may_separate_the_fields() {
        let records: Vec<_> = Records::new("a\tb,c\n\"x\ty\"\t\n", 1, '\t').collect();
        let expected = [(1, vec!["a".into(), "b,c".into()]), (2, vec!["x\ty".into(), "".into()])];
        assert_eq!(records, expected.map(Ok));
    }
}
