//! JSON on one line: as it came, without the white space between its tokens.

use crate::json::text::{JsonText, unicode_escape};
use crate::json::value::Json;

/// Appends a value without white space between its tokens. Escapes stay as they are, but half of a surrogate pair becomes
/// `\ufffd`, because strict parsers reject it. The result is never longer than the value; the caller reserves that capacity.
pub(crate) fn push_compact(to: &mut String, json: Json<'_>) {
    push(to, json.as_str(), false);
}

/// Appends a text in quotes, in the same way.
pub(crate) fn push_quoted(to: &mut String, text: JsonText<'_>) {
    to.push('"');
    push(to, text.as_written(), true);
    to.push('"');
}

fn push(to: &mut String, json: &str, mut in_text: bool) {
    let bytes = json.as_bytes();
    let (mut at, mut copied) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' if !in_text => {
                to.push_str(&json[copied..at]);
                at += 1;
                copied = at;
            }
            b'"' => {
                in_text = !in_text;
                at += 1;
            }
            b'\\' if bytes.get(at + 1) == Some(&b'u') => {
                let (character, length) = unicode_escape(&bytes[at..]).unwrap_or((char::REPLACEMENT_CHARACTER, 6));
                if character == char::REPLACEMENT_CHARACTER {
                    to.push_str(&json[copied..at]);
                    to.push_str("\\ufffd");
                    copied = at + length;
                }
                at += length;
            }
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    to.push_str(&json[copied..]);
}
