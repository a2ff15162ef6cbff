//! A job's record as the text that came: checked in one pass, its documented fields directly accessible, everything else found again
//! when a caller asks for it.

use std::collections::TryReserveError;
use std::ops::Range;

use crate::job::keys::{Key, RECORD_KEYS, SOURCE_KEYS, SourceKey};
use crate::job::layout::{Layout, Slot};
use crate::json::compact::{push_compact, push_quoted};
use crate::json::fingerprint::{fingerprint, mixed, text_hash};
use crate::json::scan::{Continue, Flaw, Scanner};
use crate::json::text::JsonText;
use crate::json::value::{Json, Members};

/// More bytes than the documented keys take with no values.
const EMPTY_RECORD_BYTES: usize = 160;
/// Unused capacity up to this is kept: freeing it may cost a copy.
const MAX_SPARE_BYTES: usize = 16;

/// Why a response is not a record.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is not a JSON object.
    Flaw(Flaw),
    /// There is no memory to keep it.
    NoMemory,
}

impl From<Flaw> for Unread {
    fn from(flaw: Flaw) -> Unread {
        Unread::Flaw(flaw)
    }
}

/// A JSON object with the documented fields of a record. It does not check yet which of them must be present.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// The response.
    text: String,
    /// The documented fields that are texts, decoded, each followed by a NUL.
    texts: String,
    layout: Layout,
}

impl Record {
    /// Reads a response that is an object. `proceed` is asked now and then whether to continue.
    #[cfg(test)]
    pub(crate) fn read(text: String, proceed: Continue<'_>) -> Result<Record, Unread> {
        let mut record = Record::default();
        record.fill(text, proceed)?;
        Ok(record)
    }

    /// Fills an empty record from a response that is an object. Filled where it stays, it is not copied: its layout has hundreds of bytes.
    pub(crate) fn fill(&mut self, mut text: String, proceed: Continue<'_>) -> Result<(), Unread> {
        let mut scanner = Scanner::asking(&text, proceed);
        let (layout, texts) = (&mut self.layout, &mut self.texts);
        layout.scan(&mut scanner, &text)?;
        let escapes = scanner.has_escapes();
        let quoted = |slot: &Slot| slot.quoted(&text).map(JsonText::written);
        let length = |quoted: JsonText<'_>| if escapes { quoted.decoded_len() } else { quoted.as_written().len() };
        let slots = layout.known.iter().chain(&layout.source);
        let room: usize = slots.filter_map(quoted).map(|quoted| length(quoted) + 1).sum();
        texts.try_reserve_exact(room).map_err(|_| Unread::NoMemory)?;
        for slot in layout.known.iter_mut().chain(&mut layout.source) {
            if let Some(quoted) = quoted(slot) {
                let start = texts.len();
                if escapes {
                    quoted.decode_to(texts)
                } else {
                    texts.push_str(quoted.as_written())
                }
                slot.text = Some(start..texts.len());
                texts.push('\0');
            }
        }
        if text.capacity() > text.len() + MAX_SPARE_BYTES {
            text.shrink_to_fit();
        }
        self.text = text;
        Ok(())
    }

    /// The place of a documented field.
    pub(crate) fn slot(&self, key: Key) -> &Slot {
        &self.layout.known[key as usize]
    }

