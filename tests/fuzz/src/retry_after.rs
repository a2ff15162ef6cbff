//! `Retry-After`, against `httpdate`, `jiff` and integers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentjob_core::fuzzing;
use jiff::Timestamp;
use jiff::fmt::rfc2822;

const NOW: Duration = Duration::from_secs(1_795_000_000);
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (value, date) = text.split_once('\n').map_or((text, None), |(value, date)| (value, Some(date)));
    let now = UNIX_EPOCH + NOW;
    let ours = fuzzing::retry_after(value, date, now);
    assert!(ours.is_none_or(|pause| pause <= LONGEST), "{text:?}: {ours:?}");
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = value.parse::<u64>().unwrap_or(u64::MAX);
        assert_eq!(ours, Some(Duration::from_secs(seconds).min(LONGEST)), "{text:?}");
    }
    let from = date.and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    if let Ok(at) = httpdate::parse_http_date(value) {
        assert_eq!(ours, Some(at.duration_since(from).unwrap_or(Duration::ZERO).min(LONGEST)), "{text:?}");
    }
    if let Some(ours) = ours.filter(|_| httpdate::parse_http_date(value).is_err()) {
        // A number, or several with commas between them: the longest counts.
        let theirs = value.split(',').map(|number| number.trim().parse::<f64>().unwrap_or(f64::NAN));
        let longest = theirs.reduce(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) });
        let longest = longest.unwrap_or(f64::NAN).min(LONGEST.as_secs_f64());
        assert!((ours.as_secs_f64() - longest).abs() < 0.001, "{text:?}: {ours:?}");
    }
    if let Some(at) = imf_fixdate(value) {
        let pause = SystemTime::from(at).duration_since(from).unwrap_or(Duration::ZERO);
        assert_eq!(ours, Some(pause.min(LONGEST)), "{text:?}");
    }
}

/// What jiff reads, if it writes the same text again: then it is the date that RFC 9110 prefers.
fn imf_fixdate(value: &str) -> Option<Timestamp> {
    let at = rfc2822::parse(value).ok()?.timestamp();
    let again = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&at).ok()?;
    (again == value && at >= Timestamp::UNIX_EPOCH).then_some(at)
}
