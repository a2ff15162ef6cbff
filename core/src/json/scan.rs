//! One pass over JSON by the grammar of RFC 8259: no recursion, no allocation, and the caller can stop it.

use std::ops::Range;

/// How deep JSON may nest: 128 levels, as many as the bits of the `u128` in which open objects and lists are remembered.
pub(crate) const MAX_DEPTH: u32 = u128::BITS;
/// How many bytes are read before the caller is asked again whether to continue: some tens of microseconds.
const CHECK_EVERY: usize = 64 << 10;

/// Asked now and then while something long is read; returns whether to continue.
pub(crate) type Continue<'c> = &'c mut dyn FnMut() -> bool;

/// Why a text is not one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It ends too early.
    Ended,
    /// Something else was expected at this byte offset.
    Expected { what: &'static str, at: usize },
    /// It nests deeper than [`MAX_DEPTH`].
    TooDeep,
    /// The caller stopped the reading.
    Stopped,
}

/// A position in a text, which moves over values.
pub(crate) struct Scanner<'a, 'c> {
    bytes: &'a [u8],
    at: usize,
    /// At which byte to ask the caller again.
    check_at: usize,
    proceed: Option<Continue<'c>>,
    has_escapes: bool,
}

impl<'a, 'c> Scanner<'a, 'c> {
    /// A scanner that cannot be stopped, from byte `at`.
    pub(crate) fn new(text: &'a str, at: usize) -> Scanner<'a, 'c> {
        Scanner { bytes: text.as_bytes(), at, check_at: usize::MAX, proceed: None, has_escapes: false }
    }

    /// A scanner that asks `proceed` now and then whether to continue.
    pub(crate) fn asking(text: &'a str, proceed: Continue<'c>) -> Scanner<'a, 'c> {
        Scanner { bytes: text.as_bytes(), at: 0, check_at: CHECK_EVERY, proceed: Some(proceed), has_escapes: false }
    }

    /// How many bytes it has moved over.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Whether any text so far has escapes. Few JSON texts have, and then the caller need not check each of them.
    pub(crate) fn has_escapes(&self) -> bool {
        self.has_escapes
    }

