//! The resumable wait in steps: no thread, no callback, no sleeping. `wait`, `watch`, C and asyncio stand on it.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::control::{CallOptions, Event};
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::operation::{check_id, shown};
use crate::poll::{
    Accepted, DEFAULT_LATENESS, DEFAULT_MAX_INTERVAL, DEFAULT_MIN_INTERVAL, DEFAULT_SETTLE, DEFAULT_WAIT_TIMEOUT,
    PollState, Schedule, Seen, Step,
};

/// Settings of one wait.
#[derive(Debug, Clone)]
#[must_use]
pub struct WaitOptions {
    pub(crate) schedule: Schedule,
    pub(crate) call: CallOptions,
}

impl Default for WaitOptions {
    fn default() -> Self {
        WaitOptions {
            schedule: Schedule {
                timeout: Some(DEFAULT_WAIT_TIMEOUT),
                min_interval: DEFAULT_MIN_INTERVAL,
                max_interval: DEFAULT_MAX_INTERVAL,
                lateness: DEFAULT_LATENESS,
                settle: DEFAULT_SETTLE,
            },
            call: CallOptions::default(),
        }
    }
}

impl WaitOptions {
    /// 30 minutes, looks 2 s to 60 s apart, never more than about 15 % late.
    pub fn new() -> WaitOptions {
        WaitOptions::default()
    }

    /// How long to wait; `None` is for ever. 30 minutes.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> WaitOptions {
        self.schedule.timeout = timeout.into();
        self
    }

    /// The shortest pause between two looks. 2 s.
    pub fn min_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.min_interval = interval;
        self
    }

    /// The longest pause between two looks. 60 s.
    pub fn max_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.max_interval = interval;
        self
    }

    /// How late the end may be noticed, as a part of the time waited so far. 0.15.
    pub fn lateness(mut self, part: f64) -> WaitOptions {
        self.schedule.lateness = part;
        self
    }

    /// How long after a message a finished job may still show its previous result. 10 s; 0 trusts the first answer.
    pub fn settle(mut self, settle: Duration) -> WaitOptions {
        self.schedule.settle = settle;
        self
    }

    /// The request's settings: the total time of one look, a cancel token, a control.
    pub fn call(mut self, call: CallOptions) -> WaitOptions {
        self.call = call;
        self
    }
}

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
}

impl Poller {
    pub(crate) fn new(job_id: &str, schedule: Schedule, accepted: Option<Accepted>) -> Result<Poller, Error> {
        check_id("job_id", job_id)?;
        schedule.check()?;
        Ok(Poller::from_state(PollState::new(job_id, schedule, accepted), Duration::ZERO))
    }

    /// Goes on from the answer to a message, whose job is what is waited for.
    pub(crate) fn after_message(job_id: &str, schedule: Schedule, answer: Job) -> Poller {
        let (state, step) = PollState::after_message(job_id, schedule, &answer, fastrand::f64());
        let mut poller = Poller::from_state(state, Duration::ZERO);
        poller.done = step == Step::Done;
        poller.changed = true;
        poller.job = Some(answer);
        poller
    }

