//! `cargo run --release -p agentjob-faults -- [SENDS]`: the proof, as a table. Exit status 1 if any verdict was wrong.

use std::process::ExitCode;

use agentjob_faults::{all, run};

#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
fn main() -> ExitCode {
    let sends = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20_000);
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
    for wrong in tally.wrong.iter().take(20) {
        println!("WRONG {wrong}");
    }
    ExitCode::from(u8::from(!tally.wrong.is_empty()))
}
