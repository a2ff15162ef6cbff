//! A whole journal, changed and then resumed: a message is never sent that an intact line says was taken.
//!
//! The input is a list of changes to the journal of a real run: lines are dropped, repeated or swapped, bytes are flipped, inserted or cut
//! off. One change gives every line a right checksum again, so that damage gets past the checksums.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use agentjob_core::{BatchItem, BatchOptions, Client, fuzzing};
use agentjob_emulator::{Config, Emulator};
use serde_json::Value;

const SUM: &str = ",\"sum\":\"";
const AFTER: &str = ",\"after\":\"";
const ITEMS: usize = 4;

struct Place {
    service: Emulator,
    client: Client,
    journal: PathBuf,
    /// The lines of the first run, each with its line end.
    lines: Vec<Vec<u8>>,
    /// The prompts, by the keys that the lines have.
    prompts: HashMap<String, String>,
}

pub fn check(data: &[u8]) {
    static PLACE: OnceLock<Place> = OnceLock::new();
    let place = PLACE.get_or_init(Place::new);
    let changed = change(&place.lines, data);
    std::fs::write(&place.journal, &changed).expect("the journal can be written");
    place.service.reset(config("[]")).expect("the configuration is right");
    let taken = taken(&changed);
    for _ in 0..2 {
        let is_taken = place.run();
        assert!(is_taken || changed != place.lines.concat(), "an intact journal is resumed");
    }
    let mut arrived: HashMap<String, u32> = HashMap::new();
    for message in place.service.ledger() {
        *arrived.entry(message.prompt).or_default() += 1;
    }
    for (prompt, times) in &arrived {
        assert_eq!(*times, 1, "{prompt} was sent twice after\n{}", String::from_utf8_lossy(&changed));
    }
    for key in &taken {
        if let Some(prompt) = place.prompts.get(key) {
            assert!(
                !arrived.contains_key(prompt),
                "{prompt} was sent again after\n{}",
                String::from_utf8_lossy(&changed)
            );
        }
    }
}

impl Place {
    fn new() -> Place {
        // The second job does not exist, so its message is rejected; the third message is unknown.
        let lost = r#"[{"method": "POST", "nth": 3, "fault": {"do": "close", "at": "request", "process": true}}]"#;
        let service = Emulator::start(config(lost)).expect("there is a free port");
        let client =
            Client::builder().base_url(service.base_url()).api_key(service.api_key()).project_id(service.project_id());
        let client = client.trust_env(false).build().expect("the settings are right");
        let folder = [PathBuf::from("/dev/shm"), std::env::temp_dir()].into_iter().find(|folder| folder.is_dir());
        let name = format!("agentjob-fuzz-{}.journal", std::process::id());
        let journal = folder.expect("there is a folder for temporary files").join(name);
        let _ = std::fs::remove_file(&journal);
        let mut place = Place { service, client, journal, lines: Vec::new(), prompts: HashMap::new() };
        assert!(place.run(), "a new journal is taken");
        let text = std::fs::read(&place.journal).expect("the run has written its journal");
        place.lines = text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        for line in &place.lines {
            let line: Value = serde_json::from_slice(line).expect("a line is JSON");
            if line["line"] == "sending" {
                let number = line["item"].as_u64().expect("a message has a number");
                place.prompts.insert(line["key"].as_str().expect("a message has a key").to_owned(), prompt(number));
            }
        }
        assert_eq!(place.prompts.len(), ITEMS, "every message was sent");
        place
    }

    /// Runs the batch to its end, and returns whether its journal was taken: a refused one is a good end, too.
    fn run(&self) -> bool {
        let items = (1..=ITEMS as u64).map(|number| BatchItem::new(format!("job_{number}"), prompt(number)));
        let options = BatchOptions::new(&self.journal).concurrency(1).max_outage(Duration::from_secs(30));
        self.client.send_all(items, &options).map(|batch| batch.for_each(drop)).is_ok()
    }
}

fn prompt(number: u64) -> String {
    format!("message {number}")
}

fn config(rules: &str) -> Config {
    let text = format!(
        r#"{{"hourly_limit": 1000000, "work_ms": 0, "jobs": [{{"id": "job_1"}}, {{"id": "job_3"}}, {{"id": "job_4"}}], "rules": {rules}}}"#
    );
    Config::from_json(&text).expect("the configuration is right")
}

/// The keys of the messages that the intact lines say were taken: accepted, rejected, or perhaps sent. What a person decided, or what
/// a run recovered, counts otherwise: of those messages it is only expected that both runs together send none twice.
fn taken(journal: &[u8]) -> Vec<String> {
    let mut last: HashMap<String, bool> = HashMap::new();
    let mut otherwise = HashSet::new();
    for line in journal.split_inclusive(|byte| *byte == b'\n').filter_map(intact) {
        let (Some(kind), Some(key)) = (line["line"].as_str(), line["key"].as_str()) else { continue };
        match kind {
            "sending" | "accepted" | "rejected" | "unknown" => drop(last.insert(key.to_owned(), true)),
            "not_sent" => drop(last.insert(key.to_owned(), false)),
            _ => drop(otherwise.insert(key.to_owned())),
        }
    }
    last.into_iter().filter(|(key, taken)| *taken && !otherwise.contains(key)).map(|(key, _)| key).collect()
}

fn intact(line: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(line).ok()?.strip_suffix("\"}\n")?;
    let (body, sum) = text.rsplit_once(SUM)?;
    (fuzzing::journal_checksum(body.as_bytes()) == sum).then(|| serde_json::from_slice(line).ok())?
}

/// The journal after the changes that the input describes.
fn change(lines: &[Vec<u8>], mut data: &[u8]) -> Vec<u8> {
    let mut lines = lines.to_vec();
    let mut cut = None;
    while let Some(([what, first, second], rest)) = data.split_first_chunk() {
        data = rest;
        let count = lines.len();
        if count == 0 {
            break;
        }
        let (at, other) = (usize::from(*first) % count, usize::from(*second) % count);
        let column = usize::from(*second) % lines[at].len().max(1);
        match what % 8 {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => cut = Some((usize::from(*first) << 3) ^ usize::from(*second)),
            4 | 5 => {
                if let (Some(byte), Some((with, rest))) = (lines[at].get_mut(column), data.split_first()) {
                    (*byte, data) = (*with, rest);
                }
            }
            6 => {
                let length = usize::from(what >> 3).min(data.len());
                let (text, rest) = data.split_at(length);
                lines[at].splice(column..column, text.iter().copied());
                data = rest;
            }
            _ => seal(&mut lines),
        }
    }
    let mut all = lines.concat();
    if let Some(bytes) = cut {
        all.truncate(all.len().saturating_sub(bytes));
    }
    all
}

/// Gives every line that has a checksum a right one, and links it to the line before.
fn seal(lines: &mut [Vec<u8>]) {
    let mut before = "0".repeat(16);
    for line in lines {
        let text = String::from_utf8_lossy(line).into_owned();
        let Some((body, _)) = text.rsplit_once(AFTER) else { continue };
        let body = format!("{body}{AFTER}{}\"", &before[..8]);
        before = fuzzing::journal_checksum(body.as_bytes());
        *line = format!("{body}{SUM}{before}\"}}\n").into_bytes();
    }
}
