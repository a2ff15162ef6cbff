//! The resumable wait in steps: no thread, no callback, no sleeping. `wait`, `watch`, C and asyncio stand on it.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::call::control::Event;
use crate::call::options::CallOptions;
use crate::call::request_loop::execute;
use crate::client::Client;
use crate::duration::check_time;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};
use crate::http::failure::Cause;
use crate::jitter;
use crate::job::{Job, JobStatus};
use crate::json::value::Json;
use crate::operation::Operation;
use crate::operation::check_id;
use crate::redact::Redactor;
use crate::shared::Shared;
use crate::text::describe;
use crate::timestamp::now_unix_ms;
use crate::wait::schedule::{Accepted, PollState, Schedule, Seen, Step};
use crate::wait::schedule_text::{Record, millis, object};

/// A wait in steps: ask when the next look is due, then look once.
///
/// Its text (`to_string()`) holds where it stands; `parse()` goes on from it, also in another process.
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
    /// How long the wait had lasted when `began` was taken: more than nothing after a resume.
    before: Duration,
    job: Option<Job>,
    changed: bool,
    done: bool,
    /// A resumed wait looks at least once, however long nobody went on with it.
    owed: bool,
    asked: Option<Duration>,
}

impl Poller {
    pub(crate) fn new(job_id: &str, schedule: Schedule, accepted: Option<Accepted>) -> Result<Poller, Error> {
        check_id("job_id", job_id)?;
        schedule.check()?;
        Ok(Poller::from_state(PollState::new(job_id, schedule, accepted), Duration::ZERO))
    }

    /// Goes on from the answer to a message, whose job is what is waited for.
    pub(crate) fn after_message(job_id: &str, schedule: Schedule, answer: Job, redactor: &Redactor<'_>) -> Poller {
        let seen = (&answer, &*status(&answer, redactor));
        let (state, step) = PollState::after_message(job_id, schedule, seen, jitter::draw());
        let mut poller = Poller::from_state(state, Duration::ZERO);
        poller.done = step == Step::Done;
        poller.changed = true;
        poller.job = Some(answer);
        poller
    }

