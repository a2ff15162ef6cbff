//! When a wait polls its job, and when it ends: a pure state machine without a clock, a socket or a thread.
//!
//! Times count from the moment the wait began; the caller has the clock.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::duration::{MAX_TIMEOUT, check_time, number_text};
use crate::error::Error;
use crate::job::{Job, JobStatus};
use crate::text::describe;
use crate::wait::failing::is_label;

/// Default deadline of a wait: 30 minutes.
pub const DEFAULT_WAIT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Default shortest pause between two polls: 2 s.
pub const DEFAULT_MIN_INTERVAL: Duration = Duration::from_secs(2);
/// Default longest pause between two polls: 60 s.
pub const DEFAULT_MAX_INTERVAL: Duration = Duration::from_secs(60);
/// Default lateness: how late the job's end may be noticed, as a fraction of the time waited so far.
pub const DEFAULT_LATENESS: f64 = 0.15;
/// Default settle time: how long after a message a job may still show the result of the previous message, 10 s.
pub const DEFAULT_SETTLE: Duration = Duration::from_secs(10);
/// What waits do that nothing is set for.
pub(crate) const DEFAULT_SCHEDULE: Schedule = Schedule {
    timeout: Some(DEFAULT_WAIT_TIMEOUT),
    min_interval: DEFAULT_MIN_INTERVAL,
    max_interval: DEFAULT_MAX_INTERVAL,
    lateness: DEFAULT_LATENESS,
    settle: DEFAULT_SETTLE,
};
/// How long after a message or a new job was accepted a 404 may only mean that the service is not consistent yet.
pub(crate) const NOT_FOUND_GRACE: Duration = Duration::from_secs(30);
/// When a wait polls after a message, whatever its intervals are: a job that is done soon must be seen active before.
const EARLY_POLLS: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// How long before its deadline a wait polls for the last time; a tenth of its timeout if that is less.
const LAST_POLL: Duration = Duration::from_secs(1);
/// How many different statuses and failures a wait counts by name.
const MAX_TALLIED: usize = 32;
/// The name by which it counts the rest.
const OTHER: &str = "other";
/// The shortest time that can be set: a poller's text has milliseconds.
pub(super) const MIN_TIME: Duration = Duration::from_millis(1);
/// Pauses are varied by this much in both directions, so that many waits do not synchronise.
const JITTER: f64 = 0.10;

/// When a wait polls, as its options say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Schedule {
    pub(crate) timeout: Option<Duration>,
    pub(crate) min_interval: Duration,
    pub(crate) max_interval: Duration,
    pub(crate) lateness: f64,
    pub(crate) settle: Duration,
}

impl Schedule {
    pub(crate) fn check(&self) -> Result<(), Error> {
        let named = [
            ("the wait's timeout", self.timeout),
            ("min_interval", Some(self.min_interval)),
            ("max_interval", Some(self.max_interval)),
        ];
        for (name, time) in named.into_iter().filter_map(|(name, time)| Some((name, time?))) {
            if check_time(name, time)? < MIN_TIME {
                return Err(Error::invalid(format!("{name} is shorter than a millisecond")));
            }
        }
        if self.min_interval > self.max_interval {
            return Err(Error::invalid("min_interval is longer than max_interval"));
        }
        check_lateness("lateness", self.lateness, &number_text(self.lateness))?;
        if self.settle > MAX_TIMEOUT {
            return Err(Error::invalid("settle is longer than 7 days"));
        }
        Ok(())
    }

    /// The pause after a poll at `elapsed`. `draw` is a random number from 0 to 1, for the jitter.
    fn pause(&self, elapsed: Duration, draw: f64) -> Duration {
        let even = elapsed.mul_f64(self.lateness).clamp(self.min_interval, self.max_interval);
        even.mul_f64(1.0 - JITTER + 2.0 * JITTER * draw.clamp(0.0, 1.0))
    }
}

/// Checks a lateness; `given` is how it was written, for the error.
pub(crate) fn check_lateness(name: &str, fraction: f64, given: &str) -> Result<f64, Error> {
    if fraction > 0.0 && fraction <= 1.0 {
        return Ok(fraction);
    }
    Err(Error::invalid(format!("{name} is {given}"))
        .with_hint("Give a fraction, more than 0 and at most 1, like 0.15."))
}

/// What one poll showed.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// A record.
    Job {
        job: &'a Job,
        /// Its status without secrets.
        status: &'a str,
        /// The client had no message to this job in flight since the poll began. Otherwise the record may be older than the message.
        is_current: bool,
    },
    /// The poll failed for a reason that does not end a wait; `retry_after` is the pause that the service asked for.
    Failed { why: &'a str, retry_after: Option<Duration> },
}

