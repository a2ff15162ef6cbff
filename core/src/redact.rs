//! Takes secrets out of text before anybody sees it: whatever a service, a gateway or a proxy quotes, in the encodings that they quote in.
//!
//! A text is compared with a secret after both were brought to one form: escapes decoded to any depth, white space and what is
//! invisible left out, upper and lower case alike. What the text packs as base64, hex or a list of numbers is unpacked and compared
//! in the same way, and so is what that packs. So nothing has to be guessed
//! about the order in which a service escaped, wrapped or folded what it was sent.

mod plain_form;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use zeroize::Zeroizing;

use crate::redact::plain_form::{BASE64, HEX, LONGEST_ESCAPE, Unit, most_left, numbers, plain, units, unpacked};

/// What stands where a secret was.
const REDACTED: &str = "***";
/// A shorter secret is in many a word by chance: it is taken out where it stands alone, as it is, and nowhere else.
const MIN_SEARCHED: usize = 8;
/// So many of a secret's characters in a row are taken out, too, for a piece of a key is a good part of an attack; or half of
/// them, if that is less, but never less than `MIN_SEARCHED`.
const PIECE: usize = 16;
/// A text that was cut, and ends in so many of a secret's first characters, was cut inside of it.
const MIN_CUT: usize = 6;
/// So deep may a secret be packed: the base64 of a header that is base64 itself.
const MAX_PACKINGS: usize = 2;

/// The secrets of a client: its key, and its proxy's password if there is one.
#[derive(Clone, Copy)]
pub(crate) struct Redactor<'s> {
    secrets: [&'s [u8]; 2],
}

impl<'s> Redactor<'s> {
    /// An empty secret is none.
    pub(crate) const fn new(secrets: [&'s [u8]; 2]) -> Redactor<'s> {
        Redactor { secrets }
    }

    /// The text with `***` for each secret in it, however it is escaped, encoded or folded; the text itself if there is none.
    /// It must come before anything that shortens the text: what is left of a secret then might not be recognised.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_all(text, false)
    }

    /// The same for a text whose end is missing, and with it perhaps a secret's: its beginning there is taken out, too.
    pub(crate) fn redact_cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_all(text, true)
    }

    /// Says of a text whether [`redact`](Redactor::redact) would take anything out of it; for several texts, each of which costs less so.
    pub(crate) fn finder(&self) -> impl Fn(&str) -> bool + use<'s> {
        let sought: Vec<_> = self.sought().collect();
        move |text| {
            let mut found = Vec::new();
            sought.iter().any(|secret| {
                secret.find(text, false, &mut found);
                !found.is_empty()
            })
        }
    }

    fn redact_all<'t>(&self, text: &'t str, cut: bool) -> Cow<'t, str> {
        let mut found = Vec::new();
        self.sought().for_each(|secret| secret.find(text, cut, &mut found));
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replaced(text, found)) }
    }

    fn sought(&self) -> impl Iterator<Item = Sought<'s>> + use<'s> {
        self.secrets.into_iter().filter(|secret| !secret.is_empty()).map(Sought::of)
    }
}

impl std::fmt::Debug for Redactor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor(not shown)")
    }
}

fn replaced(text: &str, mut found: Vec<Range<usize>>) -> String {
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
    out
}

/// A secret, ready to be found.
struct Sought<'s> {
    as_it_is: &'s [u8],
    /// Those of a secret that is not too short.
    pieces: Option<Pieces>,
}

