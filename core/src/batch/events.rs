//! The events of a batch: the outcome of each message, what happens between outcomes, and the progress.

use std::time::Duration;

use crate::batch::pace::circuit_breaker::PauseReason;
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
}

impl BatchOutcome {
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

    /// `Accepted`, `Rejected` or `Unknown`. Never `NotSent`: such a message is sent by this run or the next.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The job's last record: the response to the message or, if the batch waits, that of the last poll.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Why the message was rejected, why it is unknown whether it arrived, or, for an accepted one, why its record or the end of its
    /// job is missing.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Whether it is from an earlier run of the journal.
    pub fn is_earlier(&self) -> bool {
        self.earlier
    }
}

/// What happens in a batch besides outcomes.
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
    /// The batch pauses: no message is sent.
    Paused {
        /// Why.
        reason: PauseReason,
        /// For how long.
        pause: Duration,
        /// The failure that caused it.
        error: Error,
    },
    /// Messages are sent again after a pause.
    Resumed,
    /// The journal's end was damaged and is skipped. This event is the first. Messages that the damaged lines may have been about are
    /// reported as unknown.
    Recovered {
        /// How many bytes are skipped.
        dropped_bytes: u64,
        /// The journal's first line, from 1, that cannot be read.
        journal_line: u64,
        /// How many messages are unknown because of it.
        unknown: u64,
    },
}

impl BatchUpdate {
    /// The update's name in every language: `accepted`, `job`, `paused`, `resumed`, `recovered`.
    pub fn name(&self) -> &'static str {
        match self {
            BatchUpdate::Accepted { .. } => "accepted",
            BatchUpdate::Job { .. } => "job",
            BatchUpdate::Paused { .. } => "paused",
            BatchUpdate::Resumed => "resumed",
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
    /// How many have their final outcome: with a wait, an accepted message has it when its job is done.
    pub done: u64,
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
    /// Nothing happened before the timeout.
    Idle,
    /// The batch is finished: every message has its outcome, or [`stop`](crate::Batch::stop) was called.
    Finished,
}
