//! What the lines of a journal say together, item by item. Pure, so that every order of lines can be tested.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::batch::journal::clock::{Clock, Stamp};
use crate::batch::journal::digest::Digest;
use crate::batch::journal::line::{Content, ItemRef, Line, LineSpan, MessageRef, RunHeader};
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;

/// How far an item got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemState {
    /// Its message was about to be sent, and the journal has no outcome.
    Sending,
    /// It has an outcome. One that was not sent will be.
    Ended(Delivery),
}

/// What the journal has of one item.
#[derive(Debug)]
pub(crate) struct ItemHistory {
    pub(crate) number: u64,
    pub(crate) job_id: Box<str>,
    pub(crate) prompt: Digest,
    pub(crate) state: ItemState,
    /// Whether it was sent again after an unknown outcome: the first send may have arrived, whatever the second's outcome is.
    pub(crate) earlier_send_unknown: bool,
    /// Whether a damaged line may have said that its message was about to be sent.
    pub(crate) line_damaged: bool,
    /// The line with its outcome.
    pub(crate) outcome_line: Option<LineSpan>,
    /// The last line with its poller, and how long ago that was written.
    pub(crate) poller_line: Option<LineSpan>,
    pub(crate) poller_age: Duration,
    /// The line with its job's last record.
    pub(crate) finished_line: Option<LineSpan>,
}

impl ItemHistory {
    /// An item whose message is about to be sent.
    pub(crate) fn sending(message: &MessageRef) -> ItemHistory {
        ItemHistory {
            number: message.item.number,
            job_id: message.job_id.clone(),
            prompt: message.prompt,
            state: ItemState::Sending,
            earlier_send_unknown: false,
            line_damaged: false,
            outcome_line: None,
            poller_line: None,
            poller_age: Duration::ZERO,
            finished_line: None,
        }
    }

    /// A damaged line may have said that its message was about to be sent.
    pub(crate) fn may_have_been_sent(&mut self) {
        if let ItemState::Ended(Delivery::NotSent | Delivery::Unknown) = self.state {
            self.earlier_send_unknown |= self.state == ItemState::Ended(Delivery::Unknown);
            (self.state, self.outcome_line, self.line_damaged) = (ItemState::Sending, None, true);
        }
    }

    /// The delivery that the journal proves; none if the message may be sent.
    pub(crate) fn delivery(&self) -> Option<Delivery> {
        match self.state {
            ItemState::Ended(Delivery::NotSent) if !self.earlier_send_unknown => None,
            ItemState::Ended(delivery @ (Delivery::Accepted | Delivery::Unknown)) => Some(delivery),
            ItemState::Ended(Delivery::Rejected) if !self.earlier_send_unknown => Some(Delivery::Rejected),
            ItemState::Ended(Delivery::NotSent | Delivery::Rejected) | ItemState::Sending => Some(Delivery::Unknown),
        }
    }
}

/// The items of the journal, in the order of their first lines.
#[derive(Debug, Default)]
pub(crate) struct Items {
    places: HashMap<Digest, u32>,
    histories: Vec<ItemHistory>,
}

impl Items {
    fn get_mut(&mut self, id: &Digest) -> Option<&mut ItemHistory> {
        self.places.get(id).map(|place| &mut self.histories[*place as usize])
    }

    fn insert(&mut self, id: Digest, history: ItemHistory) {
        self.places.insert(id, u32::try_from(self.histories.len()).expect("a batch has at most 2^32 items"));
        self.histories.push(history);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ItemHistory> {
        self.histories.iter()
    }

    /// The histories of these items, in their order, and of all others.
    pub(crate) fn split<'a>(
        self,
        ids: impl Iterator<Item = &'a Digest>,
    ) -> (Vec<Option<ItemHistory>>, Vec<Option<ItemHistory>>) {
        let mut histories: Vec<Option<ItemHistory>> = self.histories.into_iter().map(Some).collect();
        let found = ids.map(|id| self.places.get(id).and_then(|place| histories[*place as usize].take())).collect();
        (found, histories)
    }
}

/// The last run of a journal.
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

/// A journal that was read.
#[derive(Debug)]
pub(crate) struct History {
    clock: Clock,
    pub(crate) runs: u64,
    pub(crate) run: Option<LastRun>,
    pub(crate) items: Items,
    /// How long ago the last messages ended that may have reached the service; at most `keep_sends` of them.
    pub(crate) sends: VecDeque<Duration>,
    keep_sends: usize,
    /// A pause that has not ended, and how long it still lasts.
    pub(crate) pause: Option<(PauseReason, Duration)>,
    /// When the last line was written.
    pub(crate) written_at: Option<Stamp>,
    /// How many damaged bytes runs have skipped.
    pub(crate) dropped_bytes: u64,
}

