//! A record as it came, read in one pass: the answer is kept, and most of the record's texts are lent from there.

mod reading;
#[cfg(test)]
mod tests;

use serde::de::DeserializeSeed;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use self::reading::ObjectSeed;

/// Keys of a record that are always there, `null` where the service left them out.
const RECORD_KEYS: [&str; 7] = ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"];
/// The same for the record's `source`.
const SOURCE_KEYS: [&str; 2] = ["repository", "ref"];

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
}

/// A place among the keys of a record's `source`.
#[derive(Clone, Copy)]
pub(crate) enum SourceKey {
    Repository,
    Ref,
}

/// A JSON object, its documented fields at hand. It says nothing yet about what must be in it.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    answer: Box<str>,
    object: Object<{ RECORD_KEYS.len() }>,
}

type Source = Object<{ SOURCE_KEYS.len() }>;

impl Record {
    /// Reads an answer that is an object.
    pub(crate) fn read(answer: String) -> Result<Record, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(&answer);
        let mut object = ObjectSeed { answer: &answer, keys: &RECORD_KEYS }.deserialize(&mut json)?;
        json.end()?;
        let source = &mut object.known[Key::Source as usize];
        match source {
            Stored::Null => *source = Stored::Source(Box::default()),
            // Its key was written with escapes.
            Stored::Other(value) => {
                if let Value::Object(object) = value.as_mut() {
                    *source = Stored::Source(Box::new(Source::of(std::mem::take(object))));
                }
            }
            _ => {}
        }
        Ok(Record { answer: answer.into_boxed_str(), object })
    }

    /// A documented field.
    pub(crate) fn field(&self, key: Key) -> Field<'_> {
        self.object.known[key as usize].lent(&self.answer)
    }

    /// A documented field of the source, if the source is an object.
    pub(crate) fn source_field(&self, key: SourceKey) -> Option<Field<'_>> {
        match &self.object.known[Key::Source as usize] {
            Stored::Source(source) => Some(source.known[key as usize].lent(&self.answer)),
            _ => None,
        }
    }

    pub(crate) fn fields(&self) -> Fields<'_> {
        self.object.fields(&RECORD_KEYS, &self.answer)
    }
}

/// The same fields with the same values, in whatever order and however they were written.
impl PartialEq for Record {
    fn eq(&self, other: &Record) -> bool {
        self.answer == other.answer || self.fields().to_map() == other.fields().to_map()
    }
}

/// A field of a record.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Field<'a> {
    /// A text.
    Text(&'a str),
    /// The record's `source`, unless it is of another shape.
    Object(Fields<'a>),
    /// Anything else: a documented field that is `null`, one of another type than the contract's, or one that this version
    /// does not know. A number is kept digit by digit.
    Value(&'a Value),
}

impl<'a> Field<'a> {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&'a str> {
        match self {
            Field::Text(text) => Some(text),
            Field::Value(value) => value.as_str(),
            Field::Object(_) => None,
        }
    }

    /// A copy as a JSON value.
    pub fn to_value(&self) -> Value {
        match self {
            Field::Text(text) => Value::String((*text).to_owned()),
            Field::Object(fields) => Value::Object(fields.to_map()),
            Field::Value(value) => (*value).clone(),
        }
    }
}

impl Serialize for Field<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Field::Text(text) => serializer.serialize_str(text),
            Field::Object(fields) => fields.serialize(serializer),
            Field::Value(value) => value.serialize(serializer),
        }
    }
}

/// An object's fields with their keys: the documented ones in their order, then the others in the service's.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    answer: &'a str,
    keys: &'static [&'static str],
    known: &'a [Stored],
    unknown: &'a [(String, Value)],
}

impl Fields<'_> {
    /// A copy as a JSON object.
    pub fn to_map(&self) -> Map<String, Value> {
        self.clone().map(|(key, field)| (key.to_owned(), field.to_value())).collect()
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (&'a str, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if let ([key, keys @ ..], [field, known @ ..]) = (self.keys, self.known) {
            (self.keys, self.known) = (keys, known);
            return Some((*key, field.lent(self.answer)));
        }
        let ((key, value), unknown) = self.unknown.split_first()?;
        self.unknown = unknown;
        Some((key, Field::Value(value)))
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.known.len() + self.unknown.len()))?;
        for (key, field) in self.clone() {
            map.serialize_entry(key, &field)?;
        }
        map.end()
    }
}

/// An object: its documented fields in the order of their keys, and the others.
#[derive(Debug, Clone)]
struct Object<const N: usize> {
    known: [Stored; N],
    unknown: Vec<(String, Value)>,
}

impl<const N: usize> Object<N> {
    fn fields<'a>(&'a self, keys: &'static [&'static str; N], answer: &'a str) -> Fields<'a> {
        Fields { answer, keys, known: &self.known, unknown: &self.unknown }
    }
}

impl Source {
    fn of(object: Map<String, Value>) -> Source {
        let mut source = Source::default();
        for (key, value) in object {
            match (SOURCE_KEYS.iter().position(|known| *known == key), value) {
                (None, value) => source.unknown.push((key, value)),
                (Some(at), Value::String(text)) => source.known[at] = Stored::Text(text.into()),
                (Some(_), Value::Null) => {}
                (Some(at), value) => source.known[at] = Stored::other(value),
            }
        }
        source
    }
}

impl<const N: usize> Default for Object<N> {
    fn default() -> Object<N> {
        Object { known: [const { Stored::Null }; N], unknown: Vec::new() }
    }
}

/// The value of a documented field.
#[derive(Debug, Clone)]
enum Stored {
    Null,
    /// A text, from here to there in the answer.
    Span(usize, usize),
    /// A text that the answer writes with escapes.
    Text(Box<str>),
    Source(Box<Source>),
    Other(Box<Value>),
}

impl Stored {
    fn other(value: impl Into<Value>) -> Stored {
        Stored::Other(Box::new(value.into()))
    }

    fn lent<'a>(&'a self, answer: &'a str) -> Field<'a> {
        match self {
            Stored::Null => Field::Value(&Value::Null),
            Stored::Span(start, end) => Field::Text(&answer[*start..*end]),
            Stored::Text(text) => Field::Text(text),
            Stored::Source(source) => Field::Object(source.fields(&SOURCE_KEYS, answer)),
            Stored::Other(value) => Field::Value(value),
        }
    }
}
