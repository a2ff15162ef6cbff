//! When the batch holds all its messages back: the allowance is used up (429), or the way to the service is in trouble. Pure:
//! whoever drives it owns the clock.

use std::time::Duration;

use crate::batch::pace::rate::{Moment, moment};

/// How long a 429 that names no time holds the batch back; it doubles …
const FIRST_ALLOWANCE_PAUSE: Duration = Duration::from_secs(60);
/// … up to here.
const MAX_ALLOWANCE_PAUSE: Duration = Duration::from_secs(15 * 60);
/// How long trouble holds the batch back; it doubles …
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// … up to here.
const MAX_BACKOFF: Duration = Duration::from_secs(5 * 60);
/// A pause for trouble is spread this much to either side, so that many batches do not fall into step.
const JITTER: f64 = 0.10;
/// A service that asks for more than this means no batch of today.
pub(crate) const MAX_ASKED: Duration = Duration::from_secs(24 * 3600);

/// Why nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PauseReason {
    /// The service said 429: the project's allowance is used up.
    RateLimit,
    /// The service cannot be reached, or fails.
    ServiceFailure,
}

impl PauseReason {
    /// The reason's name in every language: `rate_limit`, `service_failure`.
    pub fn as_str(self) -> &'static str {
        match self {
            PauseReason::RateLimit => "rate_limit",
            PauseReason::ServiceFailure => "service_failure",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<PauseReason> {
        [PauseReason::RateLimit, PauseReason::ServiceFailure].into_iter().find(|reason| reason.as_str() == name)
    }
}

/// Whether a message may go now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    /// It may.
    Go,
    /// One alone may, to see whether the service is well again; in trouble after the job was asked for, which delivers nothing.
    Trial { ask_first: bool },
    /// Not before this time.
    NotBefore(Moment),
    /// Not before another message's end.
    NotYet,
}

#[derive(Debug, Default)]
pub(crate) struct Gate {
    shut: Option<(PauseReason, Moment)>,
    /// How often in a row it was shut by trouble, and by an allowance that named no time.
    troubles: u32,
    refusals: u32,
    troubled_since: Option<Moment>,
    on_trial: bool,
}

impl Gate {
    pub(crate) fn pass(&self, now: Moment, in_flight: usize) -> Pass {
        match self.shut {
            None => Pass::Go,
            Some((_, until)) if now < until => Pass::NotBefore(until),
            Some(_) if in_flight > 0 => Pass::NotYet,
            Some((reason, _)) => Pass::Trial { ask_first: reason == PauseReason::ServiceFailure },
        }
    }

    /// A message goes through on trial.
    pub(crate) fn try_one(&mut self) {
        self.on_trial = true;
    }

    /// The service answered a message: it is well. Answers whether that ended a pause.
    pub(crate) fn answered(&mut self) -> bool {
        // What was sent before the gate was shut says nothing about the time after.
        if self.shut.is_some() && !self.on_trial {
            return false;
        }
        std::mem::take(self).shut.is_some()
    }

    /// The service said 429, and when it may be asked again, or not. Answers until when nothing is sent.
    pub(crate) fn refused(&mut self, now: Moment, asked: Option<Duration>) -> Moment {
        // It is an answer.
        self.troubles = 0;
        self.troubled_since = None;
        let pause = match (asked.filter(|asked| *asked >= FIRST_BACKOFF), self.shut(now)) {
            (Some(asked), _) => asked,
            // Several that were under way at once are one refusal.
            (None, Some((_, until))) => return until,
            (None, None) => {
                let doublings = 1 << self.refusals.min(16);
                self.refusals += 1;
                match asked {
                    // "At once", and refused again: it is not to be asked without end.
                    Some(_) => FIRST_BACKOFF.saturating_mul(doublings).min(MAX_BACKOFF),
                    None => FIRST_ALLOWANCE_PAUSE.saturating_mul(doublings).min(MAX_ALLOWANCE_PAUSE),
                }
            }
        };
        self.shut_until(PauseReason::RateLimit, now.saturating_add(moment(pause)))
    }

    /// A request failed on its way or with 5xx. Answers until when nothing is sent. `draw` is a number from 0 to 1.
    pub(crate) fn trouble(&mut self, now: Moment, draw: f64) -> Moment {
        self.troubled_since.get_or_insert(now);
        // Several that were under way at once are one trouble.
        if let Some((_, until)) = self.shut(now) {
            return until;
        }
        let even = FIRST_BACKOFF.saturating_mul(1 << self.troubles.min(16)).min(MAX_BACKOFF);
        self.troubles += 1;
        let pause = even.mul_f64(1.0 - JITTER + 2.0 * JITTER * draw.clamp(0.0, 1.0));
        self.shut_until(PauseReason::ServiceFailure, now.saturating_add(moment(pause)))
    }