impl History {
    /// `keep_sends`: how many of the last messages' times the caller wants.
    pub(crate) fn new(clock: Clock, keep_sends: usize) -> History {
        let (items, sends) = (Items::default(), VecDeque::new());
        History { clock, runs: 0, run: None, items, sends, keep_sends, pause: None, written_at: None, dropped_bytes: 0 }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// A clause that says why no run writes this line at this place.
    pub(crate) fn add(&mut self, span: LineSpan, line: Line<'_>) -> Result<(), String> {
        self.written_at = Some(line.stamp);
        match line.content {
            Content::Run(run) => return self.begin(line.stamp, run),
            Content::Sending { item, prompt, job_id } => self.sending(item, prompt, &job_id)?,
            Content::Ended { item, delivery, poller, error, retry_after, .. } => {
                let history = self.known(item)?;
                if history.state != ItemState::Sending {
                    return Err(format!("item {} ends, but was not about to be sent", item.number));
                }
                history.state = ItemState::Ended(delivery);
                history.outcome_line = Some(span);
                history.poller_line = poller.map(|_| span);
                history.poller_age = Duration::ZERO;
                let reached = error.is_none_or(|error| error.http_status.is_some());
                self.note_poller(item, line.stamp);
                if let Some(pause) = retry_after {
                    self.pause(line.stamp, PauseReason::RateLimit, pause);
                }
                // For the rate it counts from its end.
                if delivery != Delivery::NotSent || reached {
                    self.remember_send(line.stamp);
                }
            }
            Content::Waiting { item, .. } => {
                self.accepted(item)?.poller_line = Some(span);
                self.note_poller(item, line.stamp);
            }
            Content::Finished { item, .. } => self.accepted(item)?.finished_line = Some(span),
            Content::Paused { reason, pause_ms } => {
                self.pause(line.stamp, reason, Duration::from_millis(pause_ms));
            }
            Content::Recovered { bytes, items, .. } => {
                self.dropped_bytes += bytes;
                for message in items {
                    match self.items.get_mut(&message.item.id) {
                        Some(history) => history.may_have_been_sent(),
                        None => {
                            let history = ItemHistory { line_damaged: true, ..ItemHistory::sending(&message) };
                            self.items.insert(message.item.id, history);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, began: Stamp, run: RunHeader<'_>) -> Result<(), String> {
        if let Some(before) = &self.run
            && (*before.base_url != *run.base_url || *before.project_id != *run.project_id)
        {
            return Err("this run is for another service or project than the one before".to_owned());
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

    fn sending(&mut self, item: ItemRef, prompt: Digest, job_id: &str) -> Result<(), String> {
        match self.items.get_mut(&item.id) {
            Some(history) if history.prompt != prompt || *history.job_id != *job_id => {
                return Err(format!("item {} is another message than before", item.number));
            }
            Some(history) => match history.state {
                ItemState::Ended(Delivery::NotSent | Delivery::Unknown) => {
                    history.earlier_send_unknown |= history.state == ItemState::Ended(Delivery::Unknown);
                    (history.state, history.outcome_line, history.number) = (ItemState::Sending, None, item.number);
                    history.line_damaged = false;
                }
                ItemState::Ended(delivery) => {
                    return Err(format!("item {} was {delivery}, but is sent again", item.number));
                }
                ItemState::Sending => return Err(format!("item {} is sent again before it ended", item.number)),
            },
            None => {
                let message = MessageRef { item, prompt, job_id: job_id.into() };
                self.items.insert(item.id, ItemHistory::sending(&message));
            }
        }
        Ok(())
    }

    fn pause(&mut self, at: Stamp, reason: PauseReason, pause: Duration) {
        let left = pause.saturating_sub(self.age(at));
        // The longest pause counts.
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

    fn known(&mut self, item: ItemRef) -> Result<&mut ItemHistory, String> {
        self.items.get_mut(&item.id).ok_or_else(|| format!("item {} was never sent", item.number))
    }

    fn accepted(&mut self, item: ItemRef) -> Result<&mut ItemHistory, String> {
        let history = self.known(item)?;
        match history.state {
            ItemState::Ended(Delivery::Accepted) => Ok(history),
            _ => Err(format!("item {} has a `waiting` line, but its message was not accepted", item.number)),
        }
    }

    fn note_poller(&mut self, item: ItemRef, at: Stamp) {
        let age = self.age(at);
        if let Some(history) = self.items.get_mut(&item.id) {
            history.poller_age = age;
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
