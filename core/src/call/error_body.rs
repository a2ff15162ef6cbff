//! The body of a response without a record: what is kept of it, and the service's message in it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::with_whole_characters;
use crate::redact::Redactor;
use crate::text::{describe, without_mark};

/// How much of an error's body is kept.
const MAX_KEPT_BYTES: usize = 8 << 10;
/// How deeply an error's message may be nested.
const MAX_MESSAGE_DEPTH: u32 = 8;
/// The names of the members that may have it, in the order in which they count.
const NAMES: [&str; 5] = ["error", "message", "detail", "title", "error_description"];

/// The body of an error as text, without secrets and bounded. Bytes that are not UTF-8 are replaced. `cut`: the body's end is
/// missing.
pub(crate) fn bounded_text(body: &[u8], cut: bool, redactor: &Redactor<'_>) -> Option<String> {
    let body = without_mark(body);
    if body.is_empty() {
        return None;
    }
    // A secret may cross the bound, so the text is redacted first, and then cut.
    let mut text = redacted(&beginning(body, 2 * MAX_KEPT_BYTES, cut), redactor);
    let mut end = text.len().min(MAX_KEPT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    Some(text)
}

/// The service's message in an error's body, fit for a sentence and without secrets: `{"error": …}`, problem+json (RFC 9457),
/// `{"message": …}`, `{"error": {"message": …}}`, or the first line of plain text. HTML is a gateway's page and has no message.
pub(crate) fn service_message(body: &[u8], cut: bool, redactor: &Redactor<'_>) -> Option<String> {
    let body = beginning(without_mark(body), MAX_KEPT_BYTES, cut);
    let message = match message_of(&with_whole_characters(body.0.to_string())) {
        Ok(message) => redactor.redact(&message?).into_owned(),
        Err(_) => redacted(&body, redactor).trim().lines().next()?.trim().to_owned(),
    };
    let markup = message.starts_with('<') || message.starts_with('{') || message.starts_with('[');
    (!message.is_empty() && !markup).then(|| describe(&message))
}

/// A body's text up to a limit, and whether its end is missing.
fn beginning(body: &[u8], limit: usize, cut: bool) -> (Cow<'_, str>, bool) {
    (String::from_utf8_lossy(&body[..body.len().min(limit)]), cut || body.len() > limit)
}

fn redacted((text, cut): &(Cow<'_, str>, bool), redactor: &Redactor<'_>) -> String {
    if *cut { redactor.redact_cut(text) } else { redactor.redact(text) }.into_owned()
}

/// The message in a JSON text.
fn message_of(json: &str) -> Result<Option<String>, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(json);
    let message = Message { levels: MAX_MESSAGE_DEPTH }.deserialize(&mut json)?;
    json.end()?;
    Ok(message)
}

/// Reads the value itself if it is text, or else the first text among its members of those names, at most this many levels deep. What is not
/// among them is skipped, which takes no stack however deeply it is nested.
struct Message {
    levels: u32,
}

impl<'de> DeserializeSeed<'de> for Message {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Option<String>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Message {
    type Value = Option<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Option<String>, E> {
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<String>, A::Error> {
        let mut found = [const { None }; NAMES.len()];
        while let Some(name) = members.next_key::<Cow<'de, str>>()? {
            match (NAMES.iter().position(|known| **known == *name), self.levels.checked_sub(1)) {
                (Some(at), Some(levels)) => found[at] = members.next_value_seed(Message { levels })?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found.into_iter().flatten().next())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Option<String>, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Option<String>, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Option<String>, E> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_SECRETS: Redactor<'_> = Redactor::new(&[]);

    #[test]
    fn the_message_in_a_body_is_found_and_bounded() {
        for (body, words) in [
            (r#"{"error":"job not found"}"#, Some("job not found")),
            (r#"{"error":{"message":"no","code":1}}"#, Some("no")),
            (r#"{"message":"slow down"}"#, Some("slow down")),
            (r#"{"type":"x","title":"Bad","detail":"the prompt is bad"}"#, Some("the prompt is bad")),
            (r#"{"title":"Bad Gateway"}"#, Some("Bad Gateway")),
            (r#"{"error":null,"message":"m"}"#, Some("m")),
            (r#"{"error":{"code":1},"message":"m"}"#, Some("m")),
            (r#"{"message":"m","error":[true,1e999,{"error":"no"}]}"#, Some("m")),
            (
                r#"{"message":"m","error":{"error":{"error":{"error":{"error":{"error":{"error":{"error":"e"}}}}}}}}"#,
                Some("e"),
            ),
            (
                r#"{"message":"m","error":{"error":{"error":{"error":{"error":{"error":{"error":{"error":{"error":"e"}}}}}}}}}"#,
                Some("m"),
            ),
            (r#"{"error":"cut"}}"#, None),
            ("12", None),
            (r#"{"error":"unknown\u002c \ud800"}"#, Some("unknown, \u{fffd}")),
            (r#""just text""#, Some("just text")),
            ("upstream connect error\nline two", Some("upstream connect error")),
            ("\x1b[31mred", Some("\\u{1b}[31mred")),
            ("\u{feff}{\"error\":\"job not found\"}", Some("job not found")),
            ("\u{feff}upstream connect error", Some("upstream connect error")),
            ("<html><body>502</body></html>", None),
            (r#"{"error":"#, None),
            ("{}", None),
            ("[]", None),
            ("   ", None),
        ] {
            assert_eq!(service_message(body.as_bytes(), false, &NO_SECRETS).as_deref(), words, "{body}");
        }
        let deep = format!(r#"{{"a":{}1{},"error":"e"}}"#, "[".repeat(3000), "]".repeat(3000));
        assert_eq!(service_message(deep.as_bytes(), false, &NO_SECRETS).as_deref(), Some("e"));
        assert!(service_message(&[b'x'; 10_000], false, &NO_SECRETS).unwrap().chars().count() <= 301);
    }

    #[test]
    fn a_body_is_kept_as_text_up_to_its_bound() {
        assert_eq!(bounded_text(b"", false, &NO_SECRETS), None);
        assert_eq!(bounded_text(b"\xef\xbb\xbf", false, &NO_SECRETS), None);
        assert_eq!(bounded_text(b"a\xffb", false, &NO_SECRETS).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(bounded_text(&vec![b'x'; 100_000], false, &NO_SECRETS).unwrap().len(), MAX_KEPT_BYTES);
        assert!(bounded_text(&vec![0xff; 100_000], false, &NO_SECRETS).unwrap().len() <= MAX_KEPT_BYTES);
    }
}
