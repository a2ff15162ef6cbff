//! A job's record as the text that came: checked in one pass, its documented fields at hand, everything else found again when
//! somebody asks.

#[cfg(test)]
mod tests;

use std::collections::TryReserveError;
use std::ops::Range;

use crate::job::fields::{Field, Fields};
use crate::json::compact::{push_compact, push_quoted};
use crate::json::fingerprint::{fingerprint, mixed, text_hash};
use crate::json::scan::{Continue, Flaw, Scanner};
use crate::json::text::JsonText;
use crate::json::value::{Json, Members};

/// Keys of a record that are always there, `null` where the service left them out.
pub(crate) const RECORD_KEYS: [&str; 7] = ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"];
/// The same for the record's `source`.
pub(crate) const SOURCE_KEYS: [&str; 2] = ["repository", "ref"];
/// More bytes than these keys take with nothing in them.
const EMPTY_RECORD_BYTES: usize = 160;
/// What an answer may have to spare before it is given back: a copy costs more.
const MAX_SPARE_BYTES: usize = 16;

/// A place among the record's keys.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    Id,
    Status,
    Source,
    Model,
    PrLink,
    CreatedAt,
    ArchivedAt,
}

impl Key {
    pub(crate) fn name(self) -> &'static str {
        RECORD_KEYS[self as usize]
    }

    /// The place of a key without escapes: what the compiler makes of it costs less than a search of the table.
    fn place(key: &str) -> Option<usize> {
        Some(match key {
            "id" => Key::Id as usize,
            "status" => Key::Status as usize,
            "source" => Key::Source as usize,
            "model" => Key::Model as usize,
            "prLink" => Key::PrLink as usize,
            "createdAt" => Key::CreatedAt as usize,
            "archivedAt" => Key::ArchivedAt as usize,
            _ => return None,
        })
    }
}

/// A place among the keys of a record's `source`.
#[derive(Clone, Copy)]
pub(crate) enum SourceKey {
    Repository,
    Ref,
}

impl SourceKey {
    /// The place of a key without escapes.
    fn place(key: &str) -> Option<usize> {
        Some(match key {
            "repository" => SourceKey::Repository as usize,
            "ref" => SourceKey::Ref as usize,
            _ => return None,
        })
    }
}

/// Why an answer is no record.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is no JSON object.
    Flaw(Flaw),
    /// There is no memory to keep it.
    NoMemory,
}

impl From<Flaw> for Unread {
    fn from(flaw: Flaw) -> Unread {
        Unread::Flaw(flaw)
    }
}

/// A JSON object, its documented fields at hand. It says nothing yet about what must be in it.
#[derive(Debug)]
pub(crate) struct Record {
    /// The answer.
    text: String,
    /// The documented fields that are texts, without escapes and each with a NUL behind it.
    texts: String,
    /// Where the object is.
    object: Range<usize>,
    pub(crate) known: [Slot; RECORD_KEYS.len()],
    pub(crate) source: [Slot; SOURCE_KEYS.len()],
    others: Others,
}

/// Whether the service added keys to the documented ones. Where it added none, nobody has to look for them.
#[derive(Debug, Clone, Copy, Default)]
struct Others {
    in_record: bool,
    in_source: bool,
}

/// A documented field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Slot {
    /// Where its value is; empty if it is not there.
    value: Range<usize>,
    /// Where its text is among the record's texts, if it is one.
    text: Option<Range<usize>>,
}

