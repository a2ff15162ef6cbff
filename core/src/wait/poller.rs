//! A resumable wait, one poll at a time: no thread, no callback, no sleeping. `wait`, `watch`, C and asyncio are built on it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::call::control::Event;
use crate::call::options::CallOptions;
use crate::call::request_loop::execute;
use crate::duration::check_time;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};
use crate::http::failure::Cause;
use crate::jitter;
use crate::job::{Job, JobStatus};
use crate::operation::{Operation, check_id};
use crate::redact::Redactor;
use crate::shared::Shared;
use crate::text::describe;
use crate::timestamp::now_unix_ms;
use crate::wait::resume_text::SavedWait;
use crate::wait::schedule::{Accepted, PollState, Progress, Schedule, Seen};

/// A longer status, in bytes, is shortened in an event.
const MAX_EVENT_STATUS_BYTES: usize = 300;

/// A wait that the program polls itself: sleep until the next poll is due, then poll once.
///
/// `to_string()` returns its state as text; `parse()` resumes from that text, also in another process.
///
/// ```no_run
/// # fn main() -> Result<(), agentjob_core::Error> {
/// # let client = agentjob_core::Client::builder().build()?;
/// let mut poller = client.poller("job_123", &agentjob_core::WaitOptions::new())?;
/// let job = loop {
///     std::thread::sleep(poller.due_in());
///     if let Some(job) = poller.poll(&client, &Default::default())? {
///         break job;
///     }
/// };
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Poller {
    state: PollState,
    began: Instant,
    /// How long the wait had lasted before `began`: more than zero after a resume.
    before: Duration,
    job: Option<Job>,
    changed: bool,
    done: bool,
    /// Poll once even after the deadline: a resumed wait polls at least once, however long ago it was saved.
    must_poll: bool,
    /// The pause that the service asked for when the last poll failed.
    retry_after: Option<Duration>,
}

impl Poller {
    pub(crate) fn new(job_id: &str, schedule: Schedule, accepted: Option<Accepted>) -> Result<Poller, Error> {
        check_id("job_id", job_id)?;
        schedule.check()?;
        Ok(Poller::from_state(PollState::new(job_id, schedule, accepted), Duration::ZERO))
    }

    /// Waits for the result of a message, from the response to it.
    pub(crate) fn after_message(job_id: &str, schedule: Schedule, response: Job, redactor: &Redactor<'_>) -> Poller {
        let seen = (&response, &*status(&response, redactor));
        let (state, progress) = PollState::after_message(job_id, schedule, seen, jitter::draw());
        let mut poller = Poller::from_state(state, Duration::ZERO);
        poller.done = progress == Progress::Done;
        poller.changed = true;
        poller.job = Some(response);
        poller
    }

    /// Waits for the result of a message that was accepted with a response that could not be read.
    pub(crate) fn after_lost_response(job_id: &str, schedule: Schedule) -> Poller {
        let accepted = Accepted { ago: Duration::ZERO, active: false };
        Poller::from_state(PollState::new(job_id, schedule, Some(accepted)), Duration::ZERO)
    }

    fn from_state(state: PollState, before: Duration) -> Poller {
        Poller {
            state,
            began: Instant::now(),
            before,
            job: None,
            changed: false,
            done: false,
            must_poll: false,
            retry_after: None,
        }
    }

    /// Whether a terminal status counts: the job was seen active, or the settle time has passed.
    pub(crate) fn has_settled(&self) -> bool {
        self.state.has_settled(self.elapsed())
    }

    /// The time left until the wait's deadline, for programs whose polls queue for a thread. `None` if the wait has no deadline, or
    /// if it was resumed and has not polled yet.
    pub fn time_left(&self) -> Option<Duration> {
        self.state.deadline().filter(|_| !self.must_poll).map(|end| end.saturating_sub(self.elapsed()))
    }

    /// The pause that the service asked for when the last poll failed.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The id of the job.
    pub fn job_id(&self) -> &str {
        &self.state.job_id
    }

