//! When a wait looks at its job again, and when it is over: a pure state machine with no clock, no socket and no thread.
//!
//! Times are counted from the moment the wait began; whoever drives the machine owns the clock.

use std::time::Duration;

use crate::duration::{MAX_TIMEOUT, check_time};
use crate::error::Error;
use crate::job::Job;
use crate::text::describe;

/// How long a wait lasts at most.
pub const DEFAULT_WAIT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The shortest pause between two looks.
pub const DEFAULT_MIN_INTERVAL: Duration = Duration::from_secs(2);
/// The longest pause between two looks.
pub const DEFAULT_MAX_INTERVAL: Duration = Duration::from_secs(60);
/// How late the end may be noticed, as a part of the time waited so far.
pub const DEFAULT_LATENESS: f64 = 0.15;
/// How long after a message a job may still show the result of the message before.
pub const DEFAULT_SETTLE: Duration = Duration::from_secs(10);
/// How long after a message or a new job was accepted a 404 may still be the service catching up.
pub(crate) const NOT_FOUND_GRACE: Duration = Duration::from_secs(30);
/// How long before a wait's end it looks for the last time; a tenth of the wait's time, if that is less.
const LAST_LOOK: Duration = Duration::from_secs(1);
/// How many different things a wait counts by name.
const MAX_TALLIED: usize = 32;
/// No time of a wait is shorter: a poller's text counts in milliseconds.
const MIN_TIME: Duration = Duration::from_millis(1);
/// Pauses are spread this much to either side, so that many waits do not fall into step.
const JITTER: f64 = 0.10;

/// A wait's numbers, checked.
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
        if !(self.lateness > 0.0 && self.lateness <= 1.0) {
            return Err(Error::invalid(format!("lateness is {}", crate::duration::short(self.lateness)))
                .with_hint("Give a fraction, more than 0 and at most 1, like 0.15."));
        }
        if self.settle > MAX_TIMEOUT {
            return Err(Error::invalid("settle is longer than 7 days"));
        }
        Ok(())
    }

    /// The pause after a look at `elapsed`. `draw` is a number from 0 to 1, from which the jitter comes.
    fn pause(&self, elapsed: Duration, draw: f64) -> Duration {
        let even = elapsed.mul_f64(self.lateness).clamp(self.min_interval, self.max_interval);
        even.mul_f64(1.0 - JITTER + 2.0 * JITTER * draw.clamp(0.0, 1.0))
    }
}

/// What one look at the job showed.
#[derive(Debug)]
pub(crate) enum Seen<'a> {
    /// A record, and its status as it may be shown.
    Job(&'a Job, &'a str),
    /// Nothing this time, for a reason that does not end a wait; the service may have asked to wait.
    Nothing { why: &'a str, retry_after: Option<Duration> },
}

/// What to do after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Look again when the machine says so.
    Again,
    /// The job is done.
    Done,
}

/// One wait: where it stands. It is what a [`Poller`](crate::Poller)'s text holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PollState {
    pub(crate) job_id: String,
    pub(crate) schedule: Schedule,
    /// When the next look is due.
    pub(crate) due: Duration,
    /// Until when a terminal status may be the previous result. Over at once when the job was seen at work.
    pub(crate) settle_until: Duration,
    /// Until when a 404 is the service catching up.
    pub(crate) grace_until: Duration,
    pub(crate) polls: u32,
    /// Whether it began with a message, whose own answer was seen, too.
    pub(crate) message: bool,
    /// What the looks showed, counted: statuses and failures, by name.
    pub(crate) tally: Vec<(String, u32)>,
    pub(crate) last_status: Option<String>,
}

/// What the client knows of a message or new job that it delivered just before a wait began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// How long ago.
    pub(crate) ago: Duration,
    /// Whether its own answer already showed the job at work, so that no previous result can follow.
    pub(crate) active: bool,
}

impl PollState {
    /// A wait whose first look is due at once; or, right after a message, when its own answer is `min_interval` old. So a
    /// read that lags a little behind the message's answer is not taken for its result.
    pub(crate) fn new(job_id: &str, schedule: Schedule, accepted: Option<Accepted>) -> PollState {
        let left = |span: Duration| accepted.map_or(Duration::ZERO, |a| span.saturating_sub(a.ago));
        let settle_until = if accepted.is_some_and(|a| a.active) { Duration::ZERO } else { left(schedule.settle) };
        PollState {
            job_id: job_id.to_owned(),
            schedule,
            due: within(&schedule, Duration::ZERO, left(schedule.min_interval)),
            settle_until,
            grace_until: left(NOT_FOUND_GRACE),
            polls: 0,
            message: false,
            tally: Vec::new(),
            last_status: None,
        }
    }

