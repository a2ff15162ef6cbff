//! A key that the service quotes is redacted, wherever in the response it is and however it is encoded: in errors, events, log
//! lines and a batch's journal.

use std::collections::HashSet;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::batches::Folder;
use crate::quoting::{ENCODINGS, KEYS, Service, shows};
use agentjob_core::{
    BatchItem, BatchOptions, CallOptions, Client, ClientOptions, Control, Error, Event, Interrupted, WaitOptions,
    batch_status,
};

const CHILD: &str = "AGENTJOB_TEST_KEY_NUMBER";
/// Starts a case in the output of the child.
const CASE: &str = "\n#### ";
/// Of these, 408 and 429 are retried, at once if they ask for it.
const STATUSES: [u16; 9] = [200, 204, 302, 400, 401, 408, 429, 503, 799];
const RECORD: &str = r#"{"id":"job_1","status":"active"}"#;

/// Every place in a response where a key may be; `{K}` is the key.
fn places() -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    let place = |status: u16, fields: &str, body: &str| {
        let length =
            if fields.contains("ength:") || fields.contains("chunked") { "" } else { "Content-Length: {N}\r\n" };
        format!("HTTP/1.1 {status} x\r\n{fields}{length}\r\n{body}")
    };
    for status in STATUSES {
        let at_once = if matches!(status, 408 | 429) { "Retry-After: 0\r\n" } else { "" };
        for body in [
            r#"{"error":"unknown key: {K}"}"#,
            r#"{"error":{"message":"unknown key: {K}!"}}"#,
            r#"{"title":"no","detail":"{K} is unknown"}"#,
            "unknown key: {K} is no key",
            "unknown key: {K}",
            "<html>unknown key: {K}</html>",
            "{\"{K}\": ",
            r#"{"id":"job_1","status":"{K}"}"#,
            r#"{"id":"{K}","status":"active"}"#,
            r#"{"id":"job_1","status":"{K}","source":"{K}","model":7,"{K}":"{K}"}"#,
        ] {
            places.push(place(status, at_once, body));
        }
        places.push(format!("HTTP/1.1 {status} {{K}}\r\n{at_once}Content-Length: 0\r\n\r\n"));
    }
    for status in [200, 401, 503] {
        for field in [
            "X-Request-Id: {K}\r\nRetry-After: 0\r\n",
            "Request-Id: id {K} of it\r\n",
            "CF-Ray: {K}\r\nRetry-After: {K}\r\nDate: {K}\r\nLocation: {K}\r\nContent-Type: {K}\r\nWWW-Authenticate: {K}\r\n",
            "Content-Encoding: {K}\r\n",
            "Connection: {K}\r\n",
            "{K}: x\r\n",
            "Content-Length: {K}\r\n",
            "Transfer-Encoding: {K}, chunked\r\n",
        ] {
            places.push(place(status, field, "<html>"));
        }
        places.push(place(
            status,
            "Transfer-Encoding: chunked\r\n",
            "6;x={K}\r\n<html>\r\n0\r\nX-Request-Id: {K}\r\n\r\n",
        ));
        places.push(place(status, "Transfer-Encoding: chunked\r\n", "{K}\r\n<html>\r\n0\r\n\r\n"));
        places.push(place(status, "Content-Length: 70000\r\n", "unknown key: {K}"));
    }
    for status in [200, 401] {
        // The length limits of a message, of a kept body and of a body that is read, each in the middle of the key.
        for bound in [300, 8 << 10, 64 << 10] {
            for before in [0, 5, 9, 14] {
                places.push(place(status, "", &format!("{}{{K}} and more", "x".repeat(bound - before))));
            }
        }
    }
    places.push("{K}".to_owned());
    places.push("{K}\r\n\r\n".to_owned());
    places.push("HTTP/1.1 {K}\r\n\r\n".to_owned());
    places
        .push(format!("HTTP/1.1 103 {{K}}\r\nLink: {{K}}\r\n\r\nHTTP/1.1 200 x\r\nContent-Length: 32\r\n\r\n{RECORD}"));
    places
}

/// A response with the key in it.
fn response(place: &str, quoted: &str) -> Vec<u8> {
    let response = place.replace("{K}", quoted);
    let length = response.split_once("\r\n\r\n").map_or(0, |(_, body)| body.len());
    response.replace("{N}", &length.to_string()).into_bytes()
}

/// Without the padding.
fn short(text: &str) -> String {
    text.replace(&"x".repeat(40), "")
}

/// Keeps every event.
struct Listener(Arc<Mutex<String>>);

