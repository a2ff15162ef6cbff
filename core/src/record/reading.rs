//! Reading a record: one pass over the answer's JSON.

use std::collections::HashSet;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{Key, Object, RECORD_KEYS, SOURCE_KEYS, Stored};

/// Where a piece of the answer begins in it.
fn offset(answer: &str, piece: &str) -> usize {
    piece.as_ptr() as usize - answer.as_ptr() as usize
}

/// Reads an object.
pub(super) struct ObjectSeed<'a, const N: usize> {
    pub(super) answer: &'a str,
    pub(super) keys: &'static [&'static str; N],
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
