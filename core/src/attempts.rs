//! One call's requests, made until one of them settles it.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::control::Event;
use crate::delivery::{Delivery, Situation};
use crate::error::Error;
use crate::jitter;
use crate::job::Job;
use crate::net::{Cause, Exchange};
use crate::operation::Operation;
use crate::options::CallOptions;
use crate::outcome::{self, Failure};
use crate::retry::{Decision, Failed, Limits, decide};

/// A call under way.
pub(crate) struct Attempts<'a> {
    client: &'a Client,
    operation: &'a Operation<'a>,
    call: &'a CallOptions,
    limits: Limits,
    body: Option<Cow<'a, [u8]>>,
    began: Instant,
    deadline: Instant,
    /// The process that this is.
    pid: u32,
    /// Requests made.
    made: u32,
    /// When the last one had its answer.
    ended: Instant,
    failed: Counts,
    /// The next request takes no kept connection.
    fresh: bool,
    /// What became of the requests so far: none of them was delivered, or there would be no next one.
    verdict: Option<Delivery>,
}

/// What the retry table counts.
#[derive(Default)]
struct Counts {
    earlier: u32,
    once_used: bool,
    stale: u32,
}

impl<'a> Attempts<'a> {
    pub(crate) fn new(
        client: &'a Client,
        operation: &'a Operation<'a>,
        call: &'a CallOptions,
        limits: Limits,
        timeout: Duration,
    ) -> Attempts<'a> {
        let body = operation.body();
        let began = Instant::now();
        Attempts {
            client,
            operation,
            call,
            limits,
            body,
            began,
            deadline: began + timeout,
            pid: std::process::id(),
            made: 0,
            ended: began,
            failed: Counts::default(),
            fresh: false,
            verdict: operation.delivers().then_some(Delivery::NotSent),
        }
    }

    pub(crate) fn run(mut self) -> Result<Job, Error> {
        loop {
            let failure = match self.attempt()? {
                Ok(job) => {
                    self.remember(Some(&job));
                    return Ok(job);
                }
                Err(failure) => failure,
            };
            match decide(&self.judged(&failure), &self.limits, jitter::draw()) {
                Decision::Stop => {
                    if matches!(failure.error.delivery(), Some(Delivery::Accepted | Delivery::Unknown)) {
                        self.remember(None);
                    }
                    return Err(failure.error.with_effort(self.made, self.began.elapsed()));
                }
                Decision::Retry { after, on_new_connection, once } => {
                    self.count(&failure, once);
                    self.fresh = on_new_connection;
                    self.pause(after, &failure)?;
                }
            }
        }
    }

    /// Makes one request.
    fn attempt(&mut self) -> Result<Result<Job, Failure>, Error> {
        let attempt = self.made + 1;
        let event = Event::Attempt { operation: self.operation.name(), job_id: self.operation.job_id(), attempt };
        let begun = self.client.net.glance(self.call).and_then(|()| self.client.tell(self.call, &event));
        begun.map_err(|cause| self.interrupted(cause))?;
        self.made = attempt;
        let (path, body) = (self.operation.path(&self.client.config.jobs_path), self.body.as_deref());
        let (deadline, fresh, pid, call) = (self.deadline, self.fresh, self.pid, self.call);
        // Nobody else's code has run since the call began, unless somebody listens.
        let now = if attempt == 1 && !self.client.is_heard(call) { self.began } else { Instant::now() };
        let exchange = Exchange { path, body, now, deadline, fresh, pid, call };
        let ended = self.client.net.exchange(&self.client.config, exchange);
        self.ended = ended.as_ref().map_or_else(|_| Instant::now(), |reply| reply.at);
        Ok(outcome::read(self.operation, ended, &self.client.config.redactor()))
    }

    fn judged(&self, failure: &Failure) -> Failed {
        Failed {
            delivers: self.operation.delivers(),
            situation: failure.situation,
            retry_after: failure.error.retry_after(),
            earlier: self.failed.earlier,
            once_used: self.failed.once_used,
            earlier_stale: self.failed.stale,
            remaining: self.deadline.saturating_duration_since(Instant::now()),
        }
    }

    fn count(&mut self, failure: &Failure, once: bool) {
        if failure.situation == Situation::StaleConnection {
            self.failed.stale += 1;
        } else {
            self.failed.earlier += 1;
            self.failed.once_used |= once;
        }
        self.verdict = failure.error.delivery();
    }

    fn pause(&self, delay: Duration, failure: &Failure) -> Result<(), Error> {
        let event = Event::Retry {
            operation: self.operation.name(),
            job_id: self.operation.job_id(),
            attempt: self.made,
            delay,
            reason: failure.error.message(),
        };
        let paused = self.client.tell(self.call, &event).and_then(|()| self.client.net.pause(delay, self.call));
        paused.map_err(|cause| self.interrupted(cause))
    }

    fn interrupted(&self, cause: Cause) -> Error {
        outcome::interrupted(self.operation, &cause, self.verdict).with_effort(self.made, self.began.elapsed())
    }

    /// Keeps in mind that the job took a message, or may have, so that a wait is not fooled by the result before it.
    fn remember(&self, answer: Option<&Job>) {
        let asked = self.operation.job_id();
        let id = if asked.is_empty() { answer.map_or("", Job::id) } else { asked };
        if self.operation.delivers() && !id.is_empty() {
            self.client.recent.note(self.pid, id, self.ended, answer.is_some_and(|job| !job.is_terminal()));
        }
    }
}
