//! Compares the journal and what the runs reported with the ledger. Pure, so that tests can pass in doctored evidence.

use std::collections::{BTreeMap, HashMap};

use super::journal::{Journal, State};
use super::plan::{Item, Said};

/// One message that the service processed.
#[derive(Debug, Clone)]
pub(crate) struct Processed {
    pub(crate) job_id: String,
    pub(crate) prompt: String,
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
        if resent > 0 && !evidence.resend {
            found.note(|f| &mut f.lies, here("unknown, and sent again though no run was asked to"));
        }
        if arrived > 1 + resent {
            found.note(|f| &mut f.duplicates, here("processed more than once"));
        }
        // An unknown message stays unknown, however the second send ends; until that ends, it only must not be sent again.
        let waits = resent > 0 && state == Some(State::NotSent);
        if arrived > 0 && !waits && !state.is_some_and(State::may_have_arrived) {
            found.note(|f| &mut f.lost, here("processed, and the journal does not say so"));
        }
        if arrived == 0 && state == Some(State::Accepted) {
            found.note(|f| &mut f.lies, here("accepted, and never processed"));
        }
        if journal.job(number).is_some_and(|job| job != item.job_id) {
            found.note(|f| &mut f.lies, here("it is another job's in the journal"));
        }
        let ended = matches!(state, Some(State::Accepted | State::Rejected | State::Unknown));
        if evidence.over && !ended {
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
    order(evidence, &journal, &mut found);
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
        for said in said {
            let Said::Reported { number, delivery, .. } = said else { continue };
            let here = |what: &str| format!("run {}: item {number} was reported as {delivery}, {what}", run + 1);
            if reported.insert(*number, delivery).is_some() {
                found.note(|f| &mut f.lies, here("and was reported before"));
            }
            match (&**delivery, arrived(*number)) {
                ("accepted", false) | ("rejected", true) => found.note(|f| &mut f.lies, here("and the ledger says no")),
                ("accepted" | "rejected" | "unknown", _) => {}
                _ => found.note(|f| &mut f.lies, here("which is no end")),
            }
            let has = journal.items.get(number).copied();
            let doubted = failed && matches!(has, Some(State::Sending | State::Unknown));
            let again = delivery == "unknown" && journal.resent.contains_key(number);
            if has != State::of(delivery) && !doubted && !again {
                found.note(|f| &mut f.lies, here(&format!("and the journal has it as {has:?}")));
            }
        }
        if evidence.over && run + 1 == evidence.reported.len() {
            for number in 1..=evidence.items.len() as u64 {
                if !reported.contains_key(&number) {
                    found.note(|f| &mut f.never_ended, format!("item {number} was not reported by the last run"));
                }
            }
        }
    }
}

/// Two messages to one job arrive in the order of the list, except messages that are sent again.
fn order(evidence: &Evidence<'_>, journal: &Journal, found: &mut Findings) {
    let place: HashMap<&str, usize> = evidence.items.iter().enumerate().map(|(at, item)| (&*item.prompt, at)).collect();
    let mut last: HashMap<&str, usize> = HashMap::new();
    for message in evidence.ledger {
        let Some(&at) = place.get(&*message.prompt) else { continue };
        if journal.resent.contains_key(&(at as u64 + 1)) {
            continue;
        }
        if let Some(before) = last.insert(&message.job_id, at)
            && before > at
        {
            found.note(|f| &mut f.disorder, format!("item {} arrived after item {}", at + 1, before + 1));
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
