//! Scripted responses: which requests a rule means, and every shape a response can have.

mod common;

use std::io::Read;
use std::time::{Duration, Instant};

use common::{BODY, CREATE, End, JOB, MESSAGE, Peer, emulator, request};
use serde_json::json;

#[test]
fn the_first_rule_that_matches_a_request_wins() {
    let emulator = emulator(
        r#"{"rules": [
            {"method": "GET", "nth": 2, "status": 500},
            {"path": "/v2/agent/*/job/*/message", "from": 2, "status": 503},
            {"connection": 2, "status": 418},
            {"nth": 5, "status": 502}]}"#,
    );
    let mut peer = Peer::connect(&emulator);
    let statuses = [
        peer.get(JOB).status,
        peer.post(MESSAGE, BODY).status,
        peer.get(JOB).status,
        peer.post(MESSAGE, BODY).status,
        peer.post(CREATE, BODY).status,
        peer.get(JOB).status,
    ];
    assert_eq!(statuses, [200, 200, 500, 503, 502, 200]);
    assert_eq!(Peer::connect(&emulator).get(JOB).status, 418);
    assert_eq!(emulator.ledger().len(), 1);
}

#[test]
fn the_response_follows_the_rule_and_the_ledger_says_what_was_done() {
    for (rule, status, body, processed) in [
        (json!({"status": 202}), 202, None, 1),
        (json!({"status": 200, "process": false}), 200, None, 0),
        (json!({"status": 503}), 503, None, 0),
        (json!({"status": 503, "process": true, "body": "<html>"}), 503, Some("<html>"), 1),
        (json!({"json": {"id": "x"}}), 200, Some(r#"{"id":"x"}"#), 1),
        (json!({"status": 204}), 204, Some(""), 1),
        (json!({"status": 200, "body": "not json", "process": false}), 200, Some("not json"), 0),
        (json!({"raw": "HTTP/1.1 500 No\r\ncontent-length: 1\r\n\r\n\u{7f}"}), 500, Some("\u{7f}"), 0),
    ] {
        let emulator = emulator(&json!({"rules": [rule]}).to_string());
        let mut peer = Peer::connect(&emulator);
        let response = peer.post(MESSAGE, BODY);
        assert_eq!(response.status, status, "{rule}");
        if let Some(body) = body {
            assert_eq!(String::from_utf8_lossy(&response.body), body, "{rule}");
        }
        assert_eq!(emulator.ledger().len(), processed, "{rule}");
        assert_eq!(emulator.requests().requests[0].status, Some(status), "{rule}");
    }
}

#[test]
fn a_rule_without_processing_changes_nothing() {
    let emulator = emulator(r#"{"rules": [{"status": 200, "process": false}]}"#);
    let mut peer = Peer::connect(&emulator);
    assert_eq!(peer.post(MESSAGE, BODY).job_status(), "completed");
    let created = peer.post(CREATE, BODY).json()["id"].as_str().unwrap().to_owned();
    assert_eq!(peer.get(&format!("{CREATE}/{created}")).status, 404);
    assert!(emulator.ledger().is_empty());
}

#[test]
fn headers_are_replaced_not_doubled() {
    let emulator = emulator(
        r#"{"rules": [{"status": 429, "headers": {"Retry-After": "7", "X-Request-Id": "mine", "content-type": "text/html"}}]}"#,
    );
    let response = Peer::connect(&emulator).get(JOB);
    assert_eq!(response.header("retry-after"), Some("7"));
    assert_eq!(response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-request-id")).count(), 1);
    assert_eq!((response.header("x-request-id"), response.header("content-type")), (Some("mine"), Some("text/html")));
}

#[test]
fn every_framing_carries_the_same_record() {
    for (framing, kept) in [("length", true), ("chunked", true), ("close", false)] {
        let emulator = emulator(&json!({"rules": [{"nth": 1, "framing": framing}]}).to_string());
        let mut peer = Peer::connect(&emulator);
        assert_eq!(peer.get(JOB).json()["id"], "job_demo", "{framing}");
        if kept {
            assert_eq!(peer.get(JOB).status, 200);
        }
    }
}

#[test]
fn a_length_can_lie() {
    let emulator = emulator(r#"{"rules": [{"body": "short", "content_length": 10737418240}]}"#);
    let mut peer = Peer::connect(&emulator);
    peer.write(request("GET", JOB, ""));
    assert!(peer.read_head().contains("content-length: 10737418240\r\n"));
    assert_eq!(peer.rest(), (b"short".to_vec(), End::Fin));
}

#[test]
fn delay_interim_and_drip_take_their_time() {
    let emulator = emulator(
        r#"{"rules": [{"delay_ms": 60, "interim": "HTTP/1.1 103 Early Hints\r\n\r\n", "body": "0123456789",
            "drip": {"bytes": 64, "every_ms": 20}}]}"#,
    );
    let mut peer = Peer::connect(&emulator);
    let start = Instant::now();
    peer.write(request("GET", JOB, ""));
    assert_eq!(peer.read_head(), "HTTP/1.1 103 Early Hints\r\n\r\n");
    assert_eq!(peer.response().body, b"0123456789");
    assert!(start.elapsed() >= Duration::from_millis(80), "{:?}", start.elapsed());
}

#[test]
fn the_message_is_in_the_ledger_before_the_first_byte_of_its_response() {
    let emulator = emulator(r#"{"rules": [{"delay_ms": 60000}]}"#);
    let mut peer = Peer::connect(&emulator);
    peer.write(request("POST", MESSAGE, BODY));
    common::until("the message is processed", || emulator.ledger().len() == 1);
}

#[test]
fn endless_responses_continue_until_the_client_closes() {
    for (kind, begins) in [("headers", "x-endless: "), ("chunks", "\r\n\r\n10000\r\n "), ("body", "\r\n\r\n  ")] {
        let emulator = emulator(&json!({"rules": [{"endless": kind}]}).to_string());
        let mut peer = Peer::connect(&emulator);
        peer.write(request("GET", JOB, ""));
        let mut taken = vec![0; 3 << 20];
        peer.0.read_exact(&mut taken).unwrap();
        let start = String::from_utf8_lossy(&taken[..4096]).into_owned();
        assert!(start.starts_with("HTTP/1.1 200 OK\r\n") && start.contains(begins), "{kind}: {start}");
        drop(peer);
        assert_eq!(Peer::connect(&emulator).0.peer_addr().unwrap(), emulator.address());
    }
}

#[test]
fn an_early_response_comes_before_the_body_and_then_resets_or_lingers() {
    for (linger, end) in [(0, End::Reset), (5_000, End::Fin)] {
        let emulator = emulator(&json!({"rules": [{"early": true, "status": 413, "linger_ms": linger}]}).to_string());
        let mut peer = Peer::connect(&emulator);
        let whole = request("POST", MESSAGE, BODY);
        let (head, body) = whole.split_at(whole.len() - BODY.len());
        peer.write(head);
        if linger > 0 {
            let response = peer.response();
            assert_eq!((response.status, response.header("connection")), (413, Some("close")));
            peer.write(body);
            peer.0.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(peer.end(), end);
        } else {
            let (bytes, seen) = peer.rest();
            assert!(bytes.starts_with(b"HTTP/1.1 413 "));
            assert_eq!(seen, end);
        }
        let entry = emulator.requests().requests[0].clone();
        assert_eq!((entry.complete, entry.status), (false, Some(413)));
        assert!(emulator.ledger().is_empty());
    }
}

#[test]
fn a_kept_connection_dies_after_its_response_unannounced() {
    for (after, end) in [("close", End::Fin), ("reset", End::Reset), ("close_notify", End::Fin)] {
        let emulator = emulator(&json!({"rules": [{"after_response": after, "after_response_ms": 20}]}).to_string());
        let mut peer = Peer::connect(&emulator);
        let response = peer.post(MESSAGE, BODY);
        assert_eq!((response.status, response.header("connection")), (200, None), "{after}");
        assert_eq!(peer.end(), end, "{after}");
        if after == "close_notify" {
            peer.write("the other direction is still open");
        }
        assert_eq!(emulator.ledger().len(), 1);
    }
}

#[test]
fn a_body_fault_leaves_the_other_requests_alone() {
    let emulator = emulator(r#"{"rules": [{"method": "POST", "fault": {"do": "reset", "at": "body:1"}}]}"#);
    assert_eq!(Peer::connect(&emulator).get(JOB).status, 200);
    let mut peer = Peer::connect(&emulator);
    peer.write(request("POST", MESSAGE, BODY));
    assert_eq!(peer.end(), End::Reset);
}
