//! A job's record, and any JSON, against serde_json: the same texts are JSON, and they mean the same.

use agentjob_core::{Json, fuzzing};
use serde_json::Value;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(fuzzing::record(data).is_err(), "a record that is not UTF-8");
        return;
    };
    let theirs = serde_json::from_str::<Value>(text);
    match (Json::parse(text), &theirs) {
        (Some(_), Err(error)) => assert!(theirs_is_stricter(text, error), "{text:?}: {error}"),
        (None, Ok(_)) => panic!("{text:?} is JSON"),
        _ => {}
    }
    let Ok(job) = fuzzing::record(data) else { return };
    let Ok(theirs) = theirs else { return };
    let has = |name: &str| theirs.get(name).and_then(Value::as_str).unwrap_or_else(|| panic!("{text:?} has no {name}"));
    assert_eq!(job.id(), has("id"), "{text:?}");
    assert_eq!(job.status().as_str(), has("status"), "{text:?}");
    let json = job.to_json();
    let again: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{text:?} became {json:?}: {error}"));
    for (name, value) in theirs.as_object().expect("a record is an object") {
        // A documented object gets its documented fields, null where they were missing.
        if name != "source" {
            assert_eq!(again.get(name), Some(value), "{text:?}: {name}");
        }
    }
    let read_again = fuzzing::record(json.as_bytes()).unwrap_or_else(|why| panic!("{json:?}: {why}"));
    assert_eq!(read_again.to_json(), json, "{text:?}");
}

/// RFC 8259 allows half a surrogate pair, which Rust's strings cannot hold, and any depth; ours ends at a depth of its own.
fn theirs_is_stricter(text: &str, error: &serde_json::Error) -> bool {
    let error = error.to_string();
    error.contains("recursion limit")
        || (text.contains("\\u") && (error.contains("surrogate") || error.contains("hex escape")))
}
