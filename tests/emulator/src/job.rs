//! A job: its record, and how the record changes with time. Pure: the caller says what time it is.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::clock::Clock;
use crate::config::{Config, Outcome};

/// A job record with the contract's fields and whatever else the configuration gave it.
pub(crate) type Record = Map<String, Value>;

const REPOSITORY: &str = "https://github.com/acme/widgets";

pub(crate) struct Job {
    record: Record,
    work: Option<Work>,
    /// The record before the last message, and until when it is shown.
    stale: Option<(Record, Instant)>,
    hidden_until: Option<Instant>,
}

/// Work in progress, and its outcome.
struct Work {
    done: Instant,
    outcome: Outcome,
    pull: u64,
}

/// The work that one message starts.
pub(crate) struct Assignment {
    pub(crate) now: Instant,
    pub(crate) work: Duration,
    pub(crate) stale: Duration,
    pub(crate) outcome: Outcome,
    pub(crate) pull: u64,
}

impl Job {
    /// A job of the configuration. Checked before: `id` is a string, so is `status`, and `finish_after_ms` is a number.
    pub(crate) fn configured(fields: &Record, config: &Config, clock: &Clock, pull: u64) -> Self {
        let status = fields.get("status").and_then(Value::as_str).unwrap_or("completed");
        let created = Value::from(clock.date(clock.started));
        let mut record = record("", status, created.clone());
        if status == "archived" {
            record.insert("archivedAt".into(), created);
        }
        let mut finish_after = None;
        for (name, value) in fields {
            if name == "finish_after_ms" {
                finish_after = value.as_u64();
            } else {
                record.insert(name.clone(), value.clone());
            }
        }
        if !fields.contains_key("prLink") && matches!(status, "completed" | "archived") {
            let link = pull_request(&record, pull);
            record.insert("prLink".into(), link.into());
        }
        let work = finish_after.map(|ms| Work {
            done: clock.started + Duration::from_millis(ms),
            outcome: config.outcome,
            pull,
        });
        Self { record, work, stale: None, hidden_until: None }
    }

    /// A job that was just created and is active.
    pub(crate) fn created(id: &str, clock: &Clock, assignment: &Assignment, hidden: Duration) -> Self {
        let mut job = Self {
            record: record(id, "active", clock.date(assignment.now).into()),
            work: None,
            stale: None,
            hidden_until: Some(assignment.now + hidden),
        };
        job.assign(assignment, clock);
        job
    }

    /// Takes a message: the job is `active` until the work is done.
    pub(crate) fn assign(&mut self, assignment: &Assignment, clock: &Clock) {
        self.settle(assignment.now, clock);
        if !assignment.stale.is_zero() && self.is_terminal() {
            self.stale = Some((self.record.clone(), assignment.now + assignment.stale));
        }
        self.record.insert("status".into(), "active".into());
        self.record.insert("prLink".into(), Value::Null);
        self.record.insert("archivedAt".into(), Value::Null);
        self.work =
            Some(Work { done: assignment.now + assignment.work, outcome: assignment.outcome, pull: assignment.pull });
    }

    /// The current record.
    pub(crate) fn fresh(&mut self, now: Instant, clock: &Clock) -> &Record {
        self.settle(now, clock);
        &self.record
    }

    /// The record as a reader sees it, which may be the one before the last message.
    pub(crate) fn shown(&mut self, now: Instant, clock: &Clock) -> &Record {
        self.settle(now, clock);
        match &self.stale {
            Some((previous, until)) if now < *until => previous,
            _ => &self.record,
        }
    }

    /// The pull request that the work on a message will make.
    pub(crate) fn pull_request(&self, assignment: &Assignment) -> Option<String> {
        made(&self.record, assignment.outcome, assignment.pull)
    }

    /// Whether the job works on a message.
    pub(crate) fn is_active(&mut self, now: Instant, clock: &Clock) -> bool {
        self.settle(now, clock);
        !self.is_terminal()
    }

    pub(crate) fn is_hidden(&self, now: Instant) -> bool {
        self.hidden_until.is_some_and(|until| now < until)
    }

    /// Finishes the work, if its time has come. Nothing runs in the background: a job catches up when it is read.
    fn settle(&mut self, now: Instant, clock: &Clock) {
        let Some(work) = self.work.take_if(|work| work.done <= now) else {
            return;
        };
        let (status, archived_at) = match work.outcome {
            Outcome::Completed => ("completed", Value::Null),
            Outcome::Archived => ("archived", clock.date(work.done).into()),
            Outcome::Failed => ("failed", Value::Null),
        };
        let link = made(&self.record, work.outcome, work.pull).map_or(Value::Null, Value::from);
        self.record.insert("status".into(), status.into());
        self.record.insert("prLink".into(), link);
        self.record.insert("archivedAt".into(), archived_at);
    }

    fn is_terminal(&self) -> bool {
        matches!(self.record.get("status").and_then(Value::as_str), Some("completed" | "archived" | "failed"))
    }
}

/// A record with every field of the contract.
pub(crate) fn record(id: &str, status: &str, created: Value) -> Record {
    let mut record = Map::new();
    record.insert("id".into(), id.into());
    record.insert("status".into(), status.into());
    record.insert("source".into(), json!({"repository": REPOSITORY, "ref": "main"}));
    record.insert("model".into(), "emulated".into());
    record.insert("prLink".into(), Value::Null);
    record.insert("createdAt".into(), created);
    record.insert("archivedAt".into(), Value::Null);
    record
}

/// The pull request of work that ends like this.
fn made(record: &Record, outcome: Outcome, number: u64) -> Option<String> {
    match outcome {
        Outcome::Failed => None,
        Outcome::Completed | Outcome::Archived => Some(pull_request(record, number)),
    }
}

fn pull_request(record: &Record, number: u64) -> String {
    let repository =
        record.get("source").and_then(|source| source.get("repository")).and_then(Value::as_str).unwrap_or(REPOSITORY);
    format!("{}/pull/{number}", repository.trim_end_matches('/'))
}
