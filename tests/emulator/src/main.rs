//! `agentjob-emulator`: the emulator as a program. `agentjob-emulator --help` says what it takes.
#![forbid(unsafe_code)]

fn main() {
    std::process::exit(agentjob_emulator::serve_command("agentjob-emulator", std::env::args().skip(1), &mut || false));
}