impl Control for Listener {
    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        self.0.lock().unwrap().push_str(&format!("{event}\n{event:?}\n{}\n", event.to_json()));
        Ok(())
    }
}

fn all_of(error: &Error) -> String {
    let parts = [Some(error.message()), Some(error.reason()), error.hint(), error.body(), error.request_id()];
    let parts = parts.map(|part| part.unwrap_or_default().to_owned() + "\n");
    format!("{error}\n{error:?}\n{error:#?}\n{parts:?}\n{}", parts.concat())
}

fn client(base_url: &str, key: &str) -> Client {
    let builder = Client::builder().base_url(base_url).api_key(key).project_id("p").trust_env(false);
    builder.timeout(Duration::from_secs(10)).max_retries(0).build().unwrap()
}

/// Makes each call against each response, and prints all results. Its stderr, with the log, is the same pipe.
#[test]
fn the_child_prints_all_that_comes_out() {
    let Ok(number) = std::env::var(CHILD) else { return };
    let key = KEYS[number.parse::<usize>().unwrap()];
    let service = Service::start();
    let client = client(&format!("http://{}", service.address), key);
    let again = client.with_options(ClientOptions::new().max_retries(1)).unwrap();
    let events = Arc::new(Mutex::new(String::new()));
    let call = CallOptions::new().control(Arc::new(Listener(events.clone())));
    let wait = WaitOptions::new()
        .call(call.clone())
        .min_interval(Duration::from_millis(1))
        .max_interval(Duration::from_millis(1))
        .settle(Duration::ZERO)
        .timeout(Duration::from_millis(3));
    for place in places() {
        for (name, encode) in ENCODINGS {
            service.responses([response(&place, &encode(key))]);
            // Escaped first: stderr has no buffer, and would write it one character at a time.
            let case = place.chars().take(200).collect::<String>().escape_debug().to_string();
            eprintln!("{CASE}{name}: {case}");
            let calls = [
                if place.contains(" 429 ") || place.contains(" 408 ") { &again } else { &client }
                    .send_message_with("job_1", "p", &call)
                    .err(),
                client.get_job_with("job_1", &call).err(),
                place.contains(" 200 ").then(|| client.send_and_wait("job_1", "p", &wait).err()).flatten(),
            ];
            let mut out = std::mem::take(&mut *events.lock().unwrap());
            calls.iter().flatten().for_each(|error| out.push_str(&all_of(error)));
            eprint!("{out}");
        }
    }
}

#[test]
fn a_key_that_the_service_quotes_appears_nowhere() {
    let look_for = |number: usize, key: &str| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "key_redaction::the_child_prints_all_that_comes_out", "--nocapture"])
            .env(CHILD, number.to_string())
            .env("AGENTJOB_LOG", "debug")
            .output()
            .unwrap();
        let out = String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{out}");
        assert!(out.contains("agentjob: send_message job_1: request 1"), "the child logs");
        assert!(out.contains("***"), "the service quotes the key");
        assert!(out.contains("agentjob: send_message job_1: request 2"), "the child retries");
        let cases: Vec<&str> = out.split(CASE).filter(|case| !case.is_empty()).collect();
        assert!(cases.len() > 1500, "{}", cases.len());
        // Most lines are repeated often.
        let mut lines = HashSet::new();
        for case in cases {
            for line in case.lines().filter(|line| lines.insert(*line)) {
                assert!(!shows(&short(line), key), "{}\n{line}", case.lines().next().unwrap_or_default());
            }
        }
    };
    // The children wait most of the time.
    std::thread::scope(|scope| {
        KEYS.iter().enumerate().for_each(|(number, key)| drop(scope.spawn(move || look_for(number, key))));
    });
}

#[test]
fn a_key_that_the_service_quotes_is_in_no_line_of_a_journal() {
    let look_for = |key: &str| {
        let service = Service::start();
        let client = client(&format!("http://{}", service.address), key);
        let folder = Folder::in_memory();
        let path = folder.journal();
        // A 400 fails only its own message; the batch continues.
        for place in places().iter().map(|place| place.replace(" 401 ", " 400 ")) {
            if !place.starts_with("HTTP/1.1 400") {
                continue;
            }
            drop(std::fs::remove_file(&path));
            service.responses(ENCODINGS.iter().map(|(_, encode)| response(&place, &encode(key))));
            let items = (0..ENCODINGS.len()).map(|n| BatchItem::new(format!("job_{n}"), "p"));
            let batch = client
                .send_all(items, &BatchOptions::new(&path).concurrency(1).max_outage(Duration::from_millis(1)))
                .unwrap();
            let outcomes: Vec<_> = batch.collect();
            let journal = without_digests(&std::fs::read_to_string(&path).unwrap());
            let seen = format!("{journal}{outcomes:?}{:?}", batch_status(&path));
            assert!(!shows(&short(&seen), key), "{place}: {seen}");
        }
    };
    // A batch pauses for a second after a response that cannot be read.
    std::thread::scope(|scope| {
        KEYS.iter().for_each(|key| drop(scope.spawn(move || look_for(key))));
    });
}

