//! What a journal tells: its lines taken together, item by item. Pure, so that every order of lines can be tested.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::batch::journal::clock::{Clock, Stamp};
use crate::batch::journal::digest::Digest;
use crate::batch::journal::format::{Begun, Line, Place, Run, Said};
use crate::batch::journal::replay::Span;
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;

/// Where an item stands by the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// It was about to leave, and nobody wrote what became of it.
    Sending,
    /// It ended, or was not sent and will be.
    Ended(Delivery),
}

/// An item that was begun.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: u64,
    pub(crate) job_id: Box<str>,
    pub(crate) prompt: Digest,
    pub(crate) past: Past,
    /// Whether it was sent again after nobody knew whether it had arrived: it may have, whatever became of it the second time.
    pub(crate) doubtful: bool,
    /// Whether a damaged line may have said that it was about to leave.
    pub(crate) line_damaged: bool,
    /// The line that says how it ended.
    pub(crate) ended: Option<Span>,
    /// The line that has where its wait stands, how long ago that was written, and the wait's end.
    pub(crate) poller: Option<Span>,
    pub(crate) poller_age: Duration,
    pub(crate) finished: Option<Span>,
}

impl Entry {
    /// A message that is about to leave.
    pub(crate) fn begun(begun: &Begun) -> Entry {
        Entry {
            number: begun.item.number,
            job_id: begun.job_id.clone(),
            prompt: begun.prompt,
            past: Past::Sending,
            doubtful: false,
            line_damaged: false,
            ended: None,
            poller: None,
            poller_age: Duration::ZERO,
            finished: None,
        }
    }

    /// A damaged line may have said that it is about to leave.
    pub(crate) fn may_have_left(&mut self) {
        if let Past::Ended(Delivery::NotSent | Delivery::Unknown) = self.past {
            self.doubtful |= self.past == Past::Ended(Delivery::Unknown);
            (self.past, self.ended, self.line_damaged) = (Past::Sending, None, true);
        }
    }

    /// What is known of it: none, if it may be sent.
    pub(crate) fn verdict(&self) -> Option<Delivery> {
        match self.past {
            Past::Ended(Delivery::NotSent) if !self.doubtful => None,
            Past::Ended(delivery @ (Delivery::Accepted | Delivery::Unknown)) => Some(delivery),
            Past::Ended(Delivery::Rejected) if !self.doubtful => Some(Delivery::Rejected),
            Past::Ended(Delivery::NotSent | Delivery::Rejected) | Past::Sending => Some(Delivery::Unknown),
        }
    }
}

/// The items that were begun, in the order in which they were.
#[derive(Debug, Default)]
pub(crate) struct Items {
    places: HashMap<Digest, u32>,
    entries: Vec<Entry>,
}

impl Items {
    fn get_mut(&mut self, id: &Digest) -> Option<&mut Entry> {
        self.places.get(id).map(|place| &mut self.entries[*place as usize])
    }

    fn insert(&mut self, id: Digest, entry: Entry) {
        self.places.insert(id, u32::try_from(self.entries.len()).expect("a batch has at most 2^32 items"));
        self.entries.push(entry);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The entries of these, and those that are none of them.
    pub(crate) fn split<'a>(self, ids: impl Iterator<Item = &'a Digest>) -> (Vec<Option<Entry>>, Vec<Option<Entry>>) {
        let mut entries: Vec<Option<Entry>> = self.entries.into_iter().map(Some).collect();
        let found = ids.map(|id| self.places.get(id).and_then(|place| entries[*place as usize].take())).collect();
        (found, entries)
    }
}

/// The run that a journal told of last.
#[derive(Debug, Clone)]
pub(crate) struct LastRun {
    pub(crate) base_url: Box<str>,
    pub(crate) project_id: Box<str>,
    boot: Option<Box<str>>,
    pub(crate) pid: u32,
    pub(crate) items: u64,
    pub(crate) concurrency: u64,
    pub(crate) rate: Option<Box<str>>,
    pub(crate) wait: bool,
    pub(crate) began: Stamp,
}

/// A journal, read.
#[derive(Debug)]
pub(crate) struct History {
    clock: Clock,
    pub(crate) runs: u64,
    pub(crate) run: Option<LastRun>,
    pub(crate) items: Items,
    /// How long ago the last messages ended that may have reached the service: no more than the caller asked for.
    pub(crate) sends: VecDeque<Duration>,
    keep_sends: usize,
    /// A pause that is not over, and what is left of it.
    pub(crate) pause: Option<(PauseReason, Duration)>,
    /// When the last line was written.
    pub(crate) last: Option<Stamp>,
    /// How many damaged bytes runs have passed over.
    pub(crate) dropped_bytes: u64,
}

impl History {
    /// `keep_sends`: how many of the last messages' times are wanted.
    pub(crate) fn new(clock: Clock, keep_sends: usize) -> History {
        let (items, sends) = (Items::default(), VecDeque::new());
        History { clock, runs: 0, run: None, items, sends, keep_sends, pause: None, last: None, dropped_bytes: 0 }
    }

