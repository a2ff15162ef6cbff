//! Reads the journal independently of our code: each line by itself, with no order of lines taken for granted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::decided::Decided;
use super::state::State;

/// What a journal says.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// By the item's number, from 1.
    pub(crate) items: BTreeMap<u64, State>,
    /// How often each was sent again though its delivery was unknown.
    pub(crate) resent: BTreeMap<u64, u64>,
    /// What is wrong with it.
    pub(crate) wrong: Vec<String>,
    /// Whether the last lines cannot be read.
    pub(crate) torn: bool,
    /// What was decided.
    pub(crate) decided: Decided,
    keys: BTreeMap<u64, String>,
    jobs: BTreeMap<u64, String>,
}

impl Journal {
    pub(crate) fn read(bytes: &[u8]) -> Journal {
        let mut journal = Journal::default();
        for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let text = String::from_utf8_lossy(line);
            let whole = text.strip_suffix('\n').unwrap_or(&text).trim_end_matches('\0');
            let lines = match serde_json::from_str::<Value>(whole) {
                Ok(read) => [Value::Null, read],
                // A damaged end, and in the same line what the next run wrote behind it.
                Err(_) => {
                    let behind = recovered(line);
                    journal.torn = behind.is_none();
                    if journal.torn && text.ends_with('\n') {
                        journal.wrong.push(format!("journal line {} cannot be read: {text}", at + 1));
                    }
                    [named(&text), behind.unwrap_or_default()]
                }
            };
            for line in lines.iter().filter(|line| !line.is_null()) {
                if let Err(what) = journal.take(at, line) {
                    journal.wrong.push(format!("journal line {}: {what}: {}", at + 1, text.trim()));
                }
            }
        }
        journal
    }

    pub(crate) fn job(&self, number: u64) -> Option<&str> {
        self.jobs.get(&number).map(String::as_str)
    }

    fn take(&mut self, at: usize, line: &Value) -> Result<(), String> {
        let kind = line["line"].as_str().ok_or("it has no kind")?;
        match kind {
            "run" if line["journal"] == 4 => return Ok(()),
            _ if at == 0 => return Err("a journal begins with a run".into()),
            "paused" | "recovered" => return Ok(()),
            _ => {}
        }
        let number = line["item"].as_u64().ok_or("it has no item")?;
        let key = line["key"].as_str().ok_or("it has no key")?;
        let is_new_id = self.decided.new_ids.contains(&(number, key.to_owned()));
        if !is_new_id && self.keys.entry(number).or_insert_with(|| key.to_owned()) != key {
            return Err("the item has another key than before".into());
        }
        let before = self.items.get(&number).copied();
        if kind == "waiting" || kind == "finished" {
            let accepted = before == Some(State::Accepted);
            return accepted.then_some(()).ok_or(format!("{kind} after {before:?}"));
        }
        if kind == "decided" {
            let after = self.decided.take(number, before, line)?;
            self.items.insert(number, after);
            return Ok(());
        }
        let after = State::of(kind).ok_or("this kind is unknown")?;
        let may_be = match after {
            State::Sending => {
                let job = line["job_id"].as_str().ok_or("it has no job")?;
                self.jobs.insert(number, job.to_owned());
                self.decided.to_send.remove(&number);
                if before == Some(State::Unknown) {
                    *self.resent.entry(number).or_default() += 1;
                }
                matches!(before, None | Some(State::NotSent | State::Unknown))
            }
            _ => before == Some(State::Sending),
        };
        self.items.insert(number, after);
        may_be.then_some(()).ok_or(format!("{after:?} after {before:?}"))
    }
}

/// The line `recovered` behind a damaged end and a zero, if it is about so many bytes.
fn recovered(line: &[u8]) -> Option<Value> {
    let beginning = b"\0{\"line\":\"recovered\",";
    let at = line.windows(beginning.len()).rposition(|window| window == beginning)?;
    let read: Value = serde_json::from_slice(&line[at + 1..]).ok()?;
    (read["bytes"] == at).then_some(read)
}

/// The message of a damaged line `sending` that has everything but its end; or null.
fn named(damaged: &str) -> Value {
    let fields = damaged.split_once(",\"at\":").map(|(fields, _)| format!("{fields}}}"));
    let read = fields.and_then(|fields| serde_json::from_str::<Value>(&fields).ok()).unwrap_or_default();
    if read["line"] == "sending" { read } else { Value::Null }
}
