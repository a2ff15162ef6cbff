//! A record's fields one by one.

use std::borrow::Cow;

use crate::job::keys::{Key, RECORD_KEYS, SOURCE_KEYS};
use crate::job::layout::Slot;
use crate::job::record::Record;
use crate::json::text::JsonText;
use crate::json::value::{Json, Members};

/// A field of a record.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Field<'a> {
    /// A documented field that is a text.
    Text(&'a str),
    /// The record's `source`, unless it has another shape.
    Object(Fields<'a>),
    /// Anything else, as it came: a documented field that is `null` or of an undocumented type, or a field that this version does
    /// not know.
    Json(Json<'a>),
}

impl<'a> Field<'a> {
    /// One documented field of a record.
    pub(crate) fn of(record: &'a Record, key: Key) -> Field<'a> {
        match key {
            Key::Source if record.has_source() => Field::Object(Fields::of_source(record)),
            _ => Field::of_slot(record, record.slot(key)),
        }
    }

    fn of_slot(record: &'a Record, slot: &Slot) -> Field<'a> {
        record.text(slot).map_or_else(|| Field::Json(record.json(slot)), Field::Text)
    }

    /// The decoded text, if the field is a text.
    pub fn as_text(&self) -> Option<Cow<'a, str>> {
        match self {
            Field::Text(text) => Some(Cow::Borrowed(text)),
            Field::Json(json) => json.as_text().map(JsonText::decode),
            Field::Object(_) => None,
        }
    }
}

/// An iterator over an object's fields and their keys: the documented ones in their order, then the others as the service sent them.
/// An undocumented key that the service sent twice comes twice; [`Job::get`](crate::Job::get) returns its last value.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    record: &'a Record,
    keys: &'static [&'static str],
    /// How many documented fields were returned.
    at: usize,
    of_source: bool,
    members: Members<'a>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of_record(record: &'a Record) -> Fields<'a> {
        Fields { record, keys: &RECORD_KEYS, at: 0, of_source: false, members: record.members() }
    }

    fn of_source(record: &'a Record) -> Fields<'a> {
        Fields { record, keys: &SOURCE_KEYS, at: 0, of_source: true, members: record.source_members() }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (JsonText<'a>, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(key) = self.keys.get(self.at) {
            let field = match self.of_source {
                true => Field::of_slot(self.record, &self.record.source_slots()[self.at]),
                false if self.at == Key::Source as usize => Field::of(self.record, Key::Source),
                false => Field::of_slot(self.record, &self.record.slots()[self.at]),
            };
            self.at += 1;
            return Some((JsonText::written(key), field));
        }
        let is_other = |key: &JsonText<'_>| !self.keys.iter().any(|known| *key == *known);
        let (key, value) = self.members.find(|(key, _)| is_other(key))?;
        Some((key, Field::Json(value)))
    }
}
