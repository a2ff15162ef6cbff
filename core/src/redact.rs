//! Removes secrets from text before anyone sees it: as they are, as the escapes of JSON, C, URLs and HTML write them, and in base64.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use memchr::memmem;
use zeroize::Zeroizing;

/// What replaces a secret.
const REDACTED: &str = "***";
/// A shorter secret occurs in many words by chance: it is removed only where it stands alone, and only unencoded.
const MIN_SEARCHED: usize = 8;
/// A truncated text that ends in at least this many of a secret's first characters was cut inside the secret.
const MIN_CUT: usize = 6;
/// The longest escape that is decoded, in bytes, without the last one.
const LONGEST_ESCAPE: usize = 8;
/// How many characters of a text are read where only its beginning is shown.
const MAX_BEGINNING: usize = 4096;

/// What is secret.
pub(crate) trait Secrets {
    /// Each secret. An empty one counts as none.
    fn secrets(&self) -> Vec<&[u8]>;
}

#[cfg(test)]
impl<const N: usize> Secrets for [&[u8]; N] {
    fn secrets(&self) -> Vec<&[u8]> {
        self.to_vec()
    }
}

/// Removes secrets: those of a client and its call.
#[derive(Clone, Copy)]
pub(crate) struct Redactor<'s> {
    secrets: &'s dyn Secrets,
}

impl<'s> Redactor<'s> {
    pub(crate) const fn new(secrets: &'s dyn Secrets) -> Redactor<'s> {
        Redactor { secrets }
    }

    /// The text with `***` for each secret in it; the text itself if it has none. Redact before you shorten a text: the rest of a secret
    /// is not recognised.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replaced(text, self.searched().find(text, false))
    }

    /// The same for a truncated text: it also removes the beginning of a secret at its end.
    pub(crate) fn redact_cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replaced(text, self.searched().find(text, true))
    }

    /// The beginning of a text of any length, in the same way: as much as a sentence or an event shows.
    pub(crate) fn redact_beginning<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match text.char_indices().nth(MAX_BEGINNING) {
            Some((end, _)) => self.redact_cut(&text[..end]),
            None => self.redact(text),
        }
    }

    /// A function that says whether [`redact`](Redactor::redact) would remove anything from a text; faster for many texts.
    pub(crate) fn finder(&self) -> impl Fn(&str) -> bool + use<'s> {
        let searched = self.searched();
        move |text| !searched.find(text, false).is_empty()
    }

    /// Whether a name of a header field, which is in lower case, has a secret in any case; a short one only as the whole name.
    pub(crate) fn is_in_field_name(&self, name: &str) -> bool {
        let name = name.as_bytes();
        let is_in = |secret: &[u8]| name.windows(secret.len()).any(|part| part.eq_ignore_ascii_case(secret));
        let is_it = |secret: &[u8]| name.eq_ignore_ascii_case(secret);
        self.secrets
            .secrets()
            .into_iter()
            .any(|secret| if secret.len() < MIN_SEARCHED { is_it(secret) } else { is_in(secret) })
    }

    fn searched(&self) -> Searched<'s> {
        let secrets = self.secrets.secrets().into_iter().filter(|secret| !secret.is_empty());
        let (long, short): (Vec<_>, Vec<_>) = secrets.partition(|secret| secret.len() >= MIN_SEARCHED);
        Searched { short, forms: long.into_iter().flat_map(forms).collect() }
    }
}

impl std::fmt::Debug for Redactor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(not shown)")
    }
}

fn replaced(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in found {
        if range.start > end || out.is_empty() {
            out.push_str(&text[end..range.start]);
            out.push_str(REDACTED);
        }
        end = end.max(range.end);
    }
    out.push_str(&text[end..]);
    Cow::Owned(out)
}

/// What is searched for.
struct Searched<'s> {
    short: Vec<&'s [u8]>,
    /// Every other secret, as it is and in base64.
    forms: Vec<Zeroizing<Vec<u8>>>,
}