    /// Goes on from a message that was accepted, and whose answer could not be read.
    pub(crate) fn after_lost_answer(job_id: &str, schedule: Schedule) -> Poller {
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
            owed: false,
            asked: None,
        }
    }

    /// Whether a terminal status counts: the job was seen at work, or the time of the previous result is over.
    pub(crate) fn has_settled(&self) -> bool {
        self.state.has_settled(self.elapsed())
    }

    /// How long until the wait's time is over, for programs whose polls queue for a thread. `None` if the wait has no end, or
    /// if one more poll is due.
    pub fn ends_in(&self) -> Option<Duration> {
        self.state.deadline().filter(|_| !self.owed).map(|end| end.saturating_sub(self.elapsed()))
    }

    /// How long the service asked to wait when the last look failed.
    pub(crate) fn asked(&self) -> Option<Duration> {
        self.asked
    }

    /// Goes on from a poller's text that was written so long ago, with a schedule of today, whose time counts from now.
    pub(crate) fn resume(text: &str, ago: Duration, schedule: Schedule) -> Result<Poller, Error> {
        let mut poller = Poller::from_text(text, |_| ago)?;
        let timeout = schedule.timeout.map(|timeout| poller.before.saturating_add(timeout));
        poller.state.schedule = Schedule { timeout, ..schedule };
        Ok(poller)
    }

    /// The job that is waited for.
    pub fn job_id(&self) -> &str {
        &self.state.job_id
    }

    /// The last record that was seen by this poller; none right after a resume.
    pub fn job(&self) -> Option<&Job> {
        self.job.as_ref()
    }

    /// Whether the job is done; then [`job`](Poller::job) is its last record.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the last look showed a record that differs from the one before it.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// How many looks were made.
    pub fn polls(&self) -> u32 {
        self.state.polls
    }

    /// How long the wait has lasted, over all processes.
    pub fn elapsed(&self) -> Duration {
        self.before.saturating_add(self.began.elapsed())
    }

    /// How long until the next look is due, or until the wait's time is over if that comes first. Nothing when done.
    pub fn due_in(&self) -> Duration {
        if self.done {
            return Duration::ZERO;
        }
        let due = self.state.deadline().map_or(self.state.due(), |end| self.state.due().min(end));
        due.saturating_sub(self.elapsed())
    }

    /// Looks at the job once, now. `Some` is its last record: the job is done.
    ///
    /// A poll that fails for a passing reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) is
    /// counted and returns `None`.
    ///
    /// # Errors
    /// [`WaitTimeout`](ErrorKind::WaitTimeout) once the wait's time is over, with the last record; what `get_job` answers
    /// for a job that cannot be looked at (401, 403, 404 and other 4xx); cancelled, closed.
    pub fn poll(&mut self, client: &Client, call: &CallOptions) -> Result<Option<Job>, Error> {
        self.poll_with(&client.shared, call)
    }

    pub(crate) fn poll_with(&mut self, shared: &Shared, call: &CallOptions) -> Result<Option<Job>, Error> {
        if self.done {
            return Ok(self.job.clone());
        }
        self.changed = false;
        let began = self.elapsed();
        let left = match self.state.deadline() {
            Some(end) if began < end => Some(end - began),
            Some(_) if !self.owed => return Err(self.timed_out()),
            _ => None,
        };
        (self.owed, self.asked) = (false, None);
        let looked = check_job(shared, self.job_id(), call, left);
        let now = self.elapsed();
        let redactor = shared.config.redactor();
        let (step, reason) = match looked {
            Ok(job) => {
                let seen = Seen::Job(&job, &status(&job, &redactor));
                let step = self.state.observe(now, seen, jitter::draw());
                self.changed = self.differs(&job, shared, call)?;
                self.job = Some(job);
                (step, None)
            }
            Err(error) if !self.passes(&error, now) => {
                self.state.polls += 1;
                return Err(self.ended(error));
            }
            Err(error) => {
                self.asked = error.retry_after();
                let seen = Seen::Nothing { why: &label(&error), retry_after: error.retry_after() };
                (self.state.observe(now, seen, jitter::draw()), Some(error.reason().to_owned()))
            }
        };
        self.done = step == Step::Done;
        let seen = self.job.as_ref().filter(|_| reason.is_none()).map(|job| status(job, &redactor));
        let event = Event::Poll {
            job_id: self.job_id(),
            polls: self.state.polls,
            // The service's own word; one that is no word, shortened.
            status: seen
                .as_deref()
                .and_then(|word| if word.len() <= MAX_EVENT_STATUS { Some(word) } else { self.state.last_status() }),
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

    /// Whether a record says something else than the one before it.
    fn differs(&self, job: &Job, shared: &Shared, call: &CallOptions) -> Result<bool, Error> {
        let Some(before) = &self.job else { return Ok(true) };
        let mut ended = None;
        let mut check = shared.connections.checks(call, None);
        let same = before.same_as(job, &mut || check().map_err(|cause| ended = Some(cause)).is_ok());
        same.map(|same| !same).ok_or_else(|| self.interrupted(ended.unwrap_or(Cause::Cancelled)))
    }

    /// Whether a failed look leaves the wait going.
    fn passes(&self, error: &Error, now: Duration) -> bool {
        match error.kind() {
            ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Timeout => true,
            ErrorKind::RateLimit | ErrorKind::Server => true,
            ErrorKind::NotFound => self.state.forgives_not_found(now),
            ErrorKind::BadRequest => error.http_status() == Some(408),
            // Something between here and the service may say 200 in its place, once.
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

    /// The caller ended the wait.
    pub(crate) fn interrupted(&self, cause: Cause) -> Error {
        self.ended(self.error(cause.kind(), cause.reason()))
    }

    fn error(&self, kind: ErrorKind, reason: String) -> Error {
        let after_message = self.state.message;
        Error::new(kind, reason).about(Subject::Wait { job_id: describe(self.job_id()), after_message })
    }

    /// An error of the wait, with the wait's own facts.
    fn ended(&self, error: Error) -> Error {
        error.with_effort(self.state.requests(), self.elapsed()).with_job(self.job.clone())
    }
}

/// One poll's request, within what is left of the wait.
fn check_job(shared: &Shared, job_id: &str, call: &CallOptions, left: Option<Duration>) -> Result<Job, Error> {
    let timeout = call.timeout.map_or(Ok(shared.config.timeout), |timeout| check_time("timeout", timeout))?;
    let began = Instant::now();
    // The poll's time may have begun before it did, but what is left of the wait is left from now.
    let queued = call.started.map_or(Duration::ZERO, |started| began.saturating_duration_since(started));
    let timeout = left.map_or(timeout, |left| timeout.min(left + queued));
    let call = CallOptions { timeout: Some(timeout), ..call.clone() };
    let job = execute(shared, &Operation::GetJob { job_id }, &call, Some(0))?;
    if !job.is_terminal() {
        shared.recent_deliveries.seen_at_work(job_id, began);
    }
    Ok(job)
}

/// A job's status as it may be shown: a word of the service's own making may be anything.
fn status<'a>(job: &'a Job, redactor: &Redactor<'_>) -> Cow<'a, str> {
    match job.status() {
        JobStatus::Other(word) => redactor.redact(word),
        known => Cow::Borrowed(known.as_str()),
    }
}

/// A failed look, as it is counted.
fn label(error: &Error) -> String {
    match error.http_status() {
        Some(status) => format!("{} ({status})", error.kind()),
        None => error.kind().to_string(),
    }
}

/// A longer status, in bytes, is reported in a shorter form.
const MAX_EVENT_STATUS: usize = 300;
/// The version of the text. A text of another version is refused, not guessed at.
const TEXT_VERSION: u64 = 1;
/// A poller's text nests less deep.
const MAX_TEXT_DEPTH: usize = 8;

impl fmt::Display for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text(&self.state), f)
    }
}

