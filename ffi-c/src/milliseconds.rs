//! Times for C are whole milliseconds.

use std::time::Duration;

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
