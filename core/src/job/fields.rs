//! A record's fields one by one.

use std::borrow::Cow;

use crate::job::record::{Key, RECORD_KEYS, Record, SOURCE_KEYS};
use crate::json::text::JsonText;
use crate::json::value::{Json, Members};

/// A field of a record.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Field<'a> {
    /// A documented field that is a text.
    Text(&'a str),
    /// The record's `source`, unless it is of another shape.
    Object(Fields<'a>),
    /// Anything else: a documented field that is `null`, one of another type than the contract's, or one that this version
    /// does not know. It is handed on as it came.
    Json(Json<'a>),
}

impl<'a> Field<'a> {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<Cow<'a, str>> {
        match self {
            Field::Text(text) => Some(Cow::Borrowed(text)),
            Field::Json(json) => json.as_text().map(JsonText::decode),
            Field::Object(_) => None,
        }
    }
}

/// An object's fields with their keys: the documented ones in their order, then the others as the service sent them. Another
/// key that came twice is there twice; [`Job::get`](crate::Job::get) returns its last value.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    record: &'a Record,
    keys: &'static [&'static str],
    /// How many documented fields are behind it.
    at: usize,
    of_source: bool,
    members: Members<'a>,
}

impl<'a> Fields<'a> {
    pub(crate) fn of_source(record: &'a Record) -> Fields<'a> {
        Fields { record, keys: &SOURCE_KEYS, at: 0, of_source: true, members: record.source_members() }
    }

    pub(crate) fn of_record(record: &'a Record) -> Fields<'a> {
        Fields { record, keys: &RECORD_KEYS, at: 0, of_source: false, members: record.members() }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (JsonText<'a>, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(key) = self.keys.get(self.at) {
            let field = match self.of_source {
                true => self.record.lent(&self.record.source[self.at]),
                false if self.at == Key::Source as usize => self.record.field(Key::Source),
                false => self.record.lent(&self.record.known[self.at]),
            };
            self.at += 1;
            return Some((JsonText::written(key), field));
        }
        let is_other = |key: &JsonText<'_>| !self.keys.iter().any(|known| *key == *known);
        let (key, value) = self.members.find(|(key, _)| is_other(key))?;
        Some((key, Field::Json(value)))
    }
}
