//! Compares the journal and what the runs reported with the ledger. Pure, so that tests can pass in doctored evidence.

use std::collections::{BTreeMap, HashMap};

use super::journal::Journal;
use super::plan::{Item, Said};
use super::state::State;

/// One message that the service processed.
#[derive(Debug, Clone)]
pub(crate) struct Processed {
    pub(crate) job_id: String,
    pub(crate) prompt: String,
    /// The pull request that it made.
    pub(crate) pr_link: Option<String>,
    pub(crate) at_ms: u64,
}

/// Everything known about a batch, between two runs or after the last.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(crate) items: &'a [Item],
    pub(crate) api_key: &'a str,
    pub(crate) journal: &'a [u8],
    /// What each run said.
    pub(crate) reported: &'a [Vec<Said>],
    pub(crate) ledger: &'a [Processed],
    /// Whether the last run came to its end.
    pub(crate) over: bool,
    /// Whether a run was asked to send unknown messages again.
    pub(crate) resend: bool,
    /// Whether a run's disk was full.
    pub(crate) disk_full: bool,
    /// If every run waits for the jobs: how long a job works on a message.
    pub(crate) work_ms: Option<u64>,
}

/// What is wrong, and how often.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Findings {
    /// Messages that the ledger has more than once.
    pub duplicates: u64,
    /// Contradictions between the journal, the outcomes and the ledger.
    pub lies: u64,
    /// Messages in the ledger that are neither accepted nor unknown.
    pub lost: u64,
    /// Messages without an outcome.
    pub never_ended: u64,
    /// Prompts and keys in the journal.
    pub leaks: u64,
    /// Messages to one job that arrived in another order than the list's.
    pub disorder: u64,
    /// Results that are another message's, and messages sent while the job worked on the one before.
    pub misattributed: u64,
    /// Decisions that were reported and are not in the journal, or that no run acted upon.
    pub decisions: u64,
    /// A description of each.
    pub descriptions: Vec<String>,
}

impl Findings {
    fn note(&mut self, count: fn(&mut Findings) -> &mut u64, what: String) {
        *count(self) += 1;
        self.descriptions.push(what);
    }

    /// Adds the findings of another judgement.
    pub fn add(&mut self, other: Findings) {
        self.duplicates += other.duplicates;
        self.lies += other.lies;
        self.lost += other.lost;
        self.never_ended += other.never_ended;
        self.leaks += other.leaks;
        self.disorder += other.disorder;
        self.misattributed += other.misattributed;
        self.decisions += other.decisions;
        self.descriptions.extend(other.descriptions);
    }
}

/// Finds everything that is wrong.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Findings {
    let mut found = Findings::default();
    let journal = Journal::read(evidence.journal);
    for wrong in &journal.wrong {
        found.note(|f| &mut f.lies, wrong.clone());
    }
    let mut times: HashMap<&str, u64> = HashMap::new();
    for message in evidence.ledger {
        *times.entry(&message.prompt).or_default() += 1;
    }
    for (number, item) in (1..).zip(evidence.items) {
        let arrived = times.remove(&*item.prompt).unwrap_or(0);
        let state = journal.items.get(&number).copied();
        let here =
            |what: &str| format!("item {number} ({}): {what}; ledger {arrived} times, journal {state:?}", item.job_id);
        let resent = journal.resent.get(&number).copied().unwrap_or(0);
        if resent > journal.decided.resends(number) && !evidence.resend {
            found.note(|f| &mut f.lies, here("unknown, and sent again though no run was asked to"));
        }
        if arrived > 1 + resent {
            found.note(|f| &mut f.duplicates, here("processed more than once"));
        }
        // An unknown message stays unknown, however the second send ends; until that ends, it only must not be sent again.
        let waits = resent > 0 && state == Some(State::NotSent);
        // What a person dropped may have arrived, and so may what is decided to be sent again.
        let settled = state == Some(State::Dropped);
        if arrived > 0 && !waits && !settled && !state.is_some_and(State::may_have_arrived) {
            found.note(|f| &mut f.lost, here("processed, and the journal does not say so"));
        }
        if arrived == 0 && state == Some(State::Accepted) {
            found.note(|f| &mut f.lies, here("accepted, and never processed"));
        }
        if journal.job(number).is_some_and(|job| job != item.job_id) {
            found.note(|f| &mut f.lies, here("it is another job's in the journal"));
        }
        // Without a decision that says so, a later run does not send it again, and reports it as unknown.
        let stays_unknown = waits && !journal.decided.is_about(number) && is_reported(evidence, number, "unknown");
        let ended =
            stays_unknown || matches!(state, Some(State::Accepted | State::Rejected | State::Unknown | State::Dropped));
        if evidence.over && !ended && !is_held(evidence, number) {
            found.note(|f| &mut f.never_ended, here("the batch is over, and it has not ended"));
        }
    }
    for prompt in times.keys() {
        found.note(|f| &mut f.lies, format!("the ledger has a message that was never sent: {prompt}"));
    }
    if evidence.over && journal.torn {
        found.note(|f| &mut f.lies, "the batch is over, and the journal's last line is torn".into());
    }
    outcomes(evidence, &journal, &mut found);
    decisions(evidence, &journal, &mut found);
    order(evidence, &journal, &mut found);
    results(evidence, &journal, &mut found);
    leaks(evidence, &mut found);
    found
}

