//! The batch's time. The rate must hold over restarts, a laptop's sleep and a clock that is set, so the journal has each time by
//! two clocks: the calendar, which people read, and the time since the machine started, which can't be set.

use std::time::{Duration, Instant};

use crate::os::uptime::{boot_id, since_boot};
use crate::timestamp::now_unix_ms;

/// A time as the journal has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Milliseconds since 1970 by the calendar.
    pub(crate) unix_ms: u64,
    /// Milliseconds since the machine started, with its sleep.
    pub(crate) up_ms: u64,
}

/// The clocks of this machine since its last start.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    /// Identifies this start of the machine; none if the system doesn't say.
    pub(crate) boot: Option<Box<str>>,
    origin: Instant,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { boot: boot_id(), origin: Instant::now() }
    }

    /// The time since the machine started, or since this clock was made if the system has no such clock. It never goes back.
    pub(crate) fn now(&self) -> Duration {
        since_boot().unwrap_or_else(|| self.origin.elapsed())
    }

    pub(crate) fn stamp(&self) -> Stamp {
        Stamp { unix_ms: now_unix_ms(), up_ms: u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX) }
    }

    /// How long ago a stamp was made during the start `boot`: the best estimate.
    pub(crate) fn age(&self, stamp: Stamp, boot: Option<&str>) -> Duration {
        age(self.stamp(), stamp, self.is_this_start(boot))
    }

    /// How long ago it was made at least.
    pub(crate) fn age_at_least(&self, stamp: Stamp, boot: Option<&str>) -> Duration {
        age_at_least(self.stamp(), stamp, self.is_this_start(boot))
    }

    fn is_this_start(&self, boot: Option<&str>) -> bool {
        boot.is_some() && boot == self.boot.as_deref()
    }
}

/// The time between two stamps; none if the calendar was set back between them.
fn age(now: Stamp, then: Stamp, same_start: bool) -> Duration {
    Duration::from_millis(match same_start {
        true => now.up_ms.saturating_sub(then.up_ms),
        false => now.unix_ms.saturating_sub(then.unix_ms),
    })
}

/// The time that has certainly passed. After a restart that is at most the time since then, for the calendar may have been set
/// forward.
fn age_at_least(now: Stamp, then: Stamp, same_start: bool) -> Duration {
    let age = age(now, then, same_start);
    if same_start { age } else { age.min(Duration::from_millis(now.up_ms)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;
    const DAY: u64 = 24 * HOUR;

    /// What happened, how long the machine is up, how much the calendar advanced, whether it is the same start, the age, the least
    /// age; in hours.
    const ROWS: [(&str, u64, i64, bool, u64, u64); 11] = [
        ("the same start", 9, 3, true, 3, 3),
        ("the same start, the calendar set forward by a day", 9, 3 + 24, true, 3, 3),
        ("the same start, the calendar set back by a day", 9, 3 - 24, true, 3, 3),
        ("another start, an hour ago", 1, 3, false, 3, 1),
        ("another start, five hours ago: the message was sent by another machine", 5, 3, false, 3, 3),
        ("another start, just now", 0, 3, false, 3, 0),
        ("another start, a week ago", 168, 200, false, 200, 168),
        ("another start, the calendar set forward by a year", 1, 3 + 8760, false, 8763, 1),
        ("another start, the calendar set back by a day", 1, 3 - 24, false, 0, 0),
        ("another start, the calendar set back by two hours", 5, 1, false, 1, 1),
        ("a system without a boot time", 0, 3, false, 3, 0),
    ];

    #[test]
    fn after_a_restart_no_message_seems_older_than_it_is() {
        for (name, up, calendar, same_start, hours, at_least) in ROWS {
            let now = Stamp { unix_ms: 20_000 * DAY, up_ms: up * HOUR };
            let unix_ms = now.unix_ms.saturating_add_signed(-calendar * HOUR as i64);
            let then = Stamp { unix_ms, up_ms: if same_start { (up - 3) * HOUR } else { 77 * HOUR } };
            assert_eq!(age(now, then, same_start).as_secs() / 3600, hours, "{name}");
            assert_eq!(age_at_least(now, then, same_start).as_secs() / 3600, at_least, "{name}");
        }
    }

    #[test]
    fn a_start_is_the_same_only_if_both_ids_are_equal() {
        let clock = |boot: Option<&str>| Clock { boot: boot.map(Into::into), origin: Instant::now() };
        assert!(clock(Some("a")).is_this_start(Some("a")));
        for (ours, its) in [(Some("a"), Some("b")), (Some("a"), None), (None, Some("a")), (None, None)] {
            assert!(!clock(ours).is_this_start(its));
        }
    }

    #[test]
    fn time_passes() {
        let clock = Clock::new();
        let (before, stamp) = (clock.now(), clock.stamp());
        let pause = Duration::from_millis(5);
        std::thread::sleep(pause);
        assert!(clock.now() >= before + pause);
        // Without an id of the start the calendar counts, which may be set meanwhile.
        let Some(boot) = clock.boot.as_deref() else { return };
        let ages = [clock.age(stamp, Some(boot)), clock.age_at_least(stamp, Some(boot))];
        // A stamp has whole milliseconds.
        let (rounding, passed) = (Duration::from_millis(1), clock.now() - before);
        for age in ages {
            assert!(pause - rounding <= age && age <= passed + rounding, "{age:?}");
        }
    }
}
