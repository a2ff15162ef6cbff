//! Durations as callers give them: in seconds, checked; errors name the setting.

use std::time::Duration;

use crate::error::Error;

/// The longest duration that any setting accepts: 7 days.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Converts seconds, as scripting languages give them, to a duration. `name` is the setting, for the error.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument): it is not a number more than 0 and at most 604800 (7 days).
pub fn duration_from_seconds(name: &str, seconds: f64) -> Result<Duration, Error> {
    if seconds.is_nan() || seconds <= 0.0 || seconds > MAX_TIMEOUT.as_secs_f64() {
        return Err(not_seconds(name, &number_text(seconds)));
    }
    // A positive time below a nanosecond would round to zero.
    Ok(Duration::from_secs_f64(seconds).max(Duration::from_nanos(1)))
}

/// The same for a setting that may be 0.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument): it is not a number from 0 to 604800 (7 days).
pub fn duration_from_seconds_or_zero(name: &str, seconds: f64) -> Result<Duration, Error> {
    if seconds == 0.0 {
        return Ok(Duration::ZERO);
    }
    duration_from_seconds(name, seconds).map_err(|_| {
        Error::invalid(format!("{name} is {}", number_text(seconds)))
            .with_hint("Give a number of seconds from 0 to 604800 (7 days).")
    })
}

/// A number for a sentence: `7`, `0.25`, `1e300`.
pub(crate) fn number_text(number: f64) -> String {
    format!("{number:?}").trim_end_matches(".0").to_owned()
}

/// Checks that a time is more than 0 and at most 7 days.
pub(crate) fn check_time(name: &str, time: Duration) -> Result<Duration, Error> {
    if time.is_zero() || time > MAX_TIMEOUT {
        return Err(not_seconds(name, &number_text(time.as_secs_f64())));
    }
    Ok(time)
}

/// The error for a time that is not more than 0 and at most 7 days.
pub(crate) fn not_seconds(name: &str, given: &str) -> Error {
    Error::invalid(format!("{name} is {given}")).with_hint("Give more than 0 and at most 604800 seconds (7 days).")
}

/// Parses seconds in plain decimal digits, with or without a fraction: no sign, no exponent, no `inf`. Longer than a [`Duration`] can be
/// counts as the longest.
pub(crate) fn parse_seconds(text: &str) -> Option<Duration> {
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let seconds: f64 = text.parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_decimals_are_seconds() {
        for (text, ms) in
            [("0", 0), ("7", 7000), ("7.5", 7500), (".25", 250), ("5.", 5000), ("007", 7000), ("0.001", 1)]
        {
            assert_eq!(parse_seconds(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", ".", "-1", "+1", "1e3", "1.2.3", " 1", "inf", "NaN", "infinity", "0x1", "\u{b2}", "1_0"] {
            assert_eq!(parse_seconds(text), None, "{text}");
        }
        assert_eq!(parse_seconds(&"9".repeat(400)), Some(Duration::MAX));
    }

    #[test]
    fn a_number_in_a_sentence_is_short() {
        for (number, text) in [(7.0, "7"), (0.25, "0.25"), (-1.0, "-1"), (1e300, "1e300"), (604_800.1, "604800.1")] {
            assert_eq!(number_text(number), text);
        }
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(number_text), ["NaN", "inf", "-inf"]);
    }
}