    /// The same after a message whose own answer was the first look.
    pub(crate) fn after_message(
        job_id: &str,
        schedule: Schedule,
        (answer, status): (&Job, &str),
        draw: f64,
    ) -> (PollState, Step) {
        let mut state = PollState::new(job_id, schedule, Some(Accepted { ago: Duration::ZERO, active: false }));
        state.message = true;
        let step = state.judge(Duration::ZERO, answer, status);
        state.due = state.next_due(Duration::ZERO, None, draw);
        (state, step)
    }

    /// When the next look is due, counted from the wait's beginning.
    pub(crate) fn due(&self) -> Duration {
        self.due
    }

    /// When the wait ends without a result; `None` is never.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.schedule.timeout
    }

    /// Whether a terminal status at this moment is the message's own.
    pub(crate) fn has_settled(&self, now: Duration) -> bool {
        now >= self.settle_until
    }

    /// Whether a 404 at this moment may be the service catching up.
    pub(crate) fn forgives_not_found(&self, now: Duration) -> bool {
        now < self.grace_until
    }

    /// Takes in what a look at `now` showed.
    pub(crate) fn observe(&mut self, now: Duration, seen: Seen<'_>, draw: f64) -> Step {
        self.polls += 1;
        let (step, retry_after) = match seen {
            Seen::Job(job, status) => {
                self.count(status);
                (self.judge(now, job, status), None)
            }
            Seen::Nothing { why, retry_after } => {
                self.count(why);
                (Step::Again, retry_after)
            }
        };
        self.due = self.next_due(now, retry_after, draw);
        step
    }

    /// The settle rule: after a message a terminal status counts only once the job was seen at work, or the time in
    /// which it may be the previous result is over.
    fn judge(&mut self, now: Duration, job: &Job, status: &str) -> Step {
        self.last_status = Some(describe(status));
        if !job.is_terminal() {
            self.settle_until = Duration::ZERO;
            return Step::Again;
        }
        if now < self.settle_until { Step::Again } else { Step::Done }
    }

    fn next_due(&self, now: Duration, retry_after: Option<Duration>, draw: f64) -> Duration {
        let pause = self.schedule.pause(now, draw).max(retry_after.unwrap_or_default());
        let due = now.saturating_add(pause);
        // A terminal status that waits for the settle time to be over is worth one look right then.
        let due = if now < self.settle_until { due.min(self.settle_until) } else { due };
        // Whoever asked for a pause gets it, even if the wait is over by then.
        match retry_after {
            Some(asked) => due.max(now.saturating_add(asked)),
            None => within(&self.schedule, now, due),
        }
    }

    /// The service may make up words without end; the tally has one.
    fn count(&mut self, what: &str) {
        let mut what = describe(what);
        let place = |tally: &[(String, u32)], what: &str| tally.binary_search_by(|(known, _)| known.as_str().cmp(what));
        if self.tally.len() >= MAX_TALLIED && place(&self.tally, &what).is_err() {
            what = "other".to_owned();
        }
        match place(&self.tally, &what) {
            Ok(at) => self.tally[at].1 += 1,
            Err(at) => self.tally.insert(at, (what, 1)),
        }
    }

    /// How many requests the wait made.
    pub(crate) fn requests(&self) -> u32 {
        self.polls + u32::from(self.message)
    }

    /// What the looks showed, for the timeout's text: `84 polls: 80 active, 3 rate_limit (429)`.
    pub(crate) fn summary(&self) -> String {
        let counts: Vec<String> = self.tally.iter().map(|(what, n)| format!("{n} {what}")).collect();
        match self.polls {
            0 => "no poll".to_owned(),
            1 => format!("1 poll: {}", counts.join(", ")),
            n => format!("{n} polls: {}", counts.join(", ")),
        }
    }

    /// The status that was seen last.
    /// The same without a status that is not documented, which is the service's free text.
    pub(crate) fn without_free_text(&self) -> PollState {
        let documented = |status: &String| ["active", "completed", "archived", "failed"].contains(&status.as_str());
        PollState { last_status: self.last_status.clone().filter(documented), ..self.clone() }
    }

    pub(crate) fn last_status(&self) -> Option<&str> {
        self.last_status.as_deref()
    }
}

/// A look that would come too late for the wait's end comes a little before it, once: a job that is done by then is not
/// reported as unfinished because nobody looked.
fn within(schedule: &Schedule, now: Duration, due: Duration) -> Duration {
    match schedule.timeout {
        Some(end) if due >= end => {
            let last = end.saturating_sub((end / 10).min(LAST_LOOK));
            if now < last { last } else { end }
        }
        _ => due,
    }
}

#[cfg(test)]
pub(crate) mod tests;
