//! What the lines of a journal say together, item by item. Pure, so that every order of lines can be tested.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::Duration;

use serde::Deserialize;

use crate::batch::decisions::decision::Decision;
use crate::batch::journal::clock::{Clock, Stamp};
use crate::batch::journal::digest::Digest;
use crate::batch::journal::item_history::{ItemHistory, ItemState, Items};
use crate::batch::journal::line::{Content, ItemRef, Line, LineSpan, RunHeader};
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;
use crate::error::ErrorKind;
use crate::job::JobStatus;

/// The last run of a journal.
#[derive(Debug, Clone)]
pub(crate) struct LastRun {
    pub(crate) base_url: Box<str>,
    pub(crate) project_id: Box<str>,
    boot: Option<Box<str>>,
    pub(crate) pid: u32,
    pub(crate) items: u64,
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
    /// The items' numbers in the list of the run that begins next, if these are others.
    numbers: Vec<u64>,
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
        History {
            clock,
            runs: 0,
            run: None,
            items: Items::default(),
            numbers: Vec::new(),
            sends: VecDeque::new(),
            keep_sends,
            pause: None,
            written_at: None,
            dropped_bytes: 0,
        }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// A clause that says why no run writes this line at this place.
    pub(crate) fn add(&mut self, span: LineSpan, line: Line<'_>) -> Result<(), String> {
        self.written_at = Some(line.stamp);
        match line.content {
            Content::Numbers { from, numbers } => return self.number(from, &numbers),
            Content::Run(run) => return self.begin(line.stamp, run),
            Content::Sending { item, prompt, job_id, own_key } => {
                self.sending(item, prompt, &job_id, own_key.as_deref())?;
            }
            Content::Ended { item, delivery, poller, error, retry_after, .. } => {
                let history = self.known(item)?;
                if history.state != ItemState::Sending {
                    return Err(format!("item {} has an outcome, but no `sending` line", item.number));
                }
                history.state = ItemState::Ended(delivery);
                history.outcome_line = Some(span);
                let is_conflict = error.as_ref().is_some_and(|error| error.kind == ErrorKind::Conflict);
                history.job_was_busy = delivery == Delivery::NotSent && is_conflict;
                history.poller_line = poller.map(|_| span);
                history.poller_age = Duration::ZERO;
                if delivery != Delivery::NotSent {
                    history.acted();
                }
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
                self.accepted(item, "waiting")?.poller_line = Some(span);
                self.note_poller(item, line.stamp);
            }
            Content::Finished { item, job } => {
                let failed = job.and_then(stored_status).is_some_and(|status| status == JobStatus::Failed.as_str());
                let history = self.accepted(item, "finished")?;
                (history.finished_line, history.job_failed) = (Some(span), failed);
            }
            Content::Decided { item, decision, new_prompt, new_id } => {
                let history = self.known(item)?;
                if let Err((why, _)) = decision.check(history.to_decide(), !history.is_undecided()) {
                    return Err(format!("item {} is decided, but {why}", item.number));
                }
                if new_prompt.is_some() && decision != Decision::Retry {
                    return Err(format!("item {} has a new prompt, but is not retried", item.number));
                }
                history.decide(decision, new_prompt, span, line.stamp);
                if let Some(new_id) = new_id {
                    self.items.also(&item.id, new_id);
                }
            }
            Content::Paused { reason, pause_ms } => {
                self.pause(line.stamp, reason, Duration::from_millis(pause_ms));
            }
            Content::Recovered { bytes, .. } => self.dropped_bytes += bytes,
        }
        Ok(())
    }

    /// A run is about to begin, with a list that has known items at other places.
    fn number(&mut self, from: u64, numbers: &[u64]) -> Result<(), String> {
        // A run that did not begin may have left some.
        self.numbers.truncate(usize::try_from(from).unwrap_or(usize::MAX));
        if self.numbers.len() as u64 != from || self.numbers.len() + numbers.len() > self.items.iter().count() {
            return Err("it numbers items that were never sent".to_owned());
        }
        self.numbers.extend(numbers);
        Ok(())
    }

    fn begin(&mut self, began: Stamp, run: RunHeader<'_>) -> Result<(), String> {
        if let Some(before) = &self.run
            && (*before.base_url != *run.base_url || *before.project_id != *run.project_id)
        {
            return Err("this run is for a different service or project than the run before".to_owned());
        }
        let numbers = std::mem::take(&mut self.numbers);
        if numbers.len() as u64 == run.numbers {
            self.items.renumber(&numbers);
        } else if run.numbers > 0 {
            return Err("the `numbers` lines before it are missing".to_owned());
        }
        self.runs += 1;
        self.run = Some(LastRun {
            base_url: (*run.base_url).into(),
            project_id: (*run.project_id).into(),
            boot: run.boot.as_deref().map(Into::into),
            pid: run.pid,
            items: run.items,
            rate: run.rate.as_deref().map(Into::into),
            wait: run.wait,
            began,
        });
        Ok(())
    }

    fn sending(&mut self, item: ItemRef, prompt: Digest, job_id: &str, own_key: Option<&str>) -> Result<(), String> {
        match self.items.get_mut(&item.id) {
            Some(history) if history.prompt != prompt || *history.job_id != *job_id => {
                return Err(format!("item {} is a different message than before", item.number));
            }
            Some(history) => match history.state {
                ItemState::Ended(Delivery::NotSent | Delivery::Unknown) => {
                    history.earlier_send_unknown |= history.state == ItemState::Ended(Delivery::Unknown);
                    (history.state, history.outcome_line, history.number) = (ItemState::Sending, None, item.number);
                }
                ItemState::Ended(delivery) => {
                    return Err(format!("item {} was {delivery}, but the journal shows a second send", item.number));
                }
                ItemState::Sending => {
                    return Err(format!("item {} is sent again before it has an outcome", item.number));
                }
                ItemState::Dropped => {
                    return Err(format!("item {} was dropped, but the journal shows a second send", item.number));
                }
            },
            None => {
                let own_key = own_key.map(Into::into);
                self.items.insert(item.id, ItemHistory::sending(item.number, job_id.into(), prompt, own_key));
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

    /// An item that has a line of this name, which only an accepted message may have.
    fn accepted(&mut self, item: ItemRef, line: &str) -> Result<&mut ItemHistory, String> {
        let history = self.known(item)?;
        match history.state {
            ItemState::Ended(Delivery::Accepted) => {
                history.acted();
                Ok(history)
            }
            _ => Err(format!("item {} has a `{line}` line, but its message was not accepted", item.number)),
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

/// The status of a stored record.
fn stored_status(job: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Stored<'a> {
        #[serde(borrow)]
        status: Cow<'a, str>,
    }
    serde_json::from_str::<Stored<'_>>(job).ok().map(|stored| stored.status)
}

#[cfg(test)]
mod decision_tests;
#[cfg(test)]
mod tests;
