//! A job's record against serde_json's tree of values: what is taken for a record is one, means the same, and every plain one is taken.

use agentjob_core::{Job, fuzzing};
use serde_json::Value;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(fuzzing::record(data).is_err(), "a record that is not UTF-8");
        return;
    };
    let job = match fuzzing::record(data) {
        Ok(job) => job,
        Err(why) => return assert!(!is_plain(text), "{text:?}: {why}"),
    };
    let theirs = match serde_json::from_str::<Value>(text) {
        Ok(theirs) => theirs,
        Err(error) => return assert!(theirs_is_stricter(text, &error), "{text:?}: {error}"),
    };
    is_same(&job, &theirs, text);
    let json = job.to_json();
    let read_again = fuzzing::record(json.as_bytes()).unwrap_or_else(|why| panic!("{json:?}: {why}"));
    assert_eq!(read_again.to_json(), json, "{text:?}");
}

/// Whether a job has every field of the record as `serde_json` reads it.
pub fn is_same(job: &Job, theirs: &Value, text: &str) {
    let has = |name: &str| theirs.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("{text:?} has no {name}"));
    assert_eq!(job.id(), has("id"), "{text:?}");
    assert_eq!(job.status().as_str(), has("status"), "{text:?}");
    let json = job.to_json();
    let again: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{text:?} became {json:?}: {error}"));
    for (name, value) in theirs.as_object().expect("a record is an object") {
        // A documented object gets its documented fields, null where they were missing.
        match (name.as_str(), value, &again[name]) {
            ("source", Value::Object(sent), Value::Object(read)) => {
                for (name, value) in sent {
                    assert_eq!(read.get(name), Some(value), "{text:?}: source.{name}");
                }
            }
            // What is no object has no fields.
            ("source", _, _) => (),
            _ => assert_eq!(again.get(name), Some(value), "{text:?}: {name}"),
        }
    }
}

/// Whether it must be taken: an object that names its id and its status once each, and escapes nothing.
fn is_plain(text: &str) -> bool {
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { return false };
    ["id", "status"].iter().all(|name| {
        let is_text = object.get(*name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
        is_text && text.matches(&format!("\"{name}\"")).count() == 1
    }) && !text.contains('\\')
}

/// A record may have half a surrogate pair, which Rust's strings cannot hold, numbers of any size, and a depth of its own.
pub fn theirs_is_stricter(text: &str, error: &serde_json::Error) -> bool {
    let error = error.to_string();
    error.contains("recursion limit")
        || error.contains("number out of range")
        || (text.contains("\\u") && (error.contains("surrogate") || error.contains("hex escape")))
}
