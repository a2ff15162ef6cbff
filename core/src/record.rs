//! A record as it came, read in one pass: the answer is kept, and most of the record's texts are lent from there.

use std::collections::HashSet;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

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

/// Where a piece of the answer begins in it.
fn offset(answer: &str, piece: &str) -> usize {
    piece.as_ptr() as usize - answer.as_ptr() as usize
}

/// Reads an object.
struct ObjectSeed<'a, const N: usize> {
    answer: &'a str,
    keys: &'static [&'static str; N],
}

impl<'de, const N: usize> DeserializeSeed<'de> for ObjectSeed<'de, N> {
    type Value = Object<N>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Object<N>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for ObjectSeed<'de, N> {
    type Value = Object<N>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Object<N>, A::Error> {
        let ObjectSeed { answer, keys } = self;
        let mut object = Object::default();
        while let Some(key) = fields.next_key_seed(KeySeed { answer, keys })? {
            match key {
                ReadKey::Object(at) => {
                    let source = fields.next_value_seed(ObjectSeed { answer, keys: &SOURCE_KEYS })?;
                    object.known[at] = Stored::Source(Box::new(source));
                }
                ReadKey::Known(at) => object.known[at] = fields.next_value_seed(ValueSeed { answer })?,
                ReadKey::Unknown(key) => object.unknown.push((key, fields.next_value()?)),
            }
        }
        if object.unknown.len() > 1 {
            keep_the_last(&mut object.unknown);
        }
        Ok(object)
    }
}

/// Of a key that came twice the last value counts.
fn keep_the_last(fields: &mut Vec<(String, Value)>) {
    let mut seen = HashSet::with_capacity(fields.len());
    let last: Vec<bool> = fields.iter().rev().map(|(key, _)| seen.insert(key.as_str())).collect();
    let mut last = last.into_iter().rev();
    fields.retain(|_| last.next().unwrap_or(true));
}

/// A key that was read.
enum ReadKey {
    /// A documented one, by its place.
    Known(usize),
    /// The record's `source`, which is an object.
    Object(usize),
    Unknown(String),
}

struct KeySeed<'a, const N: usize> {
    answer: &'a str,
    keys: &'static [&'static str; N],
}

impl<'de, const N: usize> DeserializeSeed<'de> for KeySeed<'de, N> {
    type Value = ReadKey;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ReadKey, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for KeySeed<'de, N> {
    type Value = ReadKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<ReadKey, E> {
        let Some(at) = self.keys.iter().position(|known| *known == key) else {
            return Ok(ReadKey::Unknown(key.to_owned()));
        };
        if key == RECORD_KEYS[Key::Source as usize] {
            // What comes behind the key's closing quote and the colon.
            let behind = &self.answer.as_bytes()[offset(self.answer, key) + key.len() + 1..];
            let value = behind.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != b':');
            if value == Some(&b'{') {
                return Ok(ReadKey::Object(at));
            }
        }
        Ok(ReadKey::Known(at))
    }

    fn visit_str<E>(self, key: &str) -> Result<ReadKey, E> {
        let known = self.keys.iter().position(|known| *known == key);
        Ok(known.map_or_else(|| ReadKey::Unknown(key.to_owned()), ReadKey::Known))
    }
}

/// Reads the value of a documented field.
struct ValueSeed<'a> {
    answer: &'a str,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'de> {
    type Value = Stored;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Stored, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'de> {
    type Value = Stored;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Stored, E> {
        let start = offset(self.answer, text);
        Ok(Stored::Span(start, start + text.len()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Stored, E> {
        Ok(Stored::Text(text.into()))
    }

    fn visit_unit<E>(self) -> Result<Stored, E> {
        Ok(Stored::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Stored, E> {
        Ok(Stored::other(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Stored, E> {
        Ok(Stored::other(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Stored, E> {
        Ok(Stored::other(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Stored, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items)).map(Stored::other)
    }

    /// An object, or a number that is no small integer: so serde_json hands on the digits of one.
    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Stored, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(fields)).map(Stored::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any JSON value, written in any of the ways in which it may be written.
    fn any(random: &mut fastrand::Rng, depth: u32) -> String {
        match random.u32(..if depth == 0 { 5 } else { 7 }) {
            0 => "null".to_owned(),
            1 => ["true", "false"][random.usize(..2)].to_owned(),
            2 => ["0", "-0", "7", "-12", "1.10", "1e5", "-1E-3", "18446744073709551616", "0.1e400"][random.usize(..9)]
                .to_owned(),
            3 | 4 => text(random),
            5 => {
                format!("[{}]", (0..random.usize(..3)).map(|_| any(random, depth - 1)).collect::<Vec<_>>().join(" , "))
            }
            _ => object(random, &["a", "ref", "source"], depth - 1),
        }
    }

    fn text(random: &mut fastrand::Rng) -> String {
        let pieces = ["", "x", "é", "\\n", "\\u0041", "\\ud83d\\ude00", "{", "\\\"", ":", "日本"];
        format!("\"{}\"", (0..random.usize(..3)).map(|_| pieces[random.usize(..pieces.len())]).collect::<String>())
    }

    fn object(random: &mut fastrand::Rng, keys: &[&str], depth: u32) -> String {
        let mut fields = Vec::new();
        for _ in 0..random.usize(..10) {
            let mut key = keys[random.usize(..keys.len())].to_owned();
            if random.bool() && !key.is_empty() {
                key = format!("\\u{:04x}{}", key.as_bytes()[0], &key[1..]);
            }
            let (before, behind) = (["", " "][random.usize(..2)], ["", "\n\t "][random.usize(..2)]);
            fields.push(format!("{before}\"{key}\"{behind}:{behind}{}{before}", any(random, depth)));
        }
        format!("{{{}}}", fields.join(","))
    }

    /// What the record is to be, by the plain way over a tree of values.
    fn plainly(json: &str) -> Map<String, Value> {
        let mut read: Map<String, Value> = serde_json::from_str(json).expect(json);
        let mut record = Map::new();
        for key in RECORD_KEYS {
            record.insert(key.to_owned(), read.remove(key).unwrap_or(Value::Null));
        }
        let source = &mut record["source"];
        if source.is_null() {
            *source = Value::Object(Map::new());
        }
        if let Value::Object(source) = source {
            for key in SOURCE_KEYS {
                source.entry(key).or_insert(Value::Null);
            }
        }
        record.extend(read);
        record
    }

    #[test]
    fn a_record_is_what_the_plain_way_makes_of_it() {
        let mut random = fastrand::Rng::with_seed(7);
        let keys = [&RECORD_KEYS[..], &["source", "source", "x", "y", "repository", ""]].concat();
        for _ in 0..20_000 {
            let json = object(&mut random, &keys, 3);
            let record = Record::read(json.clone()).expect(&json);
            assert_eq!(record.fields().to_map(), plainly(&json), "{json}");
            let written = serde_json::to_string(&record.fields()).unwrap();
            assert_eq!(serde_json::from_str::<Map<String, Value>>(&written).unwrap(), plainly(&json), "{json}");
            // What is cut off, or has something behind it, is as little JSON to the one as to the other.
            let cut: String = json.chars().take(random.usize(..json.chars().count())).collect();
            assert!(Record::read(cut.clone()).is_err(), "{cut}");
            assert!(Record::read(format!("{json} x")).is_err(), "{json}");
        }
    }
}
