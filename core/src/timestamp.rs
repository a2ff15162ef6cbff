//! Timestamps in ISO 8601, as in a record's `createdAt` and `archivedAt`, to and from milliseconds.

use std::time::{SystemTime, UNIX_EPOCH};

const MS_PER_MINUTE: i64 = 60_000;
const MS_PER_DAY: i64 = 24 * 60 * MS_PER_MINUTE;
const DAYS_PER_ERA: u64 = 146_097;
const DAYS_FROM_0000_03_01_TO_1970: u64 = 719_468;

/// Milliseconds since 1970-01-01T00:00:00Z, or `None` if the text is not a timestamp.
///
/// It accepts RFC 3339, and from ISO 8601 also a time without seconds, a comma before the fraction, and an offset without its colon or
/// its minutes. A text without an offset is refused, because it could be any time zone. Digits beyond milliseconds are dropped; a leap
/// second, `:60`, counts as the first second of the next minute.
pub(crate) fn unix_ms(text: &str) -> Option<i64> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4)?;
    literal(&mut rest, b"-")?;
    let month = digits(&mut rest, 2).filter(|month| (1..=12).contains(month))?;
    literal(&mut rest, b"-")?;
    let day = digits(&mut rest, 2).filter(|day| (1..=days_in_month(year, month)).contains(day))?;
    literal(&mut rest, b"Tt ")?;
    let hour = digits(&mut rest, 2).filter(|hour| *hour < 24)?;
    literal(&mut rest, b":")?;
    let minute = digits(&mut rest, 2).filter(|minute| *minute < 60)?;
    let ms = if literal(&mut rest, b":").is_some() {
        let second = digits(&mut rest, 2).filter(|second| *second <= 60)?;
        second * 1000 + if literal(&mut rest, b".,").is_some() { fraction(&mut rest)? } else { 0 }
    } else {
        0
    };
    let offset = offset_minutes(&mut rest)?;
    let minutes = hour * 60 + minute - offset;
    rest.is_empty().then(|| days_since_1970(year, month, day) * MS_PER_DAY + minutes * MS_PER_MINUTE + ms)
}

/// The wall clock's time in milliseconds since 1970; 0 if the clock is set to an earlier time.
pub(crate) fn now_unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A timestamp as text, like JavaScript's `toISOString`.
pub(crate) fn iso(unix_ms: u64) -> String {
    let (days, ms) = (unix_ms / MS_PER_DAY as u64, unix_ms % MS_PER_DAY as u64);
    // Eras of 400 years all have the same number of days. A year begins in March here, so that a leap day is its last day.
    let day = days + DAYS_FROM_0000_03_01_TO_1970;
    let (era, day_of_era) = (day / DAYS_PER_ERA, day % DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000)
}

/// Parses exactly `count` decimal digits.
fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    taken.iter().try_fold(0, |value, byte| Some(value * 10 + i64::from(char::from(*byte).to_digit(10)?)))
}

/// Moves over one byte if it is one of these.
fn literal(rest: &mut &[u8], one_of: &[u8]) -> Option<u8> {
    let (first, left) = rest.split_first().filter(|(first, _)| one_of.contains(first))?;
    *rest = left;
    Some(*first)
}

/// Parses the digits of a second's fraction, at least one, as whole milliseconds.
fn fraction(rest: &mut &[u8]) -> Option<i64> {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (taken, left) = rest.split_at(count);
    *rest = left;
    let digit = |at: usize| taken.get(at).map_or(0, |byte| i64::from(byte - b'0'));
    (count > 0).then(|| digit(0) * 100 + digit(1) * 10 + digit(2))
}

/// Parses `Z`, or an offset from UTC: `+02:00`, `+0200`, `+02`.
fn offset_minutes(rest: &mut &[u8]) -> Option<i64> {
    let sign = match literal(rest, b"Zz+-")? {
        b'+' => 1,
        b'-' => -1,
        _ => return Some(0),
    };
    let hours = digits(rest, 2).filter(|hours| *hours < 24)?;
    let colon = literal(rest, b":").is_some();
    let minutes = if rest.is_empty() && !colon { 0 } else { digits(rest, 2).filter(|minutes| *minutes < 60)? };
    Some(sign * (hours * 60 + minutes))
}

fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Leap days of the years before this one; the year 0 was a leap year.
    let leap_days = |year: i64| if year == 0 { 0 } else { (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1 };
    let days_before = |year: i64| year * 365 + leap_days(year);
    let months: i64 = (1..month).map(|month| days_in_month(year, month)).sum();
    days_before(year) - days_before(1970) + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_the_milliseconds_that_date_prints() {
        // `date -u -d "$text" +%s%3N`
        let table = [
            ("1970-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00:00.001Z", 1),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2026-01-02T03:04:05.678Z", 1_767_323_045_678),
            ("2026-01-02T03:04:05Z", 1_767_323_045_000),
            ("2026-01-02t03:04:05z", 1_767_323_045_000),
            ("2026-01-02 03:04:05Z", 1_767_323_045_000),
            ("2026-01-02T03:04Z", 1_767_323_040_000),
            ("2026-01-02T03:04:05.6Z", 1_767_323_045_600),
            ("2026-01-02T03:04:05,67Z", 1_767_323_045_670),
            ("2026-01-02T03:04:05.678999999999Z", 1_767_323_045_678),
            ("2026-01-02T03:04:05.678+00:00", 1_767_323_045_678),
            ("2026-01-02T05:04:05.678+02:00", 1_767_323_045_678),
            ("2026-01-02T05:04:05.678+0200", 1_767_323_045_678),
            ("2026-01-02T05:04:05.678+02", 1_767_323_045_678),
            ("2026-01-01T19:34:05.678-07:30", 1_767_323_045_678),
            ("2024-02-29T12:00:00Z", 1_709_208_000_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000),
            ("2000-03-01T00:00:00Z", 951_868_800_000),
            ("2100-03-01T00:00:00Z", 4_107_542_400_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2038-01-19T03:14:08Z", 2_147_483_648_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000),
        ];
        for (text, ms) in table {
            assert_eq!(unix_ms(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn a_timestamp_is_written_as_it_is_read() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_767_323_045_678), "2026-01-02T03:04:05.678Z");
        for day in 0..400_000 {
            let ms = day * 86_400_000 + day * 37 % 86_400_000;
            assert_eq!(unix_ms(&iso(ms)), Some(ms as i64), "{}", iso(ms));
        }
    }

    #[test]
    fn other_texts_are_not_timestamps() {
        let table = [
            "",
            "now",
            "1767323045678",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-01-02T03Z",
            "2026-1-2T03:04:05Z",
            "2026-00-02T03:04:05Z",
            "2026-13-02T03:04:05Z",
            "2026-01-00T03:04:05Z",
            "2026-04-31T03:04:05Z",
            "2026-02-29T03:04:05Z",
            "2100-02-29T03:04:05Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02T03:60:05Z",
            "2026-01-02T03:04:61Z",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05.6",
            "2026-01-02T03:04:05+24:00",
            "2026-01-02T03:04:05+02:60",
            "2026-01-02T03:04:05+02:",
            "2026-01-02T03:04:05+2",
            "2026-01-02T03:04:05Z ",
            " 2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05ZZ",
            "+2026-01-02T03:04:05Z",
            "-026-01-02T03:04:05Z",
            "2026-01-02T03:04:05\u{2212}02:00",
            "２０２６-01-02T03:04:05Z",
        ];
        for text in table {
            assert_eq!(unix_ms(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_of_ten_centuries_follows_the_one_before() {
        let mut expected = days_since_1970(1600, 1, 1);
        for year in 1600..2600 {
            for month in 1..=12 {
                for day in 1..=days_in_month(year, month) {
                    assert_eq!(days_since_1970(year, month, day), expected, "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
    }
}