    /// The last record that this poller saw; `None` before the first, and after a resume.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Whether the job is done. If so, [`job`](Poller::job) is its last record.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the last poll showed a record that differs from the one before.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// How many polls were made, before a resume included.
    pub fn polls(&self) -> u32 {
        self.state.polls
    }

    /// How long the wait has lasted, in all processes together.
    pub fn elapsed(&self) -> Duration {
        self.before.saturating_add(self.began.elapsed())
    }

    /// How long until the next poll is due, or until the deadline if that comes first. Zero when the job is done.
    pub fn due_in(&self) -> Duration {
        if self.done {
            return Duration::ZERO;
        }
        let due = self.state.deadline().map_or(self.state.due(), |end| self.state.due().min(end));
        due.saturating_sub(self.elapsed())
    }

    pub(crate) fn poll_with(&mut self, shared: &Shared, call: &CallOptions) -> Result<Option<Job>, Error> {
        if self.done {
            return Ok(self.job.clone());
        }
        self.changed = false;
        let began = self.elapsed();
        let left = match self.state.deadline() {
            Some(end) if began < end => Some(end - began),
            Some(_) if !self.must_poll => return Err(self.timed_out()),
            _ => None,
        };
        (self.must_poll, self.retry_after) = (false, None);
        let polled = get_job(shared, self.job_id(), call, left);
        let now = self.elapsed();
        let redactor = shared.config.redactor();
        let (progress, reason) = match polled {
            Ok(job) => {
                let seen = Seen::Job(&job, &status(&job, &redactor));
                let progress = self.state.observe(now, seen, jitter::draw());
                self.changed = self.differs(&job, shared, call)?;
                self.job = Some(job);
                (progress, None)
            }
            Err(error) if !self.is_passing(&error, now) => {
                self.state.polls += 1;
                return Err(self.ended(error));
            }
            Err(error) => {
                self.retry_after = error.retry_after();
                let seen = Seen::Failed { why: &label(&error), retry_after: error.retry_after() };
                (self.state.observe(now, seen, jitter::draw()), Some(error.reason().to_owned()))
            }
        };
        self.done = progress == Progress::Done;
        let seen = self.job.as_ref().filter(|_| reason.is_none()).map(|job| status(job, &redactor));
        let event = Event::Poll {
            job_id: self.job_id(),
            polls: self.state.polls,
            // As the service wrote it; shortened if it is too long.
            status: seen.as_deref().and_then(|status| {
                if status.len() <= MAX_EVENT_STATUS_BYTES { Some(status) } else { self.state.last_status() }
            }),
            reason: reason.as_deref(),
            elapsed: now,
            next: (!self.done).then(|| self.due_in()),
        };
        shared.notify(call, &event).map_err(|cause| self.interrupted(cause))?;
        if self.done {
            return Ok(self.job.clone());
        }
        if self.state.deadline().is_some_and(|end| now >= end) { Err(self.timed_out()) } else { Ok(None) }
    }

    /// Whether a record differs from the one before.
    fn differs(&self, job: &Job, shared: &Shared, call: &CallOptions) -> Result<bool, Error> {
        let Some(before) = &self.job else { return Ok(true) };
        let mut ended = None;
        let mut check = shared.connections.checks(call, None);
        let same = before.same_as(job, &mut || check().map_err(|cause| ended = Some(cause)).is_ok());
        same.map(|same| !same).ok_or_else(|| self.interrupted(ended.unwrap_or(Cause::Cancelled)))
    }

    /// Whether the wait continues after a failed poll.
    fn is_passing(&self, error: &Error, now: Duration) -> bool {
        match error.kind() {
            ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Timeout => true,
            ErrorKind::RateLimit | ErrorKind::Server => true,
            ErrorKind::NotFound => self.state.forgives_not_found(now),
            ErrorKind::BadRequest => error.http_status() == Some(408),
            // A gateway may have responded in place of the service; the next poll may succeed.
            ErrorKind::InvalidResponse => true,
            _ => false,
        }
    }

