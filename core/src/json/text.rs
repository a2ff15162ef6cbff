//! A JSON string, with its escapes.

use std::borrow::Cow;
use std::collections::TryReserveError;
use std::fmt;

/// A JSON string, as it was written between its quotes. Compare it to a `&str` with `==`, or [`decode`](Self::decode) it.
///
/// An unpaired surrogate (`\ud800`) is not a character, and decodes to U+FFFD.
#[derive(Debug, Clone, Copy)]
pub struct JsonText<'a>(&'a str);

impl<'a> JsonText<'a> {
    /// The text between two quotes that a scanner has passed.
    pub(crate) fn written(text: &'a str) -> JsonText<'a> {
        JsonText(text)
    }

    /// The text between the quotes, with its escapes.
    pub fn as_written(self) -> &'a str {
        self.0
    }

    /// The decoded text; copied only if it has escapes.
    pub fn decode(self) -> Cow<'a, str> {
        if !self.has_escapes() {
            return Cow::Borrowed(self.0);
        }
        let mut decoded = String::with_capacity(self.0.len());
        self.decode_to(&mut decoded);
        Cow::Owned(decoded)
    }

    /// Appends the decoded text to `to`.
    ///
    /// # Errors
    /// There is no memory for it; then nothing was appended.
    pub fn decode_into(self, to: &mut String) -> Result<(), TryReserveError> {
        // An escape is never shorter than its character.
        to.try_reserve(self.0.len())?;
        self.decode_to(to);
        Ok(())
    }

    /// The same if the caller has reserved the capacity.
    pub(crate) fn decode_to(self, to: &mut String) {
        self.pieces().for_each(|piece| piece.push_to(to));
    }

    pub(crate) fn has_escapes(self) -> bool {
        self.0.as_bytes().contains(&b'\\')
    }

    /// Whether half of a surrogate pair stands alone somewhere, which [`decode`](Self::decode) replaces.
    pub(crate) fn has_lone_surrogate(self) -> bool {
        let mut pieces = self.pieces();
        while !pieces.rest.is_empty() {
            let code_unit = pieces.rest.as_bytes().get(2..6);
            match pieces.next() {
                Some(Piece::Escaped(char::REPLACEMENT_CHARACTER)) => {
                    if code_unit.is_none_or(|digits| !digits.eq_ignore_ascii_case(b"fffd")) {
                        return true;
                    }
                }
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    pub(crate) fn pieces(self) -> Pieces<'a> {
        Pieces { rest: self.0 }
    }

    /// How many bytes the decoded text has.
    pub(crate) fn decoded_len(self) -> usize {
        if self.has_escapes() { self.pieces().map(|piece| piece.len()).sum() } else { self.0.len() }
    }
}

impl PartialEq<str> for JsonText<'_> {
    fn eq(&self, other: &str) -> bool {
        if !self.has_escapes() {
            return self.0 == other;
        }
        let mut rest = other;
        for piece in self.pieces() {
            let left = match piece {
                Piece::Plain(plain) => rest.strip_prefix(plain),
                Piece::Escaped(character) => rest.strip_prefix(character),
            };
            let Some(left) = left else { return false };
            rest = left;
        }
        rest.is_empty()
    }
}

impl PartialEq<&str> for JsonText<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

/// The decoded text.
impl fmt::Display for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.decode())
    }
}

/// A part of a text: without escapes, or one escape, decoded.
#[derive(Clone, Copy)]
pub(crate) enum Piece<'a> {
    Plain(&'a str),
    Escaped(char),
}

impl Piece<'_> {
    fn push_to(self, text: &mut String) {
        match self {
            Piece::Plain(plain) => text.push_str(plain),
            Piece::Escaped(character) => text.push(character),
        }
    }

    fn len(self) -> usize {
        match self {
            Piece::Plain(plain) => plain.len(),
            Piece::Escaped(character) => character.len_utf8(),
        }
    }
}

pub(crate) struct Pieces<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let bytes = self.rest.as_bytes();
        if *bytes.first()? != b'\\' {
            let (plain, rest) = self.rest.split_at(self.rest.find('\\').unwrap_or(self.rest.len()));
            self.rest = rest;
            return Some(Piece::Plain(plain));
        }
        let (character, length) = match *bytes.get(1)? {
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'n' => ('\n', 2),
            b'r' => ('\r', 2),
            b't' => ('\t', 2),
            b'u' => unicode_escape(bytes)?,
            itself => (char::from(itself), 2),
        };
        self.rest = &self.rest[length..];
        Some(Piece::Escaped(character))
    }
}

/// Decodes a `\u` escape: its character, and how many bytes it has; a pair of surrogates has twelve.
pub(crate) fn unicode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    let unit = code_unit(bytes)?;
    if let Some(character) = char::from_u32(unit) {
        return Some((character, 6));
    }
    let low = bytes.get(6..).and_then(code_unit).filter(|low| (0xdc00..0xe000).contains(low));
    match low {
        Some(low) if unit < 0xdc00 => {
            let pair = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            Some((char::from_u32(pair)?, 12))
        }
        _ => Some((char::REPLACEMENT_CHARACTER, 6)),
    }
}

fn code_unit(bytes: &[u8]) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes else { return None };
    let digits = digits.get(..4)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
}
