//! The situations: each one disturbs a batch in its own way, from its first run to its end.

use std::path::Path;
use std::time::{Duration, Instant};

use agentjob_core::DEFAULT_GRACE;
use rustix::process::Signal;

use super::plan::{Kill, Said};
use super::power::{self, Loss};
use super::process::{Process, With};
use super::round::{Round, Skip};
use super::script;
use super::{clock, decisions, files};

/// Each step of the journal's protocol, and whether only a batch that waits takes it.
const STEPS: [(&str, &str, bool); 7] = [
    ("kill at sending_written", "sending_written", false),
    ("kill at sending_synced", "sending_synced", false),
    ("kill at responded", "responded", false),
    ("kill at ended_written", "ended_written", false),
    ("kill at ended_synced", "ended_synced", false),
    ("kill at waiting_written", "waiting_written", true),
    ("kill at finished_written", "finished_written", true),
];

/// Each step of a job's messages: the service says that the job is busy, it no longer is, a job is done and its next message may leave.
const SEQUENCE_STEPS: [(&str, &str); 3] =
    [("kill at job_busy", "job_busy"), ("kill at busy_over", "busy_over"), ("kill at next_of_job", "next_of_job")];

/// What a busy machine may add to it.
const SLACK: Duration = Duration::from_secs(40);

/// One row of the table.
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    /// How many rounds, in full and in the quick form.
    pub(crate) rounds: [usize; 2],
    pub(crate) play: Box<Play>,
}

/// Runs one round, with this sender and this seed.
pub(crate) type Play = dyn Fn(&Path, u64) -> Result<Round, Skip> + Send + Sync;

/// All situations, slow ones first.
pub(crate) fn all() -> Vec<Situation> {
    let mut all = vec![
        row("429 without Retry-After", [6, 0], clock::unnamed_pause),
        row("clock set between runs, rate 5/s", [8, 1], clock::set_between_runs),
        row("clock set during a run, rate 5/s", [8, 1], clock::set_during_a_run),
        row("rate 5/s, slow disk", [8, 1], clock::slow_disk),
        row("killed in a 429's pause", [12, 2], clock::killed_in_a_pause),
        row("two processes", [16, 2], two_processes),
        row("disk full (RLIMIT_FSIZE)", [60, 4], files::limit),
        row("disk full (tmpfs)", [30, 2], files::full),
        row("journal read-only", [12, 1], files::read_only_journal),
        row("folder read-only", [12, 1], files::read_only_folder),
        row("SIGTERM", [30, 2], |sender, seed| signalled(sender, seed, Signal::TERM)),
        row("Ctrl-C", [30, 2], ctrl_c),
        row("Ctrl-C during an outage", [30, 2], ctrl_c_during_an_outage),
        row("kill at any time", [80, 4], killed_at_any_time),
        row("kill, then resend_unknown", [40, 2], resent),
        row("kill, with a wait or without", [40, 3], waits_sometimes),
        row("power loss, tail cut", [60, 4], |sender, seed| powerless(sender, seed, Loss::Cut)),
        row("power loss, tail of zeros", [60, 4], |sender, seed| powerless(sender, seed, Loss::Zeros)),
    ];
    for (name, step) in decisions::STEPS {
        all.push(row(name, [40, 3], move |sender, seed| decisions::killed(sender, seed, step)));
    }
    for (name, step, waits) in STEPS {
        all.push(row(name, [30, 3], move |sender, seed| killed_at(sender, seed, step, waits)));
    }
    for (name, step) in SEQUENCE_STEPS {
        all.push(row(name, [30, 3], move |sender, seed| killed_in_sequence(sender, seed, step)));
    }
    all
}

fn row(
    name: &'static str,
    rounds: [usize; 2],
    play: impl Fn(&Path, u64) -> Result<Round, Skip> + Send + Sync + 'static,
) -> Situation {
    Situation { name, rounds, play: Box::new(play) }
}

