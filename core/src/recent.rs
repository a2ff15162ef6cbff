//! What this client delivered a moment ago, so that a `wait` right after a `send_message` is not fooled by the result
//! of the message before, nor by a 404 for a job that was just created.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::job::Job;
use crate::poll::{Accepted, NOT_FOUND_GRACE};
use crate::process::PerProcess;

/// More than anybody sends in the time that an entry counts: the service takes 100 an hour.
const MAX_ENTRIES: usize = 128;

struct Entry {
    job_id: Box<str>,
    at: Instant,
    active: bool,
}

type Entries = Mutex<VecDeque<Entry>>;

/// The last deliveries of one client, in each process.
pub(crate) struct Recent(PerProcess<Entries>);

impl Default for Recent {
    fn default() -> Recent {
        Recent(PerProcess::new(Entries::default()))
    }
}

impl Recent {
    /// The service accepted something for this job and answered `answer`.
    pub(crate) fn note(&self, pid: u32, job_id: &str, answer: &Job) {
        let mut entries = self.0.get(pid, Entries::default).lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| *entry.job_id != *job_id);
        if entries.len() == MAX_ENTRIES {
            entries.pop_front();
        }
        entries.push_back(Entry { job_id: job_id.into(), at: Instant::now(), active: !answer.is_terminal() });
    }

    /// A wait saw what became of it: nothing of it is left to be fooled by.
    pub(crate) fn settled(&self, job_id: &str) {
        let mut entries =
            self.0.get(std::process::id(), Entries::default).lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| *entry.job_id != *job_id);
    }

    /// What is known of this job, unless it is too long ago to matter.
    pub(crate) fn of(&self, job_id: &str) -> Option<Accepted> {
        // No settle time that a caller may ask for outlives this by much; see `poll::NOT_FOUND_GRACE`.
        const MAX_AGE: Duration = NOT_FOUND_GRACE.saturating_mul(20);
        let entries = self.0.get(std::process::id(), Entries::default).lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.iter().find(|entry| *entry.job_id == *job_id)?;
        let ago = entry.at.elapsed();
        (ago <= MAX_AGE).then_some(Accepted { ago, active: entry.active })
    }
}