/// A journal without its checksums and digests, which may contain six characters of the key by chance.
fn without_digests(journal: &str) -> String {
    let mut rest = journal.to_owned();
    for name in ["key", "prompt", "after", "sum"] {
        let start = format!("\"{name}\":\"");
        let pieces: Vec<&str> = rest.split(&start).collect();
        let kept = pieces[1..].iter().map(|piece| piece.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
        rest = [pieces[0]].into_iter().chain(kept).collect::<Vec<_>>().join(&start);
    }
    rest
}

#[test]
fn a_password_or_a_token_that_the_proxy_quotes_is_redacted() {
    let secret = "walrus5ginger8comet2";
    let proxy = Service::start();
    // Without a password the user name is the secret.
    for userinfo in [format!("user:{secret}"), secret.to_owned(), format!("{secret}:"), format!(":{secret}")] {
        let url = format!("http://{userinfo}@{}", proxy.address);
        let builder = Client::builder().base_url("http://service.example").api_key(KEYS[1]).project_id("p").proxy(url);
        let builder = builder.allow_plaintext(true).max_retries(0);
        let mut seen = format!("{builder:?}");
        let client = builder.build().unwrap();
        for place in [
            "HTTP/1.1 407 {K}\r\nProxy-Authenticate: {K}\r\nContent-Length: {N}\r\n\r\n{K}",
            "HTTP/1.1 403 {K}\r\nContent-Length: {N}\r\n\r\n{\"error\":\"you sent {K}\"}",
            "HTTP/1.1 502 {K}\r\nX-Request-Id: {K}\r\n\r\nyou sent {K}",
            "HTTP/1.1 200 {K}\r\nX-Request-Id: {K}\r\n\r\n{K}",
            "HTTP/1.1 {K}\r\n\r\n",
            "{K}\r\n\r\n",
        ] {
            for (_, encode) in ENCODINGS {
                proxy.responses([response(place, &encode(secret))]);
                seen.push_str(&all_of(&client.send_message("job_1", "p").unwrap_err()));
            }
        }
        assert!(seen.contains("the proxy") && seen.contains("you sent ***"), "{seen}");
        assert!(!shows(&seen, secret), "{userinfo}: {seen}");
    }
}

#[test]
fn a_request_that_the_proxy_quotes_shows_no_short_password_or_token() {
    let proxy = Service::start();
    // Too short to be looked for in each encoding; but this one is the client's own.
    for (userinfo, pair) in [
        ("ann:hunter2", "ann:hunter2"),
        ("us%40er:hunter2", "us@er:hunter2"),
        ("ann:pw", "ann:pw"),
        ("tok", "tok:"),
        ("tok:", "tok:"),
        (":pw", ":pw"),
        ("u:p", "u:p"),
    ] {
        let url = format!("http://{userinfo}@{}", proxy.address);
        let builder = Client::builder().base_url("http://service.example").api_key(KEYS[1]).project_id("p").proxy(url);
        let client = builder.allow_plaintext(true).max_retries(0).build().unwrap();
        let login = BASE64_STANDARD.encode(pair);
        for (name, encode) in &ENCODINGS[..if login.len() < 8 { 1 } else { ENCODINGS.len() }] {
            let head = format!("CONNECT service.example:80 HTTP/1.1\r\nProxy-Authorization: Basic {login}\r\n");
            let body = format!("<pre>{}</pre>", head.replace(&login, &encode(&login)));
            proxy.responses([response("HTTP/1.1 403 x\r\nContent-Length: {N}\r\n\r\n{K}", &body)]);
            let seen = all_of(&client.send_message("job_1", "p").unwrap_err());
            assert!(seen.contains("CONNECT service.example:80") && seen.contains("***"), "{userinfo}, {name}: {seen}");
            let bare = login.trim_end_matches('=');
            let found = if bare.len() < 6 { seen.contains(bare) } else { shows(&seen, bare) };
            assert!(!found, "{userinfo}, {name}: {seen}");
        }
    }
}