/// The process kills itself when it takes this step the n-th time.
fn killed_at(sender: &Path, seed: u64, step: &str, waits: bool) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    round.plan.wait |= waits;
    for _ in 0..round.rng.u32(1..=3) {
        kill_at_step(&mut round, step);
    }
    round.finish(&With::default());
    Ok(round)
}

/// The same, with jobs that are busy at first, and a batch that waits.
fn killed_in_sequence(sender: &Path, seed: u64, step: &str) -> Result<Round, Skip> {
    let mut round = Round::of_busy_jobs(sender, seed, script::faults);
    for _ in 0..round.rng.u32(1..=4) {
        kill_at_step(&mut round, step);
    }
    round.finish(&With::default());
    Ok(round)
}

fn kill_at_step(round: &mut Round, step: &str) {
    let mut plan = round.plan.clone();
    // Few waits are long enough to get a line in the journal.
    let most = if step == "waiting_written" { 2 } else { plan.items.len() as u64 / 2 };
    plan.kill = Some(Kill { step: step.to_owned(), nth: round.rng.u64(1..=most) });
    round.run(&plan, &With::default(), |_, _| {});
}

fn killed_at_any_time(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    for _ in 0..round.rng.u32(1..=4) {
        kill_at_a_time(&mut round);
    }
    round.finish(&With::default());
    Ok(round)
}

fn kill_at_a_time(round: &mut Round) {
    let plan = round.plan.clone();
    round.run(&plan, &With::default(), |process, rng| after_a_while(process, rng, Signal::KILL));
}

/// With `resend_unknown`: unknown messages are sent once more, over several killed runs.
fn resent(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    for _ in 0..round.rng.u32(2..=5) {
        round.plan.resend_unknown = round.rng.bool();
        match round.rng.usize(..STEPS.len() * 2) {
            step if step < 5 => kill_at_step(&mut round, STEPS[step].1),
            _ => kill_at_a_time(&mut round),
        }
    }
    round.plan.resend_unknown = false;
    round.finish(&With::default());
    Ok(round)
}

/// Some runs wait for the jobs and others do not, so that a job may get several messages before its result is read.
fn waits_sometimes(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    round.mixed = true;
    for _ in 0..round.rng.u32(2..=5) {
        round.plan.wait = round.rng.bool();
        let step = round.rng.usize(..if round.plan.wait { 7 } else { 5 });
        kill_at_step(&mut round, STEPS[step].1);
    }
    round.plan.wait = true;
    round.finish(&With::default());
    Ok(round)
}

/// Sometimes while it starts, mostly while it sends.
fn after_a_while(process: &mut Process, rng: &mut fastrand::Rng, signal: Signal) {
    let most = *script::pick(rng, &[20_000, 60_000, 150_000, 1_500_000]);
    std::thread::sleep(Duration::from_micros(rng.u64(..most)));
    process.signal(signal);
}

/// A kill, followed by a power loss: some of what was not synced is gone.
fn powerless(sender: &Path, seed: u64, loss: Loss) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    if seed.is_multiple_of(3) {
        // With one thread, what was synced is known to the byte.
        round.plan.concurrency = 1;
    }
    for _ in 0..round.rng.u32(1..=4) {
        match round.rng.u8(..4) {
            0 => kill_at_a_time(&mut round),
            n => {
                let most = if round.plan.wait { 7 } else { 5 };
                let step = round.rng.usize(usize::from(n)..=most) % most;
                kill_at_step(&mut round, STEPS[step].1);
            }
        }
        if !round.over {
            power::lose(&round.plan.journal, &round.plan.notes, loss, &mut round.rng);
        }
    }
    round.finish(&With::default());
    Ok(round)
}

/// A program without a handler.
fn signalled(sender: &Path, seed: u64, signal: Signal) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    for _ in 0..round.rng.u32(1..=3) {
        let plan = round.plan.clone();
        round.run(&plan, &With::default(), |process, rng| after_a_while(process, rng, signal));
    }
    round.finish(&With::default());
    Ok(round)
}

