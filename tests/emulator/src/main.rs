//! `agentjob-emulator`: the emulator as a program. `agentjob-emulator --help` says what it takes.
#![forbid(unsafe_code)]

use std::sync::OnceLock;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

/// The signal that ended it.
static SIGNAL: OnceLock<Signal> = OnceLock::new();

fn main() {
    wait_for_signals();
    let args = std::env::args().skip(1);
    let status = agentjob_emulator::serve_command("agentjob-emulator", args, &mut || SIGNAL.get().is_some());
    std::process::exit(SIGNAL.get().map_or(status, |signal| 128 + *signal as i32));
}

/// A signal ends the program as its own end does, so that it leaves no file. A signal that is blocked waits for `sigwait`, also in the first
/// process of a container, for which the kernel drops one that has no handler. One that the parent ignores, as nohup does, stays ignored.
fn wait_for_signals() {
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
