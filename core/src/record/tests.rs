//! A record against the plain way of reading one.

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
