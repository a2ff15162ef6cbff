//! One poll of a wait: no thread, no callback, no sleeping. `wait`, `watch`, C and asyncio are built on it.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use crate::call::event::Event;
use crate::call::options::CallOptions;
use crate::call::request_loop::execute;
use crate::duration::check_time;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};
use crate::http::cause::Cause;
use crate::jitter;
use crate::job::Job;
use crate::operation::Operation;
use crate::redact::Redactor;
use crate::shared::Shared;
use crate::text::describe;
use crate::wait::failing::label;
use crate::wait::poller::Poller;
use crate::wait::schedule::{Progress, Seen};

/// A poll that ends this long after the deadline, which cuts polls short, was stopped with its process, and shows the job as it was
/// long before. The wait polls once more.
const STOPPED: Duration = Duration::from_secs(1);

/// A longer status, in bytes, is shortened in an event.
const MAX_EVENT_STATUS_BYTES: usize = 300;

impl Poller {
    /// Polls the job once, now; see [`Poller::poll`].
    pub(crate) fn poll_with(&mut self, shared: &Shared, call: &CallOptions) -> Result<Option<Job>, Error> {
        if self.done {
            return Ok(self.job.clone());
        }
        self.changed = false;
        let (began, poll_began) = (self.elapsed(), Instant::now());
        let queued = call.started_at.map_or(Duration::ZERO, |at| poll_began.saturating_duration_since(at));
        let left = match self.state.deadline() {
            Some(end) if began < end => Some(end - began),
            // A poll that was in time, and queued until the deadline had passed, is not made.
            Some(end) if !self.must_poll && (began.saturating_sub(queued) < end || !self.state.lacks_a_poll()) => {
                return Err(self.timed_out(&Redactor::new(&shared.secrets(call))));
            }
            _ => None,
        };
        (self.must_poll, self.retry_after) = (false, None);
        let polled = get_job(shared, self.job_id(), call, left, poll_began);
        let is_current = self.take_in(shared.recent_deliveries.of(self.job_id()), poll_began);
        let now = self.elapsed();
        let secrets = shared.secrets(call);
        let redactor = Redactor::new(&secrets);
        let mut alike = 0;
        let (progress, reason) = match polled {
            Ok(job) => {
                let seen = Seen::Job { job: &job, status: &job.redacted_status(&redactor), is_current };
                let progress = self.state.observe(now, seen, jitter::draw());
                self.changed = self.job.as_ref() != Some(&job);
                self.job = Some(job);
                self.failing.end();
                (progress, None)
            }
            Err(error) if !self.is_passing(&error, now) => {
                self.state.polls += 1;
                return Err(match error.kind() {
                    // The same text, whether a poll was in flight or not.
                    ErrorKind::Cancelled => self.interrupted(Cause::Cancelled, &redactor),
                    ErrorKind::Closed => self.interrupted(Cause::Closed, &redactor),
                    // After a message it is what every other end of the wait is about; otherwise it is the error of `get_job`.
                    _ if self.state.message => self.ended(self.with_doubt(error.about(self.subject())), &redactor),
                    _ => self.ended(self.with_doubt(error), &redactor),
                });
            }
            Err(error) => {
                self.retry_after = error.retry_after();
                let label = label(&error);
                let is_cut = error.kind() == ErrorKind::Timeout && left.is_some_and(|left| now - began >= left);
                alike = if is_cut { self.failing.add_cut(&label) } else { self.failing.add(&label, &error) };
                let seen = Seen::Failed { why: &label, retry_after: error.retry_after() };
                (self.state.observe(now, seen, jitter::draw()), Some(error.unquoted_reason().to_owned()))
            }
        };
        self.done = progress == Progress::Done;
        let seen = self.job.as_ref().filter(|_| reason.is_none()).map(|job| job.redacted_status(&redactor));
        let event = Event::Poll {
            job_id: self.job_id().into(),
            polls: self.state.polls,
            // As the service wrote it; shortened if it is too long.
            status: seen.as_deref().and_then(|status| {
                if status.len() <= MAX_EVENT_STATUS_BYTES {
                    Some(status.into())
                } else {
                    self.state.last_status().map(Into::into)
                }
            }),
            reason: reason.as_deref().map(Into::into),
            consecutive_failures: alike,
            elapsed: now,
            next: (!self.done).then(|| self.due_in()),
            item: call.item,
        };
        shared.notify(call, &event).map_err(|cause| self.interrupted(cause, &redactor))?;
        if self.done {
            return Ok(self.job.clone());
        }
        let Some(late) = self.state.deadline().and_then(|end| now.checked_sub(end)) else { return Ok(None) };
        self.must_poll = left.is_some() && late >= STOPPED && self.retry_after.is_none();
        if self.must_poll { Ok(None) } else { Err(self.timed_out(&redactor)) }
    }

