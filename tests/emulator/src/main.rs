//! `agentjob-emulator`: the emulator as a program. `agentjob-emulator --help` says what it takes.
#![forbid(unsafe_code)]

use std::sync::OnceLock;

use nix::sys::signal::{SigSet, Signal};

/// The signal that ends the first process of a container.
static SIGNAL: OnceLock<Signal> = OnceLock::new();

fn main() {
    if std::process::id() == 1 {
        wait_for_signals();
    }
    let args = std::env::args().skip(1);
    let status = agentjob_emulator::serve_command("agentjob-emulator", args, &mut || SIGNAL.get().is_some());
    std::process::exit(SIGNAL.get().map_or(status, |signal| 128 + *signal as i32));
}

/// The kernel drops a signal for which the first process of a container has no handler; one that is blocked waits for `sigwait`. Any other
/// process is ended by the system, unless its parent ignores the signal, as nohup does.
fn wait_for_signals() {
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    if signals.thread_block().is_ok() {
        std::thread::spawn(move || signals.wait().map(|signal| SIGNAL.set(signal)));
    }
}
