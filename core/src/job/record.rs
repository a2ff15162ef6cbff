//! What is read of a job's record. Its id and its status are read at once. The other fields, and its JSON with the documented ones in front,
//! are read when a program asks for them.

use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::json::{MAX_DEPTH, each_member, is_too_deep, push_compact, text};

/// The keys that a record always has, `null` where the service left them out.
const KEYS: [&str; 7] = ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"];
/// The keys that the record's `source` always has.
const SOURCE_KEYS: [&str; 2] = ["repository", "ref"];
/// The place of `source` among the keys.
const SOURCE: usize = 2;
/// More bytes than a record has if its fields are all null.
const EMPTY_RECORD_BYTES: usize = 160;

/// A documented field that is a text; its number is that of its key, and for those of `source` the numbers after them.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextField {
    Id = 0,
    Status = 1,
    Model = 3,
    PrLink = 4,
    CreatedAt = 5,
    ArchivedAt = 6,
    SourceRepository = 7,
    SourceRef = 8,
}

/// The id and the status of a response, each as JSON, or why it is no record. All of the response is checked.
///
/// # Errors
/// It is not a JSON object, or is too deep; as a clause.
pub(crate) fn required(response: &str) -> Result<[Option<&str>; 2], String> {
    #[derive(Deserialize)]
    struct Required<'a> {
        #[serde(borrow)]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        status: Option<&'a RawValue>,
    }

    if response.is_empty() {
        return Err("it is empty".to_owned());
    }
    let begins = response.trim_start();
    if begins.starts_with(['{', '[']) && is_too_deep(response) {
        return Err(format!("its JSON nests deeper than {MAX_DEPTH} levels"));
    }
    if !begins.starts_with('{') {
        let checked = serde_json::from_str::<IgnoredAny>(response);
        return Err(checked.map_or_else(not_json, |_| "it is JSON, but not an object".to_owned()));
    }
    let Required { id, status } = serde_json::from_str(response).map_err(not_json)?;
    Ok([id, status].map(|value| value.map(RawValue::get)))
}

fn not_json(error: serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "its JSON ends too early".to_owned(),
        Category::Data => format!("it is no record ({error})"),
        _ => format!("it is not JSON ({error})"),
    }
}

/// A record in the form in which it is passed on. Both texts end in a NUL, for C.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// The whole record as compact JSON, with the documented keys in front.
    json: String,
    /// The documented fields that are texts, decoded, each followed by a NUL.
    texts: String,
    /// Where each is.
    places: [Option<Range<usize>>; KEYS.len() + SOURCE_KEYS.len()],
}

impl Record {
    /// Of a response that [`required`] has checked.
    pub(crate) fn of(response: &str) -> Record {
        let mut record = Object::read(response, KEYS);
        // A `source` of another type is as none.
        let source = std::mem::replace(&mut record.known[SOURCE], "null");
        let source = Object::read(if source.starts_with('{') { source } else { "{}" }, SOURCE_KEYS);
        let mut json = String::with_capacity(response.len() + EMPTY_RECORD_BYTES);
        record.write(&mut json, |json| source.write(json, |_| ()));
        json.push('\0');
        let (mut texts, mut places) = (String::new(), [const { None }; _]);
        for (value, place) in record.known.iter().chain(&source.known).zip(&mut places) {
            if let Some(text) = text(value) {
                let start = texts.len();
                texts.reserve(text.len() + 1);
                texts.extend([&text, "\0"]);
                *place = Some(start..texts.len());
            }
        }
        Record { json, texts, places }
    }

    pub(crate) fn text_with_nul(&self, field: TextField) -> Option<&str> {
        self.places[field as usize].clone().map(|place| &self.texts[place])
    }

    pub(crate) fn json_with_nul(&self) -> &str {
        &self.json
    }
}

/// An object, with the values of its documented keys: `null` where they are missing. Of a key that occurs twice the last value counts.
struct Object<'a, const N: usize> {
    object: &'a str,
    keys: [&'static str; N],
    known: [&'a str; N],
    has_others: bool,
}

impl<'a, const N: usize> Object<'a, N> {
    fn read(object: &'a str, keys: [&'static str; N]) -> Object<'a, N> {
        let mut read = Object { object, keys, known: ["null"; N], has_others: false };
        for_each(object, |key, value| match place(keys, key) {
            Some(place) => read.known[place] = value,
            None => read.has_others = true,
        });
        read
    }

    /// Appends it to `json`, with the documented keys in front. `write_source` writes the value of `source`.
    fn write(&self, json: &mut String, write_source: impl Fn(&mut String)) {
        json.push('{');
        for (key, value) in self.keys.into_iter().zip(self.known) {
            json.extend(["\"", key, "\":"]);
            if key == KEYS[SOURCE] {
                write_source(json)
            } else {
                push_compact(json, value)
            }
            json.push(',');
        }
        if self.has_others {
            // Read again, because a list of them would take more memory than the record.
            for_each(self.object, |key, value| {
                if place(self.keys, key).is_none() {
                    json.extend([key, ":"]);
                    push_compact(json, value);
                    json.push(',');
                }
            });
        }
        json.pop();
        json.push('}');
    }
}

fn for_each<'a>(object: &'a str, each: impl FnMut(&'a str, &'a str)) {
    each_member(object, each).expect("the object was checked");
}

fn place<const N: usize>(keys: [&str; N], key: &str) -> Option<usize> {
    let name = text(key)?;
    keys.iter().position(|known| name == *known)
}
