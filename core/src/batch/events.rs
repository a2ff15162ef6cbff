//! The events of a batch: the outcome of each message, what happens between outcomes, and the progress.

use std::sync::Arc;
use std::time::Duration;

use crate::batch::item::Planned;
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::call::event::Event;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;

/// The outcome of one message of a batch.
#[derive(Debug, Clone)]
pub struct BatchOutcome {
    pub(crate) number: u64,
    pub(crate) line: Option<u64>,
    pub(crate) key: Box<str>,
    pub(crate) job_id: Box<str>,
    pub(crate) delivery: Delivery,
    pub(crate) job: Option<Job>,
    pub(crate) error: Option<Error>,
    pub(crate) earlier: bool,
    pub(crate) extra: Option<Arc<str>>,
}

impl BatchOutcome {
    /// The outcome of the item at this place, from 0.
    pub(crate) fn of(
        items: &[Planned],
        at: u32,
        delivery: Delivery,
        job: Option<Job>,
        error: Option<Error>,
        earlier: bool,
    ) -> BatchOutcome {
        let item = &items[at as usize];
        BatchOutcome {
            number: u64::from(at) + 1,
            line: item.line(),
            key: item.key(),
            job_id: item.job_id().into(),
            delivery,
            job,
            error,
            earlier,
            extra: item.extra(),
        }
    }

    /// The item's place in the list, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The line of the file that the item is from, if it is from one.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The item's own key, or the one that was derived from its content and place.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The job that the message is for.
    pub fn job_id(&self) -> &str {
        &self.job_id
    }

    /// `Accepted`, `Rejected` or `Unknown`; `NotSent` for a message that this run holds back, because of an earlier one to its job
    /// (the error says which): a later run sends it.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The job's last record: the response to the message or, if the batch waits, that of the last poll, and none if that may show the
    /// result of another message.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Why the message was rejected or held back, why it is unknown whether it arrived, or, for an accepted one, why its record or the end of
    /// its job is missing.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Whether it is from an earlier run of the journal.
    pub fn is_earlier(&self) -> bool {
        self.earlier
    }

    /// The metadata that this run's list has for the item, as JSON text; see [`BatchItem::with_extra`](crate::BatchItem::with_extra).
    pub fn extra(&self) -> Option<&str> {
        self.extra.as_deref()
    }
}

/// What happens in a batch, other than outcomes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum BatchUpdate {
    /// A message was accepted, and its job is waited for: the outcome comes later.
    Accepted {
        /// The item's place in the list, from 1.
        number: u64,
        /// The job.
        job_id: Box<str>,
        /// The response to the message; none if it could not be read.
        job: Option<Job>,
    },
    /// A poll returned another record of a job that is waited for.
    Job {
        /// The item's place in the list, from 1.
        number: u64,
        /// The job.
        job_id: Box<str>,
        /// Its record.
        job: Job,
    },
    /// The job of a message is busy (409): it is polled, and the message sent again when it is no longer active.
    Busy {
        /// The item's place in the list, from 1.
        number: u64,
        /// The job.
        job_id: Box<str>,
        /// The service's refusal.
        error: Error,
    },
    /// The batch pauses: no message is sent.
    Paused {
        /// Why.
        reason: PauseReason,
        /// For how long.
        pause: Duration,
        /// The failure that caused it; none if it began in an earlier run.
        error: Option<Error>,
    },
    /// Messages are sent again after a pause.
    Resumed,
    /// Messages of the list have the same job and the same prompt as one before them. Each of them is sent. It comes before every
    /// other event of the run but `Recovered`; [`BatchItem::repeated`](crate::BatchItem::repeated) has it before the batch begins.
    Repeated {
        /// How many messages repeat an earlier one.
        count: u64,
        /// The first of them: its place in the list, from 1.
        number: u64,
        /// Its line, if it is from a file.
        line: Option<u64>,
        /// The message that it repeats: its place in the list, from 1.
        first_number: u64,
        /// That message's line, if it is from a file.
        first_line: Option<u64>,
    },
    /// The journal's end was cut off, as a crash cuts it off, and is skipped. This event is the first. If the cut line still says that a
    /// message was about to be sent, that message is reported as unknown.
    Recovered {
        /// How many bytes are skipped.
        dropped_bytes: u64,
        /// The journal's line, from 1, that was cut off.
        journal_line: u64,
        /// How many messages are unknown because of it: 0 or 1.
        unknown: u64,
    },
}

impl BatchUpdate {
    /// The update's name in every language: `accepted`, `job`, `busy`, `paused`, `resumed`, `repeated`, `recovered`.
    pub fn name(&self) -> &'static str {
        match self {
            BatchUpdate::Accepted { .. } => "accepted",
            BatchUpdate::Job { .. } => "job",
            BatchUpdate::Busy { .. } => "busy",
            BatchUpdate::Paused { .. } => "paused",
            BatchUpdate::Resumed => "resumed",
            BatchUpdate::Repeated { .. } => "repeated",
            BatchUpdate::Recovered { .. } => "recovered",
        }
    }
}

/// How far a batch is. Earlier runs of the journal count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchProgress {
    /// How many messages the batch has.
    pub items: u64,
    /// How many the service accepted.
    pub accepted: u64,
    /// How many it rejected.
    pub rejected: u64,
    /// How many may have arrived.
    pub unknown: u64,
    /// How many are still to be sent, including those in flight.
    pub left: u64,
    /// How many are in flight.
    pub sending: u64,
    /// How many jobs are waited for.
    pub waiting: u64,
    /// How many messages wait because their job is busy (409). They are among those left.
    pub busy: u64,
    /// How many have their final outcome: with a wait, an accepted message has it when its job is done. A dropped one counts.
    pub done: u64,
    /// How many of the jobs that were waited for failed.
    pub failed: u64,
    /// How many messages a person dropped, which no run sends.
    pub dropped: u64,
    /// Why the batch pauses, and for how long.
    pub pause: Option<(PauseReason, Duration)>,
    /// How long until the last message is sent, at this pace; none before there is a pace.
    pub finishes_in: Option<Duration>,
}

/// What [`Batch::next_event`](crate::Batch::next_event) returned.
#[derive(Debug)]
#[non_exhaustive]
pub enum BatchEvent {
    /// A message has its outcome.
    Outcome(BatchOutcome),
    /// Something else happened.
    Update(BatchUpdate),
    /// An event of one of the batch's calls, or of its pauses; only with [`call_events`](crate::BatchOptions::call_events).
    Call(Event<'static>),
    /// Nothing happened before the timeout.
    Idle,
    /// The batch is finished: every message has its outcome, or [`stop`](crate::Batch::stop) was called.
    Finished,
}
