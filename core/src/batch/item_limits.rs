//! What a key and the metadata of an item may be.

use serde::de::IgnoredAny;

use crate::error::Error;
use crate::json::{MAX_DEPTH, is_too_deep, with_whole_characters};
use crate::text::hidden_edge;

/// The longest key of an item, in bytes.
const MAX_KEY_BYTES: usize = 1024;
/// The longest metadata of an item, in bytes of JSON.
const MAX_EXTRA_BYTES: usize = 4096;

/// What is wrong with a text that has half of a surrogate pair, as a clause.
pub(crate) const LONE_SURROGATE: &str = "contains a lone surrogate: an escape from \\ud800 to \\udfff without its pair";

pub(crate) fn check_key(key: &str) -> Result<(), Error> {
    if key.is_empty() {
        let hint = format!("Give 1 to {MAX_KEY_BYTES} bytes, or no key.");
        return Err(Error::invalid("key is empty").with_hint(hint));
    }
    if key.len() > MAX_KEY_BYTES {
        let hint = format!("At most {MAX_KEY_BYTES} bytes are allowed.");
        return Err(Error::invalid(format!("key is {} bytes long", key.len())).with_hint(hint));
    }
    match hidden_edge(key) {
        // With it the message would be another one, which a later run with the right key sends again.
        Some(edge) => Err(Error::invalid(format!("key {edge}")).with_hint("Give the key without it.")),
        None => Ok(()),
    }
}

pub(crate) fn check_extra(json: &str) -> Result<(), Error> {
    if json.len() > MAX_EXTRA_BYTES {
        let hint = format!("At most {MAX_EXTRA_BYTES} bytes of JSON are allowed.");
        return Err(Error::invalid(format!("extra is {} bytes long", json.len())).with_hint(hint));
    }
    if with_whole_characters(json.to_owned()) != json {
        return Err(Error::invalid(format!("extra {LONE_SURROGATE}")));
    }
    if is_too_deep(json) {
        return Err(Error::invalid(format!("extra nests deeper than {MAX_DEPTH} levels")));
    }
    match serde_json::from_str::<IgnoredAny>(json) {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = Error::invalid(format!("extra is not JSON ({error})"));
            Err(error.with_hint("Give the text of one JSON value."))
        }
    }
}
