//! Times as people read them. All are in UTC, so that the same journal always makes the same page.

use crate::timestamp::iso;

/// `2026-11-23 15:26:19`, from milliseconds since 1970.
pub(crate) fn clock(unix_ms: u64) -> String {
    short(&iso(unix_ms))
}

/// The same, from a time as the journal writes it.
pub(crate) fn short(iso: &str) -> String {
    iso.chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// `850 ms`, `4.2 s`, `12 min 5 s`, `3 h 20 min`, `2 d 4 h`.
pub(crate) fn duration(ms: u64) -> String {
    let (seconds, minutes, hours) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..10_000 => format!("{}.{} s", seconds, ms % 1000 / 100),
        10_000..60_000 => format!("{seconds} s"),
        60_000..3_600_000 => two(minutes, "min", seconds % 60, "s"),
        3_600_000..86_400_000 => two(hours, "h", minutes % 60, "min"),
        _ => two(hours / 24, "d", hours % 24, "h"),
    }
}

fn two(large: u64, unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {small_unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(clock(1_795_447_579_910), "2026-11-23 15:26:19");
        let rows = [
            (0, "0 ms"),
            (999, "999 ms"),
            (4_250, "4.2 s"),
            (59_999, "59 s"),
            (725_000, "12 min 5 s"),
            (3_600_000, "1 h"),
            (12_000_000, "3 h 20 min"),
            (187_200_000, "2 d 4 h"),
        ];
        for (ms, expected) in rows {
            assert_eq!(duration(ms), expected);
        }
    }
}