/// Each run reports what the journal has, and the last run reports every item once.
fn outcomes(evidence: &Evidence<'_>, journal: &Journal, found: &mut Findings) {
    let arrived = |number: u64| {
        let item = &evidence.items[number as usize - 1];
        evidence.ledger.iter().any(|message| message.prompt == item.prompt)
    };
    for (run, said) in evidence.reported.iter().enumerate() {
        let mut reported: BTreeMap<u64, &str> = BTreeMap::new();
        // A run whose journal failed knows more than its journal, and reported it.
        let failed = said.iter().any(|said| matches!(said, Said::Failed { kind, .. } if kind == "journal"));
        // Nor did a run that was killed before it could report.
        let killed = !said.iter().any(|said| matches!(said, Said::Failed { .. } | Said::Over));
        let failed = failed || (killed && evidence.disk_full);
        for one in said {
            let Said::Reported { number, delivery, .. } = one else { continue };
            let here = |what: &str| format!("run {}: item {number} was reported as {delivery}, {what}", run + 1);
            if reported.insert(*number, delivery).is_some() {
                found.note(|f| &mut f.lies, here("and was reported before"));
            }
            // What was reported before a decision need not hold after it.
            let decided = journal.decided.is_about(*number) && run + 1 < evidence.reported.len();
            if decided && matches!(&**delivery, "unknown" | "rejected") {
                continue;
            }
            match (&**delivery, arrived(*number)) {
                ("accepted", false) | ("rejected", true) => found.note(|f| &mut f.lies, here("and the ledger says no")),
                ("accepted" | "rejected" | "unknown", _) => {}
                // A later run may have sent it.
                ("not_sent", _) if may_be_held(evidence, journal, said, *number) => {}
                _ => found.note(|f| &mut f.lies, here("which is no end")),
            }
            let has = journal.items.get(number).copied();
            let doubted = failed && matches!(has, Some(State::Sending | State::Unknown));
            let again = delivery == "unknown" && journal.resent.contains_key(number);
            let is_last = run + 1 == evidence.reported.len();
            let held = delivery == "not_sent" && (!is_last || matches!(has, None | Some(State::NotSent)));
            if has != State::of(delivery) && !doubted && !again && !held {
                found.note(|f| &mut f.lies, here(&format!("and the journal has it as {has:?}")));
            }
        }
        if evidence.over && run + 1 == evidence.reported.len() {
            for number in 1..=evidence.items.len() as u64 {
                let dropped = journal.items.get(&number) == Some(&State::Dropped);
                if dropped == reported.contains_key(&number) {
                    found.note(
                        |f| &mut f.never_ended,
                        format!("item {number} was not reported by the last run, or was dropped"),
                    );
                }
            }
        }
    }
}

/// Every decision that was reported is in the journal, and was acted upon when the batch is over.
fn decisions(evidence: &Evidence<'_>, journal: &Journal, found: &mut Findings) {
    let mut reported: BTreeMap<(u64, String), u64> = BTreeMap::new();
    for said in evidence.reported.iter().flatten() {
        let Said::Decided { numbers, decision } = said else { continue };
        for number in numbers {
            *reported.entry((*number, decision.clone())).or_default() += 1;
        }
    }
    for (decided, times) in reported {
        let written = journal.decided.made.get(&decided).copied().unwrap_or(0);
        if written < times {
            let what = format!(
                "item {}: {} was decided {times} times, and the journal has it {written} times",
                decided.0, decided.1
            );
            found.note(|f| &mut f.decisions, what);
        }
    }
    let is_left = |number: u64| evidence.over && !is_held(evidence, number);
    for (number, decision) in journal.decided.to_send.iter().filter(|(number, _)| is_left(**number)) {
        let what = format!("item {number}: {decision} was decided, and the batch is over without sending it");
        found.note(|f| &mut f.decisions, what);
    }
}