/// Whether the wait has its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Poll again when it is due.
    Pending,
    /// The job is done.
    Done,
}

/// The state of one wait: what a [`Poller`](crate::Poller)'s text contains.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PollState {
    pub(super) job_id: String,
    pub(super) schedule: Schedule,
    /// When the next poll is due.
    pub(super) due: Duration,
    /// Until when a terminal status may be the previous result. Set to zero when a poll saw the job active.
    pub(super) settle_until: Duration,
    /// When the last of the polls right after a message is due; zero without a message.
    pub(super) early_until: Duration,
    /// Until when a 404 does not end the wait.
    pub(super) grace_until: Duration,
    pub(super) polls: u32,
    /// Whether the wait began with the response to a message.
    pub(super) message: bool,
    /// How many polls showed each status or failure.
    pub(super) tally: BTreeMap<String, u32>,
    pub(super) last_status: Option<String>,
}

/// What the client knows about a message or new job that it delivered shortly before a wait began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// How long ago.
    pub(crate) ago: Duration,
    /// No previous result can follow: a poll showed the job active since, or the job is new.
    pub(crate) took_effect: bool,
}

impl PollState {
    /// A wait whose first poll is due at once; or, shortly after a message, when the next of the polls right after it is due.
    pub(crate) fn new(job_id: &str, schedule: Schedule, accepted: Option<Accepted>) -> PollState {
        let mut state = PollState {
            job_id: job_id.to_owned(),
            schedule,
            due: Duration::ZERO,
            settle_until: Duration::ZERO,
            early_until: Duration::ZERO,
            grace_until: Duration::ZERO,
            polls: 0,
            message: false,
            tally: BTreeMap::new(),
            last_status: None,
        };
        if let Some(accepted) = accepted {
            state.accept(Duration::ZERO, accepted);
            let first = schedule.min_interval.saturating_sub(accepted.ago);
            let first = state.next_early_poll(Duration::ZERO).map_or(first, |early| first.min(early));
            state.due = within(&schedule, Duration::ZERO, first);
        }
        state
    }

    /// At `now` the client knows of another message or a new job.
    pub(crate) fn accept(&mut self, now: Duration, accepted: Accepted) {
        let until = |span: Duration| now.saturating_add(span).saturating_sub(accepted.ago);
        let [.., last_early_poll] = EARLY_POLLS;
        (self.settle_until, self.early_until) = match accepted.took_effect {
            true => (Duration::ZERO, Duration::ZERO),
            false => (until(self.schedule.settle), until(last_early_poll)),
        };
        self.grace_until = self.grace_until.max(until(NOT_FOUND_GRACE));
    }

    /// Continues with another schedule, whose settle time counts from when the message was accepted, too.
    pub(super) fn reschedule(&mut self, schedule: Schedule) {
        if !self.settle_until.is_zero() {
            self.settle_until = (self.settle_until + schedule.settle).saturating_sub(self.schedule.settle);
        } else if self.schedule.settle.is_zero() && self.message && self.polls == 0 {
            // It did not settle because there was no settle time; the wait began with the message.
            self.settle_until = schedule.settle;
        }
        self.schedule = schedule;
    }

    /// A wait whose first record is the response to a message.
    pub(crate) fn after_message(
        job_id: &str,
        schedule: Schedule,
        (response, status): (&Job, &str),
        draw: f64,
    ) -> (PollState, Progress) {
        let mut state = PollState::new(job_id, schedule, Some(Accepted { ago: Duration::ZERO, took_effect: false }));
        state.message = true;
        // Only a poll can show that no previous result follows: after a response that says `active`, other servers may still have it.
        let progress = state.judge(Duration::ZERO, response, status, false);
        state.due = state.next_due(Duration::ZERO, None, draw);
        (state, progress)
    }

    /// When the next poll is due.
    pub(crate) fn due(&self) -> Duration {
        self.due
    }

