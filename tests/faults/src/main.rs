//! `cargo run --release -p agentjob-faults -- [SENDS]`: the two proofs, as tables. Exit status 1 if anything was wrong.
//!
//! `-- batch` runs only the batch's proof. Its sender must be beside this program: `cargo build --release -p agentjob-faults` first.

use std::process::ExitCode;

use agentjob_faults::batch::{self, Form};
use agentjob_faults::{all, run};

/// The same for every run, so every run makes the same random choices.
const SEED: u64 = 1;
/// How many mistakes are printed.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let mut wrong = Vec::new();
    if argument.as_deref() != Some("batch") {
        wrong.extend(verdicts(argument.and_then(|text| text.parse().ok()).unwrap_or(20_000)));
    }
    wrong.extend(journals());
    ExitCode::from(u8::from(!wrong.is_empty()))
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn verdicts(sends: u64) -> Vec<String> {
    let tally = run(&all(true), sends);
    println!(
        "{:42}{:>8}{:>8}{:>10}{:>10}{:>9}{:>10}{:>12}{:>7}",
        "fault", "sends", "ok", "not_sent", "rejected", "unknown", "accepted", "duplicates", "wrong"
    );
    for (fault, count) in &tally.faults {
        let [not_sent, rejected, unknown, accepted] = count.verdicts;
        println!(
            "{fault:42}{:>8}{:>8}{not_sent:>10}{rejected:>10}{unknown:>9}{accepted:>10}{:>12}{:>7}",
            count.sends, count.ok, count.duplicates, count.lies
        );
    }
    println!("{} messages sent", tally.sends());
    println!("worst deadline overshoot {:.1?}, worst cancel delay {:.1?}", tally.worst_overshoot, tally.worst_cancel);
    show(&tally.wrong);
    tally.wrong
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn journals() -> Vec<String> {
    let here = std::env::current_exe().expect("a program knows where it is");
    let seed = std::env::var("AGENTJOB_FAULTS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    let table = batch::run(&here.with_file_name("agentjob-faults-sender"), Form::Full, seed);
    print!("{table}");
    println!("{} processes killed", table.kills());
    let wrong = table.wrong();
    show(&wrong);
    wrong
}

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn show(wrong: &[String]) {
    for wrong in wrong.iter().take(SHOWN) {
        println!("WRONG {wrong}");
    }
}
