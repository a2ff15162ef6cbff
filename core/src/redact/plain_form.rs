//! The plain form in which texts are compared: visible ASCII without escapes, each byte with its place in the original text.

use zeroize::{Zeroize, Zeroizing};

/// The longest escape that is decoded, in bytes.
pub(crate) const LONGEST_ESCAPE: usize = 10;
/// HTML's names of ASCII punctuation, each followed by its character.
const ENTITIES: &str = "excl! quot\" num# dollar$ percnt% amp& apos' lpar( rpar) ast* plus+ comma, hyphen- dash- period. sol/ colon: \
    semi; lt< equals= gt> quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] Hat^ lowbar_ grave` lcub{ lbrace{ verbar| vert| \
    rcub} rbrace}";

/// A byte of a text, or one that was decoded from it, and its place in the original text: from, to.
#[derive(Clone, Copy)]
pub(crate) struct Unit(pub(crate) u8, pub(crate) u32, pub(crate) u32);

impl Zeroize for Unit {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// The units of a text, undecoded.
pub(crate) fn units(text: &[u8]) -> impl Iterator<Item = Unit> + '_ {
    text.iter().zip(0..).map(|(byte, at)| Unit(*byte, at, at + 1))
}

/// The bytes that a text lists as decimal numbers: `[47, 43]`.
pub(crate) fn numbers(text: &[u8]) -> impl Iterator<Item = Unit> + '_ {
    let mut at = 0;
    text.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()).filter_map(move |run| {
        let start = at;
        at += run.len();
        let number: u8 = std::str::from_utf8(run).ok()?.parse().ok()?;
        Some(Unit(number, start as u32, at as u32))
    })
}

/// Decodes the escapes of JSON and C (`\/`, `\u002F`, `\x2F`, `\057`), URLs (`%2F`) and HTML (`&#47;`, `&sol;`), nested to any depth,
/// because a decoded byte may complete another escape. Removes remaining backslashes and everything that is not visible.
pub(crate) fn plain(units: impl Iterator<Item = Unit>) -> Zeroizing<Vec<Unit>> {
    let mut out = Zeroizing::new(Vec::with_capacity(units.size_hint().0));
    units.for_each(|unit| push(&mut out, unit));
    out.retain(|unit| unit.0 != b'\\');
    out
}

/// An upper limit for the length of the plain form: invisible bytes are removed, and no escape becomes more than one byte.
pub(crate) fn max_length(units: impl Iterator<Item = Unit>) -> usize {
    units.filter(|unit| unit.0.is_ascii_graphic()).count()
}

fn push(out: &mut Vec<Unit>, mut unit: Unit) {
    // Each round replaces an escape by its byte, which may complete another escape.
    loop {
        if !unit.0.is_ascii_graphic() {
            // A header that was sent as several lines arrives as a list, with ", " between the lines.
            if unit.0.is_ascii_whitespace() && out.last().is_some_and(|last| last.0 == b',') {
                out.pop();
            }
            return;
        }
        out.push(unit);
        let Some((length, byte)) = escape(out) else { return };
        let start = out.len() - length;
        unit = Unit(byte, out[start].1, unit.2);
        out.truncate(start);
    }
}

/// The escape at the text's end: its length, and its byte; 0 if that is not ASCII.
fn escape(text: &[Unit]) -> Option<(usize, u8)> {
    let tail = &text[text.len().saturating_sub(LONGEST_ESCAPE)..];
    let last = tail.last()?.0;
    if last == b';' {
        let start = tail.iter().rposition(|unit| unit.0 == b'&')?;
        let name: Vec<u8> = tail[start + 1..tail.len() - 1].iter().map(|unit| unit.0).collect();
        return Some((tail.len() - start, entity(std::str::from_utf8(&name).ok()?)?));
    }
    if matches!(last, b'n' | b'r' | b't') && tail.len() > 1 && tail[tail.len() - 2].0 == b'\\' {
        return Some((2, b' '));
    }
    if !last.is_ascii_hexdigit() {
        return None;
    }
    if let [.., Unit(b'\\', ..), Unit(a @ b'0'..=b'1', ..), Unit(b @ b'0'..=b'7', ..), Unit(c @ b'0'..=b'7', ..)] = tail
    {
        return Some((4, (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')));
    }
    [(2, 4), (2, 2), (1, 2)].into_iter().find_map(|(opening, digits)| {
        let start = tail.len().checked_sub(opening + digits)?;
        let opens = match (opening, digits) {
            (2, 4) => matches!(tail[start].0, b'\\' | b'%') && matches!(tail[start + 1].0, b'u' | b'U'),
            (2, _) => tail[start].0 == b'\\' && matches!(tail[start + 1].0, b'x' | b'X'),
            _ => tail[start].0 == b'%',
        };
        let mut digits = tail[start + opening..].iter();
        let code = digits.try_fold(0, |code, digit| Some(code << 4 | (digit.0 as char).to_digit(16)?));
        code.filter(|_| opens).map(|code| (tail.len() - start, ascii(code)))
    })
}

fn entity(name: &str) -> Option<u8> {
    let Some(number) = name.strip_prefix('#') else {
        return ENTITIES
            .split(' ')
            .find_map(|known| known.strip_prefix(name).filter(|rest| rest.len() == 1)?.bytes().next());
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    code.ok().map(ascii)
}

fn ascii(code: u32) -> u8 {
    u8::try_from(code).ok().filter(u8::is_ascii).unwrap_or(0)
}

/// How bytes are encoded in characters.
#[derive(Clone, Copy)]
pub(crate) struct Encoding {
    bits: u32,
    value: fn(u8) -> Option<u8>,
}

/// Base64 (RFC 4648), with either alphabet.
pub(crate) const BASE64: Encoding = Encoding {
    bits: 6,
    value: |byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    },
};

/// Two hexadecimal digits a byte, with or without `0x`.
pub(crate) const HEX: Encoding = Encoding { bits: 4, value: |byte| Some((byte as char).to_digit(16)? as u8) };

impl Encoding {
    /// After how many characters a byte begins at a character again: so many alignments must be tried.
    pub(crate) fn period(self) -> usize {
        if self.bits == 6 { 4 } else { 2 }
    }
}

/// Decodes the characters of an encoding in a text without the first `skipped` of them, ignoring all others.
pub(crate) fn decoded(text: &[Unit], encoding: Encoding, skipped: usize) -> impl Iterator<Item = Unit> + '_ {
    let is_prefix =
        move |at: usize| encoding.bits == 4 && matches!(text[at..], [Unit(b'0', ..), Unit(b'x' | b'X', ..), ..]);
    let digits = text.iter().enumerate().filter(move |(at, _)| !is_prefix(*at));
    let values = digits.filter_map(move |(_, unit)| Some((*unit, (encoding.value)(unit.0)?)));
    let (mut bits, mut count, mut from) = (0_u32, 0, 0);
    values.skip(skipped).filter_map(move |(unit, value)| {
        if count == 0 {
            from = unit.1;
        }
        bits = bits << encoding.bits | u32::from(value);
        count += encoding.bits;
        if count < 8 {
            return None;
        }
        count -= 8;
        let byte = Unit((bits >> count) as u8, from, unit.2);
        // The remaining bits of this character begin the next byte.
        from = unit.1;
        Some(byte)
    })
}
