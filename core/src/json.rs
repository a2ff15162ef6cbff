//! JSON kept as text: serde_json checks it and divides it; values stay as they were written.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// How deep a record may nest. Programs read it with parsers of their own, whose stacks have an end.
pub(crate) const MAX_DEPTH: usize = 128;

/// Calls `each` with every member of an object, in order: its key and its value as they were written, the key with its quotes.
///
/// # Errors
/// The text is not one JSON object, and nothing else.
pub(crate) fn each_member<'a>(object: &'a str, each: impl FnMut(&'a str, &'a str)) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(object);
    reader.deserialize_map(Members(each))?;
    reader.end()
}

struct Members<F>(F);

impl<'a, F: FnMut(&'a str, &'a str)> Visitor<'a> for Members<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(mut self, mut members: M) -> Result<(), M::Error> {
        while let Some((key, value)) = members.next_entry::<&RawValue, &RawValue>()? {
            (self.0)(key.get(), value.get());
        }
        Ok(())
    }
}

/// A JSON string decoded, if the value is one. Half of a surrogate pair (`\ud800`) is no character, so a string with one is none.
pub(crate) fn text(value: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

    let quoted = value.strip_prefix('"')?.strip_suffix('"')?;
    match quoted.contains('\\') {
        true => serde_json::from_str(value).map(|Text(text)| text).ok(),
        false => Some(Cow::Borrowed(quoted)),
    }
}

/// JSON whose strings have only whole characters: half of a surrogate pair (`\ud83d` alone) becomes U+FFFD. JavaScript leaves halves
/// where it cuts a text, and strict parsers refuse them.
pub(crate) fn with_whole_characters(mut json: String) -> String {
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        at += match (code_unit(&json, at), code_unit(&json, at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                json.replace_range(at..at + 6, "\\ufffd");
                6
            }
            _ => 2,
        };
    }
    json
}

fn code_unit(json: &str, at: usize) -> Option<u32> {
    u32::from_str_radix(json.get(at..at + 6)?.strip_prefix("\\u")?, 16).ok()
}

/// Appends JSON without the white space between its tokens.
pub(crate) fn push_compact(to: &mut String, json: &str) {
    let mut copied = 0;
    // Most JSON comes without white space, and is copied at once.
    if json.bytes().any(|byte| byte <= b' ') {
        for (at, _) in outside_texts(json).filter(|(_, byte)| *byte <= b' ') {
            to.push_str(&json[copied..at]);
            copied = at + 1;
        }
    }
    to.push_str(&json[copied..]);
}

/// Whether JSON nests deeper than [`MAX_DEPTH`]. Asked before a parser, whose memory grows with the depth.
pub(crate) fn is_too_deep(json: &str) -> bool {
    let opens = |byte: u8| matches!(byte, b'{' | b'[');
    // Most JSON has fewer objects and lists in all.
    if json.bytes().filter(|byte| opens(*byte)).count() <= MAX_DEPTH {
        return false;
    }
    let mut depth = 0_usize;
    outside_texts(json).any(|(_, byte)| {
        match byte {
            b'}' | b']' => depth = depth.saturating_sub(1),
            byte => depth += usize::from(opens(byte)),
        }
        depth > MAX_DEPTH
    })
}

/// The bytes of JSON that are in no string, each with its place.
fn outside_texts(json: &str) -> impl Iterator<Item = (usize, u8)> {
    let (mut in_text, mut is_escaped) = (false, false);
    json.bytes().enumerate().filter(move |(_, byte)| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match byte {
            b'\\' => is_escaped = true,
            b'"' => in_text = !in_text,
            _ => return !in_text,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_members_of_an_object_are_passed_on_as_they_were_written() {
        let members = |object| {
            let mut members = Vec::new();
            each_member(object, |key, value| members.push((key, value))).map(|()| members)
        };
        let object = " { \"a\" : 1.10,\"\\u0061\":[ 1e999 , \"\\ud800\"],\n\"\\udc00\":{\"$serde_json::private::RawValue\":\"[\"}} ";
        let expected = [
            ("\"a\"", "1.10"),
            ("\"\\u0061\"", "[ 1e999 , \"\\ud800\"]"),
            ("\"\\udc00\"", "{\"$serde_json::private::RawValue\":\"[\"}"),
        ];
        assert_eq!(members(object).unwrap(), expected);
        for wrong in ["", "{", "{\"a\":1", "{\"a\":1,}", "{\"a\":01}", "{} x", "[]", "{\"a\":\"\t\"}", "{'a':1}"] {
            assert!(members(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_string_is_decoded_and_nothing_else_is_a_text() {
        for (value, decoded) in [
            ("\"\"", Some("")),
            ("\"plain é\"", Some("plain é")),
            (r#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00\u0000""#, Some("\"\\/\u{8}\u{c}\n\r\tA\u{1f600}\0")),
            (r#""a\ud800b""#, None),
            ("null", None),
            ("7", None),
            ("[\"a\"]", None),
        ] {
            assert_eq!(text(value).as_deref(), decoded, "{value}");
        }
    }

    #[test]
    fn half_of_a_surrogate_pair_becomes_the_replacement_character() {
        for (json, whole) in [
            (r#""\\ud800 \n é""#, r#""\\ud800 \n é""#),
            (r#""a\ud83d\ude00b""#, r#""a\ud83d\ude00b""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00\uD83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\uDE00""#, r#""\ufffd\ud83d\uDE00""#),
            (r#""\ud83dx\ud83d\n""#, r#""\ufffdx\ufffd\n""#),
            ("\"\\é\"", "\"\\é\""),
            ("\"\\u12", "\"\\u12"),
        ] {
            assert_eq!(with_whole_characters(json.to_owned()), whole);
        }
    }

    #[test]
    fn white_space_is_left_out_except_in_strings() {
        for (json, compact) in [
            (" [ 1 ,\r\n\t2 ] ", "[1,2]"),
            (r#"{ "a b" : " \" } " , "c\\" : "\\ " }"#, r#"{"a b":" \" } ","c\\":"\\ "}"#),
            ("[\"\u{7f}é 日\"]", "[\"\u{7f}é 日\"]"),
        ] {
            let mut out = String::new();
            push_compact(&mut out, json);
            assert_eq!(out, compact);
        }
    }

    #[test]
    fn json_may_nest_128_levels_deep_and_no_deeper() {
        for (open, close) in [("[", "]"), ("{\"[[{\\\"\":", "}")] {
            let nested = |depth: usize| format!("[{}1{}]", open.repeat(depth - 1), close.repeat(depth - 1));
            assert!(!is_too_deep(&nested(128)) && is_too_deep(&nested(129)), "{open}");
        }
        assert!(!is_too_deep(&format!("[{}1]", "[[]],".repeat(1000))));
    }
}
