//! What is certainly on the disk: a side file that the sender writes and the power loss respects.
//!
//! The batch reports only that a step was taken, not which line it wrote. So the notes have the shortest prefix that certainly
//! contains the thread's line: the line is after the length that the thread saw at its previous step, and not after the last line of
//! its kind when the step is reported. With one thread that is exactly the line.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// What a thread saw of the journal's length last, and where the line ends at the latest that it is about to sync.
#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    length: u64,
    written: u64,
}

#[derive(Debug, Default)]
struct State {
    begun: Option<u64>,
    synced: u64,
    threads: HashMap<ThreadId, Seen>,
}

/// The notes of one process.
#[derive(Debug)]
pub(crate) struct Notes {
    journal: PathBuf,
    file: File,
    state: Mutex<State>,
}

impl Notes {
    pub(crate) fn open(path: &Path, journal: &Path) -> std::io::Result<Notes> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        let state = State { synced: read(path), ..State::default() };
        Ok(Notes { journal: journal.to_owned(), file, state: Mutex::new(state) })
    }

    /// The batch has started: its line `run` is on the disk, and the lines about interrupted messages right after it.
    pub(crate) fn begun(&self) {
        self.begin(&mut self.lock());
    }

    fn begin(&self, state: &mut State) -> u64 {
        if let Some(begun) = state.begun {
            return begun;
        }
        let text = self.text();
        let mut end = 0;
        let (mut at, mut own) = (0, false);
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            at += line.len() as u64;
            let run = line.starts_with(b"{\"line\":\"run\"");
            own = run || (own && line.starts_with(b"{\"line\":\"unknown\""));
            if own {
                end = at;
            }
        }
        state.begun = Some(end);
        self.raise(state, end);
        end
    }

    /// The batch came to its end, and synced all.
    pub(crate) fn over(&self) {
        let length = self.length();
        self.raise(&mut self.lock(), length);
    }

    /// A thread takes a step.
    pub(crate) fn step(&self, name: &str) {
        let mut state = self.lock();
        let begun = self.begin(&mut state);
        let length = self.length();
        let thread = std::thread::current().id();
        let seen = state.threads.get(&thread).copied().unwrap_or(Seen { length: begun, written: 0 });
        let kinds: &[&str] = match name {
            "sending_written" => &["sending"],
            "ended_written" => &["accepted", "rejected", "unknown", "not_sent"],
            _ => &[],
        };
        let written = if kinds.is_empty() { seen.written } else { self.last_end(seen.length, kinds) };
        if name == "sending_synced" || name == "ended_synced" {
            self.raise(&mut state, seen.written);
        }
        state.threads.insert(thread, Seen { length, written });
    }

    /// Where the last line of one of these kinds ends behind `from`.
    fn last_end(&self, from: u64, kinds: &[&str]) -> u64 {
        let text = self.text();
        let (mut at, mut found) = (from, 0);
        for line in text.get(from as usize..).unwrap_or_default().split_inclusive(|byte| *byte == b'\n') {
            at += line.len() as u64;
            if kinds.iter().any(|kind| line.starts_with(format!("{{\"line\":\"{kind}\"").as_bytes())) {
                found = at;
            }
        }
        found
    }

    fn raise(&self, state: &mut State, to: u64) {
        state.synced = state.synced.max(to);
        let text = format!("{:020}", state.synced);
        self.file.write_all_at(text.as_bytes(), 0).expect("the notes can be written");
    }

    fn text(&self) -> Vec<u8> {
        std::fs::read(&self.journal).unwrap_or_default()
    }

    fn length(&self) -> u64 {
        std::fs::metadata(&self.journal).map_or(0, |about| about.len())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Up to where the journal is certainly on the disk.
pub(crate) fn read(path: &Path) -> u64 {
    std::fs::read_to_string(path).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}
