//! A person decides between the runs of a batch, and the deciding process is killed at every step of a decision, too. The person is
//! truthful: a message is said to have arrived only if the ledger has it.

use std::path::Path;
use std::sync::Arc;

use agentjob_core::{BatchRef, Decision, Error, batch_decide_with_checkpoints};

use super::journal::Journal;
use super::plan::{Decide, Kill, Said};
use super::process::With;
use super::round::{Round, Skip};
use super::script;
use super::state::State;

/// Each step of a decision.
pub(crate) const STEPS: [(&str, &str); 3] = [
    ("kill a decision at desk_opened", "desk_opened"),
    ("kill a decision at decision_written", "decision_written"),
    ("kill a decision at decision_synced", "decision_synced"),
];
/// What can be decided about a message.
const DECISIONS: [Decision; 5] =
    [Decision::Arrived, Decision::NotArrived, Decision::Resend, Decision::Retry, Decision::Drop];

/// The sending process decides instead of sending.
pub(crate) fn decide(
    journal: &Path,
    decide: &Decide,
    steps: &Arc<dyn Fn(&'static str) + Send + Sync>,
) -> Result<Said, Error> {
    let items: Vec<BatchRef> = decide.items.iter().map(|number| BatchRef::Number(*number)).collect();
    let decision = DECISIONS.into_iter().find(|decision| decision.as_str() == decide.decision).expect("a decision");
    let made = batch_decide_with_checkpoints(journal, &items, decision, decide.prompt.as_deref(), steps)?;
    Ok(Said::Decided { numbers: made.iter().map(|made| made.number).collect(), decision: decide.decision.clone() })
}

/// Runs a batch into failures, decides about what that left, and kills the deciding process, or the run after it, at a step.
pub(crate) fn killed(sender: &Path, seed: u64, step: &str) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::failures);
    // All of its runs wait, or only some.
    round.mixed = round.plan.wait && round.rng.bool();
    for _ in 0..round.rng.u32(1..=3) {
        let mut plan = round.plan.clone();
        plan.wait = round.plan.wait && !(round.mixed && round.rng.bool());
        if round.rng.bool() {
            let steps = ["sending_synced", "responded", "ended_written", "ended_synced"];
            let step = (*script::pick(&mut round.rng, &steps)).to_owned();
            plan.kill = Some(Kill { step, nth: round.rng.u64(1..=plan.items.len() as u64 / 2) });
        }
        round.run(&plan, &With::default(), |_, _| {});
        for _ in 0..round.rng.u32(1..=3) {
            decide_once(&mut round, step);
        }
    }
    round.finish(&With::default());
    Ok(round)
}

/// One call that decides about one or more items, killed at the step half of the time.
fn decide_once(round: &mut Round, step: &str) {
    let journal = Journal::read(&std::fs::read(&round.plan.journal).unwrap_or_default());
    if journal.torn || !round.findings.descriptions.is_empty() {
        return;
    }
    let ledger = round.ledger();
    let arrived = |number: u64| {
        let item = &round.plan.items[number as usize - 1];
        ledger.iter().any(|message| message.prompt == item.prompt)
    };
    let decision = script::pick(&mut round.rng, &DECISIONS).to_owned();
    let fits = |(number, state): (&u64, &State)| match (decision, state) {
        (Decision::Arrived, State::Unknown | State::Sending) => arrived(*number),
        (Decision::NotArrived, State::Unknown | State::Sending) => !arrived(*number),
        (Decision::Resend, State::Unknown | State::Sending) => true,
        // With `resend` a message may be rejected that has arrived: that is unknown, and never rejected.
        (Decision::Retry, State::Rejected) => true,
        (Decision::Drop, State::Unknown | State::Sending | State::Rejected) => *number % 3 == 0,
        _ => false,
    };
    let open = |number: &u64| journal.decided.to_send.contains_key(number);
    let mut numbers: Vec<u64> =
        journal.items.iter().filter(|item| fits(*item) && !open(item.0)).map(|(number, _)| *number).collect();
    round.rng.shuffle(&mut numbers);
    numbers.truncate(round.rng.usize(1..=3));
    if numbers.is_empty() {
        return;
    }
    let mut plan = round.plan.clone();
    plan.decide = Some(Decide { items: numbers.clone(), decision: decision.as_str().to_owned(), prompt: None });
    // The list gets the prompt, so only an item with a key may have another one: the others' new identity is its place's.
    let new_prompt = match decision {
        Decision::Retry if round.rng.bool() => {
            numbers.truncate(1);
            Some(format!("secret{:016x} do item {} better", round.rng.u64(..), numbers[0]))
        }
        _ => None,
    };
    if let Some(prompt) = &new_prompt {
        plan.decide = Some(Decide { items: numbers.clone(), decision: "retry".into(), prompt: Some(prompt.clone()) });
    }
    if round.rng.bool() {
        plan.kill = Some(Kill { step: step.to_owned(), nth: 1 });
    }
    round.run(&plan, &With::default(), |_, _| {});
    if let Some(prompt) = new_prompt {
        // Killed or not: only what the journal has counts.
        let after = Journal::read(&std::fs::read(&round.plan.journal).unwrap_or_default());
        let times =
            |journal: &Journal| journal.decided.made.get(&(numbers[0], "retry".to_owned())).copied().unwrap_or(0);
        if times(&after) > times(&journal) {
            round.plan.items[numbers[0] as usize - 1].prompt = prompt;
        }
    }
}