    /// A pause of an earlier run that is not over.
    pub(crate) fn resume(&mut self, reason: PauseReason, until: Moment) {
        self.shut_until(reason, until);
    }

    /// How long there has been nothing but trouble.
    pub(crate) fn troubled_for(&self, now: Moment) -> Duration {
        let since = self.troubled_since.unwrap_or(now);
        Duration::from_millis(u64::try_from(now.saturating_sub(since)).unwrap_or(0))
    }

    /// Why nothing is sent, and until when.
    pub(crate) fn shut(&self, now: Moment) -> Option<(PauseReason, Moment)> {
        self.shut.filter(|(_, until)| now < *until)
    }

    fn shut_until(&mut self, reason: PauseReason, until: Moment) -> Moment {
        self.on_trial = false;
        let (reason, until) = match self.shut {
            // Whoever asks for the longer pause is right.
            Some((earlier, later)) if later > until => (earlier, later),
            _ => (reason, until),
        };
        self.shut = Some((reason, until));
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: f64 = 0.5;

    #[test]
    fn a_429_holds_every_message_back_until_the_service_allows_it() {
        let mut gate = Gate::default();
        assert_eq!(gate.pass(0, 3), Pass::Go);
        assert_eq!(gate.refused(0, Some(Duration::from_secs(1800))), 1_800_000);
        assert_eq!(gate.refused(5, Some(Duration::from_secs(10))), 1_800_000, "the longer pause counts");
        assert_eq!(gate.pass(1_799_999, 0), Pass::NotBefore(1_800_000), "not one millisecond sooner than asked");
        assert_eq!(gate.pass(1_800_000, 0), Pass::Trial { ask_first: false });
        gate.try_one();
        assert_eq!(gate.pass(1_800_000, 1), Pass::NotYet, "one alone finds out");
        gate.answered();
        assert_eq!(gate.pass(1_800_001, 0), Pass::Go);
    }

    #[test]
    fn a_429_that_names_no_time_waits_longer_each_time() {
        let (mut gate, mut now, mut pauses) = (Gate::default(), 0, Vec::new());
        for _ in 0..7 {
            let until = gate.refused(now, None);
            gate.refused(now + 1, None);
            pauses.push((until - now) / 1000);
            now = until + 1;
            gate.try_one();
        }
        assert_eq!(pauses, [60, 120, 240, 480, 900, 900, 900]);
    }

    #[test]
    fn a_429_that_says_at_once_is_not_asked_without_end() {
        let (mut gate, mut now, mut pauses) = (Gate::default(), 0, Vec::new());
        for _ in 0..5 {
            let until = gate.refused(now, Some(Duration::ZERO));
            pauses.push((until - now) / 1000);
            now = until;
            gate.try_one();
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16]);
        gate.answered();
        assert_eq!(gate.refused(now, Some(Duration::from_millis(10))) - now, 1000);
    }

    #[test]
    fn trouble_is_one_pause_however_many_messages_were_under_way() {
        let mut gate = Gate::default();
        let until = gate.trouble(0, EVEN);
        assert_eq!(until, 1000);
        assert_eq!(gate.trouble(400, EVEN), 1000);
        gate.answered();
        assert_eq!(gate.pass(500, 2), Pass::NotBefore(1000), "an answer to what was sent before does not open it");
        assert_eq!(gate.pass(1000, 1), Pass::NotYet);
        assert_eq!(gate.pass(1000, 0), Pass::Trial { ask_first: true });
        gate.try_one();
        assert_eq!(gate.trouble(1500, EVEN), 3500, "twice as long");
        gate.try_one();
        gate.answered();
        assert_eq!(gate.trouble(9000, EVEN), 10_000, "after an answer it begins anew");
    }

    #[test]
    fn trouble_lasts_from_its_first_failure_to_the_next_answer() {
        let (mut gate, mut now) = (Gate::default(), 0);
        let mut tries = 0;
        while gate.troubled_for(now) < Duration::from_secs(3600) {
            now = gate.trouble(now, EVEN);
            gate.try_one();
            tries += 1;
        }
        assert!(tries < 25, "{tries} tries in an hour of trouble");
        gate.answered();
        assert_eq!(gate.troubled_for(now), Duration::ZERO);
    }
}
