//! Compares two values without building a tree: one number per value, independent of how the JSON was written.

use std::hash::{DefaultHasher, Hasher};

use crate::json::scan::Continue;
use crate::json::text::{JsonText, Piece};
use crate::json::tokens::JsonToken;
use crate::json::value::Json;

/// How many bytes are read before the caller is asked again whether to continue.
const CHECK_EVERY: usize = 64 << 10;

/// An object or list whose end has not been read.
struct Open {
    is_object: bool,
    /// Combines the values so far: for an object independent of their order.
    sum: u64,
    /// The hash of the key whose value comes next.
    key: u64,
}

/// A value's 64-bit hash. White space, escapes and the order of an object's members do not change it. `None` if the caller stopped it.
pub(crate) fn fingerprint(json: Json<'_>, proceed: Continue<'_>) -> Option<u64> {
    let (mut tokens, mut check_at) = (json.tokens(), CHECK_EVERY);
    let mut open: Vec<Open> = Vec::new();
    while let Some(token) = tokens.next() {
        if tokens.at() >= check_at {
            check_at = tokens.at() + CHECK_EVERY;
            if !proceed() {
                return None;
            }
        }
        let value = match token {
            JsonToken::Object | JsonToken::List => {
                open.push(Open { is_object: matches!(token, JsonToken::Object), sum: 0, key: 0 });
                continue;
            }
            JsonToken::Key(key) => {
                if let Some(inner) = open.last_mut() {
                    inner.key = text_hash(key);
                }
                continue;
            }
            JsonToken::End => open.pop().map_or(0, |ended| mixed(if ended.is_object { 1 } else { 2 }, ended.sum)),
            JsonToken::Text(text) => mixed(3, text_hash(text)),
            JsonToken::Number(digits) => mixed(4, text_hash(JsonText::written(digits))),
            JsonToken::Bool(given) => mixed(5, u64::from(given)),
            JsonToken::Null => NULL,
        };
        match open.last_mut() {
            None => return Some(value),
            Some(object) if object.is_object => object.sum = object.sum.wrapping_add(mixed(object.key, value)),
            Some(list) => list.sum = mixed(list.sum, value),
        }
    }
    Some(NULL)
}

const NULL: u64 = 6;

/// Hashes two numbers into one.
pub(crate) fn mixed(one: u64, other: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(one);
    hasher.write_u64(other);
    hasher.finish()
}

/// The hash of a decoded text.
pub(crate) fn text_hash(text: JsonText<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for piece in text.pieces() {
        match piece {
            Piece::Plain(plain) => hasher.write(plain.as_bytes()),
            Piece::Escaped(character) => hasher.write(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    hasher.finish()
}