    fn from_state(state: PollState, before: Duration) -> Poller {
        Poller { state, began: Instant::now(), before, job: None, changed: false, done: false }
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
    /// A look that fails for a passing reason (connection, timeout, 408, 429, 5xx) is counted and answers `None`.
    ///
    /// # Errors
    /// [`WaitTimeout`](ErrorKind::WaitTimeout) once the wait's time is over, with the last record; what `get_job` answers
    /// for a job that cannot be looked at (401, 403, 404 and other 4xx); cancelled, closed.
    pub fn poll(&mut self, client: &Client, call: &CallOptions) -> Result<Option<Job>, Error> {
        if self.done {
            return Ok(self.job.clone());
        }
        self.changed = false;
        let began = self.elapsed();
        let left = match self.state.deadline() {
            Some(end) if began >= end => return Err(self.timed_out()),
            Some(end) => Some(end - began),
            None => None,
        };
        let looked = client.look(self.job_id(), call, left);
        let now = self.elapsed();
        let (step, reason) = match looked {
            Ok(job) => {
                let step = self.state.observe(now, Seen::Job(&job), fastrand::f64());
                self.changed = self.job.as_ref() != Some(&job);
                self.job = Some(job);
                (step, None)
            }
            Err(error) if !self.passes(&error, now) => return Err(error.with_job(self.job.clone())),
            Err(error) => {
                let seen = Seen::Nothing { why: &label(&error), retry_after: error.retry_after() };
                (self.state.observe(now, seen, fastrand::f64()), Some(error.message().to_owned()))
            }
        };
        self.done = step == Step::Done;
        let event = Event::Poll {
            job_id: self.job_id(),
            polls: self.state.polls,
            status: if reason.is_none() { self.state.last_status() } else { None },
            reason: reason.as_deref(),
            elapsed: now,
            next: (!self.done).then(|| self.due_in()),
        };
        client.tell(call, &event).map_err(|error| error.with_job(self.job.clone()))?;
        if self.done {
            client.settled(self.job_id());
            return Ok(self.job.clone());
        }
        if self.state.deadline().is_some_and(|end| now >= end) { Err(self.timed_out()) } else { Ok(None) }
    }

    /// Whether a failed look leaves the wait going.
    fn passes(&self, error: &Error, now: Duration) -> bool {
        match error.kind() {
            ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Timeout => true,
            ErrorKind::RateLimited | ErrorKind::Server => true,
            ErrorKind::NotFound => self.state.forgives_not_found(now),
            ErrorKind::BadRequest => error.http_status() == Some(408),
            // A cut or garbled answer passes; an answer that is whole and no record will be none next time either.
            ErrorKind::InvalidResponse => error.http_status().is_none(),
            _ => false,
        }
    }

    pub(crate) fn timed_out(&self) -> Error {
        let state = match self.state.last_status() {
            Some(status) => format!("was still {}", shown(status)),
            None => "was not seen".to_owned(),
        };
        let message = format!(
            "job {} {state} after {:.1} s ({}); it goes on at the service, so wait again to go on waiting",
            shown(self.job_id()),
            self.elapsed().as_secs_f64(),
            self.state.summary()
        );
        Error::new(ErrorKind::WaitTimeout, message)
            .with_effort(self.state.polls, self.elapsed())
            .with_job(self.job.clone())
    }
}

/// A failed look, as it is counted.
fn label(error: &Error) -> String {
    match error.http_status() {
        Some(status) => format!("{} ({status})", error.kind()),
        None => error.kind().to_string(),
    }
}

/// What a poller's text holds. Times are milliseconds.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Saved {
    agentjob_poller: u32,
    saved_at_unix_ms: u64,
    elapsed_ms: u64,
    done: bool,
    state: PollState,
}

/// The version of the text. A text of another version is refused, not guessed at.
const TEXT_VERSION: u32 = 1;

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl fmt::Display for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let saved = Saved {
            agentjob_poller: TEXT_VERSION,
            saved_at_unix_ms: unix_ms(),
            elapsed_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
            done: self.done,
            state: self.state.clone(),
        };
        f.write_str(&serde_json::to_string(&saved).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Poller {
    type Err = Error;

    /// Goes on from a poller's text. The time since it was written counts as waited, by the wall clock, for no other
    /// clock spans two processes; a clock that was set back counts as none.
    fn from_str(text: &str) -> Result<Poller, Error> {
        let wrong = || Error::invalid("this is no poller's text; give one that a poller wrote");
        let saved: Saved = serde_json::from_str(text).map_err(|_| wrong())?;
        if saved.agentjob_poller != TEXT_VERSION {
            return Err(wrong());
        }
        check_id("job_id", &saved.state.job_id)?;
        saved.state.schedule.check()?;
        let between = unix_ms().saturating_sub(saved.saved_at_unix_ms);
        let before = Duration::from_millis(saved.elapsed_ms.saturating_add(between));
        let mut poller = Poller::from_state(saved.state, before);
        // A finished wait's record is not in its text, so a resumed one looks once more.
        poller.done = false;
        Ok(poller)
    }
}
