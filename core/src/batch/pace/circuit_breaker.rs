//! The circuit breaker of a batch: it holds all messages back after a rate limit (429) or a service failure. Its callers own the
//! clock.
//!
//! - *Closed*: messages may be sent.
//! - *Open*: no message may be sent until a time: what the service asked for, or a backoff that doubles with each failure.
//! - *Half-open*: that time has come. One message alone may be sent, a *probe*; its end closes the breaker or opens it again.

use std::time::Duration;

use crate::batch::pace::moment::{Moment, moment};

/// The first pause after a 429 without a Retry-After; it doubles …
pub(crate) const FIRST_RATE_LIMIT_PAUSE: Duration = Duration::from_secs(60);
/// … up to this.
const MAX_RATE_LIMIT_PAUSE: Duration = Duration::from_secs(15 * 60);
/// The first pause after a service failure; it doubles …
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// … up to this.
const MAX_BACKOFF: Duration = Duration::from_secs(5 * 60);
/// A backoff is longer or shorter by up to this part of it, so that many batches don't retry at the same time.
const JITTER: f64 = 0.10;
/// The longest Retry-After that a batch waits for.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);

/// Why a batch sends nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PauseReason {
    /// The service returned 429: the project's hourly limit is used up.
    RateLimit,
    /// The service can't be reached, or fails.
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

/// Whether a message may be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// It may.
    Send,
    /// It may, alone, as a probe. After a service failure its job is polled first, which delivers nothing.
    Probe { poll_first: bool },
    /// Not before this time.
    NotBefore(Moment),
    /// Not before the messages in flight have ended.
    AfterInFlight,
}

/// The pause after a service failure. `failures`: how many there were in a row before it. `draw`: a random number from 0 to 1.
pub(crate) fn service_backoff(failures: u32, draw: f64) -> Duration {
    let even = FIRST_BACKOFF.saturating_mul(1 << failures.min(16)).min(MAX_BACKOFF);
    even.mul_f64(1.0 - JITTER + 2.0 * JITTER * draw.clamp(0.0, 1.0))
}

#[derive(Debug, Default)]
pub(crate) struct CircuitBreaker {
    /// Why it is open and until when; half-open from that time on. None: closed.
    open: Option<(PauseReason, Moment)>,
    is_probing: bool,
    /// How often in a row a service failure opened it, and a 429 without a usable Retry-After.
    service_failures: u32,
    rate_limits: u32,
    failing_since: Option<Moment>,
}

impl CircuitBreaker {
    pub(crate) fn admit(&self, now: Moment, in_flight: usize) -> Permit {
        match self.open {
            None => Permit::Send,
            Some((_, until)) if now < until => Permit::NotBefore(until),
            Some(_) if in_flight > 0 => Permit::AfterInFlight,
            Some((reason, _)) => Permit::Probe { poll_first: reason == PauseReason::ServiceFailure },
        }
    }

    /// A probe is in flight.
    pub(crate) fn begin_probe(&mut self) {
        self.is_probing = true;
    }

    /// The service responded to a message: it works again. Returns whether that closed the breaker.
    pub(crate) fn record_response(&mut self) -> bool {
        // A message that was sent before the breaker opened says nothing about the time after.
        if self.open.is_some() && !self.is_probing {
            return false;
        }
        std::mem::take(self).open.is_some()
    }

    /// The service returned 429, perhaps with a Retry-After. Returns until when the breaker is open.
    pub(crate) fn record_rate_limit(&mut self, now: Moment, retry_after: Option<Duration>) -> Moment {
        // A 429 is a response, so the service isn't failing.
        self.service_failures = 0;
        self.failing_since = None;
        let pause = match (retry_after.filter(|asked| *asked >= FIRST_BACKOFF), self.open_until(now)) {
            (Some(asked), _) => asked,
            // Several messages in flight report one rate limit.
            (None, Some((_, until))) => return until,
            (None, None) => {
                let doublings = 1 << self.rate_limits.min(16);
                self.rate_limits += 1;
                match retry_after {
                    // "At once", and limited again: back off, or it would be asked without end.
                    Some(_) => FIRST_BACKOFF.saturating_mul(doublings).min(MAX_BACKOFF),
                    None => FIRST_RATE_LIMIT_PAUSE.saturating_mul(doublings).min(MAX_RATE_LIMIT_PAUSE),
                }
            }
        };
        self.trip(PauseReason::RateLimit, now.saturating_add(moment(pause)))
    }

    /// A request got no response, or a 5xx. Returns until when the breaker is open. `draw` is a random number from 0 to 1.
    pub(crate) fn record_service_failure(&mut self, now: Moment, draw: f64) -> Moment {
        self.failing_since.get_or_insert(now);
        // Several messages in flight report one failure.
        if let Some((_, until)) = self.open_until(now) {
            return until;
        }
        let pause = service_backoff(self.service_failures, draw);
        self.service_failures += 1;
        self.trip(PauseReason::ServiceFailure, now.saturating_add(moment(pause)))
    }

    /// Continues a pause of an earlier run.
    pub(crate) fn restore(&mut self, reason: PauseReason, until: Moment) {
        self.trip(reason, until);
    }

    /// How long the service has failed without a single response.
    pub(crate) fn outage(&self, now: Moment) -> Duration {
        let since = self.failing_since.unwrap_or(now);
        Duration::from_millis(u64::try_from(now.saturating_sub(since)).unwrap_or(0))
    }