    fn timed_out(&self) -> Error {
        let lasted = format!("{:.1} s ({})", self.elapsed().as_secs_f64(), self.state.summary());
        let (reason, hint) = match self.state.last_status() {
            Some(status) => (
                format!("the job was still {status} after {lasted}"),
                "The job keeps running at the service: wait again to keep waiting.",
            ),
            None => (format!("no poll could read the job in {lasted}"), "Check base_url, the network and the service."),
        };
        self.ended(self.error(ErrorKind::WaitTimeout, reason).with_hint(hint))
    }

    /// The error for a wait that its caller ended.
    pub(crate) fn interrupted(&self, cause: Cause) -> Error {
        self.ended(self.error(cause.kind(), cause.reason()))
    }

    fn error(&self, kind: ErrorKind, reason: String) -> Error {
        let after_message = self.state.message;
        Error::new(kind, reason).about(Subject::Wait { job_id: describe(self.job_id()), after_message })
    }

    /// Adds the wait's facts to an error.
    fn ended(&self, error: Error) -> Error {
        error.with_effort(self.state.requests(), self.elapsed()).with_job(self.job.clone())
    }
}

/// One poll's request. `left` is the time left until the wait's deadline.
fn get_job(shared: &Shared, job_id: &str, call: &CallOptions, left: Option<Duration>) -> Result<Job, Error> {
    let timeout = call.timeout.map_or(Ok(shared.config.timeout), |timeout| check_time("timeout", timeout))?;
    let began = Instant::now();
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

/// A job's status without secrets: an undocumented one may be any text.
fn status<'a>(job: &'a Job, redactor: &Redactor<'_>) -> Cow<'a, str> {
    match job.status() {
        JobStatus::Other(other) => redactor.redact(other),
        known => Cow::Borrowed(known.as_str()),
    }
}

/// The name by which a failed poll is counted.
fn label(error: &Error) -> String {
    match error.http_status() {
        Some(status) => format!("{} ({status})", error.kind()),
        None => error.kind().to_string(),
    }
}

/// The poller's text, to [`parse`](str::parse) in another process.
impl fmt::Display for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.saved(self.state.clone()).to_text())
    }
}

impl FromStr for Poller {
    type Err = Error;

    /// Resumes from a poller's text. The time since it was written counts as waited. The wall clock measures it, because no other
    /// clock is the same in two processes; if it was set back, no time counts.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument): it is not a poller's text, or of another version.
    fn from_str(text: &str) -> Result<Poller, Error> {
        Poller::from_text(text, |saved_at_unix_ms| {
            Duration::from_millis(now_unix_ms().saturating_sub(saved_at_unix_ms))
        })
    }
}

impl Poller {
    /// Its text for a batch's journal, which contains no free text of the service.
    pub(crate) fn journal_text(&self) -> String {
        self.saved(self.state.without_free_text()).to_text()
    }

    /// Resumes from a poller's text that was written `ago`, with another schedule whose timeout counts from now.
    pub(crate) fn resume(text: &str, ago: Duration, schedule: Schedule) -> Result<Poller, Error> {
        let mut poller = Poller::from_text(text, |_| ago)?;
        let timeout = schedule.timeout.map(|timeout| poller.before.saturating_add(timeout));
        poller.state.schedule = Schedule { timeout, ..schedule };
        Ok(poller)
    }

    fn saved(&self, state: PollState) -> SavedWait {
        SavedWait { saved_at_unix_ms: now_unix_ms(), elapsed: self.elapsed(), done: self.done, state }
    }

    fn from_text(text: &str, ago: impl Fn(u64) -> Duration) -> Result<Poller, Error> {
        let not_a_text =
            || Error::invalid("this is not the text of a poller").with_hint("Give a text that this version wrote.");
        let saved = SavedWait::read(text).ok_or_else(not_a_text)?;
        check_id("job_id", &saved.state.job_id)?;
        saved.state.schedule.check()?;
        let before = saved.elapsed.saturating_add(ago(saved.saved_at_unix_ms));
        let mut poller = Poller::from_state(saved.state, before);
        // Even a finished wait: its text does not contain the record.
        poller.must_poll = true;
        Ok(poller)
    }
}
