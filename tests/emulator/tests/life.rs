//! The contract: jobs live, and what is not right is refused.

mod common;

use agentjob_emulator::MessageKind;
use common::{BODY, CREATE, JOB, MESSAGE, Peer, emulator, until};
use serde_json::{Value, json};

#[test]
fn a_message_makes_a_job_active_and_then_completed_with_a_new_pull_request() {
    let emulator = emulator(r#"{"work_ms": 100}"#);
    let mut peer = Peer::connect(&emulator);

    let before = peer.get(JOB).json();
    assert_eq!(before["status"], "completed");
    assert!(before["prLink"].as_str().unwrap().ends_with("/pull/1"));

    let sent = peer.post(MESSAGE, BODY);
    assert_eq!((sent.status, sent.header("content-type")), (200, Some("application/json")));
    assert_eq!(sent.header("x-request-id"), Some("req_2"));
    assert_eq!((sent.json()["status"].clone(), sent.json()["prLink"].clone()), (json!("active"), Value::Null));

    until("the job completes", || peer.get(JOB).job_status() == "completed");
    let done = peer.get(JOB).json();
    assert!(done["prLink"].as_str().unwrap().ends_with("/pull/2"));
    assert_eq!(done["archivedAt"], Value::Null);
    let keys: Vec<_> = done.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"]);

    let ledger = emulator.ledger();
    assert_eq!(ledger.len(), 1);
    assert_eq!((ledger[0].n, ledger[0].request, ledger[0].kind), (1, 2, MessageKind::Message));
    assert_eq!((ledger[0].job_id.as_str(), ledger[0].prompt.as_str()), ("job_demo", "Also cover the error cases"));
    assert_eq!(emulator.requests().connections, 1);
}

#[test]
fn the_outcome_is_as_configured() {
    for (outcome, linked, archived) in [("failed", false, false), ("archived", true, true)] {
        let emulator = emulator(&json!({"work_ms": 0, "outcome": outcome}).to_string());
        let mut peer = Peer::connect(&emulator);
        peer.post(MESSAGE, BODY);
        let done = peer.get(JOB).json();
        assert_eq!(done["status"], outcome);
        assert_eq!((done["prLink"].is_string(), done["archivedAt"].is_string()), (linked, archived));
    }
}

#[test]
fn a_created_job_can_be_invisible_at_first() {
    let emulator = emulator(r#"{"visible_after_ms": 3000, "work_ms": 60000}"#);
    let mut peer = Peer::connect(&emulator);
    let created = peer.post(CREATE, r#"{"prompt": "Fix the typo"}"#);
    assert_eq!((created.status, created.job_status().as_str()), (201, "active"));
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let path = format!("{CREATE}/{id}");
    assert_eq!(peer.get(&path).status, 404);
    until("the job is visible", || peer.get(&path).status == 200);
    assert_eq!((emulator.ledger()[0].kind, &emulator.ledger()[0].job_id), (MessageKind::Create, &id));
}

#[test]
fn a_finished_job_can_still_show_its_previous_record() {
    let emulator = emulator(r#"{"stale_ms": 3000, "work_ms": 60000}"#);
    let mut peer = Peer::connect(&emulator);
    let previous = peer.get(JOB).json();
    assert_eq!(peer.post(MESSAGE, BODY).json(), previous);
    assert_eq!(peer.get(JOB).json(), previous);
    until("the record is fresh", || peer.get(JOB).job_status() == "active");
}

#[test]
fn the_response_to_the_message_can_show_the_new_record() {
    let emulator = emulator(r#"{"stale_ms": 60000, "stale_post": false}"#);
    let mut peer = Peer::connect(&emulator);
    assert_eq!(peer.post(MESSAGE, BODY).job_status(), "active");
    assert_eq!(peer.get(JOB).job_status(), "completed");
}

#[test]
fn an_active_job_can_refuse_messages_until_it_is_done() {
    let job = r#"{"id": "job_demo", "status": "active", "finish_after_ms": 3000}"#;
    let emulator = emulator(&format!(r#"{{"busy": true, "work_ms": 60000, "jobs": [{job}]}}"#));
    let mut peer = Peer::connect(&emulator);
    assert_eq!(peer.post(MESSAGE, BODY).status, 409);
    assert!(emulator.ledger().is_empty(), "it is not processed");
    until("the job is done", || peer.get(JOB).job_status() == "completed");
    assert_eq!(peer.post(MESSAGE, BODY).status, 200);
    assert_eq!(peer.post(MESSAGE, BODY).status, 409, "and then it works on that one");
    assert_eq!(emulator.ledger().len(), 1);
}

#[test]
fn the_ledger_knows_which_message_made_which_pull_request() {
    let emulator = emulator(r#"{"work_ms": 20, "busy": true}"#);
    let mut peer = Peer::connect(&emulator);
    let mut links = Vec::new();
    for _ in 0..3 {
        assert_eq!(peer.post(MESSAGE, BODY).status, 200);
        until("the job is done", || peer.get(JOB).job_status() == "completed");
        links.push(peer.get(JOB).json()["prLink"].as_str().map(str::to_owned));
    }
    assert!(links[0].is_some() && links[0] != links[1] && links[1] != links[2] && links[0] != links[2]);
    assert_eq!(emulator.ledger().into_iter().map(|message| message.pr_link).collect::<Vec<_>>(), links);
}

#[test]
fn work_that_fails_makes_no_pull_request() {
    let emulator = emulator(r#"{"outcome": "failed"}"#);
    assert_eq!(Peer::connect(&emulator).post(MESSAGE, BODY).status, 200);
    assert_eq!(emulator.ledger()[0].pr_link, None);
}

#[test]
fn configured_jobs_keep_their_fields_and_finish_when_configured() {
    let emulator = emulator(
        r#"{"jobs": [
            {"id": "a b", "status": "active", "finish_after_ms": 100, "model": null, "branch": 1.50,
             "source": {"repository": "https://git.example/x"}},
            {"id": "idle", "status": "active"},
            {"id": "new", "status": "paused"}]}"#,
    );
    assert_eq!(emulator.job_id(), "a b");
    let mut peer = Peer::connect(&emulator);
    until("the work is done", || peer.get("/v2/agent/demo/job/a%20b").job_status() == "completed");
    let done = peer.get("/v2/agent/demo/job/a%20b").json();
    assert_eq!((&done["model"], done["branch"].to_string().as_str()), (&Value::Null, "1.50"));
    assert_eq!(done["prLink"], "https://git.example/x/pull/1");
    assert!(done.get("finish_after_ms").is_none());
    assert_eq!(peer.get("/v2/agent/demo/job/idle").job_status(), "active");
    assert_eq!(peer.get("/v2/agent/demo/job/new").job_status(), "paused");
}

#[test]
fn invalid_requests_are_refused_and_not_processed() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    for (method, path, body, status) in [
        ("POST", MESSAGE, "", 400),
        ("POST", MESSAGE, "prompt", 400),
        ("POST", MESSAGE, "{}", 400),
        ("POST", MESSAGE, r#"["x"]"#, 400),
        ("POST", MESSAGE, r#"{"prompt": ""}"#, 400),
        ("POST", MESSAGE, r#"{"prompt": 5}"#, 400),
        ("POST", MESSAGE, r#"{"prompt": null}"#, 400),
        ("POST", MESSAGE, r#"{"prompt": "x""#, 400),
        ("POST", CREATE, "{}", 400),
        ("POST", "/v2/agent/demo/job/job_other/message", BODY, 404),
        ("GET", "/v2/agent/demo/job/job_other", "", 404),
        ("POST", "/v2/agent/other/job/job_demo/message", BODY, 403),
        ("GET", "/v2/agent/demo", "", 404),
        ("GET", "/", "", 404),
        ("GET", MESSAGE, "", 405),
        ("DELETE", JOB, "", 405),
        ("GET", CREATE, "", 405),
    ] {
        let response = peer.request(method, path, body);
        assert_eq!(response.status, status, "{method} {path} {body}");
        assert!(response.json()["error"].is_string(), "{method} {path} {body}");
        assert!(response.header("x-request-id").is_some());
    }
    assert!(emulator.ledger().is_empty());
    assert_eq!(peer.post(MESSAGE, r#"{"more": [1], "prompt": "\u00e9\n\"x\""}"#).status, 200);
    assert_eq!(emulator.ledger()[0].prompt, "é\n\"x\"");
}

#[test]
fn a_wrong_key_is_refused_and_no_key_is_logged() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    for key in ["", "Authorization: Bearer wrong\r\n", "Authorization: emulator_0123456789abcdef\r\n"] {
        peer.write(format!("GET {JOB} HTTP/1.1\r\n{key}\r\n"));
        assert_eq!(peer.response().status, 401);
    }
    assert_eq!(peer.get(JOB).status, 200);
    let log = format!("{:?}", emulator.requests());
    assert!(!log.contains("0123456789abcdef") && !log.contains("wrong"), "{log}");
    let named = |n: usize| {
        let headers = &emulator.requests().requests[n].headers;
        headers.iter().find(|(name, _)| name == "Authorization").unwrap().1.clone()
    };
    assert_eq!((named(1), named(3)), ("***".to_owned(), "Bearer ***".to_owned()));
}

#[test]
fn the_hourly_limit_responds_429_with_a_retry_after() {
    let emulator = emulator(r#"{"hourly_limit": 2}"#);
    let mut peer = Peer::connect(&emulator);
    assert_eq!(peer.post(MESSAGE, "{}").status, 400);
    assert_eq!((peer.post(MESSAGE, BODY).status, peer.post(CREATE, BODY).status), (200, 201));
    for path in [MESSAGE, CREATE] {
        let refused = peer.post(path, BODY);
        assert_eq!(refused.status, 429);
        let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((3_500..=3_600).contains(&seconds));
    }
    assert_eq!(peer.get(JOB).status, 200);
    assert_eq!(emulator.ledger().len(), 2);
}

#[test]
fn keeping_prompts_and_requests_can_be_turned_off() {
    let emulator = emulator(r#"{"hourly_limit": 1000000, "keep_prompts": false, "keep_requests": false}"#);
    let mut peer = Peer::connect(&emulator);
    for _ in 0..10_000 {
        assert_eq!(peer.post_quickly(), 200);
    }
    let (ledger, requests) = (emulator.ledger(), emulator.requests());
    assert_eq!((ledger.len(), ledger[0].prompt.as_str()), (10_000, ""));
    assert_eq!((requests.total, requests.requests.len()), (10_000, 0));
}

trait Quickly {
    fn post_quickly(&mut self) -> u16;
}

impl Quickly for Peer {
    /// One write, one read: the response is one write on the other side, and small.
    fn post_quickly(&mut self) -> u16 {
        self.write(common::request("POST", MESSAGE, BODY));
        let mut response = [0; 4096];
        let count = std::io::Read::read(&mut self.0, &mut response).unwrap();
        let text = std::str::from_utf8(&response[..count]).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
        assert_eq!(body.len().to_string(), length);
        text[9..12].parse().unwrap()
    }
}
