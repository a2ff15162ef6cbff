//! One call's requests, made until one of them settles it.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use crate::call::control::Event;
use crate::call::options::CallOptions;
use crate::call::response::{self, Failure};
use crate::call::retry::{Decision, Failed, Limits, decide};
use crate::delivery::{Delivery, Situation};
use crate::duration::check_time;
use crate::error::Error;
use crate::http::cause::Cause;
use crate::http::exchange::Exchange;
use crate::jitter;
use crate::job::Job;
use crate::operation::Operation;
use crate::shared::Shared;

/// Checks the arguments, then makes the call's requests until one settles it. `max_retries` overrides the client's.
pub(crate) fn execute(
    shared: &Shared,
    operation: &Operation<'_>,
    call: &CallOptions,
    max_retries: Option<u32>,
) -> Result<Job, Error> {
    let not_sent = |error: Error| error.with_delivery(operation.delivers().then_some(Delivery::NotSent));
    operation.check(shared.config.max_prompt_bytes).map_err(not_sent)?;
    let timeout = call.timeout.map_or(Ok(shared.config.timeout), |t| check_time("timeout", t)).map_err(not_sent)?;
    let mut limits = shared.config.limits;
    limits.max_retries = max_retries.unwrap_or(limits.max_retries);
    RequestLoop::new(shared, operation, call, limits, timeout).run()
}

/// A call in progress.
pub(crate) struct RequestLoop<'a> {
    shared: &'a Shared,
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
    /// When the last one had its response; before the first one, when it could have begun.
    ended: Instant,
    failed: Counts,
    /// The next request uses no kept connection.
    fresh: bool,
    /// The verdict of the requests so far: none of them was delivered, or there would be no next one.
    verdict: Option<Delivery>,
}

/// The counts that the retry table needs.
#[derive(Default)]
struct Counts {
    earlier: u32,
    once_used: bool,
    stale: u32,
}

impl<'a> RequestLoop<'a> {
    pub(crate) fn new(
        shared: &'a Shared,
        operation: &'a Operation<'a>,
        call: &'a CallOptions,
        limits: Limits,
        timeout: Duration,
    ) -> RequestLoop<'a> {
        let body = operation.body();
        let now = Instant::now();
        let began = call.started_at.unwrap_or(now);
        RequestLoop {
            shared,
            operation,
            call,
            limits,
            body,
            began,
            deadline: began + timeout,
            pid: std::process::id(),
            made: 0,
            ended: now,
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
        let begun = self.shared.connections.check_flags(self.call).and_then(|()| self.check_time());
        begun.and_then(|()| self.shared.notify(self.call, &event)).map_err(|cause| self.interrupted(cause))?;
        self.made = attempt;
        let (path, body) = (self.operation.path(&self.shared.config.jobs_path), self.body.as_deref());
        let (deadline, new_connection, pid, call) = (self.deadline, self.fresh, self.pid, self.call);
        // No code of the caller has run since the call began, unless the call is observed.
        let now = if attempt == 1 && !self.shared.is_observed(call) { self.ended } else { Instant::now() };
        let exchange = Exchange { path, body, now, deadline, new_connection, pid, call };
        let ended = self.shared.connections.exchange(&self.shared.config, exchange);
        self.ended = ended.as_ref().map_or_else(|_| Instant::now(), |reply| reply.at);
        let check = &mut self.shared.connections.checks(call, Some(deadline));
        Ok(response::read(self.operation, ended, &self.shared.config.redactor(), check))
    }

    /// A call may have timed out while it was queued.
    fn check_time(&self) -> Result<(), Cause> {
        if self.ended < self.deadline { Ok(()) } else { Err(Cause::Timeout) }
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
            reason: failure.error.reason(),
        };
        let paused =
            self.shared.notify(self.call, &event).and_then(|()| self.shared.connections.pause(delay, self.call));
        paused.map_err(|cause| self.interrupted(cause))
    }

    fn interrupted(&self, cause: Cause) -> Error {
        response::interrupted(self.operation, &cause, self.verdict).with_effort(self.made, self.began.elapsed())
    }

    /// Notes that the job accepted a message, or may have, so that a wait does not take an older result for its own.
    fn remember(&self, record: Option<&Job>) {
        let asked = self.operation.job_id();
        let id = if asked.is_empty() { record.map_or("", Job::id) } else { asked };
        if self.operation.delivers() && !id.is_empty() {
            self.shared.recent_deliveries.note(self.pid, id, self.ended, record.is_some_and(|job| !job.is_terminal()));
        }
    }
}
