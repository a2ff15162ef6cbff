//! A record compared with a straightforward implementation.

use serde_json::{Map, Value};

use crate::job::fields::{Field, Fields};
use crate::job::keys::{RECORD_KEYS, SOURCE_KEYS};
use crate::job::record::*;

/// A random JSON value, written in a random way.
fn any(random: &mut fastrand::Rng, depth: u32) -> String {
    match random.u32(..if depth == 0 { 5 } else { 7 }) {
        0 => "null".to_owned(),
        1 => ["true", "false"][random.usize(..2)].to_owned(),
        2 => ["0", "-0", "7", "-12", "1.10", "1e+5", "-1e-3", "18446744073709551616", "0.1e+400"][random.usize(..9)]
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

/// The expected record, built from a tree of values.
fn expected(json: &str) -> Map<String, Value> {
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

/// The record's fields as a tree.
fn as_map(fields: Fields<'_>) -> Map<String, Value> {
    let value = |field| match field {
        Field::Text(text) => text.into(),
        Field::Object(fields) => as_map(fields).into(),
        Field::Json(json) => serde_json::from_str(json.as_str()).expect("a field is JSON"),
    };
    fields.map(|(key, field)| (key.decode().into_owned(), value(field))).collect()
}

fn read(json: &str) -> Result<Record, Unread> {
    Record::read(json.to_owned(), &mut || true)
}

#[test]
fn a_record_has_the_fields_that_a_straightforward_reader_finds() {
    let mut random = fastrand::Rng::with_seed(7);
    let keys = [&RECORD_KEYS[..], &["source", "source", "x", "y", "repository", ""]].concat();
    let mut before: Option<(Record, Map<String, Value>)> = None;
    for _ in 0..20_000 {
        let json = object(&mut random, &keys, 3);
        let (record, plain) = (read(&json).expect(&json), expected(&json));
        assert_eq!(as_map(Fields::of_record(&record)), plain, "{json}");
        let written = record.to_json().unwrap();
        assert_eq!(serde_json::from_str::<Map<String, Value>>(&written).unwrap(), plain, "{json}");
        assert!(!written.contains([' ', '\t', '\n']), "on one line: {written}");
        assert_eq!(record.same_as(&read(&written).unwrap(), &mut || true), Some(true), "{json}");
        let other = serde_json::to_string_pretty(&plain).unwrap();
        // A key that comes twice counts twice here: a false difference is possible, a missed one is not.
        let alike = record.same_as(&read(&other).unwrap(), &mut || true).unwrap();
        assert!(alike || serde_json::to_string(&plain).unwrap().len() < written.len(), "{json}");
        if let Some((before, plain_before)) = &before {
            let alike = record.same_as(before, &mut || true).unwrap();
            assert!(!alike || plain == *plain_before, "{json} and {}", before.text);
        }
        before = Some((record, plain));
        // Truncated JSON, and JSON with something after it, is refused.
        let cut: String = json.chars().take(random.usize(..json.chars().count())).collect();
        assert!(read(&cut).is_err(), "{cut}");
        assert!(read(&format!("{json} x")).is_err(), "{json}");
    }
}

#[test]
fn the_caller_is_asked_regularly_while_any_long_record_is_read() {
    for member in [r#""":"""#, r#""a":"b""#, r#""a":1"#, r#""\n":[]"#, r#""source":{}"#] {
        let members = vec![member; (1 << 20) / (member.len() + 1)].join(",");
        for json in [format!("{{{members}}}"), format!("{{\"source\":{{{members}}}}}")] {
            let mut asked = 0;
            let mut proceed = || {
                asked += 1;
                true
            };
            Record::read(json, &mut proceed).expect("a record");
            assert!(asked >= 14, "asked {asked} times over {member}");
        }
    }
}
