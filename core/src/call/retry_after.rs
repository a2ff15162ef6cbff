//! `Retry-After`: read from a response's head, and written for a person.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::timestamp::iso;

/// A longer `Retry-After` is shortened to ten years.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
const MINUTE_MS: u64 = 60_000;

/// `Retry-After` in either of its forms (RFC 9110 10.2.3). A date counts from the response's own `Date` if it has
/// one, because the clock here may be wrong. A value of another form is ignored.
pub(crate) fn parse_retry_after(value: &str, date: Option<&str>, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    let seconds = if value.starts_with(|c: char| c.is_ascii_digit())
        && !value.contains(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | ' ')))
    {
        // The RFC has no fractions, but some gateways send them, and the meaning is clear. So is that of a list, which a proxy
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

/// When to retry, in seconds and by the clock: with seconds if it is soon, with the date if the clock shows this minute again by then.
/// Both are rounded up, because a retry that comes too early is refused again.
pub(crate) fn retry_after_text(asked: Duration, now: SystemTime) -> String {
    if asked.is_zero() {
        return "Retry now.".to_owned();
    }
    let seconds = asked.as_secs() + u64::from(asked.subsec_nanos() > 0);
    let now_ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let step_ms = if seconds < 120 { 1_000 } else { MINUTE_MS };
    let at = now_ms.saturating_add(seconds.saturating_mul(1000)).div_ceil(step_ms).saturating_mul(step_ms);
    let moment = iso(at);
    let (date, time) = moment.split_once('T').unwrap_or_default();
    let clock = time.get(..if seconds < 120 { 8 } else { 5 }).unwrap_or_default();
    let is_far = at / MINUTE_MS >= now_ms / MINUTE_MS + 24 * 60;
    let date = if is_far { format!("{date} ") } else { String::new() };
    format!("Retry after {seconds} s ({date}{clock} UTC).")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_read_in_both_forms_and_ignored_in_others() {
        let now = httpdate::parse_http_date("Fri, 20 Nov 2026 10:00:00 GMT").unwrap();
        let read = |value, date| parse_retry_after(value, date, now).map(|d| d.as_secs_f64());
        let ten_years = Some(315_360_000.0);
        for (value, date, seconds) in [
            ("0", None, Some(0.0)),
            ("120", None, Some(120.0)),
            (" 7 ", None, Some(7.0)),
            ("1.5", None, Some(1.5)),
            (".5", None, None),
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

    fn at(date: &str) -> SystemTime {
        httpdate::parse_http_date(date).unwrap()
    }

    #[test]
    fn a_time_to_retry_is_in_seconds_and_by_the_clock() {
        let now = at("Sun, 22 Nov 2026 14:42:00 GMT");
        for (ms, text) in [
            (0, "Retry now."),
            (1, "Retry after 1 s (14:42:01 UTC)."),
            (30_000, "Retry after 30 s (14:42:30 UTC)."),
            (119_000, "Retry after 119 s (14:43:59 UTC)."),
            (120_000, "Retry after 120 s (14:44 UTC)."),
            (3_600_000, "Retry after 3600 s (15:42 UTC)."),
            (3_600_500, "Retry after 3601 s (15:43 UTC)."),
            (36_000_000, "Retry after 36000 s (00:42 UTC)."),
            (86_340_000, "Retry after 86340 s (14:41 UTC)."),
            (86_340_001, "Retry after 86341 s (2026-11-23 14:42 UTC)."),
            (86_400_000, "Retry after 86400 s (2026-11-23 14:42 UTC)."),
            (172_800_000, "Retry after 172800 s (2026-11-24 14:42 UTC)."),
        ] {
            assert_eq!(retry_after_text(Duration::from_millis(ms), now), text);
        }
        let soon = retry_after_text(Duration::from_secs(120), now + Duration::from_secs(1));
        assert_eq!(soon, "Retry after 120 s (14:45 UTC).", "a minute that has begun is not over");
        let day = Duration::from_secs(86_400);
        let decade = Duration::from_secs(315_360_000);
        assert_eq!(retry_after_text(decade, now), "Retry after 315360000 s (2036-11-19 14:42 UTC).");
        assert_eq!(
            retry_after_text(day, UNIX_EPOCH - day),
            "Retry after 86400 s (1970-01-02 00:00 UTC).",
            "a clock that is wrong"
        );
    }
}