    /// The places of the documented fields, in the order of [`RECORD_KEYS`].
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.layout.known
    }

    /// The places of the documented fields of `source`, in the order of [`SOURCE_KEYS`].
    pub(crate) fn source_slots(&self) -> &[Slot] {
        &self.layout.source
    }

    /// A field's decoded text, if it is a text.
    pub(crate) fn text(&self, slot: &Slot) -> Option<&str> {
        slot.text.clone().map(|at| &self.texts[at])
    }

    /// A documented text, followed by a NUL.
    pub(crate) fn text_with_nul(&self, key: Key) -> Option<&str> {
        self.with_nul(&self.layout.known[key as usize].text)
    }

    /// A documented text of `source`, followed by a NUL.
    pub(crate) fn source_text_with_nul(&self, key: SourceKey) -> Option<&str> {
        self.with_nul(&self.layout.source[key as usize].text)
    }

    fn with_nul(&self, text: &Option<Range<usize>>) -> Option<&str> {
        text.clone().map(|at| &self.texts[at.start..=at.end])
    }

    /// A field as JSON; `null` if the service left it out.
    pub(crate) fn json(&self, slot: &Slot) -> Json<'_> {
        if slot.value.is_empty() { Json::NULL } else { Json::checked(&self.text[slot.value.clone()]) }
    }

    /// Whether `source` is as documented: an object, or nothing.
    pub(crate) fn has_source(&self) -> bool {
        let source = self.json(self.slot(Key::Source));
        source.is_null() || source.as_str().starts_with('{')
    }

    /// The object's members, documented ones included; none if there are only documented ones.
    pub(crate) fn members(&self) -> Members<'_> {
        let object = &self.layout.object;
        let record = if self.layout.has_others { Json::checked(&self.text[object.clone()]) } else { Json::NULL };
        record.members()
    }

    /// The same of `source`.
    pub(crate) fn source_members(&self) -> Members<'_> {
        let source = if self.layout.source_has_others { self.json(self.slot(Key::Source)) } else { Json::NULL };
        source.members()
    }

    /// The undocumented fields.
    fn others(&self) -> impl Iterator<Item = (JsonText<'_>, Json<'_>)> {
        others(self.members(), &RECORD_KEYS)
    }

    fn source_others(&self) -> impl Iterator<Item = (JsonText<'_>, Json<'_>)> {
        others(self.source_members(), &SOURCE_KEYS)
    }

    /// The whole record on one line.
    pub(crate) fn to_json(&self) -> Result<String, TryReserveError> {
        let mut json = String::new();
        json.try_reserve_exact(self.layout.object.len() + EMPTY_RECORD_BYTES)?;
        let capacity = json.capacity();
        let known = RECORD_KEYS.iter().zip(self.slots()).map(|(key, slot)| (JsonText::written(key), self.json(slot)));
        push_object(&mut json, known.chain(self.others()), |json, key, value| {
            if self.has_source() && key == Key::Source.name() {
                let known = SOURCE_KEYS.iter().zip(self.source_slots());
                let known = known.map(|(key, slot)| (JsonText::written(key), self.json(slot)));
                push_object(json, known.chain(self.source_others()), |json, _, value| push_compact(json, value));
            } else {
                push_compact(json, value);
            }
        });
        debug_assert_eq!(json.capacity(), capacity, "the capacity is sufficient");
        Ok(json)
    }

    /// Whether two records have the same fields with the same values, regardless of how they are written. `None` if the caller
    /// stopped the comparison.
    pub(crate) fn same_as(&self, other: &Record, proceed: Continue<'_>) -> Option<bool> {
        let alike = self.text[self.layout.object.clone()] == other.text[other.layout.object.clone()];
        Some(alike || self.fingerprint(proceed)? == other.fingerprint(proceed)?)
    }

    fn fingerprint(&self, proceed: Continue<'_>) -> Option<u64> {
        let mut sum = 0_u64;
        let mut add = |key: u64, value| sum = sum.wrapping_add(mixed(key, value));
        for (at, slot) in self.slots().iter().enumerate().filter(|(at, _)| *at != Key::Source as usize) {
            add(at as u64, fingerprint(self.json(slot), proceed)?);
        }
        if self.has_source() {
            for (at, slot) in self.source_slots().iter().enumerate() {
                add((RECORD_KEYS.len() + at) as u64, fingerprint(self.json(slot), proceed)?);
            }
            for (key, value) in self.source_others() {
                add(mixed(Key::Source as u64, text_hash(key)), fingerprint(value, proceed)?);
            }
        } else {
            add(Key::Source as u64, fingerprint(self.json(self.slot(Key::Source)), proceed)?);
        }
        for (key, value) in self.others() {
            add(text_hash(key), fingerprint(value, proceed)?);
        }
        Some(sum)
    }
}

fn others<'a>(members: Members<'a>, known: &[&str]) -> impl Iterator<Item = (JsonText<'a>, Json<'a>)> {
    members.filter(|(key, _)| !known.iter().any(|known| *key == *known))
}

fn push_object<'a>(
    to: &mut String,
    members: impl Iterator<Item = (JsonText<'a>, Json<'a>)>,
    push_value: impl Fn(&mut String, JsonText<'a>, Json<'a>),
) {
    to.push('{');
    for (n, (key, value)) in members.enumerate() {
        if n > 0 {
            to.push(',');
        }
        push_quoted(to, key);
        to.push(':');
        push_value(to, key, value);
    }
    to.push('}');
}

#[cfg(test)]
mod tests;