    /// The next byte that is not white space.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, Flaw> {
        match self.bytes.get(self.at) {
            Some(byte) if *byte <= b' ' => self.peek_after_space(),
            ahead => Ok(ahead.copied()),
        }
    }

    #[cold]
    fn peek_after_space(&mut self) -> Result<Option<u8>, Flaw> {
        self.run(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))?;
        Ok(self.bytes.get(self.at).copied())
    }

    /// Moves over this byte, and white space before it, if it is next. Returns whether it was.
    #[inline]
    pub(crate) fn take(&mut self, wanted: u8) -> Result<bool, Flaw> {
        let is_next = self.bytes.get(self.at) == Some(&wanted) || self.peek()? == Some(wanted);
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    /// Moves over a byte that must be next; `what` names it for the error.
    #[inline]
    pub(crate) fn require(&mut self, wanted: u8, what: &'static str) -> Result<(), Flaw> {
        if self.take(wanted)? { Ok(()) } else { Err(self.expected(what)) }
    }

    /// The error at the current position.
    pub(crate) fn expected(&self, what: &'static str) -> Flaw {
        if self.at >= self.bytes.len() { Flaw::Ended } else { Flaw::Expected { what, at: self.at } }
    }

    /// Moves over an object's key and its colon, and returns where the key is, without its quotes.
    pub(crate) fn key(&mut self) -> Result<Range<usize>, Flaw> {
        self.require(b'"', "a key in quotes")?;
        let key = self.rest_of_text()?;
        self.require(b':', "a colon")?;
        Ok(key)
    }

    /// Moves over one value that lies `depth` levels deep, and returns where it is.
    pub(crate) fn value(&mut self, depth: u32) -> Result<Range<usize>, Flaw> {
        // Fast path: most values of a record are texts.
        if self.take(b'"')? {
            let text = self.rest_of_text()?;
            return Ok(text.start - 1..text.end + 1);
        }
        let start = self.at;
        // The open objects and lists, one bit each, the innermost lowest: 1 is an object.
        let (mut open, mut inner) = (0_u128, 0_u32);
        'value: loop {
            if self.at >= self.check_at {
                self.check()?;
            }
            match self.peek()? {
                Some(b'"') => {
                    self.at += 1;
                    self.rest_of_text()?;
                }
                Some(kind @ (b'{' | b'[')) => {
                    if depth + inner >= MAX_DEPTH {
                        return Err(Flaw::TooDeep);
                    }
                    let object = kind == b'{';
                    (open, inner) = (open << 1 | u128::from(object), inner + 1);
                    self.at += 1;
                    if object && self.peek()? != Some(b'}') {
                        self.key()?;
                        continue 'value;
                    }
                    if !object && self.peek()? != Some(b']') {
                        continue 'value;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                _ => return Err(self.expected("a value")),
            }
            // After a value, or after the opening bracket of an empty object or list.
            while inner > 0 {
                let object = open & 1 == 1;
                match self.peek()? {
                    Some(b'}') if object => {}
                    Some(b']') if !object => {}
                    Some(b',') => {
                        self.at += 1;
                        if object {
                            self.key()?;
                        }
                        continue 'value;
                    }
                    _ => return Err(self.expected(if object { "a comma or }" } else { "a comma or ]" })),
                }
                self.at += 1;
                (open, inner) = (open >> 1, inner - 1);
            }
            return Ok(start..self.at);
        }
    }

    /// Checks that only white space is left.
    pub(crate) fn end(&mut self) -> Result<(), Flaw> {
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.expected("the end")),
        }
    }

    /// Moves over the rest of a text and its closing quote, and returns where the text is, without its quotes.
    #[inline]
    fn rest_of_text(&mut self) -> Result<Range<usize>, Flaw> {
        let start = self.at;
        self.skip_plain();
        if self.at >= self.check_at || self.bytes.get(self.at) != Some(&b'"') {
            self.skip_to_quote()?;
        }
        self.at += 1;
        Ok(start..self.at - 1)
    }

    /// Moves to a text's closing quote, over escapes and everything else: the slow path.
    #[inline(never)]
    fn skip_to_quote(&mut self) -> Result<(), Flaw> {
        loop {
            if self.at >= self.check_at {
                self.check()?;
            }
            match self.bytes.get(self.at) {
                Some(b'"') => return Ok(()),
                Some(b'\\') => self.escape()?,
                Some(byte) if *byte >= b' ' => self.skip_plain(),
                _ => return Err(self.expected("no control character in a text")),
            }
        }
    }

    /// Moves over plain bytes of a text, at most to where the caller is asked again.
    #[inline]
    fn skip_plain(&mut self) {
        let end = self.bytes.len().min(self.check_at);
        self.at += plain_length(self.bytes.get(self.at..end).unwrap_or_default());
    }

    fn escape(&mut self) -> Result<(), Flaw> {
        self.has_escapes = true;
        self.at += 1;
        match self.bytes.get(self.at) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.bytes.get(self.at).is_some_and(u8::is_ascii_hexdigit) {
                        return Err(self.expected("four hexadecimal digits"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.expected("an escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Flaw> {
        self.at += usize::from(self.bytes[self.at] == b'-');
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    /// Moves over at least one digit.
    fn digits(&mut self) -> Result<(), Flaw> {
        let start = self.at;
        self.run(|byte| byte.is_ascii_digit())?;
        if self.at > start { Ok(()) } else { Err(self.expected("a digit")) }
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), Flaw> {
        for wanted in literal {
            if self.bytes.get(self.at) != Some(wanted) {
                return Err(self.expected("a value"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Moves over all bytes that are wanted.
    #[inline]
    fn run(&mut self, wanted: impl Fn(u8) -> bool) -> Result<(), Flaw> {
        loop {
            let ahead = &self.bytes[self.at..self.bytes.len().min(self.check_at).max(self.at)];
            self.at += ahead.iter().position(|byte| !wanted(*byte)).unwrap_or(ahead.len());
            if self.at < self.check_at {
                return Ok(());
            }
            self.check()?;
        }
    }

    #[cold]
    fn check(&mut self) -> Result<(), Flaw> {
        self.check_at = self.at.saturating_add(CHECK_EVERY);
        match self.proceed.as_mut().is_none_or(|proceed| proceed()) {
            true => Ok(()),
            false => Err(Flaw::Stopped),
        }
    }
}

/// How many bytes at the beginning are plain: not a quote, a backslash or a control character. It tests eight bytes at a time.
#[inline(never)]
fn plain_length(text: &[u8]) -> usize {
    let (eights, rest) = text.as_chunks::<8>();
    for (number, eight) in eights.iter().enumerate() {
        let special = special_in(u64::from_le_bytes(*eight));
        if special != 0 {
            return number * 8 + special.trailing_zeros() as usize / 8;
        }
    }
    let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | ..b' '));
    eights.len() * 8 + special.unwrap_or(rest.len())
}

/// Finds the first of eight bytes that is not plain; the first byte is in the lowest bits. The lowest set bit of the result is the top
/// bit of that byte. Higher bits mean nothing, because the subtractions borrow upwards.
fn special_in(eight: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let (quote, escape) = (eight ^ (ONES * u64::from(b'"')), eight ^ (ONES * u64::from(b'\\')));
    let less = eight.wrapping_sub(ONES * u64::from(b' ')) | quote.wrapping_sub(ONES) | escape.wrapping_sub(ONES);
    // Bytes beyond ASCII are plain.
    less & !eight & (ONES << 7)
}
