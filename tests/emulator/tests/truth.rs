//! The truth endpoints: they tell, they reset, and they leave no trace.

mod common;

use common::{BODY, JOB, MESSAGE, Peer, emulator, request};
use serde_json::json;

#[test]
fn the_ledger_and_the_requests_say_what_happened() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    peer.post(MESSAGE, BODY);
    let mut truth = Peer::connect(&emulator);
    let ledger = truth.get("/_emulator/ledger").json();
    let message = &ledger["messages"][0];
    assert!(message["at_ms"].is_u64());
    let expected = json!({"n": 1, "job_id": "job_demo", "prompt": "Also cover the error cases", "kind": "message",
        "pr_link": "https://github.com/acme/widgets/pull/2",
        "at_ms": message["at_ms"], "request": 1});
    assert_eq!(message, &expected);

    let requests = truth.get("/_emulator/requests").json();
    let expected = json!({"connections": 1, "total": 1, "requests": [{"n": 1, "connection": 1, "method": "POST",
        "path": MESSAGE, "headers": [["Host", "emulator"], ["Authorization", "Bearer ***"],
        ["Content-Type", "application/json"], ["Content-Length", BODY.len().to_string()]],
        "body_bytes": BODY.len(), "complete": true, "status": 200, "fault": null}]});
    assert_eq!(requests, expected);
}

#[test]
fn reading_the_truth_is_not_counted_and_matches_no_rule() {
    let emulator = emulator(r#"{"rules": [{"from": 1, "fault": {"do": "reset", "at": "head:3"}}, {"status": 500}]}"#);
    for _ in 0..3 {
        let mut truth = Peer::connect(&emulator);
        let health = truth.get("/_emulator/health");
        assert_eq!((health.status, health.json()), (200, json!({})));
        assert_eq!(truth.get("/_emulator/ledger").status, 200);
        assert_eq!(truth.get("/_emulator/nothing").status, 404);
    }
    assert_eq!((emulator.requests().connections, emulator.requests().total), (0, 0));
    let mut peer = Peer::connect(&emulator);
    peer.write(request("GET", JOB, ""));
    assert_eq!(peer.end(), common::End::Reset);
    assert_eq!(emulator.requests().requests[0].connection, 1);
}

#[test]
fn a_new_configuration_starts_everything_again() {
    let emulator = emulator(r#"{"rules": [{"nth": 1, "status": 500}]}"#);
    let mut peer = Peer::connect(&emulator);
    assert_eq!((peer.get(JOB).status, peer.post(MESSAGE, BODY).status), (500, 200));

    let mut truth = Peer::connect(&emulator);
    let config =
        json!({"project_id": "other", "jobs": [{"id": "j"}], "rules": [{"connection": 1, "nth": 2, "status": 502}]});
    assert_eq!(truth.request("PUT", "/_emulator/config", &config.to_string()).json(), json!({}));
    assert!(emulator.ledger().is_empty() && emulator.requests().requests.is_empty());
    assert_eq!((emulator.project_id().as_str(), emulator.job_id().as_str()), ("other", "j"));
    // The kept connection is the first to speak, so it is the first.
    let statuses = [peer.get("/v2/agent/other/job/j").status, peer.get("/v2/agent/other/job/j").status];
    assert_eq!(statuses, [200, 502]);
    assert_eq!(emulator.requests().connections, 1);

    assert_eq!(truth.post("/_emulator/reset", "").status, 200);
    assert_eq!(peer.get(JOB).status, 500);
}

#[test]
fn a_bad_configuration_is_refused_and_changes_nothing() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    peer.post(MESSAGE, BODY);
    for (config, sentence) in [
        (r#"{"work": 1}"#, "work: unknown field"),
        (r#"{"port": 80}"#, "port: the emulator listens already"),
        ("x", "the configuration is no JSON"),
    ] {
        let response = Peer::connect(&emulator).request("PUT", "/_emulator/config", config);
        assert_eq!(response.status, 400);
        assert!(response.json()["error"].as_str().unwrap().starts_with(sentence), "{:?}", response.json());
    }
    assert_eq!(emulator.ledger().len(), 1);
}
