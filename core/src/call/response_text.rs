//! What an error says of a response: its reason and its hint. Pure, so that every sentence is in a test.

use std::borrow::Cow;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::delivery::Delivery;
use crate::error::kind::ErrorKind;
use crate::timestamp::iso;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The reason for a status that is no success. `said`: the service's own message.
pub(crate) fn returned(status: u16, said: Option<&str>) -> String {
    match said {
        Some(said) => format!("the service returned {status} ({said})"),
        None => format!("the service returned {status}"),
    }
}

/// The reason for a success whose record came whole, and is not used. `why` is about the record.
pub(crate) fn unusable_record(status: u16, why: &str) -> String {
    format!("the record in the response ({status}) cannot be used: {why}")
}

/// The reason for a success whose record did not come whole.
pub(crate) fn incomplete_record(status: u16, why: &str) -> String {
    format!("the record in the response ({status}) is incomplete: {why}")
}

/// What helps against this kind of error, whatever the call was.
pub(crate) fn hint_of_kind(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Authentication => Some("Check the API key: it may be wrong or expired."),
        ErrorKind::PermissionDenied => Some("The API key may not do this, or not from this address."),
        ErrorKind::NotFound => Some("Check the job id, the project id and the base URL."),
        ErrorKind::Redirect => Some("Redirects are never followed: check the base URL."),
        _ => None,
    }
}

/// What helps after a status that is no success. `asked`: how long the service asked to wait, from `now` on.
pub(crate) fn hint(
    kind: ErrorKind,
    delivery: Option<Delivery>,
    asked: Option<Duration>,
    now: SystemTime,
) -> Option<Cow<'static, str>> {
    let when = asked.map(|asked| retry_after(asked, now));
    match (kind, delivery) {
        (ErrorKind::RateLimit, _) => {
            let when = when.as_deref().unwrap_or("Try again later.");
            Some(format!("The project's hourly limit is used up. {when}").into())
        }
        // What may have arrived is checked first, whenever the service wants the next request.
        (_, Some(Delivery::Unknown | Delivery::Accepted)) => hint_of_kind(kind).map(Cow::Borrowed),
        _ => hint_of_kind(kind).map(Cow::Borrowed).or(when.map(Cow::Owned)),
    }
}

/// When to retry, in seconds and by the clock: with seconds if it is soon, with the date if it is more than a day away. Both are
/// rounded up, because a retry that comes too early is refused again.
fn retry_after(asked: Duration, now: SystemTime) -> String {
    if asked.is_zero() {
        return "Retry now.".to_owned();
    }
    let seconds = asked.as_secs() + u64::from(asked.subsec_nanos() > 0);
    let now_ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    let step_ms = if seconds < 120 { 1_000 } else { 60_000 };
    let at = now_ms.saturating_add(seconds.saturating_mul(1000)).div_ceil(step_ms).saturating_mul(step_ms);
    let moment = iso(at);
    let (date, time) = moment.split_once('T').unwrap_or_default();
    let clock = time.get(..if seconds < 120 { 8 } else { 5 }).unwrap_or_default();
    let date = if asked > DAY { format!("{date} ") } else { String::new() };
    format!("Retry after {seconds} s ({date}{clock} UTC).")
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (86_400_000, "Retry after 86400 s (14:42 UTC)."),
            (172_800_000, "Retry after 172800 s (2026-11-24 14:42 UTC)."),
        ] {
            assert_eq!(retry_after(Duration::from_millis(ms), now), text);
        }
        let decade = Duration::from_secs(315_360_000);
        assert_eq!(retry_after(decade, now), "Retry after 315360000 s (2036-11-19 14:42 UTC).");
        assert_eq!(retry_after(DAY, UNIX_EPOCH - DAY), "Retry after 86400 s (00:00 UTC).", "a clock that is wrong");
    }

    #[test]
    fn a_hint_says_when_unless_the_message_may_have_arrived() {
        let now = at("Sun, 22 Nov 2026 14:42:00 GMT");
        let hour = Some(Duration::from_secs(3600));
        let limit = "The project's hourly limit is used up. Retry after 3600 s (15:42 UTC).";
        let rows = [
            (ErrorKind::RateLimit, Some(Delivery::Rejected), hour, Some(limit)),
            (ErrorKind::RateLimit, None, hour, Some(limit)),
            (ErrorKind::RateLimit, None, None, Some("The project's hourly limit is used up. Try again later.")),
            (ErrorKind::Server, None, hour, Some("Retry after 3600 s (15:42 UTC).")),
            (ErrorKind::Server, Some(Delivery::NotSent), hour, Some("Retry after 3600 s (15:42 UTC).")),
            (ErrorKind::Server, Some(Delivery::Unknown), hour, None),
            (ErrorKind::Server, None, None, None),
            (ErrorKind::NotFound, None, hour, Some("Check the job id, the project id and the base URL.")),
        ];
        for (kind, delivery, asked, expected) in rows {
            assert_eq!(hint(kind, delivery, asked, now).as_deref(), expected, "{kind} {delivery:?}");
        }
    }
}
