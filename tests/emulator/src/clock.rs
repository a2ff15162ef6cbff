//! Time as the service shows it: ISO 8601 in UTC with milliseconds.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One moment, known on both clocks, so that a monotonic [`Instant`] can be shown as a date.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) started: Instant,
    wall: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), wall }
    }

    /// `now` as `2026-01-31T23:59:59.123Z`.
    pub(crate) fn date(&self, now: Instant) -> String {
        iso8601(self.wall + now.saturating_duration_since(self.started))
    }

    /// Whole milliseconds from the start to `now`.
    pub(crate) fn since_start_ms(&self, now: Instant) -> u64 {
        u64::try_from(now.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX)
    }
}

/// The moment `since_epoch` after 1970-01-01T00:00:00Z, with milliseconds.
fn iso8601(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = since_epoch.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar. The year is taken to begin in
/// March, which puts the leap day last and makes a month's first day one linear formula.
fn civil(days_since_epoch: u64) -> (u64, u64, u64) {
    let days = days_since_epoch + 719_468; // from 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days_and_year_ends() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00.005Z"),
            (951_782_400, "2000-02-29T00:00:00.005Z"),
            (1_709_251_199, "2024-02-29T23:59:59.005Z"),
            (1_767_225_599, "2025-12-31T23:59:59.005Z"),
            (4_107_542_400, "2100-03-01T00:00:00.005Z"),
        ] {
            assert_eq!(iso8601(Duration::from_secs(seconds) + Duration::from_millis(5)), date);
        }
    }
}