    /// Takes in a line, or says in a clause why it cannot stand where it does.
    pub(crate) fn take(&mut self, span: Span, line: Line<'_>) -> Result<(), String> {
        self.last = Some(line.stamp);
        match line.said {
            Said::Run(run) => return self.begin(line.stamp, run),
            Said::Sending { item, prompt, job_id } => self.sending(item, prompt, &job_id)?,
            Said::Ended { item, delivery, poller, error, retry_after, .. } => {
                let entry = self.begun(item)?;
                // The unknown one of a run that was killed gets its line in the next run.
                if entry.past != Past::Sending {
                    return Err(format!("item {} ended, but was not being sent", item.number));
                }
                entry.past = Past::Ended(delivery);
                entry.ended = Some(span);
                entry.poller = poller.map(|_| span);
                entry.poller_age = Duration::ZERO;
                let reached = error.is_none_or(|error| error.http_status.is_some());
                self.note_poller(item, line.stamp);
                if let Some(pause) = retry_after {
                    self.pause(line.stamp, PauseReason::RateLimit, pause);
                }
                // It holds its place in the pace from its end.
                if delivery != Delivery::NotSent || reached {
                    self.remember_send(line.stamp);
                }
            }
            Said::Waiting { item, .. } => {
                self.accepted(item)?.poller = Some(span);
                self.note_poller(item, line.stamp);
            }
            Said::Finished { item, .. } => self.accepted(item)?.finished = Some(span),
            Said::Paused { reason, pause_ms } => {
                self.pause(line.stamp, reason, Duration::from_millis(pause_ms));
            }
            Said::Recovered { bytes, items, .. } => {
                self.dropped_bytes += bytes;
                for begun in items {
                    match self.items.get_mut(&begun.item.id) {
                        Some(entry) => entry.may_have_left(),
                        None => self.items.insert(begun.item.id, Entry { line_damaged: true, ..Entry::begun(&begun) }),
                    }
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, began: Stamp, run: Run<'_>) -> Result<(), String> {
        if let Some(before) = &self.run
            && (*before.base_url != *run.base_url || *before.project_id != *run.project_id)
        {
            return Err("it is a run for another service or project than the one before".to_owned());
        }
        self.runs += 1;
        self.run = Some(LastRun {
            base_url: (*run.base_url).into(),
            project_id: (*run.project_id).into(),
            boot: run.boot.as_deref().map(Into::into),
            pid: run.pid,
            items: run.items,
            concurrency: run.concurrency,
            rate: run.rate.as_deref().map(Into::into),
            wait: run.wait,
            began,
        });
        Ok(())
    }

    fn sending(&mut self, item: Place, prompt: Digest, job_id: &str) -> Result<(), String> {
        match self.items.get_mut(&item.id) {
            Some(entry) if entry.prompt != prompt || *entry.job_id != *job_id => {
                return Err(format!("item {} is a different message than before", item.number));
            }
            Some(entry) => match entry.past {
                Past::Ended(Delivery::NotSent | Delivery::Unknown) => {
                    entry.doubtful |= entry.past == Past::Ended(Delivery::Unknown);
                    (entry.past, entry.ended, entry.number) = (Past::Sending, None, item.number);
                    entry.line_damaged = false;
                }
                Past::Ended(delivery) => return Err(format!("item {} was {delivery}, but is sent again", item.number)),
                Past::Sending => return Err(format!("item {} is sent again before it ended", item.number)),
            },
            None => {
                let begun = Begun { item, prompt, job_id: job_id.into() };
                self.items.insert(item.id, Entry::begun(&begun));
            }
        }
        Ok(())
    }

    fn pause(&mut self, at: Stamp, reason: PauseReason, pause: Duration) {
        let left = pause.saturating_sub(self.age(at));
        // Whoever asks for the longer pause is right.
        if !left.is_zero() && self.pause.is_none_or(|(_, known)| known < left) {
            self.pause = Some((reason, left));
        }
    }

    fn remember_send(&mut self, at: Stamp) {
        if self.keep_sends > 0 {
            let age = self.clock.age_at_least(at, self.boot());
            if self.sends.len() == self.keep_sends {
                self.sends.pop_front();
            }
            self.sends.push_back(age);
        }
    }

    fn begun(&mut self, item: Place) -> Result<&mut Entry, String> {
        self.items.get_mut(&item.id).ok_or_else(|| format!("item {} was never sent", item.number))
    }

    fn accepted(&mut self, item: Place) -> Result<&mut Entry, String> {
        let entry = self.begun(item)?;
        match entry.past {
            Past::Ended(Delivery::Accepted) => Ok(entry),
            _ => Err(format!("item {} has a wait, but was not accepted", item.number)),
        }
    }

    fn note_poller(&mut self, item: Place, at: Stamp) {
        let age = self.age(at);
        if let Some(entry) = self.items.get_mut(&item.id) {
            entry.poller_age = age;
        }
    }

    fn age(&self, at: Stamp) -> Duration {
        self.clock.age(at, self.boot())
    }

    fn boot(&self) -> Option<&str> {
        self.run.as_ref().and_then(|run| run.boot.as_deref())
    }
}

#[cfg(test)]
mod tests;
