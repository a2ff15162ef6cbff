//! The batch's time. Pacing must hold over restarts, a laptop's sleep and a clock that somebody sets, so a moment is kept by two
//! clocks: the calendar's, which people read, and the time since the machine started, which nobody can set.

use std::time::{Duration, Instant};

use crate::timestamp::now_unix_ms;

/// A moment as a journal keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Milliseconds since 1970 by the calendar.
    pub(super) unix_ms: u64,
    /// Milliseconds since the machine started, its sleep counted.
    pub(super) up_ms: u64,
}

/// One machine's clocks between two of its starts.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    /// What tells this start of the machine from every other; none where the system does not say.
    pub(super) boot: Option<Box<str>>,
    origin: Instant,
}

impl Clock {
    pub(super) fn new() -> Clock {
        Clock { boot: boot_id(), origin: Instant::now() }
    }

    /// The time since the machine started, or since this clock was made where the system has no such clock. It never goes back.
    pub(super) fn now(&self) -> Duration {
        since_boot().unwrap_or_else(|| self.origin.elapsed())
    }

    pub(super) fn stamp(&self) -> Stamp {
        Stamp { unix_ms: now_unix_ms(), up_ms: u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX) }
    }

    /// How long ago a stamp is that was made during the start `boot`. A calendar that was set back makes it "just now".
    pub(super) fn age(&self, stamp: Stamp, boot: Option<&str>) -> Duration {
        let now = self.stamp();
        let same_start = boot.is_some() && boot == self.boot.as_deref();
        Duration::from_millis(match same_start {
            true => now.up_ms.saturating_sub(stamp.up_ms),
            false => now.unix_ms.saturating_sub(stamp.unix_ms),
        })
    }
}

#[cfg(target_os = "linux")]
fn since_boot() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(target_os = "linux"))]
fn since_boot() -> Option<Duration> {
    None
}

/// See random(4). Elsewhere than on Linux there is none, and the calendar alone spans two processes.
fn boot_id() -> Option<Box<str>> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    (cfg!(target_os = "linux") && !text.trim().is_empty()).then(|| text.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calendar_that_was_set_does_not_change_an_age_within_one_start_of_the_machine() {
        let clock = Clock { boot: Some("this".into()), origin: Instant::now() };
        let now = clock.stamp();
        let hour = 3_600_000;
        let rows = [
            ("nobody touched it", Some("this"), 0, 0),
            ("set forth by an hour", Some("this"), -hour, 0),
            ("set back by an hour", Some("this"), hour, 0),
            ("another start: the calendar counts", Some("other"), -hour, 3600),
            ("another start, set back: just now", Some("other"), hour, 0),
            ("a system that does not say", None, -hour, 3600),
        ];
        for (name, boot, calendar, seconds) in rows {
            let then = Stamp { unix_ms: now.unix_ms.saturating_add_signed(calendar), ..now };
            assert_eq!(clock.age(then, boot).as_secs(), seconds, "{name}");
        }
    }

    #[test]
    fn time_goes_on() {
        let clock = Clock::new();
        let before = clock.now();
        std::thread::sleep(Duration::from_millis(5));
        assert!(clock.now() >= before + Duration::from_millis(5));
    }
}
