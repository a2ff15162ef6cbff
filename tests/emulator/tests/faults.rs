//! Each fault at each place: what the client sees, and what the ledger knows.

mod common;

use std::io::Write;
use std::time::{Duration, Instant};

use common::{BODY, End, JOB, MESSAGE, Peer, emulator, emulator_on_its_own_port, once_within, request, until};
use serde_json::json;

fn rule(fault: serde_json::Value) -> String {
    json!({"rules": [{"nth": 1, "fault": fault}]}).to_string()
}

/// A POST on a connection with the fault `do` at `at`: what came, how it ended, and how many messages were processed.
fn post_into(deed: &str, at: &str, extra: serde_json::Value) -> (String, End, usize) {
    let mut fault = json!({"do": deed, "at": at});
    fault.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    let emulator = emulator(&rule(fault));
    let mut peer = Peer::connect(&emulator);
    // A fault at accept may have ended the connection before this is written. A reset is reported once, to a write or to a read.
    let written = peer.0.write_all(request("POST", MESSAGE, BODY).as_bytes());
    let (bytes, end) = match written {
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => (Vec::new(), End::Reset),
        _ => peer.rest(),
    };
    let log = emulator.requests();
    if at != "accept" {
        assert_eq!(log.requests[0].fault.as_deref(), Some(format!("{deed} at {at}").as_str()));
    }
    // The fault was for the first only: the service continues.
    assert_eq!(Peer::connect(&emulator).get(JOB).status, 200);
    (String::from_utf8(bytes).unwrap(), end, emulator.ledger().len())
}

#[test]
fn before_the_whole_request_nothing_is_processed() {
    for at in ["head:0", "head:5", "head:100000", "body:0", "body:10", "body:100000", "request"] {
        assert_eq!(post_into("close", at, json!({})), (String::new(), End::Fin, 0), "close at {at}");
        assert_eq!(post_into("reset", at, json!({})), (String::new(), End::Reset, 0), "reset at {at}");
        assert_eq!(post_into("stall", at, json!({"ms": 50})), (String::new(), End::Fin, 0), "stall at {at}");
    }
}

#[test]
fn a_message_can_be_processed_and_never_responded_to() {
    for (deed, end) in [("close", End::Fin), ("reset", End::Reset), ("stall", End::Fin)] {
        let seen = post_into(deed, "request", json!({"process": true, "ms": 50}));
        assert_eq!(seen, (String::new(), end, 1), "{deed}");
    }
}

#[test]
fn a_response_is_cut_at_its_byte_and_its_message_is_processed() {
    for (deed, end) in [("close", End::Fin), ("reset", End::Reset), ("stall", End::Fin)] {
        let (bytes, seen, processed) = post_into(deed, "response:12", json!({"ms": 50}));
        assert_eq!((bytes.as_str(), seen, processed), ("HTTP/1.1 200", end, 1), "{deed}");
    }
    assert_eq!(post_into("close", "response:0", json!({})), (String::new(), End::Fin, 1));
    assert_eq!(post_into("close", "response:0", json!({"process": false})), (String::new(), End::Fin, 0));
    let (whole, end, processed) = post_into("close", "response:1000000", json!({}));
    assert!(whole.ends_with('}'), "{whole}");
    assert_eq!((end, processed), (End::Fin, 1));
}