impl Record {
    /// Reads an answer that is an object.
    pub(crate) fn read(mut text: String, proceed: Continue<'_>) -> Result<Record, Unread> {
        let (mut known, mut source) = <([Slot; RECORD_KEYS.len()], [Slot; SOURCE_KEYS.len()])>::default();
        let mut scanner = Scanner::asking(&text, proceed);
        scanner.peek()?;
        let start = scanner.at();
        let others = read_record(&mut scanner, &text, &mut known, &mut source)?;
        let object = start..scanner.at();
        scanner.end()?;
        let escapes = scanner.has_escapes();
        let quoted = |slot: &Slot| slot.quoted(&text).map(JsonText::written);
        let length = |quoted: JsonText<'_>| if escapes { quoted.decoded_len() } else { quoted.as_written().len() };
        let room: usize = known.iter().chain(&source).filter_map(quoted).map(|quoted| length(quoted) + 1).sum();
        let mut texts = String::new();
        texts.try_reserve_exact(room).map_err(|_| Unread::NoMemory)?;
        for slot in known.iter_mut().chain(&mut source) {
            if let Some(quoted) = quoted(slot) {
                let start = texts.len();
                if escapes {
                    quoted.decode_to(&mut texts)
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
        Ok(Record { text, texts, object, known, source, others })
    }

    /// A documented field.
    pub(crate) fn field(&self, key: Key) -> Field<'_> {
        match key {
            Key::Source if self.has_source() => Field::Object(Fields::of_source(self)),
            _ => self.lent(&self.known[key as usize]),
        }
    }

    /// A documented text, with a NUL behind it.
    pub(crate) fn text_with_nul(&self, key: Key) -> Option<&str> {
        self.known[key as usize].text.clone().map(|at| &self.texts[at.start..=at.end])
    }

    /// A documented text of the source, with a NUL behind it.
    pub(crate) fn source_text_with_nul(&self, key: SourceKey) -> Option<&str> {
        self.source[key as usize].text.clone().map(|at| &self.texts[at.start..=at.end])
    }

    /// Whether the source is what the contract says: an object, or nothing.
    fn has_source(&self) -> bool {
        let source = self.json(&self.known[Key::Source as usize]);
        source.is_null() || source.as_str().starts_with('{')
    }

    fn json(&self, slot: &Slot) -> Json<'_> {
        if slot.value.is_empty() { Json::NULL } else { Json::checked(&self.text[slot.value.clone()]) }
    }

    pub(crate) fn lent(&self, slot: &Slot) -> Field<'_> {
        match &slot.text {
            Some(at) => Field::Text(&self.texts[at.clone()]),
            None => Field::Json(self.json(slot)),
        }
    }

    /// What the service added to the documented fields.
    fn others(&self) -> impl Iterator<Item = (JsonText<'_>, Json<'_>)> {
        others(self.members(), &RECORD_KEYS)
    }

    fn source_others(&self) -> impl Iterator<Item = (JsonText<'_>, Json<'_>)> {
        others(self.source_members(), &SOURCE_KEYS)
    }

