//! Times for C are whole milliseconds.

use std::time::Duration;

use agentjob_core::{Error, MAX_TIMEOUT};

/// The longest time that a setting accepts.
pub(crate) const MAX_MS: u64 = MAX_TIMEOUT.as_millis() as u64;

/// A setting's time, which is at least `min` (0 or 1) and at most 7 days. The core would speak of seconds.
pub(crate) fn checked_time(name: &str, ms: u64, min: u64) -> Result<Duration, Error> {
    if ms < min || ms > MAX_MS {
        let given = match ms {
            u64::MAX => "AGENTJOB_FOREVER".to_owned(),
            // A negative number that was converted to an unsigned one.
            ms if i64::try_from(ms).is_err() => "negative".to_owned(),
            ms => ms.to_string(),
        };
        return Err(Error::invalid_argument(format!("{name} is {given}"))
            .with_hint(format!("Give {min} to {MAX_MS} milliseconds (7 days).")));
    }
    Ok(Duration::from_millis(ms))
}

/// The shortest and the longest pause between two polls.
pub(crate) fn checked_interval(min_ms: u64, max_ms: u64) -> Result<(Duration, Duration), Error> {
    let (min, max) = (checked_time("min_ms", min_ms, 1)?, checked_time("max_ms", max_ms, 1)?);
    if min > max {
        return Err(Error::invalid_argument(format!("min_ms is {min_ms}, more than max_ms, {max_ms}")));
    }
    Ok((min, max))
}

/// Milliseconds, rounded up, so that a program that sleeps this long has slept long enough.
pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Milliseconds, rounded up; -1 for none.
pub(crate) fn milliseconds_or_none(duration: Option<Duration>) -> i64 {
    duration.map_or(-1, |duration| i64::try_from(milliseconds(duration)).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_out_of_range_is_refused_in_its_own_unit() {
        assert_eq!(checked_time("grace_ms", 0, 0).unwrap(), Duration::ZERO);
        assert_eq!(checked_time("timeout_ms", MAX_MS, 1).unwrap(), MAX_TIMEOUT);
        for (ms, min, wanted) in [
            (0, 1, "timeout_ms is 0. Give 1 to 604800000 milliseconds (7 days)."),
            (MAX_MS + 1, 0, "timeout_ms is 604800001. Give 0 to 604800000 milliseconds (7 days)."),
            (-2_i64 as u64, 0, "timeout_ms is negative. Give 0 to 604800000 milliseconds (7 days)."),
            (u64::MAX, 1, "timeout_ms is AGENTJOB_FOREVER. Give 1 to 604800000 milliseconds (7 days)."),
        ] {
            assert_eq!(checked_time("timeout_ms", ms, min).unwrap_err().message(), wanted);
        }
    }

    #[test]
    fn a_time_is_never_rounded_down() {
        assert_eq!(milliseconds(Duration::ZERO), 0);
        assert_eq!(milliseconds(Duration::from_nanos(1)), 1);
        assert_eq!(milliseconds(Duration::from_millis(30_000)), 30_000);
        assert_eq!(milliseconds(Duration::from_micros(1_001)), 2);
        assert_eq!(milliseconds(Duration::MAX), u64::MAX);
        assert_eq!(milliseconds_or_none(None), -1);
        assert_eq!(milliseconds_or_none(Some(Duration::MAX)), i64::MAX);
    }
}