impl Searched<'_> {
    /// Where the text has a secret. `cut`: also where its end is the beginning of one.
    fn find(&self, text: &str, cut: bool) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for secret in &self.short {
            let places = memmem::find_iter(text.as_bytes(), secret).map(|at| at..at + secret.len());
            found.extend(places.filter(|place| stands_alone(text, place)));
        }
        if !self.forms.is_empty() {
            self.find_forms(text.as_bytes(), |at| at, cut, &mut found);
            for (first, escape) in ESCAPES {
                if text.contains(first) {
                    let (decoded, places) = decoded(text.as_bytes(), escape);
                    self.find_forms(&decoded, |at| places[at], cut, &mut found);
                }
            }
        }
        // A secret that is not UTF-8 may be found inside a character.
        found.retain(|place| text.is_char_boundary(place.start) && text.is_char_boundary(place.end));
        found
    }

    /// The same in a decoded text. `place`: where each of its bytes was written.
    fn find_forms(&self, decoded: &[u8], place: impl Fn(usize) -> usize, cut: bool, found: &mut Vec<Range<usize>>) {
        for form in &self.forms {
            found.extend(memmem::find_iter(decoded, form).map(|at| place(at)..place(at + form.len())));
            if cut {
                // Even if the text was cut inside an escape.
                let tail = decoded.len().saturating_sub(form.len() + LONGEST_ESCAPE);
                let begun = memmem::find(&decoded[tail..], &form[..MIN_CUT]);
                found.extend(begun.map(|at| place(tail + at)..place(decoded.len())));
            }
        }
    }
}

/// Whether there is no letter or digit directly before or after.
fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let around = text.get(..place.start).zip(text.get(place.end..));
    around.is_some_and(|(before, behind)| apart(before.chars().next_back()) && apart(behind.chars().next()))
}

/// A secret as it is, and what every base64 of a text with it has, whatever is before and behind it there.
fn forms(secret: &[u8]) -> impl Iterator<Item = Zeroizing<Vec<u8>>> {
    let encoded = [BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD].into_iter().flat_map(move |base64| {
        // So many bytes before it share a character with its first byte, or none.
        (0..3).map(move |before| {
            let text = Zeroizing::new([&[0; 2][..before], secret].concat());
            let mut encoded = Zeroizing::new(base64.encode(&*text).into_bytes());
            if text.len() % 3 != 0 {
                encoded.pop();
            }
            encoded.drain(..[0, 2, 3][before]);
            encoded
        })
    });
    [Zeroizing::new(secret.to_vec())].into_iter().chain(encoded)
}

/// Reads the escape that a text begins with: the ASCII character that it stands for, and its length.
type Escape = fn(&[u8]) -> Option<(u8, usize)>;

/// The first byte of each kind of escape, and what reads it.
const ESCAPES: [(char, Escape); 3] = [('\\', backslash), ('%', percent), ('&', entity)];

/// A text in which each escape of one kind is decoded; where each of its bytes was written, and where the last one ended.
fn decoded(text: &[u8], escape: Escape) -> (Zeroizing<Vec<u8>>, Vec<usize>) {
    let (mut decoded, mut places, mut at) = (Zeroizing::new(Vec::with_capacity(text.len())), Vec::new(), 0);
    while at < text.len() {
        let (byte, length) = escape(&text[at..]).unwrap_or((text[at], 1));
        decoded.push(byte);
        places.push(at);
        at += length;
    }
    places.push(at);
    (decoded, places)
}

/// JSON's and C's: `\/`, `\u002F`, `\x2F`, `\057`.
fn backslash(text: &[u8]) -> Option<(u8, usize)> {
    match text {
        [b'\\', b'u' | b'U', digits @ ..] => Some((code(digits.get(..4)?, 16)?, 6)),
        [b'\\', b'x' | b'X', digits @ ..] => Some((code(digits.get(..2)?, 16)?, 4)),
        [b'\\', digits @ ..] if matches!(digits, [b'0'..=b'7', ..]) => Some((code(digits.get(..3)?, 8)?, 4)),
        [b'\\', byte, ..] if byte.is_ascii() => Some((*byte, 2)),
        _ => None,
    }
}

/// Those of URLs: `%2F`.
fn percent(text: &[u8]) -> Option<(u8, usize)> {
    let digits = text.strip_prefix(b"%")?.get(..2)?;
    Some((code(digits, 16)?, 3))
}

/// HTML's: `&#47;`, `&#x2F;`, and the characters that have to be escaped there by their names.
fn entity(text: &[u8]) -> Option<(u8, usize)> {
    let name = text.strip_prefix(b"&")?;
    let name = &name[..name.iter().take(LONGEST_ESCAPE).position(|byte| *byte == b';')?];
    let byte = match name {
        b"amp" => b'&',
        b"lt" => b'<',
        b"gt" => b'>',
        b"quot" => b'"',
        b"apos" => b'\'',
        [b'#', b'x' | b'X', digits @ ..] => code(digits, 16)?,
        [b'#', digits @ ..] => code(digits, 10)?,
        _ => return None,
    };
    Some((byte, name.len() + 2))
}

fn code(digits: &[u8], radix: u32) -> Option<u8> {
    let code = u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
    u8::try_from(code).ok().filter(u8::is_ascii)
}
