//! How long the machine has been running, and which start of it this is.

use std::time::Duration;

use crate::os::descriptor::above_standard;

/// The time since the machine started, with its sleep. It can't be set; `None` on a system without such a clock.
#[cfg(target_os = "linux")]
pub fn since_boot() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

/// None: only the calendar counts a sleep here.
#[cfg(not(target_os = "linux"))]
pub fn since_boot() -> Option<Duration> {
    None
}

/// What identifies this start of the machine: see random(4). Only Linux has it; elsewhere two processes have only the calendar in common.
pub fn boot_id() -> Option<Box<str>> {
    let text = above_standard(|| std::fs::read_to_string("/proc/sys/kernel/random/boot_id")).ok()?;
    (cfg!(target_os = "linux") && !text.trim().is_empty()).then(|| text.trim().into())
}
