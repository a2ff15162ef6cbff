//! What tests of batches have in common.

#![allow(dead_code, unreachable_pub, reason = "each test program uses some of it")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use agentjob_core::{Batch, BatchItem, BatchOptions, BatchOutcome, Client};
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