    /// Whether the wait continues after a failed poll.
    fn is_passing(&self, error: &Error, now: Duration) -> bool {
        match error.kind() {
            _ if error.is_a_setting() => false,
            ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Timeout => true,
            ErrorKind::RateLimit | ErrorKind::Server => true,
            ErrorKind::NotFound => self.state.forgives_not_found(now),
            ErrorKind::BadRequest => error.http_status() == Some(408),
            // A gateway may have responded in place of the service; the next poll may succeed.
            ErrorKind::InvalidResponse => true,
            _ => false,
        }
    }

    fn timed_out(&self, redactor: &Redactor<'_>) -> Error {
        let lasted = format!("{:.1} s ({})", self.elapsed().as_secs_f64(), self.state.summary());
        let (reason, again) = match (self.previous_result(), self.state.last_status()) {
            (Some(status), _) => (
                format!("the job showed {status}, which may be its previous result, after {lasted}"),
                Some("Wait again with the same client, which knows of the message."),
            ),
            (None, Some(status)) => (
                format!("the job was still {status} after {lasted}"),
                Some("The job keeps running; wait again to follow it."),
            ),
            (None, None) => (format!("the job's status could not be read in {lasted}"), None),
        };
        let (reason, unquoted) = self.failing.added_to(reason);
        let hint: Cow<'static, str> = match (self.failing.hint(), again) {
            (Some(cause), Some(again)) => format!("{cause} {again}").into(),
            (Some(cause), None) => cause.into_owned().into(),
            (None, Some(again)) => again.into(),
            (None, None) => "Check base_url, the network and the service.".into(),
        };
        let error = self.error(ErrorKind::WaitTimeout, reason).with_hint(hint);
        let error = match unquoted {
            Some(unquoted) => error.with_unquoted_reason(unquoted),
            None => error,
        };
        self.ended(error, redactor)
    }

    /// The error for a wait that its caller ended.
    pub(crate) fn interrupted(&self, cause: Cause, redactor: &Redactor<'_>) -> Error {
        self.ended(self.with_doubt(self.error(cause.kind(), cause.reason())), redactor)
    }

    /// The last status that a poll showed, if it may be that of the result before the message.
    fn previous_result(&self) -> Option<&str> {
        self.job.as_ref().filter(|job| job.is_terminal() && !self.done).and_then(|_| self.state.last_status())
    }

    /// Says that what the job showed may be the previous result.
    fn with_doubt(&self, error: Error) -> Error {
        match self.previous_result() {
            Some(status) => error.with_clause(&format!("; the job showed {status}, which may be its previous result")),
            None => error,
        }
    }

    fn error(&self, kind: ErrorKind, reason: String) -> Error {
        Error::new(kind, reason).about(self.subject())
    }

    /// What an error of this wait is about.
    fn subject(&self) -> Subject {
        Subject::Wait { job_id: describe(self.job_id()), after_message: self.state.message }
    }

    /// Adds the wait's facts to an error, but not what may be the previous result: a program would take that for its message's. A
    /// job's id comes from the caller and may hold anything.
    fn ended(&self, error: Error, redactor: &Redactor<'_>) -> Error {
        let job = self.job.clone().filter(|_| self.previous_result().is_none());
        error.redacted(redactor).with_effort(self.state.requests(), self.elapsed()).with_job(job)
    }
}

/// One poll's request. `left` is the time left until the wait's deadline.
fn get_job(
    shared: &Shared,
    job_id: &str,
    call: &CallOptions,
    left: Option<Duration>,
    began: Instant,
) -> Result<Job, Error> {
    let timeout = call.timeout.map_or(Ok(shared.config.timeout), |timeout| check_time("timeout", timeout))?;
    // The call's timeout counts from when it was queued, the wait's time left from now.
    let queued = call.started_at.map_or(Duration::ZERO, |started| began.saturating_duration_since(started));
    let timeout = left.map_or(timeout, |left| timeout.min(left + queued));
    let call = CallOptions { timeout: Some(timeout), ..call.clone() };
    let job = execute(shared, &Operation::GetJob { job_id }, &call, Some(0))?;
    if !job.is_terminal() {
        shared.recent_deliveries.seen_active(job_id, began);
    }
    Ok(job)
}
