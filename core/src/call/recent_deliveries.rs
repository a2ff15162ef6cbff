//! What this client delivers and delivered recently: so a wait does not mistake the result from before a message for the message's
//! own, and a 404 for a new job does not end it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::os::process::PerProcess;

/// How many jobs a client remembers. What is said of it in `docs/explanation/waits.md` has the same number.
const MAX_ENTRIES: usize = 8192;

/// How many deliveries all clients of this process have noted.
static NOTED: AtomicU64 = AtomicU64::new(0);

/// What a client knows about its messages to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recent {
    /// A request with a message is in flight.
    pub(crate) sending: bool,
    /// The last one that the service accepted, or may have.
    pub(crate) delivered: Option<Delivered>,
}

/// A message or a new job that the service accepted, or may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// Counts up: a later delivery has a higher number, whichever client made it.
    pub(crate) number: u64,
    /// When its response, or its failure, was there.
    pub(crate) at: Instant,
    /// No previous result can follow: a poll showed the job active afterwards, or the job is new.
    pub(crate) took_effect: bool,
}

struct Entry {
    job_id: Box<str>,
    /// How many requests with a message are in flight.
    sending: u32,
    delivered: Option<Delivered>,
}

#[derive(Default)]
struct Entries {
    /// An entry keeps its place while a message to its job is in flight.
    list: Vec<Entry>,
    /// The last bytes of each entry's id, so that a search reads little and compares few whole ids.
    tails: Vec<u64>,
}

/// The last deliveries of one client, per process.
pub(crate) struct RecentDeliveries(PerProcess<Mutex<Entries>>);

impl Default for RecentDeliveries {
    fn default() -> RecentDeliveries {
        RecentDeliveries(PerProcess::new(Mutex::default()))
    }
}

/// The number of the last delivery so far, of all clients.
pub(crate) fn last_number() -> u64 {
    NOTED.load(Ordering::SeqCst)
}

impl RecentDeliveries {
    /// Notes that a message to this job is in flight, until the guard is dropped.
    pub(crate) fn sending(&self, pid: u32, job_id: &str) -> Sending<'_> {
        let mut entries = self.entries(pid);
        let place = entries.place_of(job_id);
        entries.list[place].sending += 1;
        Sending { recent: self, pid, place }
    }

    /// Notes that the service accepted a new job at `at`, or may have.
    pub(crate) fn created(&self, pid: u32, job_id: &str, at: Instant) {
        let mut entries = self.entries(pid);
        let place = entries.place_of(job_id);
        entries.list[place].note(at, true);
    }

    /// Notes that a poll that began at `began` showed the job active: what was delivered before it has taken effect.
    pub(crate) fn seen_active(&self, job_id: &str, began: Instant) {
        let mut entries = self.entries(std::process::id());
        let entry = entries.find(job_id).map(|at| &mut entries.list[at]);
        if let Some(delivered) = entry.and_then(|entry| entry.delivered.as_mut()).filter(|last| last.at <= began) {
            delivered.took_effect = true;
        }
    }

    /// What is known about messages to this job, if anything is still remembered.
    pub(crate) fn of(&self, job_id: &str) -> Option<Recent> {
        let entries = self.entries(std::process::id());
        let entry = &entries.list[entries.find(job_id)?];
        let recent = Recent { sending: entry.sending > 0, delivered: entry.delivered };
        (recent.sending || recent.delivered.is_some()).then_some(recent)
    }

    fn entries(&self, pid: u32) -> MutexGuard<'_, Entries> {
        self.0.get(pid, Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn note(&mut self, at: Instant, took_effect: bool) {
        let number = NOTED.fetch_add(1, Ordering::SeqCst) + 1;
        self.delivered = Some(Delivered { number, at, took_effect });
    }
}

impl Entries {
    fn find(&self, job_id: &str) -> Option<usize> {
        let tail = tail(job_id);
        let alike = self.tails.iter().enumerate().filter(|(_, known)| **known == tail);
        alike.map(|(at, _)| at).find(|at| *self.list[*at].job_id == *job_id)
    }

    /// Where the job's entry is. If there are too many, a new one replaces the oldest without a message in flight.
    fn place_of(&mut self, job_id: &str) -> usize {
        if let Some(at) = self.find(job_id) {
            return at;
        }
        let (entry, tail) = (Entry { job_id: job_id.into(), sending: 0, delivered: None }, tail(job_id));
        match (self.list.len() >= MAX_ENTRIES).then(|| self.oldest_idle()).flatten() {
            Some(at) => {
                (self.list[at], self.tails[at]) = (entry, tail);
                at
            }
            None => {
                self.list.push(entry);
                self.tails.push(tail);
                self.list.len() - 1
            }
        }
    }

