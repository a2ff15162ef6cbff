//! The state of a resumable wait, and its text. `poll.rs` makes the polls.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::call::recent_deliveries::{Delivered, Recent, last_number};
use crate::error::Error;
use crate::jitter;
use crate::job::Job;
use crate::operation::check_id;
use crate::redact::Redactor;
use crate::timestamp::now_unix_ms;
use crate::wait::failing::Failing;
use crate::wait::resume_text::SavedWait;
use crate::wait::schedule::{Accepted, PollState, Progress, Schedule};

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
    pub(super) state: PollState,
    began: Instant,
    /// How long the wait had lasted before `began`: more than zero after a resume.
    before: Duration,
    pub(super) job: Option<Job>,
    pub(super) changed: bool,
    pub(super) done: bool,
    /// Poll once even after the deadline: a resumed wait polls at least once, however long ago it was saved.
    pub(super) must_poll: bool,
    /// The pause that the service asked for when the last poll failed.
    pub(super) retry_after: Option<Duration>,
    /// Not in its text: another process counts again.
    pub(super) failing: Failing,
    /// The number of the last delivery that the state knows; a later one is another message.
    pub(super) last_delivery: u64,
}

impl Poller {
    /// Waits for a job, about which the client knows this.
    pub(crate) fn new(job_id: &str, schedule: Schedule, recent: Option<Recent>) -> Result<Poller, Error> {
        check_id("job_id", job_id)?;
        schedule.check()?;
        let last = recent.and_then(|recent| recent.delivered);
        let mut poller = Poller::from_state(PollState::new(job_id, schedule, last.map(accepted)), Duration::ZERO);
        poller.last_delivery = last.map_or(0, |last| last.number);
        Ok(poller)
    }

    /// Waits for the result of a message, from the response to it.
    pub(crate) fn after_message(job_id: &str, schedule: Schedule, response: Job, redactor: &Redactor<'_>) -> Poller {
        let seen = (&response, &*response.redacted_status(redactor));
        let (state, progress) = PollState::after_message(job_id, schedule, seen, jitter::draw());
        let mut poller = Poller::from_state(state, Duration::ZERO);
        poller.last_delivery = last_number();
        poller.done = progress == Progress::Done;
        poller.changed = true;
        poller.job = Some(response);
        poller
    }

    /// Waits for the result of a message that was accepted with a response that could not be read.
    pub(crate) fn after_lost_response(job_id: &str, schedule: Schedule) -> Poller {
        let accepted = Accepted { ago: Duration::ZERO, took_effect: false };
        let mut poller = Poller::from_state(PollState::new(job_id, schedule, Some(accepted)), Duration::ZERO);
        poller.last_delivery = last_number();
        poller
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
            failing: Failing::default(),
            last_delivery: 0,
        }
    }

    /// Takes in a message that the client sent since the last poll. Returns whether a poll that began at `began` shows the job as it
    /// is since then.
    pub(super) fn take_in(&mut self, recent: Option<Recent>, began: Instant) -> bool {
        let Some(recent) = recent else { return true };
        if let Some(later) = recent.delivered.filter(|last| last.number > self.last_delivery) {
            self.last_delivery = later.number;
            self.state.accept(self.elapsed(), accepted(later));
        }
        !recent.sending && recent.delivered.is_none_or(|last| last.at <= began)
    }

    /// Whether a terminal status counts: a poll saw the job active, or the settle time has passed.
    pub(crate) fn has_settled(&self) -> bool {
        self.state.has_settled(self.elapsed())
    }

    /// The time left until the wait's deadline, for programs whose polls queue for a thread. `None` if the wait has no deadline, or
    /// if it polls once more regardless of it: it was resumed, a poll that was due before the deadline was not made, or one ended long after it.
    pub fn time_left(&self) -> Option<Duration> {
        let left = self.state.deadline().filter(|_| !self.must_poll)?.saturating_sub(self.elapsed());
        (!left.is_zero() || !self.state.lacks_a_poll()).then_some(left)
    }

    /// Makes no poll for this long, because the service wants none; the wait still ends at its deadline.
    pub(crate) fn put_off(&mut self, pause: Duration) {
        self.state.due = self.state.due.max(self.elapsed().saturating_add(pause));
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
}

/// How long ago that was, by the only clock that two processes have in common.
pub(crate) fn by_the_calendar(saved_at_unix_ms: u64) -> Duration {
    Duration::from_millis(now_unix_ms().saturating_sub(saved_at_unix_ms))
}

fn accepted(delivered: Delivered) -> Accepted {
    Accepted { ago: delivered.at.elapsed(), took_effect: delivered.took_effect }
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
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument): it is not a poller's text, or of another version.
    fn from_str(text: &str) -> Result<Poller, Error> {
        Poller::from_text(text, by_the_calendar)
    }
}

impl Poller {
    /// Its text for a batch's journal, which contains no free text of the service.
    pub(crate) fn journal_text(&self) -> String {
        self.saved(self.state.without_free_text()).to_text()
    }

    /// Resumes from a poller's text, with another schedule whose timeout counts from now. `ago`: how long ago the text was written, if it
    /// has this time.
    pub(crate) fn resume(text: &str, ago: impl Fn(u64) -> Duration, schedule: Schedule) -> Result<Poller, Error> {
        let mut poller = Poller::from_text(text, ago)?;
        let timeout = schedule.timeout.map(|timeout| poller.before.saturating_add(timeout));
        poller.state.reschedule(Schedule { timeout, ..schedule });
        Ok(poller)
    }

    fn saved(&self, state: PollState) -> SavedWait {
        SavedWait { saved_at_unix_ms: now_unix_ms(), elapsed: self.elapsed(), done: self.done, state }
    }

    fn from_text(text: &str, ago: impl Fn(u64) -> Duration) -> Result<Poller, Error> {
        let not_a_text =
            || Error::invalid("this is not a poller's text").with_hint("Give a text that this version wrote.");
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

#[cfg(test)]
mod tests;
