//! Every fault, as a script for the emulator.

use std::time::Duration;

use serde_json::{Value, json};

/// The timeout of a call where the service is silent.
const SHORT: Duration = Duration::from_millis(120);
/// When such a call is cancelled.
const SOON: Duration = Duration::from_millis(60);
/// A prompt larger than any socket buffer.
const LARGE: usize = 4 << 20;
/// About the length of a message's head; a position beyond it is the whole head.
const HEAD: usize = 330;
/// `{"prompt":"message 1234567"}` and a little.
const BODY: usize = 30;

/// One message and what happens to it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The row of the table that it counts in.
    pub fault: &'static str,
    /// What the emulator does. Request 1 is the message, or request 2 if `warm`.
    pub config: Value,
    /// Whether it goes over TLS.
    pub tls: bool,
    /// Whether a GET goes before it, so that the message goes over a kept connection.
    pub warm: bool,
    /// How long the connection idles between the GET and the message.
    pub idle: Duration,
    /// The message's length in addition to its number.
    pub padding: usize,
    /// The call's timeout, where it should time out.
    pub timeout: Option<Duration>,
    /// When the call is cancelled.
    pub cancel: Option<Duration>,
    /// Whether nothing listens at all.
    pub refused: bool,
}

impl Case {
    fn new(fault: &'static str, rule: Value) -> Case {
        Case {
            fault,
            config: json!({ "work_ms": 0, "hourly_limit": 1_000_000, "rules": [rule] }),
            tls: false,
            warm: false,
            idle: Duration::ZERO,
            padding: 0,
            timeout: None,
            cancel: None,
            refused: false,
        }
    }

    /// The same over a kept connection: the fault strikes the second request.
    fn warm(mut self, rule: impl FnOnce(u32) -> Value) -> Case {
        self.config["rules"] = json!([rule(2)]);
        self.warm = true;
        self
    }
}

/// All faults, each at each of its places; `dense` takes every byte, otherwise every seventh.
pub fn all(dense: bool) -> Vec<Case> {
    let step = if dense { 1 } else { 7 };
    let mut cases = vec![Case::new("none", json!({ "nth": 99 }))];
    cases.push(Case { refused: true, ..Case::new("nothing listens", json!({})) });
    broken_off(step, &mut cases);
    responses(&mut cases);
    idle_deaths(&mut cases);
    silences(&mut cases);
    early_responses(&mut cases);
    let tls: Vec<Case> = cases
        .iter()
        .enumerate()
        .filter(|(n, case)| !case.refused && (dense || n % 3 == 0))
        .map(|(_, case)| Case { tls: true, ..case.clone() })
        .collect();
    cases.extend(tls);
    cases
}

/// The connection ends at each byte of the request and of the response.
fn broken_off(step: usize, cases: &mut Vec<Case>) {
    for (how, accept, head, body, whole, done, response) in [
        (
            "close",
            "close at accept",
            "close in the head",
            "close in the body",
            "close before processing",
            "close after processing",
            "close in the response",
        ),
        (
            "reset",
            "reset at accept",
            "reset in the head",
            "reset in the body",
            "reset before processing",
            "reset after processing",
            "reset in the response",
        ),
    ] {
        let fault = |at: String, process: Option<bool>| {
            let mut fault = json!({ "do": how, "at": at });
            if let Some(process) = process {
                fault["process"] = process.into();
            }
            fault
        };
        cases.push(Case::new(accept, json!({ "nth": 1, "fault": fault("accept".into(), None) })));
        for (name, place, length) in [(head, "head", HEAD), (body, "body", BODY), (response, "response", 500)] {
            for at in (1..length).step_by(step) {
                let rule = |nth: u32| json!({ "nth": nth, "fault": fault(format!("{place}:{at}"), None) });
                cases.push(Case::new(name, rule(1)));
                if at % (3 * step) == 1 {
                    cases.push(Case::new(name, rule(1)).warm(rule));
                }
            }
        }
        for (name, process) in [(whole, false), (done, true)] {
            let rule = |nth: u32| json!({ "nth": nth, "fault": fault("request".into(), Some(process)) });
            for _ in 0..10 {
                cases.push(Case::new(name, rule(1)));
                cases.push(Case::new(name, rule(1)).warm(rule));
            }
        }
    }
}

