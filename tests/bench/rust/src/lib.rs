//! What every Rust entrant shares: the commands that an entrant reads on standard input, and its replies.
//!
//! `lineup.py` has the list of the lines.

pub mod trust;

use std::fmt::Write as _;
use std::io::{self, BufRead, Write as _};
use std::time::{Duration, Instant};

use nix::time::ClockId;

pub const JOB: &str = "job_demo";
const PROMPT: &str = "Also cover the error cases";

/// The service: URL, host and port, key, and over TLS the authority to trust besides the platform's.
#[derive(Clone)]
pub struct Place {
    pub url: String,
    pub host: String,
    pub key: String,
    pub ca_file: Option<String>,
}

impl Place {
    /// Where a message goes.
    pub fn message_url(&self) -> String {
        format!("{}/v2/agent/demo/job/{JOB}/message", self.url)
    }
}

/// A client that keeps its connections.
pub trait Entrant: Sync + Sized + 'static {
    fn new(place: &Place) -> Self;

    /// What one thread calls again and again: each call sends `prompt`, and checks the response.
    fn sender<'a>(&'a self, prompt: &'a str) -> Box<dyn FnMut() + 'a>;
}

/// Does what standard input says, until it ends.
pub fn race<E: Entrant>() {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().expect("the service's URL");
    let key = arguments.next().expect("the key");
    let ca_file = arguments.next();
    let host = url.split_once("://").expect("a URL").1.to_owned();
    let place = Place { url, host, key, ca_file };
    let mut held = Vec::new();
    let mut prompt = PROMPT.to_owned();
    let mut client = None;
    let mut lines = io::stdin().lock().lines().map(|line| line.expect("text")).peekable();
    while let Some(line) = lines.next() {
        let command: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| command[at].parse::<usize>().expect("a number");
        match command[0] {
            "send" => {
                let client = client.get_or_insert_with(|| E::new(&place));
                let mut send = client.sender(&prompt);
                reply(&times(number(1), &mut send));
                // The sender may own the connection, so it stays for as long as it is asked for the same.
                while let Some(line) = lines.next_if(|line| line.starts_with("send ")) {
                    reply(&times(line[5..].trim().parse().expect("a number"), &mut send));
                }
            }
            "new" => reply(&times(number(1), &mut || E::new(&place).sender(&prompt)())),
            "hold" => {
                for _ in 0..number(1) {
                    held.push(hold::<E>(&place, &prompt));
                }
                reply(&[0]);
            }
            "prompt" => {
                prompt = "x".repeat(number(1));
                reply(&[0]);
            }
            "threads" => reply(&threads(client.get_or_insert_with(|| E::new(&place)), &prompt, number(1), number(2))),
            other => panic!("what is {other}?"),
        }
    }
}

fn times(count: usize, send: &mut dyn FnMut()) -> Vec<u128> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let began = Instant::now();
        send();
        times.push(began.elapsed().as_nanos());
    }
    times
}

/// A client with its connection that stays until the program ends.
fn hold<E: Entrant>(place: &Place, prompt: &str) -> Box<dyn FnMut()> {
    let client: &'static E = Box::leak(Box::new(E::new(place)));
    let mut send = client.sender(prompt.to_owned().leak());
    send();
    send
}

/// The nanoseconds, of the clock and of all processors, that `threads` threads with `sends` sends each take.
fn threads<E: Entrant>(client: &E, prompt: &str, threads: usize, sends: usize) -> Vec<u128> {
    let warm = std::sync::Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut send = client.sender(prompt);
                    send();
                    warm.wait();
                    (0..sends).for_each(|_| send());
                })
            })
            .collect();
        warm.wait();
        let (began, used) = (Instant::now(), processor_time());
        all.into_iter().for_each(|thread| thread.join().expect("every message is taken"));
        vec![began.elapsed().as_nanos(), processor_time() - used]
    })
}

// Not rustix, though the core has it: valgrind hides the page in which rustix finds the clock.
fn processor_time() -> u128 {
    Duration::from(ClockId::CLOCK_PROCESS_CPUTIME_ID.now().expect("a clock")).as_nanos()
}

fn reply(numbers: &[u128]) {
    let mut line = String::new();
    numbers.iter().for_each(|number| write!(line, "{number} ").expect("memory"));
    let mut out = io::stdout().lock();
    writeln!(out, "{}", line.trim_end()).and_then(|()| out.flush()).expect("standard output is read");
}

/// Checks a response as every entrant does: parsed, and of the right job.
pub fn check(body: &[u8]) {
    let record: serde_json::Value = serde_json::from_slice(body).expect("JSON");
    assert_eq!(record["id"], JOB);
}
