//! Where in a record's text its documented fields are: found in one pass over the JSON.

use std::ops::Range;

use crate::job::keys::{Key, RECORD_KEYS, SOURCE_KEYS, SourceKey};
use crate::json::scan::{Flaw, Scanner};
use crate::json::text::JsonText;

/// Where the parts of a record are in its text.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// The whole object.
    pub(crate) object: Range<usize>,
    pub(crate) known: [Slot; RECORD_KEYS.len()],
    pub(crate) source: [Slot; SOURCE_KEYS.len()],
    /// The record has undocumented keys. If not, they need not be searched for.
    pub(crate) has_others: bool,
    /// The record's `source` has undocumented keys.
    pub(crate) source_has_others: bool,
}

/// A documented field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot {
    /// Where its value is; empty if the service left it out.
    pub(crate) value: Range<usize>,
    /// Where its decoded text is among the record's texts, if it is a text.
    pub(crate) text: Option<Range<usize>>,
}

impl Slot {
    /// What is between the quotes, if the value is a text.
    pub(crate) fn quoted<'a>(&self, text: &'a str) -> Option<&'a str> {
        text[self.value.clone()].strip_prefix('"')?.strip_suffix('"')
    }
}

impl Layout {
    /// Moves the scanner over `text`, which must be one JSON object, and notes where its fields are. Of a key that comes twice the last
    /// value counts.
    ///
    /// # Errors
    /// It is not one JSON object, or the scanner's caller stopped it.
    pub(crate) fn scan(&mut self, scanner: &mut Scanner<'_, '_>, text: &str) -> Result<(), Flaw> {
        scanner.peek()?;
        let start = scanner.at();
        scan_members(scanner, text, (&RECORD_KEYS, Key::place), |scanner, place| {
            let is_source = place == Some(Key::Source as usize);
            if is_source {
                (self.source, self.source_has_others) = Default::default();
            }
            let value = match is_source && scanner.peek()? == Some(b'{') {
                true => self.scan_source(scanner, text)?,
                false => scanner.value(1)?,
            };
            match place {
                Some(place) => self.known[place].value = value,
                None => self.has_others = true,
            }
            Ok(())
        })?;
        self.object = start..scanner.at();
        scanner.end()
    }

    fn scan_source(&mut self, scanner: &mut Scanner<'_, '_>, text: &str) -> Result<Range<usize>, Flaw> {
        let start = scanner.at();
        scan_members(scanner, text, (&SOURCE_KEYS, SourceKey::place), |scanner, place| {
            let value = scanner.value(2)?;
            match place {
                Some(place) => self.source[place].value = value,
                None => self.source_has_others = true,
            }
            Ok(())
        })?;
        Ok(start..scanner.at())
    }
}

/// Moves over an object. `scan_value` moves over each value, and gets the key's place if it is one of `keys`; `place` finds that of
/// a key without escapes.
#[inline(always)]
fn scan_members<'c>(
    scanner: &mut Scanner<'_, 'c>,
    text: &str,
    (keys, place): (&[&str], impl Fn(&str) -> Option<usize>),
    mut scan_value: impl FnMut(&mut Scanner<'_, 'c>, Option<usize>) -> Result<(), Flaw>,
) -> Result<(), Flaw> {
    scanner.require(b'{', "an object")?;
    if scanner.take(b'}')? {
        return Ok(());
    }
    loop {
        let key = JsonText::written(&text[scanner.key()?]);
        let place = match scanner.has_escapes() && key.has_escapes() {
            true => keys.iter().position(|known| key == *known),
            false => place(key.as_written()),
        };
        scan_value(scanner, place)?;
        if !scanner.take(b',')? {
            return scanner.require(b'}', "a comma or }");
        }
    }
}