/// Every status, processed or not where the status allows both, and invalid responses.
fn responses(cases: &mut Vec<Case>) {
    let mut response = |fault: &'static str, rule: Value| cases.push(Case::new(fault, rule));
    for status in [300, 301, 302, 303, 304, 305] {
        for process in [false, true] {
            response(
                "3xx",
                json!({ "nth": 1, "status": status, "process": process, "headers": { "Location": "/elsewhere" } }),
            );
        }
    }
    for status in [307, 308] {
        response(
            "307 and 308",
            json!({ "nth": 1, "status": status, "headers": { "Location": "http://127.0.0.1:9/" } }),
        );
    }
    for status in (400..=431).chain([451, 499]).filter(|status| ![408, 421, 425, 429].contains(status)) {
        response("4xx", json!({ "nth": 1, "status": status }));
    }
    for status in [408, 421, 425] {
        response("408, 421, 425", json!({ "nth": 1, "status": status }));
        response("408, 421, 425", json!({ "status": status }));
    }
    for retry_after in [
        None,
        Some("0"),
        Some("Thu, 01 Jan 1970 00:00:00 GMT"),
        Some("3600"),
        Some("99999999999999999999"),
        Some("-1"),
        Some("soon"),
        Some("\u{b2}"),
        Some("Fri, 31 Dec 9999 23:59:59 GMT"),
    ] {
        let headers = retry_after.map_or(json!({}), |value| json!({ "Retry-After": value }));
        response("429", json!({ "nth": 1, "status": 429, "headers": headers }));
        response("429", json!({ "status": 429, "headers": headers }));
    }
    for status in (500..=511).chain([520, 524, 598, 599]) {
        for process in [false, true] {
            response("5xx", json!({ "nth": 1, "status": status, "process": process }));
            response(
                "5xx",
                json!({ "nth": 1, "status": status, "process": process, "headers": { "Retry-After": "0" } }),
            );
        }
    }
    for raw in [
        "\0\0\0\0",
        "HTTP/1.1 abc\r\n\r\n",
        "<html>\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "\r\n\r\n\r\n",
        "SSH-2.0-x\r\n",
    ] {
        for process in [false, true] {
            response("garbage", json!({ "nth": 1, "raw": raw, "process": process, "after_response": "close" }));
        }
    }
    response("100 with headers", json!({ "nth": 1, "interim": "HTTP/1.1 100 Continue\r\nx-a: b\r\n\r\n" }));
    response(
        "100 and 103",
        json!({ "nth": 1, "interim": "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" }),
    );
    for body in ["", "{", "null", "[]", "{}", "{\"id\":1,\"status\":2}", "<html>", "{\"id\":\"j\"}"] {
        response("2xx without a record", json!({ "nth": 1, "status": 200, "body": body }));
    }
    response("2xx cut short", json!({ "nth": 1, "content_length": 100_000 }));
    response("2xx in pieces", json!({ "nth": 1, "drip": { "bytes": 40, "every_ms": 1 } }));
    response("2xx in chunks", json!({ "nth": 1, "framing": "chunked" }));
    response("2xx to the end of the connection", json!({ "nth": 1, "framing": "close" }));
}

/// The connection that is kept dies before, while and after the message is written.
fn idle_deaths(cases: &mut Vec<Case>) {
    for (fault, how) in [("idle close", "close"), ("idle reset", "reset"), ("idle close_notify", "close_notify")] {
        for after_ms in [0, 1, 2] {
            for idle_ms in [0, 1, 2, 3] {
                let rule = json!({ "nth": 1, "after_response": how, "after_response_ms": after_ms });
                let idle = Duration::from_millis(idle_ms);
                cases.push(Case { warm: true, idle, ..Case::new(fault, rule) });
            }
        }
    }
}

/// The service falls silent, and the call times out or is cancelled.
fn silences(cases: &mut Vec<Case>) {
    for (late, cancelled, at, padding) in [
        ("silent at accept, timed out", "silent at accept, cancelled", "accept", 0),
        ("silent in the head, timed out", "silent in the head, cancelled", "head:20", 0),
        ("silent in a large body, timed out", "silent in a large body, cancelled", "body:20", LARGE),
        ("silent after the request, timed out", "silent after the request, cancelled", "request", 0),
        ("silent in the response's head, timed out", "silent in the response's head, cancelled", "response:20", 0),
        ("silent in the response's body, timed out", "silent in the response's body, cancelled", "response:250", 0),
    ] {
        for process in [false, true] {
            if process && at != "request" {
                continue;
            }
            let mut fault = json!({ "do": "stall", "at": at });
            if process {
                fault["process"] = true.into();
            }
            let case = |name| Case { padding, ..Case::new(name, json!({ "nth": 1, "fault": fault })) };
            cases.push(Case { timeout: Some(SHORT), ..case(late) });
            cases.push(Case { cancel: Some(SOON), ..case(cancelled) });
        }
    }
    let drip = json!({ "nth": 1, "drip": { "bytes": 1, "every_ms": 5 } });
    cases.push(Case { timeout: Some(SHORT), ..Case::new("dripping, timed out", drip.clone()) });
    cases.push(Case { cancel: Some(SOON), ..Case::new("dripping, cancelled", drip) });
}

/// The service responds to a large prompt while it is still being written.
fn early_responses(cases: &mut Vec<Case>) {
    for status in [302, 401, 413, 503] {
        for linger_ms in [0, 200] {
            let rule = json!({ "nth": 1, "early": true, "status": status, "linger_ms": linger_ms });
            for padding in [0, 100_000, LARGE - 100] {
                cases.push(Case { padding, ..Case::new("early response", rule.clone()) });
            }
        }
    }
}
