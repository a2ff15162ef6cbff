//! A job's record against serde_json's tree of values: what is taken for a record is one, and means the same.

use agentjob_core::fuzzing;
use serde_json::Value;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(fuzzing::record(data).is_err(), "a record that is not UTF-8");
        return;
    };
    let Ok(job) = fuzzing::record(data) else { return };
    let theirs = match serde_json::from_str::<Value>(text) {
        Ok(theirs) => theirs,
        Err(error) => return assert!(theirs_is_stricter(text, &error), "{text:?}: {error}"),
    };
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

/// A record may have half a surrogate pair, which Rust's strings cannot hold, numbers of any size, and a depth of its own.
fn theirs_is_stricter(text: &str, error: &serde_json::Error) -> bool {
    let error = error.to_string();
    error.contains("recursion limit")
        || error.contains("number out of range")
        || (text.contains("\\u") && (error.contains("surrogate") || error.contains("hex escape")))
}