    /// The members that others than the documented ones are among; none if there are no others.
    pub(crate) fn members(&self) -> Members<'_> {
        let record = if self.others.in_record { Json::checked(&self.text[self.object.clone()]) } else { Json::NULL };
        record.members()
    }

    /// The same of the source.
    pub(crate) fn source_members(&self) -> Members<'_> {
        let slot = &self.known[Key::Source as usize];
        let source = if self.others.in_source { self.json(slot) } else { Json::NULL };
        source.members()
    }

    /// The whole record on one line.
    pub(crate) fn to_json(&self) -> Result<String, TryReserveError> {
        let mut json = String::new();
        json.try_reserve_exact(self.object.len() + EMPTY_RECORD_BYTES)?;
        let room = json.capacity();
        let known = RECORD_KEYS.iter().zip(&self.known).map(|(key, slot)| (JsonText::written(key), self.json(slot)));
        push_object(&mut json, known.chain(self.others()), |json, key, value| {
            if self.has_source() && key == Key::Source.name() {
                let known = SOURCE_KEYS.iter().zip(&self.source);
                let known = known.map(|(key, slot)| (JsonText::written(key), self.json(slot)));
                push_object(json, known.chain(self.source_others()), |json, _, value| push_compact(json, value));
            } else {
                push_compact(json, value);
            }
        });
        debug_assert_eq!(json.capacity(), room, "the room that was made is enough");
        Ok(json)
    }

    /// Whether two records have the same fields with the same values, however they were written. None if the caller does not
    /// want to know any more.
    pub(crate) fn same_as(&self, other: &Record, proceed: Continue<'_>) -> Option<bool> {
        let alike = self.text[self.object.clone()] == other.text[other.object.clone()];
        Some(alike || self.fingerprint(proceed)? == other.fingerprint(proceed)?)
    }

    fn fingerprint(&self, proceed: Continue<'_>) -> Option<u64> {
        let mut sum = 0_u64;
        let mut add = |key: u64, value| sum = sum.wrapping_add(mixed(key, value));
        for (at, slot) in self.known.iter().enumerate().filter(|(at, _)| *at != Key::Source as usize) {
            add(at as u64, fingerprint(self.json(slot), proceed)?);
        }
        if self.has_source() {
            for (at, slot) in self.source.iter().enumerate() {
                add((RECORD_KEYS.len() + at) as u64, fingerprint(self.json(slot), proceed)?);
            }
            for (key, value) in self.source_others() {
                add(mixed(Key::Source as u64, text_hash(key)), fingerprint(value, proceed)?);
            }
        } else {
            add(Key::Source as u64, fingerprint(self.json(&self.known[Key::Source as usize]), proceed)?);
        }
        for (key, value) in self.others() {
            add(text_hash(key), fingerprint(value, proceed)?);
        }
        Some(sum)
    }
}

impl Slot {
    /// What stands between its quotes, if it is a text.
    fn quoted<'a>(&self, text: &'a str) -> Option<&'a str> {
        text[self.value.clone()].strip_prefix('"')?.strip_suffix('"')
    }
}

/// Moves over the record, and notes where its documented fields are, and its source's. Of a key that comes twice the last value
/// counts.
fn read_record(
    scanner: &mut Scanner<'_, '_>,
    text: &str,
    known: &mut [Slot; RECORD_KEYS.len()],
    source: &mut [Slot; SOURCE_KEYS.len()],
) -> Result<Others, Flaw> {
    let mut others = Others::default();
    read_members(scanner, text, (&RECORD_KEYS, Key::place), |scanner, place| {
        if place == Some(Key::Source as usize) {
            (*source, others.in_source) = Default::default();
        }
        let value = match place == Some(Key::Source as usize) && scanner.peek()? == Some(b'{') {
            true => read_source(scanner, text, source, &mut others.in_source)?,
            false => scanner.value(1)?,
        };
        match place {
            Some(place) => known[place].value = value,
            None => others.in_record = true,
        }
        Ok(())
    })?;
    Ok(others)
}

fn read_source(
    scanner: &mut Scanner<'_, '_>,
    text: &str,
    source: &mut [Slot; SOURCE_KEYS.len()],
    others: &mut bool,
) -> Result<Range<usize>, Flaw> {
    let start = scanner.at();
    read_members(scanner, text, (&SOURCE_KEYS, SourceKey::place), |scanner, place| {
        let value = scanner.value(2)?;
        match place {
            Some(place) => source[place].value = value,
            None => *others = true,
        }
        Ok(())
    })?;
    Ok(start..scanner.at())
}

/// Moves over an object. The keys are the documented ones, with the place of one that is written without escapes; `read` moves
/// over the value of the key with this place.
#[inline(always)]
fn read_members<'c>(
    scanner: &mut Scanner<'_, 'c>,
    text: &str,
    (keys, place): (&[&str], impl Fn(&str) -> Option<usize>),
    mut read: impl FnMut(&mut Scanner<'_, 'c>, Option<usize>) -> Result<(), Flaw>,
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
        read(scanner, place)?;
        if !scanner.take(b',')? {
            return scanner.require(b'}', "a comma or }");
        }
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
