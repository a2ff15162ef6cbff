//! What a batch's journal has of the service's responses: a record's status, times and pull request, nothing of the key, and on a full
//! disk only the outcome.

use std::process::Command;

use crate::batches::{Folder, items, run, service};
use crate::support::{builder, client, emulator, quick};
use agentjob_core::{BatchItem, BatchOptions, Client, Delivery, batch_status};
use serde_json::{Value, json};

/// A journal's text in lower case and without its escapes.
fn plain(journal: &std::path::Path) -> String {
    std::fs::read_to_string(journal).unwrap().replace('\\', "").to_lowercase()
}

/// Runs a batch of one message to which the service responds by this rule, twice, and returns the journal.
fn journal_after(prompt: &str, key: &str, rule: Value, wait: bool) -> String {
    let mut rule = rule;
    rule["method"] = "POST".into();
    rule["process"] = true.into();
    let record = rule["json"].clone();
    let poll = json!({ "method": "GET", "status": 200, "json": record });
    let rules = if wait { json!([rule, poll]) } else { json!([rule]) };
    let config = json!({ "api_key": key, "jobs": [{ "id": "job_1" }], "rules": rules });
    let (service, folder) = (emulator(&config.to_string()), Folder::new());
    let options = BatchOptions::new(folder.journal()).wait(wait.then(quick));
    let list = || vec![BatchItem::new("job_1", prompt), BatchItem::new("job_1", "x")];
    for _ in 0..2 {
        let outcomes = run(&client(&service), list(), &options);
        assert!(outcomes.iter().all(|outcome| outcome.delivery() != Delivery::NotSent));
    }
    plain(&folder.journal())
}

fn record(changes: Value) -> Value {
    let mut record = json!({
        "id": "job_1", "status": "completed", "source": { "repository": "https://example.com/r", "ref": "main" }, "model": "m",
        "prLink": null, "createdAt": "2026-01-02T03:04:05Z", "archivedAt": null
    });
    for (name, value) in changes.as_object().unwrap() {
        record[name] = value.clone();
    }
    record
}

#[test]
fn a_record_that_repeats_the_prompt_brings_it_into_the_journal_in_no_field() {
    // It would pass for a name.
    let echo = "walrus5ginger8comet2";
    let everywhere = json!({
        "source": { "repository": format!("https://example.com/{echo}"), "ref": echo }, "model": echo, "createdAt": echo,
        "prLink": format!("https://example.com/?title={echo}"), "archivedAt": echo, "lastMessage": echo, echo: 1
    });
    let responses = [
        ("every field", record(everywhere.clone()), false),
        ("a wait's every field", record(everywhere), true),
        ("source and prLink, bare", record(json!({ "source": echo, "prLink": echo })), false),
        ("status", record(json!({ "status": echo })), false),
    ];
    for (place, response, wait) in responses {
        let journal = journal_after(echo, "adm_key_0123", json!({ "status": 200, "json": response }), wait);
        assert!(journal.contains("\"line\":\"accepted\""), "{journal}");
        assert!(!journal.contains(echo), "{place}: {journal}");
    }
    let headers = json!({ "X-Request-Id": format!("for {echo}") });
    for status in [400, 200] {
        let response = json!({ "status": status, "headers": headers, "json": { "error": echo } });
        let journal = journal_after(echo, "adm_key_0123", response, false);
        assert!(!journal.contains(echo), "an error's text and the request's id: {journal}");
    }
}

#[test]
fn a_key_that_looks_like_a_name_is_not_in_the_journal() {
    let key = "gpt-9-codex-max";
    for response in [
        json!({ "status": 200, "json": record(json!({ "model": key })) }),
        json!({ "status": 200, "json": record(json!({ "prLink": format!("https://example.com/{key}/1") })) }),
        json!({ "status": 200, "json": record(json!({ "source": { "ref": format!("agent/{key}") } })) }),
        json!({ "status": 400, "json": { "error": format!("bad key {key}") }, "headers": { "X-Request-Id": key } }),
    ] {
        let journal = journal_after("Add tests", key, response, false);
        assert!(!journal.contains(key), "{journal}");
    }
}

#[test]
fn a_later_run_reports_what_was_stored() {
    let link = "https://example.com/r/pull/7";
    let more = record(json!({ "prLink": link, "note": "anything", "model": "two words" }));
    let rules = json!([{ "method": "POST", "status": 200, "process": true, "json": more }]);
    let service = emulator(&json!({ "jobs": [{ "id": "job_1" }], "rules": rules }).to_string());
    let folder = Folder::new();
    let list = || vec![BatchItem::new("job_1", "Add tests")];
    let first = run(&client(&service), list(), &BatchOptions::new(folder.journal()));
    let job = first[0].job().unwrap();
    assert_eq!((job.model(), job.pr_link(), job.get("note").is_some()), (Some("two words"), Some(link), true));
    let later = run(&client(&service), list(), &BatchOptions::new(folder.journal()));
    let job = later[0].job().unwrap();
    assert!(later[0].is_earlier() && job.is_terminal());
    assert_eq!((job.model(), job.pr_link(), job.get("note")), (None, Some(link), None));
    assert_eq!((job.source_repository(), job.created_at()), (None, Some("2026-01-02T03:04:05Z")));
}

const CHILD: &str = "AGENTJOB_TEST_JOURNAL";
const IN_FLIGHT: u32 = 64;

/// The process whose disk is full, which a limit on a file's length imitates.
#[test]
#[ignore = "it is the process that the test below starts"]
fn child_whose_disk_is_full() {
    let setting = std::env::var(CHILD).unwrap();
    let [url, journal, limit] = setting.split('\n').collect::<Vec<_>>()[..] else { panic!("{setting}") };
    let limit = Some(limit.parse().unwrap());
    let limit = rustix::process::Rlimit { current: limit, maximum: limit };
    rustix::process::setrlimit(rustix::process::Resource::Fsize, limit).unwrap();
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
            .args(["--ignored", "--exact", "journal_contents::child_whose_disk_is_full", "--test-threads=1"])
            .env(CHILD, setting)
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

#[test]
fn a_wait_continues_from_an_outcome_that_was_written_without_its_record() {
    let (service, folder) = (service(1, ""), Folder::new());
    run(&client(&service), items(1), &BatchOptions::new(folder.journal()));
    let journal = std::fs::read_to_string(folder.journal()).unwrap();
    let (head, accepted) = journal.trim_end().rsplit_once('\n').unwrap();
    let (before, rest) = accepted.split_once(",\"job\":").unwrap();
    let (_, after) = rest.split_once(",\"at\":").unwrap();
    let (body, _) = after.split_once(",\"sum\":").unwrap();
    let body = format!("{before},\"at\":{body}");
    let digest = ring::digest::digest(&ring::digest::SHA256, body.as_bytes());
    let sum: String = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    std::fs::write(folder.journal(), format!("{head}\n{body},\"sum\":\"{sum}\"}}\n")).unwrap();
    let options = BatchOptions::new(folder.journal()).wait(quick());
    let outcomes = run(&builder(&service).build().unwrap(), items(1), &options);
    assert!(outcomes[0].job().unwrap().is_terminal() && service.ledger().len() == 1);
}
