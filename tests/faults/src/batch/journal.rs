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
        let mut damaged: Vec<u8> = Vec::new();
        for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let Ok(line_read) = serde_json::from_slice::<Value>(text.strip_suffix(b"\0").unwrap_or(text)) else {
                damaged.extend(line);
                continue;
            };
            let length = damaged.len() as u64;
            let covered = line_read["bytes"].as_u64().is_some_and(|bytes| bytes == length || bytes + 1 == length);
            let taken = match line_read["line"] == "recovered" {
                _ if !damaged.is_empty() && !covered => Err("a line that cannot be read is before it".to_owned()),
                true => line_read["items"].as_array().map_or(Ok(()), |items| journal.recovered(items)),
                false => journal.take(at, &line_read),
            };
            damaged.clear();
            if let Err(what) = taken {
                let line = String::from_utf8_lossy(line);
                journal.wrong.push(format!("journal line {}: {what}: {}", at + 1, line.trim()));
            }
        }
        journal.torn = !damaged.is_empty();
        journal
    }

    pub(crate) fn job(&self, number: u64) -> Option<&str> {
        self.jobs.get(&number).map(String::as_str)
    }

    /// Messages that a damaged line may have been about. They count as `sending`.
    fn recovered(&mut self, items: &[Value]) -> Result<(), String> {
        for item in items {
            let number = item["item"].as_u64().ok_or("it has no item")?;
            let key = item["key"].as_str().ok_or("it has no key")?;
            if self.keys.entry(number).or_insert_with(|| key.to_owned()) != key {
                return Err("the item has another key than before".into());
            }
            if matches!(self.items.get(&number), None | Some(State::NotSent | State::Unknown)) {
                self.items.insert(number, State::Sending);
            }
        }
        Ok(())
    }

    fn take(&mut self, at: usize, line: &Value) -> Result<(), String> {
        let kind = line["line"].as_str().ok_or("it has no kind")?;
        match kind {
            "run" if line["journal"] == 4 => return Ok(()),
            _ if at == 0 => return Err("a journal begins with a run".into()),
            "paused" => return Ok(()),
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
