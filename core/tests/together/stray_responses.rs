//! Bytes on a connection before or after its response are never taken for another response.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;

use crate::support::{JOB, ms, with_authority};
use agentjob_core::{Client, Delivery, Error, ErrorKind, Job};
use agentjob_emulator::{Config, Emulator};

/// A response of this many bytes, head and body together, whose model is `name`.
fn response(name: &str, bytes: usize) -> String {
    let head = |length| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    let body =
        |filler: usize| format!(r#"{{"id":"{JOB}","status":"active","model":"{name}","x":"{}"}}"#, "x".repeat(filler));
    let rest = bytes - head(1000).len() - body(0).len();
    let body = body(rest);
    let whole = format!("{}{body}", head(body.len()));
    assert_eq!(whole.len(), bytes);
    whole
}

#[test]
fn a_stray_response_is_not_taken_for_the_next_one_even_if_tls_has_decrypted_it() {
    // Both are in one TLS record, so both are decrypted together, however much of it is read.
    for bytes in [1500, 2048, 4095, 4096, 4097, 5000, 8191, 8192, 8193, 9000] {
        let raw = format!("{}{}", response("asked", bytes), response("smuggled", 1200));
        let config = serde_json::json!({"rules": [{"nth": 1, "raw": raw}]}).to_string();
        let emulator = Emulator::start_tls(Config::from_json(&config).unwrap()).unwrap();
        let client = with_authority(&emulator, |builder| builder);
        assert_eq!(client.get_job(JOB).unwrap().model(), Some("asked"));
        assert_ne!(client.get_job(JOB).unwrap().model(), Some("smuggled"), "{bytes} bytes");
        assert_eq!(emulator.requests().requests.len(), 2, "{bytes} bytes");
    }
}

/// What a message ends with whose service reads its beginning, responds with an interim response and this one, and reads nothing more.
fn ended_early(response: &str) -> Result<Job, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Client::builder().base_url(format!("http://{}", listener.local_addr().unwrap()));
    let client = client.api_key("key_of_the_service").project_id("demo").trust_env(false).timeout(ms(300_000));
    let client = client.max_prompt_bytes(64 << 20).build().unwrap();
    let (over, client_is_done) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.read_exact(&mut [0; 100]).unwrap();
            let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
            stream.write_all(format!("{hints}{response}").as_bytes()).unwrap();
            assert!(client_is_done.recv().is_err());
        });
        let ended = client.send_message(JOB, &"x".repeat(32 << 20));
        drop(over);
        ended
    })
}

#[test]
fn a_response_before_a_large_message_has_left_stops_its_writing_and_no_success_is_believed_then() {
    let refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    for (response, status, kind, verdict) in [
        (refusal.to_owned(), 413, ErrorKind::BadRequest, Delivery::Rejected),
        (response("m", 1200), 200, ErrorKind::InvalidResponse, Delivery::Unknown),
        (response("m", 1200).replace("200 OK", "503 No"), 503, ErrorKind::Server, Delivery::NotSent),
    ] {
        let error = ended_early(&response).unwrap_err();
        assert_eq!(
            (error.http_status(), error.kind(), error.delivery()),
            (Some(status), kind, Some(verdict)),
            "{error}"
        );
    }
}
