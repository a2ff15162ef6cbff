//! A full disk, which a limit on a file's length imitates: no outcome is lost, and decisions are written whole or not at all.

use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::batches::{Folder, items, run};
use crate::decisions::{after_failures, numbers};
use crate::journal_contents::record;
use crate::support::{client, emulator};
use agentjob_core::{BatchOptions, Client, Delivery, ErrorKind, Resolution, batch_resolve, batch_status};
use serde_json::{Value, json};

/// From here on no file of this process can be longer.
fn limit_files(bytes: u64) {
    setrlimit(Resource::Fsize, Rlimit { current: Some(bytes), maximum: Some(bytes) }).unwrap();
}

const BATCH: &str = "AGENTJOB_TEST_JOURNAL";
const IN_FLIGHT: u32 = 64;

/// The process whose disk is full.
#[test]
#[ignore = "it is the process that the test below starts"]
fn child_whose_disk_is_full() {
    let setting = std::env::var(BATCH).unwrap();
    let [url, journal, limit] = setting.split('\n').collect::<Vec<_>>()[..] else { panic!("{setting}") };
    limit_files(limit.parse().unwrap());
    let client = Client::builder().base_url(url).api_key("adm_key_0123").project_id("demo").trust_env(false);
    let options = BatchOptions::new(journal).concurrency(IN_FLIGHT);
    let list = items(3 * IN_FLIGHT);
    let batch = client.build().unwrap().send_all(list, &options).unwrap();
    let (mut accepted, mut failed) = (0, None);
    for outcome in batch {
        match outcome {
            Ok(outcome) => {
                assert_eq!(outcome.delivery(), Delivery::Accepted);
                assert!(outcome.job().unwrap().get("note").is_some(), "it is complete, whatever is stored of it");
                accepted += 1;
            }
            Err(error) => failed = Some(error),
        }
    }
    let message = failed.unwrap().message().to_owned();
    assert!(message.contains("cannot be written") && message.contains("Fix that"), "{message}");
    assert_ne!(accepted, 0);
}

#[test]
fn on_a_disk_that_fills_up_no_outcome_is_lost() {
    let link = format!("https://example.com/{}", "r/".repeat(200));
    let fat =
        |id: &str| record(json!({ "id": id, "prLink": link, "note": "x".repeat(3000), "model": "m".repeat(100) }));
    // Long enough that the first messages are all in flight before a response comes, also on a machine that is busy: when few are,
    // all of their records may fit.
    let response = |n: u32| {
        let id = format!("job_{n}");
        let path = format!("/v2/agent/*/job/{id}/message");
        json!({ "method": "POST", "path": path, "status": 200, "process": true, "delay_ms": 1000, "json": fat(&id) })
    };
    let rules: Vec<Value> = (1..=3 * IN_FLIGHT).map(response).collect();
    for limit in [24_000, 40_000, 52_000, 60_000, 90_000] {
        let jobs: Vec<Value> = (1..=3 * IN_FLIGHT).map(|n| json!({ "id": format!("job_{n}") })).collect();
        let config = json!({ "api_key": "adm_key_0123", "hourly_limit": 1000, "jobs": jobs, "rules": rules });
        let (service, folder) = (emulator(&config.to_string()), Folder::new());
        let setting = format!("{}\n{}\n{limit}", service.base_url(), folder.journal().display());
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "full_disk::child_whose_disk_is_full", "--test-threads=1"])
            .env(BATCH, setting)
            .output()
            .unwrap();
        assert!(child.status.success(), "{limit}: {}", String::from_utf8_lossy(&child.stdout));
        let status = batch_status(folder.journal()).unwrap();
        let sent = service.ledger().len() as u64;
        assert_eq!((status.progress.accepted, status.progress.unknown), (sent, 0), "{limit}: no outcome was lost");
        assert!(sent > 0 && sent < 3 * u64::from(IN_FLIGHT), "{limit}: {sent}");
        let options = BatchOptions::new(folder.journal()).concurrency(IN_FLIGHT);
        let later = run(&client(&service), items(3 * IN_FLIGHT), &options);
        assert!(later.iter().all(|outcome| outcome.delivery() == Delivery::Accepted));
        let without = later.iter().filter(|outcome| outcome.job().is_none()).count();
        assert!(without > 0, "{limit}: some were written without their records");
        assert_eq!(service.ledger().len(), 3 * IN_FLIGHT as usize);
    }
}

const DECISIONS: &str = "AGENTJOB_TEST_FULL_DESK";

/// A process whose disk has room for one decision.
#[test]
#[ignore = "it is the process that the test below starts"]
fn child_that_decides_on_a_full_disk() {
    let journal = std::env::var(DECISIONS).unwrap();
    limit_files(std::fs::metadata(&journal).unwrap().len() + 300);
    let error = batch_resolve(&journal, &numbers(&[2, 3]), Resolution::NotArrived).unwrap_err();
    assert!(error.message().contains("cannot be written") && error.kind() == ErrorKind::Journal, "{error}");
    assert_eq!(batch_resolve(&journal, &numbers(&[3]), Resolution::NotArrived).unwrap().len(), 1, "one has room");
}

#[test]
fn on_a_full_disk_all_decisions_of_a_call_are_written_or_none() {
    let (_service, folder) = after_failures();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "full_disk::child_that_decides_on_a_full_disk", "--test-threads=1"])
        .env(DECISIONS, folder.journal())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
    let made = batch_status(folder.journal()).unwrap().decisions;
    assert_eq!(made.iter().map(|made| made.number).collect::<Vec<_>>(), [3]);
}