/// Two messages to one job arrive in the order of the list, except messages that are sent again.
fn order(evidence: &Evidence<'_>, journal: &Journal, found: &mut Findings) {
    let place: HashMap<&str, usize> = evidence.items.iter().enumerate().map(|(at, item)| (&*item.prompt, at)).collect();
    let mut last: HashMap<&str, usize> = HashMap::new();
    for message in evidence.ledger {
        let Some(&at) = place.get(&*message.prompt) else { continue };
        if journal.resent.contains_key(&(at as u64 + 1)) || journal.decided.is_about(at as u64 + 1) {
            continue;
        }
        if let Some(before) = last.insert(&message.job_id, at)
            && before > at
        {
            found.note(|f| &mut f.disorder, format!("item {} arrived after item {}", at + 1, before + 1));
        }
    }
}

/// Whether the last run reported this message as held back.
fn is_held(evidence: &Evidence<'_>, number: u64) -> bool {
    is_reported(evidence, number, "not_sent")
}

/// Whether the last run reported this message with this delivery.
fn is_reported(evidence: &Evidence<'_>, number: u64, as_what: &str) -> bool {
    let is_it =
        |said: &Said| matches!(said, Said::Reported { number: n, delivery, .. } if *n == number && delivery == as_what);
    evidence.reported.last().is_some_and(|said| said.iter().any(is_it))
}

/// Whether a run may hold this message back: another one to its job is unknown, or its wait ended without a result.
fn may_be_held(evidence: &Evidence<'_>, journal: &Journal, said: &[Said], number: u64) -> bool {
    let job = |number: u64| &evidence.items[number as usize - 1].job_id;
    said.iter().any(|said| match said {
        Said::Reported { number: other, delivery, error, .. } if job(*other) == job(number) && *other != number => {
            let without_result = delivery == "accepted" && error.is_some();
            delivery == "unknown" || without_result
        }
        _ => false,
    }) || (1..=evidence.items.len() as u64)
        .any(|other| job(other) == job(number) && journal.items.get(&other) == Some(&State::Unknown))
}

/// A run that waits reports each message with its own result or none. If all runs do, none is sent while the job works on the one
/// before.
fn results(evidence: &Evidence<'_>, journal: &Journal, found: &mut Findings) {
    let waits = |said: &&Vec<Said>| said.iter().any(|said| matches!(said, Said::Begun { waits: true, .. }));
    for said in evidence.reported.iter().filter(waits).flatten() {
        let Said::Reported { number, delivery, error: None, pr_link: Some(link), .. } = said else { continue };
        let item = &evidence.items[*number as usize - 1];
        let mut made = evidence.ledger.iter().filter(|message| message.prompt == item.prompt);
        if delivery == "accepted" && !made.any(|message| message.pr_link.as_ref() == Some(link)) {
            found.note(|f| &mut f.misattributed, format!("item {number} was reported with {link}, another's result"));
        }
    }
    let Some(work_ms) = evidence.work_ms else { return };
    let resent = |job: &str| {
        let mut items = (1..).zip(evidence.items).filter(|(_, item)| item.job_id == job);
        items.any(|(number, _)| journal.resent.contains_key(&number))
    };
    let mut last: HashMap<&str, u64> = HashMap::new();
    for message in evidence.ledger {
        let before = last.insert(&message.job_id, message.at_ms);
        // Both times are rounded down.
        if before.is_some_and(|before| message.at_ms + 1 < before + work_ms) && !resent(&message.job_id) {
            let what = format!("{} got a message while it worked on the one before", message.job_id);
            found.note(|f| &mut f.misattributed, what);
        }
    }
}

/// The journal holds no prompt and no key.
fn leaks(evidence: &Evidence<'_>, found: &mut Findings) {
    let text = String::from_utf8_lossy(evidence.journal);
    for item in evidence.items {
        if text.contains(secret_of(&item.prompt)) {
            found.note(|f| &mut f.leaks, format!("the journal has a prompt: {}", item.prompt));
        }
    }
    if text.contains(evidence.api_key) {
        found.note(|f| &mut f.leaks, "the journal has the API key".into());
    }
}

/// The unique part of a prompt: its first word.
fn secret_of(prompt: &str) -> &str {
    prompt.split(' ').next().unwrap_or(prompt)
}