/// A program that cancels its token while the service works: messages in flight get their responses, so none is unknown.
fn ctrl_c(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, |rng, messages| script::delays(rng, messages, 150));
    interrupt(&mut round, script::SILENCE_MS);
    let unknown = |said: &Said| matches!(said, Said::Reported { delivery, .. } if delivery == "unknown");
    if round.reported.iter().flatten().any(unknown) {
        round.wrong(|f| &mut f.lies, "Ctrl-C left a message unknown, though its response came".into());
    }
    Ok(round)
}

/// The same during an outage: in pauses, and in silences that outlast the batch's grace.
fn ctrl_c_during_an_outage(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    interrupt(&mut round, script::SILENCE_MS);
    Ok(round)
}

fn interrupt(round: &mut Round, timeout_ms: u64) {
    for _ in 0..round.rng.u32(1..=3) {
        let mut plan = round.plan.clone();
        plan.timeout_ms = timeout_ms;
        let mut process = round.start(&plan, &With::default());
        let mut since = None;
        if process.wait_for(|said| matches!(said, Said::Begun { .. })) {
            after_a_while(&mut process, &mut round.rng, Signal::INT);
            since = Some(Instant::now());
        }
        let ended = process.end();
        let took = since.map_or(Duration::ZERO, |since| since.elapsed());
        round.ended(&ended);
        if took > DEFAULT_GRACE + SLACK {
            round.wrong(|f| &mut f.lies, format!("the process ended {took:?} after Ctrl-C"));
        }
        match ended.failure() {
            Some(("cancelled", _)) => round.kills += 1,
            // The service's refusal came first.
            Some(("authentication" | "permission_denied" | "redirect", _)) => {}
            _ if ended.is_over() => {}
            how => {
                let how = format!("Ctrl-C ended the process otherwise: {how:?}, {}", ended.status);
                round.wrong(|f| &mut f.lies, how);
            }
        }
    }
    round.finish(&With::default());
}

/// Two runs of one journal at once: one runs, the other fails and says why.
fn two_processes(sender: &Path, seed: u64) -> Result<Round, Skip> {
    // Slow enough that the first is not done before the second gives up.
    let mut round = Round::new(sender, seed, |_, messages| {
        (1..=messages * 2).map(|nth| serde_json::json!({ "method": "POST", "nth": nth, "delay_ms": 600 })).collect()
    });
    round.plan.concurrency = 1;
    round.plan.timeout_ms = 30_000;
    let plan = round.plan.clone();
    let mut first = round.start(&plan, &With::default());
    std::thread::sleep(Duration::from_millis(round.rng.u64(..200)));
    let mut second_plan = plan.clone();
    second_plan.notes = round.folder.join("notes-2");
    let mut second = round.start(&second_plan, &With::default());
    let failed = |process: &mut Process| process.has_said(|said| matches!(said, Said::Failed { .. }));
    while !failed(&mut first) && !failed(&mut second) && !first.is_late() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(round.rng.u64(..1000)));
    if round.rng.bool() {
        first.signal(Signal::KILL);
        second.signal(Signal::KILL);
    }
    let (first, second) = (first.end(), second.end());
    let refused = [&first, &second].map(|ended| {
        ended.failure().is_some_and(|(kind, message)| kind == "journal" && message.contains("is in use by another run"))
    });
    let (owner, other) = if refused[0] { (second, first) } else { (first, second) };
    if refused[0] == refused[1] || !other.said.iter().all(|said| matches!(said, Said::Failed { .. })) {
        round.wrong(|f| &mut f.lies, format!("not exactly one of two processes ran: {owner:?} {other:?}"));
    }
    round.reported.push(other.said);
    round.ended(&owner);
    if !round.over {
        round.finish(&With::default());
    }
    Ok(round)
}
