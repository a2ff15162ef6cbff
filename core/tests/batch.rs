//! Batches against the emulator: what is sent, what is held back, what is told.

mod support;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use agentjob_core::{
    Batch, BatchItem, BatchOptions, BatchOutcome, BatchStep, BatchUpdate, CancelToken, Client, Delivery, ErrorKind,
    PauseReason, batch_status,
};
use agentjob_emulator::Emulator;
use support::{JOB, builder, client, emulator, ms, quick, timed};

/// A folder that goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("agentjob-batch-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Folder(path)
    }

    fn journal(&self) -> PathBuf {
        self.0.join("run.journal")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Messages `message 1` to `message n`, each for a job of its own.
fn items(n: u32) -> Vec<BatchItem> {
    (1..=n).map(|n| BatchItem::new(format!("job_{n}"), format!("message {n}"))).collect()
}

/// An emulator that has the jobs of [`items`].
fn service(jobs: u32, more: &str) -> Emulator {
    let list: Vec<String> = (1..=jobs).map(|n| format!(r#"{{"id":"job_{n}","status":"completed"}}"#)).collect();
    emulator(&format!(r#"{{"hourly_limit":1000000,"work_ms":100,"jobs":[{}]{more}}}"#, list.join(",")))
}

fn run(client: &Client, items: Vec<BatchItem>, options: &BatchOptions) -> Vec<BatchOutcome> {
    client.send_all(items, options).unwrap().map(Result::unwrap).collect()
}

/// Runs a batch until it is stopped, and answers what it told and why it stopped.
fn run_until_stopped(batch: Batch) -> (Vec<BatchOutcome>, agentjob_core::Error) {
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

fn prompts(emulator: &Emulator) -> Vec<String> {
    emulator.ledger().into_iter().map(|message| message.prompt).collect()
}

fn lines(journal: &Path, kind: &str) -> usize {
    let text = std::fs::read_to_string(journal).unwrap();
    text.lines().filter(|line| line.starts_with(&format!("{{\"line\":\"{kind}\""))).count()
}

#[test]
fn every_message_is_sent_once_and_a_second_run_sends_none() {
    let (service, folder) = (service(20, ""), Folder::new());
    let options = BatchOptions::new(folder.journal());
    let outcomes = run(&client(&service), items(20), &options);
    assert_eq!(outcomes.len(), 20);
    assert!(outcomes.iter().all(|o| o.delivery() == Delivery::Accepted && !o.is_earlier() && o.job().is_some()));
    assert_eq!(service.ledger().len(), 20);
    let again = run(&client(&service), items(20), &options);
    assert!(again.iter().all(|o| o.delivery() == Delivery::Accepted && o.is_earlier()), "{again:?}");
    let numbers: Vec<u64> = again.iter().map(BatchOutcome::number).collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    assert!(again.iter().all(|o| o.job().unwrap().id() == o.job_id()));
    assert_eq!(service.ledger().len(), 20);
    let journal = std::fs::read_to_string(folder.journal()).unwrap();
    assert!(!journal.contains("message 1") && !journal.contains(&service.api_key()), "no prompt, no key");
}