impl FromStr for Poller {
    type Err = Error;

    /// Goes on from a poller's text. The time since it was written counts as waited, by the wall clock, for no other
    /// clock spans two processes; a clock that was set back counts as none.
    fn from_str(text: &str) -> Result<Poller, Error> {
        Poller::from_text(text, |saved_at_unix_ms| {
            Duration::from_millis(now_unix_ms().saturating_sub(saved_at_unix_ms))
        })
    }
}

impl Poller {
    fn text(&self, state: &PollState) -> Value {
        object([
            ("agentjob_poller", TEXT_VERSION.into()),
            ("saved_at_unix_ms", now_unix_ms().into()),
            ("elapsed_ms", millis(self.elapsed())),
            ("done", self.done.into()),
            ("state", state.to_record()),
        ])
    }

    /// Its text for a batch's journal, which keeps no free text of the service.
    pub(crate) fn journal_text(&self) -> String {
        self.text(&self.state.without_free_text()).to_string()
    }

    fn from_text(text: &str, ago: impl Fn(u64) -> Duration) -> Result<Poller, Error> {
        let wrong = || Error::invalid("this is not the text of a poller").with_hint("Give a text that a poller wrote.");
        // serde_json reads with recursion, and the caller's stack may be small.
        let json = Json::parse(text).filter(|json| json.depth() <= MAX_TEXT_DEPTH).ok_or_else(wrong)?;
        let mut saved = serde_json::from_str(json.as_str()).ok().and_then(Record::of).ok_or_else(wrong)?;
        if saved.number("agentjob_poller") != Some(TEXT_VERSION) {
            return Err(wrong());
        }
        let (saved_at, elapsed) = (saved.number("saved_at_unix_ms"), saved.time("elapsed_ms"));
        let (done, state) = (saved.take("done"), saved.take("state").and_then(PollState::from_record));
        let (Some(saved_at), Some(elapsed), Some(Value::Bool(_)), Some(state)) = (saved_at, elapsed, done, state)
        else {
            return Err(wrong());
        };
        if !saved.is_empty() {
            return Err(wrong());
        }
        check_id("job_id", &state.job_id)?;
        state.schedule.check()?;
        let before = elapsed.saturating_add(ago(saved_at));
        let mut poller = Poller::from_state(state, before);
        // A finished wait's record is not in its text, so a resumed one looks once more.
        poller.owed = true;
        Ok(poller)
    }
}
