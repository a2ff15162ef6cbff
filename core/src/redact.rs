//! Removes secrets from text before anyone sees it, in whatever encoding a service, a gateway or a proxy quotes them.
//!
//! A text and a secret are compared in a plain form: escapes decoded to any depth, white space and invisible characters removed, case
//! ignored. Base64, hex and lists of numbers in the text are decoded and compared in the same way, and so is what those contain. So the
//! order in which a service escaped, wrapped or folded its input does not matter.

mod plain_form;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use zeroize::Zeroizing;

use crate::redact::plain_form::{BASE64, HEX, LONGEST_ESCAPE, Unit, decoded, max_length, numbers, plain, units};

/// What replaces a secret.
const REDACTED: &str = "***";
/// A shorter secret occurs in many words by chance: it is removed only where it stands alone, and only unencoded.
const MIN_SEARCHED: usize = 8;
/// A piece of a secret of this many characters is removed, too, because it would help an attacker; or of half its characters if that is
/// less, but at least `MIN_SEARCHED`.
const PIECE: usize = 16;
/// A truncated text that ends in at least this many of a secret's first characters was cut inside the secret.
const MIN_CUT: usize = 6;
/// How many encodings may be nested: base64 of a header that contains base64 needs two.
const MAX_ENCODINGS: usize = 2;

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

    /// The text with `***` for each secret in it, however it is escaped, encoded or folded; the text itself if it has none. Redact before
    /// you shorten a text: the rest of a secret might not be recognised.
    pub(crate) fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_all(text, false)
    }

    /// The same for a truncated text: it also removes the beginning of a secret at its end.
    pub(crate) fn redact_cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redact_all(text, true)
    }

    /// A function that says whether [`redact`](Redactor::redact) would remove anything from a text; faster for many texts.
    pub(crate) fn finder(&self) -> impl Fn(&str) -> bool + use<'s> {
        let searched: Vec<_> = self.searched().collect();
        move |text| {
            let mut found = Vec::new();
            searched.iter().any(|secret| {
                secret.find(text, false, &mut found);
                !found.is_empty()
            })
        }
    }

    fn redact_all<'t>(&self, text: &'t str, cut: bool) -> Cow<'t, str> {
        let mut found = Vec::new();
        self.searched().for_each(|secret| secret.find(text, cut, &mut found));
        if found.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(replaced(text, found)) }
    }

    fn searched(&self) -> impl Iterator<Item = SearchedSecret<'s>> + use<'s> {
        self.secrets.secrets().into_iter().filter(|secret| !secret.is_empty()).map(SearchedSecret::of)
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

/// A secret, prepared for the search.
struct SearchedSecret<'s> {
    raw: &'s [u8],
    /// `None` if the secret is too short.
    pieces: Option<Pieces>,
}

impl<'s> SearchedSecret<'s> {
    fn of(secret: &'s [u8]) -> SearchedSecret<'s> {
        SearchedSecret { raw: secret, pieces: (secret.len() >= MIN_SEARCHED).then(|| Pieces::of(secret)) }
    }

    /// Finds where the secret is in the text.
    fn find(&self, text: &str, cut: bool, found: &mut Vec<Range<usize>>) {
        if let Ok(secret) = std::str::from_utf8(self.raw) {
            let raw = text.match_indices(secret).map(|(at, _)| at..at + secret.len());
            found.extend(raw.filter(|range| secret.len() >= MIN_SEARCHED || stands_alone(text, range)));
        }
        let Some(pieces) = &self.pieces else { return };
        pieces.find_encoded(&plain(units(text.as_bytes())), cut, MAX_ENCODINGS, found);
        if max_length(numbers(text.as_bytes())) >= pieces.shortest(cut) {
            pieces.find_encoded(&plain(numbers(text.as_bytes())), cut, MAX_ENCODINGS, found);
        }
    }
}

/// Whether there is no letter or digit directly before or after.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    apart(text[..range.start].chars().next_back()) && apart(text[range.end..].chars().next())
}

/// A secret in its plain form, and where its pieces begin, sorted by the pieces for binary search.
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

    /// Finds the secret in a text's plain form, and in what the text encodes.
    fn find_encoded(&self, text: &[Unit], cut: bool, encodings: usize, found: &mut Vec<Range<usize>>) {
        if text.len() < self.shortest(cut) {
            return;
        }
        self.find(text, found);
        if cut {
            self.find_cut(text, found);
        }
        if encodings > 0 {
            for encoding in [BASE64, HEX] {
                for skipped in 0..encoding.period() {
                    // Most texts encode nothing that is long enough; check that before anything is stored.
                    if max_length(decoded(text, encoding, skipped)) >= self.shortest(cut) {
                        self.find_encoded(&plain(decoded(text, encoding, skipped)), cut, encodings - 1, found);
                    }
                }
            }
        }
    }

    /// The length of the shortest plain form in which anything can be found.
    fn shortest(&self, cut: bool) -> usize {
        if cut { self.length.min(MIN_CUT) } else { self.length }
    }

    /// Finds the secret's pieces in a text's plain form. Pieces that overlap or touch are joined.
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

    /// Finds the secret's beginning at the end of a truncated text, which may be inside an escape.
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

/// Where a match is in the text. A secret that is mostly escapes may have a very short plain form, so too short matches do not count.
fn place(units: &[Unit]) -> Option<Range<usize>> {
    span(units).filter(|range| range.len() >= MIN_SEARCHED)
}
