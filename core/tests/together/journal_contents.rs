//! What a batch's journal has of the service's responses: a record's status, times and pull request, nothing of the key.

use std::time::Duration;

use crate::batches::{Folder, items, run, service};
use crate::support::{builder, client, emulator, quick};
use agentjob_core::{BatchItem, BatchOptions, Delivery};
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

pub(crate) fn record(changes: Value) -> Value {
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
fn a_status_that_repeats_the_prompt_while_the_job_runs_is_not_in_the_journal() {
    let echo = "walrus5ginger8comet2";
    let config = json!({ "jobs": [{ "id": "job_1" }], "rules": [
        { "method": "POST", "status": 200, "process": true, "json": record(json!({})) },
        { "method": "GET", "nth": 1, "status": 200, "json": record(json!({ "status": echo })) },
        { "method": "GET", "status": 200, "json": record(json!({})) },
    ] });
    let (service, folder) = (emulator(&config.to_string()), Folder::new());
    // So long that the first poll comes within it.
    let options = BatchOptions::new(folder.journal()).wait(quick().settle(Duration::from_secs(15)));
    run(&client(&service), vec![BatchItem::new("job_1", echo)], &options);
    let journal = plain(&folder.journal());
    assert!(journal.contains("\"line\":\"waiting\""), "a poll saw the job active: {journal}");
    assert!(!journal.contains(echo), "{journal}");
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
