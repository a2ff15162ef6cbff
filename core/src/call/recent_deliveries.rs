//! What this client delivered recently: so a `wait` right after a `send_message` does not mistake the previous result for the new one,
//! and a 404 for a new job does not end it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::os::process::PerProcess;
use crate::wait::schedule::Accepted;

/// More than a client sends while an entry matters: the service accepts 100 messages an hour.
const MAX_ENTRIES: usize = 128;

struct Entry {
    job_id: Box<str>,
    at: Instant,
    active: bool,
}

type Entries = Mutex<VecDeque<Entry>>;

/// The last deliveries of one client, per process.
pub(crate) struct RecentDeliveries(PerProcess<Entries>);

impl Default for RecentDeliveries {
    fn default() -> RecentDeliveries {
        RecentDeliveries(PerProcess::new(Entries::default()))
    }
}

impl RecentDeliveries {
    /// Notes that the service accepted something for this job at `at`, or may have. `active`: the response showed the job active.
    pub(crate) fn note(&self, pid: u32, job_id: &str, at: Instant, active: bool) {
        let mut entries = self.entries(pid);
        let known = entries.iter().position(|entry| *entry.job_id == *job_id).and_then(|at| entries.remove(at));
        if entries.len() == MAX_ENTRIES {
            entries.pop_front();
        }
        let job_id = known.map_or_else(|| job_id.into(), |entry| entry.job_id);
        entries.push_back(Entry { job_id, at, active });
    }

    /// Notes that a poll that began at `began` showed the job active: what was delivered before it has taken effect.
    pub(crate) fn seen_active(&self, job_id: &str, began: Instant) {
        let mut entries = self.entries(std::process::id());
        if let Some(entry) = entries.iter_mut().find(|entry| *entry.job_id == *job_id && entry.at <= began) {
            entry.active = true;
        }
    }

    /// The last delivery to this job, if it is still remembered.
    pub(crate) fn of(&self, job_id: &str) -> Option<Accepted> {
        let entries = self.entries(std::process::id());
        let entry = entries.iter().find(|entry| *entry.job_id == *job_id)?;
        Some(Accepted { ago: entry.at.elapsed(), active: entry.active })
    }

    fn entries(&self, pid: u32) -> MutexGuard<'_, VecDeque<Entry>> {
        self.0.get(pid, Entries::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_a_poll_that_began_after_the_message_shows_that_it_took_effect() {
        let (recent, pid) = (RecentDeliveries::default(), std::process::id());
        let before = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        recent.note(pid, "job_1", Instant::now(), false);
        recent.seen_active("job_1", before);
        assert!(!recent.of("job_1").unwrap().active, "that poll saw the job before the message");
        recent.seen_active("job_1", Instant::now());
        assert!(recent.of("job_1").unwrap().active);
        recent.note(pid, "job_1", Instant::now(), false);
        assert!(!recent.of("job_1").unwrap().active, "another message starts over");
        assert_eq!(recent.of("job_2"), None);
    }

    #[test]
    fn the_oldest_entry_is_dropped() {
        let (recent, pid) = (RecentDeliveries::default(), std::process::id());
        for n in 0..=MAX_ENTRIES {
            recent.note(pid, &format!("job_{n}"), Instant::now(), true);
        }
        assert_eq!(recent.of("job_0"), None);
        assert!(recent.of("job_1").is_some());
    }
}
