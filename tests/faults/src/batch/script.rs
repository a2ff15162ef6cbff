//! What goes wrong at the service, drawn again for each batch.

use fastrand::Rng;
use serde_json::{Value, json};

/// How long a service that has fallen silent stays so: longer than a batch's grace and what a busy machine adds to it.
pub(crate) const SILENCE_MS: u64 = 80_000;

/// Faults for about a fifth of the requests that `messages` messages need, at random ordinals.
pub(crate) fn faults(rng: &mut Rng, messages: usize) -> Vec<Value> {
    let mut rules = Vec::new();
    let count = rng.usize(0..=messages.div_ceil(4).min(4));
    for _ in 0..count {
        let nth = rng.usize(1..=messages + 4);
        rules.push(match rng.u8(0..12) {
            0 => on_connection(rng, nth),
            1 => poll(rng, nth),
            _ => message(rng, nth),
        });
    }
    // `nth` counts requests whichever rule wins, so a second rule for the same request never applies.
    rules
}

/// The same, and messages that are lost or rejected for certain, so that there is something to decide.
pub(crate) fn failures(rng: &mut Rng, messages: usize) -> Vec<Value> {
    let mut rules = faults(rng, messages);
    for _ in 0..messages / 2 {
        let nth = rng.usize(1..=messages * 2);
        rules.push(match rng.bool() {
            true => json!({ "method": "POST", "nth": nth, "status": 422 }),
            false => json!({ "method": "POST", "nth": nth, "fault": { "do": cut(rng), "at": "request", "process": rng.bool() } }),
        });
    }
    rules
}

/// Responses that come late: nothing is wrong with the service.
pub(crate) fn delays(rng: &mut Rng, messages: usize, most_ms: u64) -> Vec<Value> {
    (1..=messages * 2).map(|nth| json!({ "method": "POST", "nth": nth, "delay_ms": rng.u64(0..=most_ms) })).collect()
}

fn on_connection(rng: &mut Rng, nth: usize) -> Value {
    let at = match rng.bool() {
        true => "accept".to_owned(),
        false => format!("head:{}", rng.u32(1..300)),
    };
    match &*at {
        "accept" => json!({ "nth": nth.div_ceil(3), "fault": { "do": cut(rng), "at": at } }),
        _ => json!({ "connection": nth.div_ceil(3), "fault": { "do": cut(rng), "at": at } }),
    }
}

/// A poll of a job. It delivers nothing, however it ends.
fn poll(rng: &mut Rng, nth: usize) -> Value {
    let mut rule = match rng.u8(0..4) {
        0 => json!({ "status": 503 }),
        1 => json!({ "status": 429, "headers": { "Retry-After": "1" } }),
        2 => json!({ "fault": { "do": cut(rng), "at": "request" } }),
        _ => json!({ "status": 401 }),
    };
    rule["method"] = "GET".into();
    rule["nth"] = nth.into();
    rule
}

fn message(rng: &mut Rng, nth: usize) -> Value {
    let process = rng.bool();
    let mut rule = match rng.u8(0..17) {
        0 => json!({ "fault": { "do": cut(rng), "at": "request", "process": process } }),
        1 => json!({ "fault": { "do": cut(rng), "at": format!("body:{}", rng.u32(1..60)) } }),
        2 => json!({ "fault": { "do": cut(rng), "at": format!("response:{}", rng.u32(1..400)) } }),
        3 => json!({ "fault": { "do": "stall", "at": "request", "process": process, "ms": SILENCE_MS } }),
        4 => {
            json!({ "status": *pick(rng, &[500, 502, 503, 504, 520]), "process": process, "headers": { "Retry-After": "0" } })
        }
        5 => json!({ "status": *pick(rng, &[408, 421, 425]) }),
        6 => json!({ "status": 429, "headers": { "Retry-After": *pick(rng, &["0", "1"]) } }),
        7 => json!({ "delay_ms": rng.u64(1..300) }),
        8 => {
            json!({ "after_response": *pick(rng, &["close", "reset", "close_notify"]), "after_response_ms": rng.u64(0..4) })
        }
        9 => json!({ "raw": "HTTP/1.1 abc\r\n\r\n", "process": process, "after_response": "close" }),
        10 => json!({ "status": 200, "body": *pick(rng, &["", "{", "[]", "{}"]) }),
        11 => json!({ "content_length": 100_000 }),
        12 => json!({ "status": *pick(rng, &[400, 404, 409, 422]) }),
        13 => json!({ "drip": { "bytes": 30, "every_ms": 2 } }),
        14 => json!({ "status": *pick(rng, &[401, 403, 307]) }),
        15 => json!({ "early": true, "status": *pick(rng, &[413, 503]), "linger_ms": *pick(rng, &[0, 50]) }),
        _ => json!({ "status": 302, "process": process }),
    };
    rule["method"] = "POST".into();
    rule["nth"] = nth.into();
    rule
}

fn cut(rng: &mut Rng) -> &'static str {
    if rng.bool() { "close" } else { "reset" }
}

pub(crate) fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.usize(..from.len())]
}