#[test]
fn a_connection_can_break_as_it_is_accepted() {
    for (deed, end) in [("reset", End::Reset), ("stall", End::Fin)] {
        let (bytes, seen, processed) = post_into(deed, "accept", json!({"ms": 50}));
        assert_eq!((bytes.as_str(), seen, processed), ("", end, 0), "{deed}");
    }
    let emulator = emulator(r#"{"rules": [{"nth": 2, "fault": {"do": "close", "at": "accept"}}]}"#);
    assert_eq!(Peer::connect(&emulator).get(JOB).status, 200);
    assert_eq!(Peer::connect(&emulator).end(), End::Fin);
    assert_eq!(Peer::connect(&emulator).get(JOB).status, 200);
    assert_eq!((emulator.requests().connections, emulator.requests().total), (3, 2));
}

#[test]
fn a_large_body_is_broken_off_where_the_rule_says() {
    let emulator =
        emulator(r#"{"rules": [{"path": "/v2/agent/*/job/*/message", "fault": {"do": "close", "at": "body:70000"}}]}"#);
    let mut peer = Peer::connect(&emulator);
    let body = json!({"prompt": "x".repeat(200_000)}).to_string();
    let whole = request("POST", MESSAGE, &body);
    let head = whole.len() - body.len();
    peer.write(&whole.as_bytes()[..head + 70_000]);
    assert_eq!(peer.end(), End::Fin);
    let entry = emulator.requests().requests[0].clone();
    assert_eq!((entry.body_bytes, entry.complete, entry.status), (70_000, false, None));
    assert!(emulator.ledger().is_empty());
}

#[test]
fn a_stall_in_the_body_stops_reading() {
    let emulator = emulator(r#"{"rules": [{"fault": {"do": "stall", "at": "body:10", "ms": 60000}}]}"#);
    let mut peer = Peer::connect(&emulator);
    peer.0.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let body = json!({"prompt": "x".repeat(32 << 20)}).to_string();
    let error = peer.0.write_all(request("POST", MESSAGE, &body).as_bytes()).unwrap_err();
    assert!(matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{error}");
}

#[test]
fn a_stall_ends_when_the_client_closes() {
    let emulator = emulator(r#"{"rules": [{"fault": {"do": "stall", "at": "head:20", "ms": 60000}}]}"#);
    let mut peer = Peer::connect(&emulator);
    peer.write(request("GET", JOB, ""));
    until("the fault strikes", || emulator.requests().requests.first().is_some_and(|entry| entry.fault.is_some()));
    peer.0.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(peer.end(), End::Fin);
}

#[test]
fn stop_ends_stalls_delays_and_idle_connections_within_200_ms() {
    assert!(once_within(Duration::from_millis(200), stopping));
}

/// How long a stop takes in the midst of everything; what it has to end has ended after it.
fn stopping() -> Duration {
    let emulator = emulator_on_its_own_port(
        r#"{"rules": [
            {"connection": 1, "fault": {"do": "stall", "at": "body:1"}},
            {"connection": 2, "delay_ms": 60000},
            {"connection": 3, "fault": {"do": "stall", "at": "accept"}},
            {"connection": 4, "endless": "body"}]}"#,
    );
    let mut peers: Vec<_> = (1..=5).map(|_| Peer::connect(&emulator)).collect();
    for at in [0, 1, 3] {
        peers[at].write(request("POST", MESSAGE, BODY));
    }
    until("all are in progress", || emulator.requests().total == 3 && emulator.requests().connections == 5);
    let start = Instant::now();
    emulator.stop();
    let took = start.elapsed();
    for mut peer in peers {
        peer.rest();
    }
    assert!(std::net::TcpStream::connect(emulator.address()).is_err());
    took
}

#[test]
fn a_request_that_the_client_breaks_off_is_in_the_log() {
    let emulator = emulator("{}");
    for part in ["POST ", "POST /x HTTP/1.1\r\nHost: y", &request("POST", MESSAGE, BODY)[..180]] {
        let mut peer = Peer::connect(&emulator);
        peer.write(part);
        peer.0.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(peer.end(), End::Fin);
    }
    let log = emulator.requests().requests;
    let seen: Vec<_> =
        log.iter().map(|entry| (entry.method.as_deref(), entry.path.as_deref(), entry.complete)).collect();
    assert_eq!(seen, [(None, None, false), (Some("POST"), Some("/x"), false), (Some("POST"), Some(MESSAGE), false)]);
    assert!(emulator.ledger().is_empty());
}
