//! The signals that end the program.

use std::sync::OnceLock;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

/// The signal that ended it.
static SIGNAL: OnceLock<Signal> = OnceLock::new();

/// The exit status, once a signal came.
pub(crate) fn status() -> Option<i32> {
    SIGNAL.get().map(|signal| 128 + *signal as i32)
}

/// A signal ends the program as its own end does, so that it leaves no file. A signal that is blocked waits for `sigwait`, also in the first
/// process of a container, for which the kernel drops one that has no handler. One that the parent ignores, as nohup does, stays ignored.
pub(crate) fn wait_for_signals() {
    let Some(ignored) = ignored() else { return };
    let taken = |signal: &Signal| ignored >> (*signal as u32 - 1) & 1 == 0;
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().filter(taken).collect();
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || {
            let Ok(signal) = signals.wait() else { return };
            let _ = SIGNAL.set(signal);
            // It may be reading its configuration from a terminal.
            std::thread::sleep(Duration::from_secs(1));
            std::process::exit(128 + signal as i32);
        });
    }
}

/// The signals that this process ignores, a bit for each. `None` where the system does not say.
fn ignored() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
