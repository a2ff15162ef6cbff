//! What every Rust entrant shares: it is told on standard input how many messages to send, and answers with how long each took.

use std::io::{self, BufRead, Write};
use std::time::Instant;

pub const PROMPT: &str = "Also cover the error cases";
pub const JOB: &str = "job_demo";

/// The service: URL, host and port, key.
pub struct Place {
    pub url: String,
    pub host: String,
    pub key: String,
}

/// Reads counts line by line; for each it times so many calls of `send` and prints the nanoseconds of each on one line.
pub fn race(begin: impl FnOnce(&Place) -> Box<dyn FnMut()>) {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the service's URL");
    let key = arguments.next().expect("the key");
    let host = url.trim_start_matches("http://").to_owned();
    let mut send = begin(&Place { url, host, key });
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let count: usize = line.expect("text").trim().parse().expect("a number");
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let began = Instant::now();
            send();
            times.push(began.elapsed().as_nanos().to_string());
        }
        writeln!(out, "{}", times.join(" ")).expect("somebody reads");
        out.flush().expect("somebody reads");
    }
}

/// Checks an answer as every entrant does: parsed, and of the right job.
pub fn check(body: &[u8]) {
    let record: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    assert_eq!(record["id"], JOB);
}
