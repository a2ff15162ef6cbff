//! Times as callers give them: checked, in seconds, and named when one is wrong.

use std::time::Duration;

use crate::error::Error;

/// The longest of any time that can be set.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A time in seconds as scripts give it, checked: a number, more than 0, at most 7 days.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) that names `name`.
pub fn duration_from_seconds(name: &str, seconds: f64) -> Result<Duration, Error> {
    if seconds.is_nan() || seconds <= 0.0 || seconds > MAX_TIMEOUT.as_secs_f64() {
        return Err(not_seconds(name, &short(seconds)));
    }
    // Below a nanosecond a positive time would round to none at all.
    Ok(Duration::from_secs_f64(seconds).max(Duration::from_nanos(1)))
}

/// The same for a time that may be none: 0, or more than 0 and at most 7 days.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) that names `name`.
pub fn duration_from_seconds_or_zero(name: &str, seconds: f64) -> Result<Duration, Error> {
    if seconds == 0.0 {
        return Ok(Duration::ZERO);
    }
    duration_from_seconds(name, seconds).map_err(|_| {
        Error::invalid(format!("{name} is {}", short(seconds)))
            .with_hint("Give a number of seconds from 0 to 604800 (7 days).")
    })
}

/// A number in a sentence; one of three hundred digits is no help.
pub(crate) fn short(number: f64) -> String {
    // serde_json's printer, which is there anyway: std's own would be 13 KB more.
    match serde_json::Number::from_f64(number) {
        Some(finite) => finite.to_string().trim_end_matches(".0").to_owned(),
        None if number.is_nan() => "NaN".to_owned(),
        None if number > 0.0 => "inf".to_owned(),
        None => "-inf".to_owned(),
    }
}

/// Refuses a time that is none or longer than 7 days.
pub(crate) fn check_time(name: &str, time: Duration) -> Result<Duration, Error> {
    if time.is_zero() || time > MAX_TIMEOUT {
        return Err(not_seconds(name, &short(time.as_secs_f64())));
    }
    Ok(time)
}

pub(crate) fn not_seconds(name: &str, given: &str) -> Error {
    Error::invalid(format!("{name} is {given}")).with_hint("Give more than 0 and at most 604800 seconds (7 days).")
}

/// Seconds as plain decimal digits.
pub(crate) fn decimal(text: &str) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || text.len() <= usize::from(text.contains('.')) {
        return None;
    }
    let seconds =
        whole.bytes().fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    let nanos =
        part.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Some(Duration::new(seconds, nanos))
}
