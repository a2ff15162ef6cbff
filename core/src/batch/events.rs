//! What a batch tells: the outcome of each message, what happens meanwhile, and how far it is.

use std::time::Duration;

use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;

/// What became of one message of a batch.
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

    /// The line of the file that the item is from, if it was said.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The item's key: the caller's, or the one that was derived from content and place.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The job that the message is for.
    pub fn job_id(&self) -> &str {
        &self.job_id
    }

    /// `Accepted`, `Rejected` or `Unknown`. `NotSent` is no message's end: it is sent by this run or the next.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The job's last record: the answer to the message or, if the batch waits, what the wait saw last.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Why the message was rejected, why nobody knows whether it arrived, or, for an accepted one, why its record or the end of
    /// its job was not seen.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Whether an earlier run of the journal found it out.
    pub fn is_earlier(&self) -> bool {
        self.earlier
    }
}

/// What happens in a batch between two outcomes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum BatchUpdate {
    /// A message was accepted, and its job is waited for: the outcome comes later.
    Accepted {
        /// The item's place in the list, from 1.
        number: u64,
        /// The job.
        job_id: Box<str>,
        /// The answer to the message; none if it could not be read.
        job: Option<Job>,
    },
    /// A job that is waited for has another record than before.
    Job {
        /// The item's place in the list, from 1.
        number: u64,
        /// The job.
        job_id: Box<str>,
        /// Its record.
        job: Job,
    },
    /// Nothing is sent for a while.
    Paused {
        /// Why.
        reason: PauseReason,
        /// For how long.
        pause: Duration,
        /// The failure behind it.
        error: Error,
    },
    /// Messages are sent again after a pause.
    Resumed,
    /// The journal's end was damaged, and is passed over. It comes before all else. Messages that may have been sent by what it
    /// said are reported as unknown.
    Recovered {
        /// How many bytes are passed over.
        dropped_bytes: u64,
        /// The journal's first line, from 1, that cannot be read.
        journal_line: u64,
        /// How many messages are unknown for that reason.
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

/// How far a batch is. What earlier runs of the journal did counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchProgress {
    /// How many messages the batch has.
    pub items: u64,
    /// How many the service took.
    pub accepted: u64,
    /// How many it refused.
    pub rejected: u64,
    /// Of how many nobody knows.
    pub unknown: u64,
    /// How many are still to be sent, those under way included.
    pub left: u64,
    /// How many are under way.
    pub sending: u64,
    /// How many jobs are waited for.
    pub waiting: u64,
    /// How many outcomes are final; with a wait an accepted message's is final with its job's end.
    pub done: u64,
    /// Why nothing is sent now, and for how long.
    pub pause: Option<(PauseReason, Duration)>,
    /// In how long the last message is sent, at this pace; none as long as there is no pace.
    pub finishes_in: Option<Duration>,
}

/// What a [step](crate::Batch::step) of a batch brought.
#[derive(Debug)]
#[non_exhaustive]
pub enum BatchStep {
    /// A message has its outcome.
    Outcome(BatchOutcome),
    /// Something happened meanwhile.
    Update(BatchUpdate),
    /// Nothing, in the time that was given.
    Nothing,
    /// There is nothing more: every message has its outcome, or [`stop`](crate::Batch::stop) was called.
    Over,
}
