//! HTTP/1.1 as it arrives: kept connections, every framing of a body, pieces of any size.

mod common;

use std::time::Duration;

use common::{BODY, End, JOB, MESSAGE, Peer, emulator, request};
use serde_json::json;

const CHUNKED: &str = "POST /v2/agent/demo/job/job_demo/message HTTP/1.1\r\nAuthorization: Bearer emulator_0123456789abcdef\r\n\
                       Transfer-Encoding: chunked\r\n\r\n";

#[test]
fn a_connection_is_kept_until_it_is_asked_to_close() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    for n in 1..=20 {
        assert_eq!(peer.get(JOB).header("x-request-id"), Some(format!("req_{n}").as_str()));
    }
    peer.write(request("GET", JOB, "").replace("Host: emulator", "Connection: close"));
    let last = peer.response();
    assert_eq!((last.status, last.header("connection")), (200, Some("close")));
    assert_eq!(peer.end(), End::Fin);
    assert_eq!(emulator.requests().connections, 1);
}

#[test]
fn a_chunked_body_is_joined() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    for pause in [false, true] {
        for piece in
            [CHUNKED, "4;ext=1\r\n{\"pr\r\n", "a\r\nompt\":\"hey\r\n", "2\r\n\"}\r\n", "0\r\nTrailer: x\r\n\r\n"]
        {
            peer.write(piece);
            if pause {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        assert_eq!(peer.response().status, 200);
    }
    assert_eq!(emulator.ledger()[1].prompt, "hey");
    assert_eq!(emulator.requests().requests[1].body_bytes, 16);
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    for byte in request("POST", MESSAGE, BODY).bytes() {
        peer.write([byte]);
    }
    assert_eq!(peer.response().status, 200);
}

#[test]
fn a_prompt_of_4_mib_arrives_whole() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    let prompt = "äöü\n".repeat((4 << 20) / 7);
    let body = json!({ "prompt": prompt }).to_string();
    assert_eq!(peer.post(MESSAGE, &body).status, 200);
    assert!(emulator.ledger()[0].prompt == prompt);
    peer.write(format!("{CHUNKED}{:x}\r\n{body}\r\n0\r\n\r\n", body.len()));
    assert_eq!(peer.response().status, 200);
    assert!(emulator.ledger()[1].prompt == prompt);
    assert_eq!(peer.get(JOB).status, 200);
}

#[test]
fn a_client_that_expects_a_100_continue_gets_one() {
    let emulator = emulator("{}");
    let mut peer = Peer::connect(&emulator);
    let whole = request("POST", MESSAGE, BODY).replace("Host: emulator", "Expect: 100-continue");
    let (head, body) = whole.split_at(whole.len() - BODY.len());
    peer.write(head);
    assert_eq!(peer.read_head(), "HTTP/1.1 100 Continue\r\n\r\n");
    peer.write(body);
    assert_eq!(peer.response().status, 200);
}

#[test]
fn what_is_not_http_is_refused_and_the_connection_ends() {
    let emulator = emulator("{}");
    for (bytes, status) in [
        ("\x16\x03\x01\x02\r\n\r\n".to_owned(), 400),
        (format!("GET {JOB} HTTP/1.1\r\nContent-Length: x\r\n\r\n"), 400),
        (format!("POST {MESSAGE} HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400),
        (format!("{CHUNKED}zz\r\n"), 400),
        (format!("POST {MESSAGE} HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"), 413),
        (format!("GET {JOB} HTTP/1.1\r\nx: {}", "y".repeat(70_000)), 431),
    ] {
        let mut peer = Peer::connect(&emulator);
        peer.write(bytes);
        peer.0.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(peer.response().status, status);
        assert_eq!(peer.end(), End::Fin);
    }
}

#[test]
fn a_client_may_close_its_half_and_still_get_its_response() {
    let emulator = emulator(r#"{"rules": [{"delay_ms": 30}]}"#);
    let mut peer = Peer::connect(&emulator);
    peer.write(request("POST", MESSAGE, BODY));
    peer.0.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(peer.response().status, 200);
    assert_eq!(peer.end(), End::Fin);
}
