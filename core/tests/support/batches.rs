//! What tests of batches have in common.

#![allow(dead_code, unreachable_pub, reason = "each test program uses some of it")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use agentjob_core::{Batch, BatchItem, BatchOptions, BatchOutcome, Client, Delivery};
use agentjob_emulator::Emulator;

use super::support::emulator;

/// A folder of the test's own, which is removed after it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        Folder::within(&std::env::temp_dir())
    }

    /// In memory if possible, for a test whose many syncs would take long on a slow disk.
    pub fn in_memory() -> Folder {
        let memory = Path::new("/dev/shm");
        let probe = memory.join(format!("agentjob-probe-{}-{:?}", std::process::id(), std::thread::current().id()));
        match std::fs::create_dir(&probe).and_then(|()| std::fs::remove_dir(&probe)) {
            Ok(()) => Folder::within(memory),
            Err(_) => Folder::new(),
        }
    }

    fn within(parent: &Path) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let name = format!("agentjob-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = parent.join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Folder(path),
                // What a killed test left, whose process had the same number.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => panic!("{path:?}: {error}"),
            }
        }
    }

    pub fn journal(&self) -> PathBuf {
        self.0.join("run.journal")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Messages `message 1` to `message n`, each for its own job.
pub fn items(n: u32) -> Vec<BatchItem> {
    (1..=n).map(|n| BatchItem::new(format!("job_{n}"), format!("message {n}"))).collect()
}

/// An emulator that has the jobs of [`items`].
pub fn service(jobs: u32, more: &str) -> Emulator {
    let list: Vec<String> = (1..=jobs).map(|n| format!(r#"{{"id":"job_{n}","status":"completed"}}"#)).collect();
    emulator(&format!(r#"{{"hourly_limit":1000000,"work_ms":100,"jobs":[{}]{more}}}"#, list.join(",")))
}

pub fn run(client: &Client, items: Vec<BatchItem>, options: &BatchOptions) -> Vec<BatchOutcome> {
    client.send_all(items, options).unwrap().map(Result::unwrap).collect()
}

/// Runs a batch until it is stopped. Returns the outcomes and the error.
pub fn run_until_stopped(batch: Batch) -> (Vec<BatchOutcome>, agentjob_core::Error) {
    let (mut outcomes, mut errors) = (Vec::new(), Vec::new());
    for outcome in batch {
        match outcome {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => errors.push(error),
        }
    }
    assert_eq!(errors.len(), 1, "{errors:?}");
    (outcomes, errors.remove(0))
}

pub fn prompts(emulator: &Emulator) -> Vec<String> {
    emulator.ledger().into_iter().map(|message| message.prompt).collect()
}

pub fn lines(journal: &Path, kind: &str) -> usize {
    let text = std::fs::read_to_string(journal).unwrap();
    text.lines().filter(|line| line.starts_with(&format!("{{\"line\":\"{kind}\""))).count()
}

/// Jobs `a`, `b` and `c`, which are done, and `stuck`, which is active and stays so.
pub fn service_with_jobs(more: &str) -> Emulator {
    let jobs = r#"{"id":"a"},{"id":"b"},{"id":"c"},{"id":"stuck","status":"active"},
        {"id":"soon","status":"active","finish_after_ms":3000}"#;
    emulator(&format!(r#"{{"hourly_limit":1000000,"work_ms":80,"jobs":[{jobs}]{more}}}"#))
}

pub fn messages(jobs: &[&str]) -> Vec<BatchItem> {
    jobs.iter().enumerate().map(|(at, job)| BatchItem::new(*job, format!("message {}", at + 1))).collect()
}

/// Each outcome by its item's number; there is one of each.
pub fn by_number(outcomes: Vec<BatchOutcome>, items: usize) -> HashMap<u64, BatchOutcome> {
    assert_eq!(outcomes.len(), items, "{outcomes:?}");
    let by_number: HashMap<u64, BatchOutcome> = outcomes.into_iter().map(|o| (o.number(), o)).collect();
    assert_eq!(by_number.len(), items);
    by_number
}

pub fn deliveries(outcomes: &HashMap<u64, BatchOutcome>) -> Vec<Delivery> {
    (1..=outcomes.len() as u64).map(|number| outcomes[&number].delivery()).collect()
}

/// Each accepted message has the pull request that the emulator's ledger says it made: another message's result is found.
pub fn assert_own_results(service: &Emulator, outcomes: &HashMap<u64, BatchOutcome>) {
    let ledger = service.ledger();
    for (number, outcome) in outcomes.iter().filter(|(_, outcome)| outcome.delivery() == Delivery::Accepted) {
        let made: Vec<_> = ledger.iter().filter(|m| m.prompt == format!("message {number}")).collect();
        let job = outcome.job().expect("a job that was waited for");
        assert!(
            job.is_terminal() && made.iter().any(|m| m.pr_link.as_deref() == job.pr_link()),
            "{outcome:?} {made:?}"
        );
    }
}
