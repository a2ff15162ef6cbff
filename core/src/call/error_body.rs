//! What an answer's head and body tell beyond a job's record: the service's words, and how long to wait.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use crate::json::value::Json;
use crate::redact::Redactor;
use crate::text::describe;

/// How much of an error's body is kept.
const MAX_ERROR_BODY_BYTES: usize = 8 << 10;
/// How many objects an error's words may lie within.
const MAX_WORDS_DEPTH: u32 = 8;
/// A longer `Retry-After` says no more than this one: ten years.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// `Retry-After` in either of its forms (RFC 9110 10.2.3). A date counts from the answer's own `Date` where there is
/// one, so that a wrong clock on this side does not shorten the wait. Anything else is as if it were not there.
pub(crate) fn retry_after(value: &str, date: Option<&str>, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let seconds = if value.starts_with(|c: char| c.is_ascii_digit())
        && !value.contains(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | ' ')))
    {
        // A fraction is no RFC form, but some gateways send it, and its meaning is plain; so is that of a list, which a proxy
        // makes of two fields.
        let all: Option<Vec<Duration>> =
            value.split(',').map(|number| crate::duration::parse_seconds(number.trim())).collect();
        all?.into_iter().max()?
    } else {
        let at = httpdate::parse_http_date(value).ok()?;
        let from = date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
        at.duration_since(from).unwrap_or(Duration::ZERO)
    };
    Some(seconds.min(MAX_RETRY_AFTER))
}

/// The body of an error as text, without secrets and bounded. Bytes that are no UTF-8 are replaced. `cut` says that the body has
/// no end.
pub(crate) fn bounded_text(body: &[u8], cut: bool, redactor: &Redactor<'_>) -> Option<String> {
    if body.is_empty() {
        return None;
    }
    // What stands across the bound is redacted whole, and then cut.
    let mut text = redacted(&beginning(body, 2 * MAX_ERROR_BODY_BYTES, cut), redactor);
    let mut end = text.len().min(MAX_ERROR_BODY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    Some(text)
}

/// The best words in an error's body, fit for a sentence and without secrets: `{"error": …}`, problem+json (RFC 9457),
/// `{"message": …}`, `{"error": {"message": …}}`, or the first line of plain text. HTML is a gateway's page and says nothing.
pub(crate) fn service_message(body: &[u8], cut: bool, redactor: &Redactor<'_>) -> Option<String> {
    let body = beginning(body, MAX_ERROR_BODY_BYTES, cut);
    let words = match Json::read(&body.0) {
        Ok(json) => redactor.redact(&words_of(json, MAX_WORDS_DEPTH)?).into_owned(),
        // A secret may be folded over lines, so all of them are looked through.
        Err(_) => redacted(&body, redactor).trim().lines().next()?.trim().to_owned(),
    };
    let markup = words.starts_with('<') || words.starts_with('{') || words.starts_with('[');
    (!words.is_empty() && !markup).then(|| describe(&words))
}

/// A body's text up to a limit, and whether it ends before its end.
fn beginning(body: &[u8], limit: usize, cut: bool) -> (Cow<'_, str>, bool) {
    (String::from_utf8_lossy(&body[..body.len().min(limit)]), cut || body.len() > limit)
}

fn redacted((text, cut): &(Cow<'_, str>, bool), redactor: &Redactor<'_>) -> String {
    if *cut { redactor.redact_cut(text) } else { redactor.redact(text) }.into_owned()
}

/// The text that a value is, or the first that its members of these names have, at most so many levels below.
fn words_of(json: Json<'_>, levels: u32) -> Option<Cow<'_, str>> {
    if let Some(text) = json.as_text() {
        return Some(text.decode()).filter(|words| !words.is_empty());
    }
    let names = ["error", "message", "detail", "title", "error_description"];
    let below = levels.checked_sub(1)?;
    names.iter().find_map(|name| words_of(json.member(name)?, below))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_SECRETS: Redactor<'_> = Redactor::new([b"", b""]);

    #[test]
    fn retry_after_is_read_in_both_forms_and_survives_the_rest() {
        let now = httpdate::parse_http_date("Fri, 20 Nov 2026 10:00:00 GMT").unwrap();
        let read = |value, date| retry_after(value, date, now).map(|d| d.as_secs_f64());
        let ten_years = Some(MAX_RETRY_AFTER.as_secs_f64());
        for (value, date, seconds) in [
            ("0", None, Some(0.0)),
            ("120", None, Some(120.0)),
            (" 7 ", None, Some(7.0)),
            ("1.5", None, Some(1.5)),
            ("5, 60,7", None, Some(60.0)),
            ("5,", None, None),
            ("5 6", None, None),
            ("99999999999999999999999999", None, ten_years),
            ("Fri, 20 Nov 2026 10:00:30 GMT", None, Some(30.0)),
            ("Fri, 20 Nov 2026 09:00:00 GMT", None, Some(0.0)),
            ("Fri, 20 Nov 2026 12:00:30 GMT", Some("Fri, 20 Nov 2026 12:00:00 GMT"), Some(30.0)),
            ("Fri, 20 Nov 2026 10:00:30 GMT", Some("nonsense"), Some(30.0)),
            ("-1", None, None),
            ("+1", None, None),
            ("1e3", None, None),
            ("1.2.3", None, None),
            ("\u{b2}", None, None),
            ("soon", None, None),
            ("", None, None),
            ("NaN", None, None),
            ("inf", None, None),
        ] {
            assert_eq!(read(value, date), seconds, "{value:?} {date:?}");
        }
    }

    #[test]
    fn the_service_message_of_any_body_are_found_and_bounded() {
        for (body, words) in [
            (r#"{"error":"job not found"}"#, Some("job not found")),
            (r#"{"error":{"message":"no","code":1}}"#, Some("no")),
            (r#"{"message":"slow down"}"#, Some("slow down")),
            (r#"{"type":"x","title":"Bad","detail":"the prompt is bad"}"#, Some("the prompt is bad")),
            (r#"{"title":"Bad Gateway"}"#, Some("Bad Gateway")),
            (r#"{"error":null,"message":"m"}"#, Some("m")),
            (r#"{"error":{"code":1},"message":"m"}"#, Some("m")),
            (r#"{"error":"unknown\u002c \ud800"}"#, Some("unknown, \u{fffd}")),
            (r#""just text""#, Some("just text")),
            ("upstream connect error\nline two", Some("upstream connect error")),
            ("\x1b[31mred", Some("\\u{1b}[31mred")),
            ("<html><body>502</body></html>", None),
            (r#"{"error":"#, None),
            ("{}", None),
            ("[]", None),
            ("   ", None),
        ] {
            assert_eq!(service_message(body.as_bytes(), false, &NO_SECRETS).as_deref(), words, "{body}");
        }
        assert!(service_message(&[b'x'; 10_000], false, &NO_SECRETS).unwrap().chars().count() <= 301);
    }

    #[test]
    fn a_body_is_kept_as_text_up_to_its_bound() {
        assert_eq!(bounded_text(b"", false, &NO_SECRETS), None);
        assert_eq!(bounded_text(b"a\xffb", false, &NO_SECRETS).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(bounded_text(&vec![b'x'; 100_000], false, &NO_SECRETS).unwrap().len(), MAX_ERROR_BODY_BYTES);
        assert!(bounded_text(&vec![0xff; 100_000], false, &NO_SECRETS).unwrap().len() <= MAX_ERROR_BODY_BYTES);
    }
}