    fn oldest_idle(&self) -> Option<usize> {
        let idle = self.list.iter().enumerate().filter(|(_, entry)| entry.sending == 0);
        let oldest = idle.min_by_key(|(_, entry)| entry.delivered.map_or(0, |delivered| delivered.number));
        oldest.map(|(at, _)| at)
    }
}

/// The last eight bytes of an id: where the ids of a service differ.
fn tail(job_id: &str) -> u64 {
    job_id.as_bytes().last_chunk().map_or(0, |tail| u64::from_le_bytes(*tail))
}

/// A message in flight.
pub(crate) struct Sending<'a> {
    recent: &'a RecentDeliveries,
    pid: u32,
    /// Where the job's entry is.
    place: usize,
}

impl Sending<'_> {
    /// Notes that the message is no longer in flight: the service accepted it at `at`, or may have.
    pub(crate) fn delivered(self, at: Instant) {
        self.end(|entry| entry.note(at, false));
        std::mem::forget(self);
    }

    fn end(&self, note: impl FnOnce(&mut Entry)) {
        let entry = &mut self.recent.entries(self.pid).list[self.place];
        entry.sending = entry.sending.saturating_sub(1);
        note(entry);
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.end(|_| {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn took_effect(recent: &RecentDeliveries, job_id: &str) -> bool {
        recent.of(job_id).unwrap().delivered.unwrap().took_effect
    }

    /// Sends a message that is delivered at once.
    fn deliver(recent: &RecentDeliveries, job_id: &str, at: Instant) {
        recent.sending(std::process::id(), job_id).delivered(at);
    }

    #[test]
    fn only_a_poll_that_began_after_the_message_shows_that_it_took_effect() {
        let (recent, pid) = (RecentDeliveries::default(), std::process::id());
        let before = Instant::now();
        let later = |ms| before + Duration::from_millis(ms);
        deliver(&recent, "job_1", later(2));
        recent.seen_active("job_1", before);
        assert!(!took_effect(&recent, "job_1"), "that poll saw the job before the message");
        recent.seen_active("job_1", later(3));
        assert!(took_effect(&recent, "job_1"));
        deliver(&recent, "job_1", later(4));
        assert!(!took_effect(&recent, "job_1"), "another message starts over");
        recent.created(pid, "job_2", later(4));
        assert!(took_effect(&recent, "job_2"), "a new job has no previous result");
        assert_eq!(recent.of("job_3"), None);
    }

    #[test]
    fn a_message_is_in_flight_until_its_guard_is_dropped_and_a_later_delivery_has_a_higher_number() {
        let (recent, pid) = (RecentDeliveries::default(), std::process::id());
        let (first, second) = (recent.sending(pid, "job_1"), recent.sending(pid, "job_1"));
        assert_eq!(recent.of("job_1"), Some(Recent { sending: true, delivered: None }));
        let number = last_number();
        first.delivered(Instant::now());
        let known = recent.of("job_1").unwrap();
        assert!(known.sending && known.delivered.unwrap().number > number, "{known:?}");
        assert!(known.delivered.unwrap().number <= last_number(), "{known:?}");
        drop(second);
        assert!(!recent.of("job_1").unwrap().sending);
        drop(recent.sending(pid, "job_2"));
        assert_eq!(recent.of("job_2"), None, "it was not delivered");
    }

    #[test]
    fn the_oldest_entry_without_a_message_in_flight_is_forgotten() {
        let (recent, pid) = (RecentDeliveries::default(), std::process::id());
        let in_flight = recent.sending(pid, "job_in_flight");
        for n in 0..MAX_ENTRIES {
            deliver(&recent, &format!("job_{n}"), Instant::now());
        }
        assert_eq!(recent.of("job_0"), None);
        assert!(recent.of("job_1").is_some() && recent.of("job_in_flight").is_some());
        deliver(&recent, "job_1", Instant::now());
        deliver(&recent, "job_new", Instant::now());
        assert_eq!(recent.of("job_2"), None, "now this one is the oldest");
        assert!(recent.of("job_1").is_some(), "it was delivered again");
        in_flight.delivered(Instant::now());
        assert!(recent.of("job_in_flight").unwrap().delivered.is_some());
    }
}