    /// When the wait times out; `None` is never.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.schedule.timeout
    }

    /// Whether a poll that was due before the deadline has not been made. A wait whose deadline passed like that polls once more: its
    /// process was stopped, or its program came late.
    pub(crate) fn lacks_a_poll(&self) -> bool {
        self.deadline().is_some_and(|end| self.due < end)
    }

    /// Whether a terminal status now is the result of the message, not of the one before.
    pub(crate) fn has_settled(&self, now: Duration) -> bool {
        now >= self.settle_until
    }

    /// Whether a 404 now does not end the wait.
    pub(crate) fn forgives_not_found(&self, now: Duration) -> bool {
        now < self.grace_until
    }

    /// Takes in what the poll at `now` showed.
    pub(crate) fn observe(&mut self, now: Duration, seen: Seen<'_>, draw: f64) -> Progress {
        self.polls = self.polls.saturating_add(1);
        let (progress, retry_after) = match seen {
            Seen::Job { job, status, is_current } => {
                self.count(status);
                let progress = self.judge(now, job, status, is_current);
                (if is_current { progress } else { Progress::Pending }, None)
            }
            Seen::Failed { why, retry_after } => {
                self.count(why);
                (Progress::Pending, retry_after)
            }
        };
        self.due = self.next_due(now, retry_after, draw);
        progress
    }

    /// The settle rule: after a message a terminal status counts only once a poll that began after it saw the job active, or the
    /// settle time has passed.
    fn judge(&mut self, now: Duration, job: &Job, status: &str, settles: bool) -> Progress {
        self.last_status = Some(describe(status));
        if !job.is_terminal() {
            if settles {
                self.settle_until = Duration::ZERO;
            }
            return Progress::Pending;
        }
        if now < self.settle_until { Progress::Pending } else { Progress::Done }
    }

    /// The next of the polls right after a message.
    fn next_early_poll(&self, now: Duration) -> Option<Duration> {
        let [.., last] = EARLY_POLLS;
        let due = EARLY_POLLS.into_iter().map(|after| (self.early_until + after).saturating_sub(last));
        due.into_iter().find(|due| *due > now)
    }

    fn next_due(&self, now: Duration, retry_after: Option<Duration>, draw: f64) -> Duration {
        let pause = self.schedule.pause(now, draw).max(retry_after.unwrap_or_default());
        let due = now.saturating_add(pause);
        let due = self.next_early_poll(now).map_or(due, |early| due.min(early));
        // Poll right when the settle time ends: a terminal status counts from then on.
        let due = if now < self.settle_until { due.min(self.settle_until) } else { due };
        // A pause that the service asked for is kept, even beyond the deadline.
        match retry_after {
            Some(asked) => due.max(now.saturating_add(asked)),
            None => within(&self.schedule, now, due),
        }
    }

    /// Counts a status or failure; the service's statuses are unlimited, so the tally groups the rest as "other".
    fn count(&mut self, what: &str) {
        let mut what = describe(what);
        if self.tally.len() >= MAX_TALLIED && !self.tally.contains_key(&what) {
            what = OTHER.to_owned();
        }
        let count = self.tally.entry(what).or_default();
        *count = count.saturating_add(1);
    }

    /// How many requests the wait made.
    pub(crate) fn requests(&self) -> u32 {
        self.polls + u32::from(self.message)
    }

    /// What the polls showed, for the timeout's text: `84 polls: 80 active, 3 rate_limit (429)`.
    pub(crate) fn summary(&self) -> String {
        let counts: Vec<String> = self.tally.iter().map(|(what, n)| format!("{n} {what}")).collect();
        match self.polls {
            0 => "no poll".to_owned(),
            1 => format!("1 poll: {}", counts.join(", ")),
            n => format!("{n} polls: {}", counts.join(", ")),
        }
    }

    /// The state without undocumented statuses, which are free text of the service.
    pub(crate) fn without_free_text(&self) -> PollState {
        let documented = |status: &String| !matches!(JobStatus::parse(status), JobStatus::Other(_));
        let mut tally = BTreeMap::new();
        for (what, times) in &self.tally {
            let what = if documented(what) || is_label(what) { what } else { OTHER };
            let sum: &mut u32 = tally.entry(what.to_owned()).or_default();
            *sum = sum.saturating_add(*times);
        }
        PollState { last_status: self.last_status.clone().filter(documented), tally, ..self.clone() }
    }

    /// The last status that was seen.
    pub(crate) fn last_status(&self) -> Option<&str> {
        self.last_status.as_deref()
    }
}

/// Moves a poll that would come after the deadline to shortly before it, once: otherwise a job that is done by then could be reported
/// as unfinished.
fn within(schedule: &Schedule, now: Duration, due: Duration) -> Duration {
    match schedule.timeout {
        Some(end) if due >= end => {
            let last = end.saturating_sub((end / 10).min(LAST_POLL));
            if now < last { last } else { end }
        }
        _ => due,
    }
}

#[cfg(test)]
pub(crate) mod tests;
