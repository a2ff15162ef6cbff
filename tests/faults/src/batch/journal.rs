//! The journal as somebody reads it who knows its lines and not our code: every line by itself, every order of them doubted.

use std::collections::BTreeMap;

use serde_json::Value;

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Sending,
    NotSent,
    Accepted,
    Rejected,
    Unknown,
}

impl State {
    pub(crate) fn of(word: &str) -> Option<State> {
        Some(match word {
            "sending" => State::Sending,
            "not_sent" => State::NotSent,
            "accepted" => State::Accepted,
            "rejected" => State::Rejected,
            "unknown" => State::Unknown,
            _ => return None,
        })
    }

    /// Whether a message in this state may be one that the service processed.
    pub(crate) fn may_have_arrived(self) -> bool {
        matches!(self, State::Sending | State::Accepted | State::Unknown)
    }
}

/// What a journal says.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// By the item's number, from 1.
    pub(crate) items: BTreeMap<u64, State>,
    /// How often each was sent again though it was in doubt.
    pub(crate) resent: BTreeMap<u64, u64>,
    /// What is wrong with it, in words.
    pub(crate) wrong: Vec<String>,
    /// Whether a last line is not whole.
    pub(crate) torn: bool,
    keys: BTreeMap<u64, String>,
    jobs: BTreeMap<u64, String>,
}

impl Journal {
    pub(crate) fn read(bytes: &[u8]) -> Journal {
        let mut journal = Journal::default();
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            let last = lines.peek().is_none();
            if last && (line.last() != Some(&b'\n') || line.contains(&0)) {
                journal.torn = true;
                break;
            }
            let told = serde_json::from_slice(line).map_err(|error| error.to_string());
            if let Err(what) = told.and_then(|line| journal.take(at, &line)) {
                journal.wrong.push(format!(
                    "journal line {}: {what}: {}",
                    at + 1,
                    String::from_utf8_lossy(line).trim()
                ));
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
            "run" if line["journal"] == 1 => return Ok(()),
            _ if at == 0 => return Err("a journal begins with a run".into()),
            "paused" => return Ok(()),
            _ => {}
        }
        let number = line["item"].as_u64().ok_or("it has no item")?;
        let key = line["key"].as_str().ok_or("it has no key")?;
        if self.keys.entry(number).or_insert_with(|| key.to_owned()) != key {
            return Err("the item has another key than before".into());
        }
        let before = self.items.get(&number).copied();
        if kind == "waiting" || kind == "finished" {
            let accepted = before == Some(State::Accepted);
            return accepted.then_some(()).ok_or(format!("{kind} after {before:?}"));
        }
        let after = State::of(kind).ok_or("nobody knows this kind")?;
        let may_be = match after {
            State::Sending => {
                let job = line["job_id"].as_str().ok_or("it has no job")?;
                self.jobs.insert(number, job.to_owned());
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