    /// Why the breaker is open and until when; none if it is closed or half-open.
    pub(crate) fn open_until(&self, now: Moment) -> Option<(PauseReason, Moment)> {
        self.open.filter(|(_, until)| now < *until)
    }

    /// Opens the breaker; the longest pause counts.
    fn trip(&mut self, reason: PauseReason, until: Moment) -> Moment {
        self.is_probing = false;
        let longest = self.open.filter(|(_, known)| *known > until).unwrap_or((reason, until));
        self.open = Some(longest);
        longest.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: f64 = 0.5;

    #[test]
    fn a_429_holds_every_message_back_until_the_service_allows_it() {
        let mut breaker = CircuitBreaker::default();
        assert_eq!(breaker.admit(0, 3), Permit::Send);
        assert_eq!(breaker.record_rate_limit(0, Some(Duration::from_secs(1800))), 1_800_000);
        assert_eq!(breaker.record_rate_limit(5, Some(Duration::from_secs(10))), 1_800_000, "the longer pause counts");
        assert_eq!(breaker.admit(1_799_999, 0), Permit::NotBefore(1_800_000), "not one millisecond sooner than asked");
        assert_eq!(breaker.admit(1_800_000, 0), Permit::Probe { poll_first: false });
        breaker.begin_probe();
        assert_eq!(breaker.admit(1_800_000, 1), Permit::AfterInFlight, "there is one probe at a time");
        breaker.record_response();
        assert_eq!(breaker.admit(1_800_001, 0), Permit::Send);
    }

    #[test]
    fn a_429_without_retry_after_pauses_longer_each_time() {
        let (mut breaker, mut now, mut pauses) = (CircuitBreaker::default(), 0, Vec::new());
        for _ in 0..7 {
            let until = breaker.record_rate_limit(now, None);
            breaker.record_rate_limit(now + 1, None);
            pauses.push((until - now) / 1000);
            now = until + 1;
            breaker.begin_probe();
        }
        assert_eq!(pauses, [60, 120, 240, 480, 900, 900, 900]);
    }

    #[test]
    fn a_429_that_says_retry_at_once_still_backs_off() {
        let (mut breaker, mut now, mut pauses) = (CircuitBreaker::default(), 0, Vec::new());
        for _ in 0..5 {
            let until = breaker.record_rate_limit(now, Some(Duration::ZERO));
            pauses.push((until - now) / 1000);
            now = until;
            breaker.begin_probe();
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16]);
        breaker.record_response();
        assert_eq!(breaker.record_rate_limit(now, Some(Duration::from_millis(10))) - now, 1000);
    }

    #[test]
    fn a_service_failure_is_one_pause_however_many_messages_were_in_flight() {
        let mut breaker = CircuitBreaker::default();
        let until = breaker.record_service_failure(0, EVEN);
        assert_eq!(until, 1000);
        assert_eq!(breaker.record_service_failure(400, EVEN), 1000);
        breaker.record_response();
        assert_eq!(
            breaker.admit(500, 2),
            Permit::NotBefore(1000),
            "the response to an earlier message does not close it"
        );
        assert_eq!(breaker.admit(1000, 1), Permit::AfterInFlight);
        assert_eq!(breaker.admit(1000, 0), Permit::Probe { poll_first: true });
        breaker.begin_probe();
        assert_eq!(breaker.record_service_failure(1500, EVEN), 3500, "twice as long");
        breaker.begin_probe();
        breaker.record_response();
        assert_eq!(breaker.record_service_failure(9000, EVEN), 10_000, "after a response it starts again");
    }

    #[test]
    fn a_reason_is_read_from_its_name() {
        for (reason, name) in [(PauseReason::RateLimit, "rate_limit"), (PauseReason::ServiceFailure, "service_failure")]
        {
            assert_eq!((reason.as_str(), PauseReason::from_name(name)), (name, Some(reason)));
        }
        assert_eq!(PauseReason::from_name("Rate_limit"), None);
    }

    #[test]
    fn of_two_pauses_the_longer_one_counts_and_says_why() {
        for (first, then, reason) in [
            (PauseReason::RateLimit, PauseReason::ServiceFailure, PauseReason::RateLimit),
            (PauseReason::ServiceFailure, PauseReason::RateLimit, PauseReason::ServiceFailure),
        ] {
            let mut breaker = CircuitBreaker::default();
            breaker.restore(first, 60_000);
            breaker.restore(then, 59_999);
            assert_eq!(breaker.open_until(59_999), Some((reason, 60_000)));
            breaker.restore(then, 60_001);
            assert_eq!(breaker.open_until(60_000), Some((then, 60_001)));
            breaker.restore(first, 60_001);
            assert_eq!(breaker.open_until(60_000), Some((first, 60_001)), "of two that are equally long the later one");
            assert_eq!(breaker.open_until(60_001), None);
        }
    }

    #[test]
    fn an_outage_lasts_from_its_first_failure_to_the_next_response() {
        let (mut breaker, mut now) = (CircuitBreaker::default(), 0);
        let mut probes = 0;
        while breaker.outage(now) < Duration::from_secs(3600) {
            now = breaker.record_service_failure(now, EVEN);
            breaker.begin_probe();
            probes += 1;
        }
        assert!(probes < 25, "{probes} probes in an hour");
        breaker.record_response();
        assert_eq!(breaker.outage(now), Duration::ZERO);
    }
}
