//! Runs every situation, and reports the results as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::journal::Journal;
use super::judge::Findings;
use super::round::Round;
use super::situations::{Situation, all};
use super::state::State;

/// Rounds wait most of the time, so many run at once.
const AT_ONCE: usize = 24;

/// How many rounds run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Hundreds of kills, some minutes.
    Full,
    /// Each situation once or more, some seconds.
    Quick,
}

/// What came of a situation.
#[derive(Debug, Default, Clone)]
pub struct Row {
    /// Batches that were brought to their end.
    pub rounds: u64,
    /// Processes that were ended by a signal.
    pub kills: u64,
    /// Messages.
    pub items: u64,
    /// Runs but for the first of each round.
    pub resumes: u64,
    /// Messages by how the journal has them at the end.
    pub accepted: u64,
    /// The same.
    pub rejected: u64,
    /// The same.
    pub unknown: u64,
    /// What was wrong.
    pub findings: Findings,
    /// Why the situation could not be played here.
    pub skipped: Option<String>,
}

impl Row {
    fn take(&mut self, round: &Round) {
        let journal = Journal::read(&std::fs::read(&round.plan.journal).unwrap_or_default());
        let count = |state| journal.items.values().filter(|found| **found == state).count() as u64;
        self.rounds += 1;
        self.kills += round.kills;
        self.items += round.plan.items.len() as u64;
        self.resumes += round.reported.len() as u64 - 1;
        self.accepted += count(State::Accepted);
        self.rejected += count(State::Rejected);
        self.unknown += count(State::Unknown);
        let mut findings = round.findings.clone();
        for descriptions in &mut findings.descriptions {
            *descriptions = format!("seed {}: {descriptions}", round.seed());
        }
        self.findings.add(findings);
    }
}

/// The whole table.
#[derive(Debug, Default)]
pub struct Table {
    /// By situation, in the order in which they are listed.
    pub rows: Vec<(&'static str, Row)>,
}

impl Table {
    /// Everything that was wrong.
    pub fn wrong(&self) -> Vec<String> {
        let descriptions = |(name, row): &(&str, Row)| {
            row.findings.descriptions.iter().map(|descriptions| format!("{name}: {descriptions}")).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(descriptions).collect()
    }

    /// How many processes were killed in all.
    pub fn kills(&self) -> u64 {
        self.rows.iter().map(|(_, row)| row.kills).sum()
    }
}

/// Plays all situations with this sending program. `seed` makes another run of the same draws.
pub fn run(sender: &Path, form: Form, seed: u64) -> Table {
    let situations = all();
    let tasks = tasks(&situations, form);
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<usize, Row>::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(tasks.len()) {
            scope.spawn(|| {
                while let Some(&(at, n)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = (situations[at].play)(sender, seed + (at * 10_000 + n) as u64);
                    let mut rows = rows.lock().expect("no round panics while it is counted");
                    let row = rows.entry(at).or_default();
                    match played {
                        Ok(round) => row.take(&round),
                        Err(why) => row.skipped = Some(why),
                    }
                }
            });
        }
    });
    let rows = rows.into_inner().expect("no round panics while it is counted");
    Table { rows: rows.into_iter().map(|(at, row)| (situations[at].name, row)).collect() }
}

/// Each situation's first round, then each one's second, and so on: what takes its time begins first.
fn tasks(situations: &[Situation], form: Form) -> Vec<(usize, usize)> {
    let only = std::env::var("AGENTJOB_FAULTS_ONLY").unwrap_or_default();
    let rounds = |situation: &Situation| match situation.name.contains(&only) {
        true => situation.rounds[usize::from(form == Form::Quick)],
        false => 0,
    };
    let most = situations.iter().map(rounds).max().unwrap_or(0);
    let round = |n| {
        situations.iter().enumerate().filter(move |(_, situation)| n < rounds(situation)).map(move |(at, _)| (at, n))
    };
    (0..most).flat_map(round).collect()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:34}{:>7}{:>6}{:>7}{:>8}{:>9}{:>9}{:>8}{:>11}{:>5}{:>5}{:>6}{:>6}{:>6}{:>8}{:>10}",
            "batch",
            "rounds",
            "kills",
            "items",
            "resumes",
            "accepted",
            "rejected",
            "unknown",
            "duplicates",
            "lies",
            "lost",
            "open",
            "leaks",
            "order",
            "another",
            "decisions"
        )?;
        for (name, row) in &self.rows {
            let found = &row.findings;
            writeln!(
                f,
                "{name:34}{:>7}{:>6}{:>7}{:>8}{:>9}{:>9}{:>8}{:>11}{:>5}{:>5}{:>6}{:>6}{:>6}{:>8}{:>10}",
                row.rounds,
                row.kills,
                row.items,
                row.resumes,
                row.accepted,
                row.rejected,
                row.unknown,
                found.duplicates,
                found.lies,
                found.lost,
                found.never_ended,
                found.leaks,
                found.disorder,
                found.misattributed,
                found.decisions
            )?;
            if let Some(why) = &row.skipped {
                writeln!(f, "SKIPPED {name}: {why}")?;
            }
        }
        Ok(())
    }
}