impl<'s> Sought<'s> {
    fn of(secret: &'s [u8]) -> Sought<'s> {
        Sought { as_it_is: secret, pieces: (secret.len() >= MIN_SEARCHED).then(|| Pieces::of(secret)) }
    }

    /// Finds where the secret is in the text.
    fn find(&self, text: &str, cut: bool, found: &mut Vec<Range<usize>>) {
        if let Ok(secret) = std::str::from_utf8(self.as_it_is) {
            let as_it_is = text.match_indices(secret).map(|(at, _)| at..at + secret.len());
            found.extend(as_it_is.filter(|range| secret.len() >= MIN_SEARCHED || stands_alone(text, range)));
        }
        let Some(pieces) = &self.pieces else { return };
        pieces.find_packed(&plain(units(text.as_bytes())), cut, MAX_PACKINGS, found);
        if most_left(numbers(text.as_bytes())) >= pieces.shortest(cut) {
            pieces.find_packed(&plain(numbers(text.as_bytes())), cut, MAX_PACKINGS, found);
        }
    }
}

/// Whether no letter or digit is right before or behind.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    apart(text[..range.start].chars().next_back()) && apart(text[range.end..].chars().next())
}

/// A secret in its plain form, and where each of its pieces begins, in the order of the pieces.
struct Pieces {
    secret: Zeroizing<Vec<u8>>,
    length: usize,
    sorted: Vec<usize>,
}

impl Pieces {
    fn of(secret: &[u8]) -> Pieces {
        let secret = folded(&plain(units(secret)));
        let length = secret.len().min((secret.len() / 2).clamp(MIN_SEARCHED, PIECE));
        let mut sorted: Vec<usize> = if length == 0 { Vec::new() } else { (0..=secret.len() - length).collect() };
        sorted.sort_unstable_by_key(|at| &secret[*at..*at + length]);
        Pieces { secret, length, sorted }
    }

    fn has(&self, piece: &[u8]) -> bool {
        self.sorted.binary_search_by(|at| self.secret[*at..*at + self.length].cmp(piece)).is_ok()
    }

    /// Finds the secret in a text's plain form, and in what the text packs.
    fn find_packed(&self, text: &[Unit], cut: bool, packings: usize, found: &mut Vec<Range<usize>>) {
        if text.len() < self.shortest(cut) {
            return;
        }
        self.find(text, found);
        if cut {
            self.find_cut(text, found);
        }
        if packings > 0 {
            for packing in [BASE64, HEX] {
                for skipped in 0..packing.period() {
                    // Most texts pack nothing that is long enough, at whatever depth: that is seen before any of it is stored.
                    if most_left(unpacked(text, packing, skipped)) >= self.shortest(cut) {
                        self.find_packed(&plain(unpacked(text, packing, skipped)), cut, packings - 1, found);
                    }
                }
            }
        }
    }

    /// The shortest plain form in which anything can be found.
    fn shortest(&self, cut: bool) -> usize {
        if cut { self.length.min(MIN_CUT) } else { self.length }
    }

    /// Finds the secret's pieces in a text's plain form. Those that overlap or touch are one.
    fn find(&self, text: &[Unit], found: &mut Vec<Range<usize>>) {
        if self.length == 0 {
            return;
        }
        let mut run = 0..0;
        for (at, piece) in folded(text).windows(self.length).enumerate() {
            if self.has(piece) {
                if at > run.end {
                    found.extend(place(&text[run]));
                    run = at..at;
                }
                run.end = at + self.length;
            }
        }
        found.extend(place(&text[run]));
    }

    /// Finds the secret's beginning where a text was cut, perhaps inside of an escape.
    fn find_cut(&self, text: &[Unit], found: &mut Vec<Range<usize>>) {
        let end = &text[text.len().saturating_sub(self.length + LONGEST_ESCAPE)..];
        let Some(begin) = self.secret.get(..MIN_CUT) else { return };
        if let Some(at) = folded(end).windows(MIN_CUT).position(|window| window == begin) {
            found.extend(span(&end[at..]));
        }
    }
}

/// The bytes, in lower case.
fn folded(units: &[Unit]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(units.iter().map(|unit| unit.0.to_ascii_lowercase()).collect())
}

fn span(units: &[Unit]) -> Option<Range<usize>> {
    Some(units.first()?.1 as usize..units.last()?.2 as usize)
}

/// Where a find stands. The plain form of a secret that is hardly more than escapes is in any text, but not at this length.
fn place(units: &[Unit]) -> Option<Range<usize>> {
    span(units).filter(|range| range.len() >= MIN_SEARCHED)
}
