//! `agentjob-emulator`: the emulator as a program. `agentjob-emulator --help` says what it takes.
#![forbid(unsafe_code)]

#[cfg_attr(windows, path = "windows/signals.rs")]
mod signals;

fn main() {
    signals::wait_for_signals();
    let args = std::env::args().skip(1);
    let status = agentjob_emulator::serve_command("agentjob-emulator", args, &mut || signals::status().is_some());
    std::process::exit(signals::status().unwrap_or(status));
}
