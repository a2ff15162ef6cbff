//! How fast a batch may send: a rate such as `100/h`, and the window that keeps it.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::batch::pace::moment::{Moment, moment};
use crate::duration::MAX_TIMEOUT;
use crate::error::Error;
use crate::text::describe;

const UNITS: [(&str, u64); 4] = [("s", 1), ("min", 60), ("h", 3600), ("d", 86_400)];
/// Above this a rate limits nothing.
const MAX_MESSAGES: u32 = 1_000_000;

/// At most this many messages in any span of time: `100/h`, `2/s`, `30/min`, `500/d`.
///
/// The span slides: a new batch may send its first hundred at once and the next one an hour after the first. What an earlier run of
/// the journal sent counts, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    messages: u32,
    per: Duration,
}

impl Rate {
    /// At most this many messages (1 to 1,000,000) in any span of this length (1 ms to 7 days).
    ///
    /// # Errors
    /// `InvalidArgument`: a number is outside these bounds.
    pub fn new(messages: u32, per: Duration) -> Result<Rate, Error> {
        if messages == 0 || messages > MAX_MESSAGES {
            return Err(Error::invalid(format!("rate is {messages} messages"))
                .with_hint(format!("Give 1 to {MAX_MESSAGES}, like 100/h.")));
        }
        if per < Duration::from_millis(1) || per > MAX_TIMEOUT {
            return Err(
                Error::invalid("the span of rate is not between 1 ms and 7 days").with_hint("Give a rate like 100/h.")
            );
        }
        Ok(Rate { messages, per })
    }

    /// How many messages.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// The length of the span.
    pub fn per(&self) -> Duration {
        self.per
    }
}

impl FromStr for Rate {
    type Err = Error;

    /// Reads `100/h`: a count, a slash, and `s`, `min`, `h` or `d`.
    fn from_str(text: &str) -> Result<Rate, Error> {
        let wrong = || {
            let text = describe(text);
            Error::invalid(format!("rate is {text:?}")).with_hint("Give messages per s, min, h or d, like 100/h.")
        };
        let (messages, unit) = text.split_once('/').ok_or_else(wrong)?;
        if !messages.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let messages = messages.parse().map_err(|_| wrong())?;
        let seconds = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
        Rate::new(messages, Duration::from_secs(seconds))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, seconds)| Duration::from_secs(*seconds) == self.per) {
            Some((unit, _)) => write!(f, "{}/{unit}", self.messages),
            None => write!(f, "{}/{:?}", self.messages, self.per),
        }
    }
}

/// The messages of the last span, and when the next one may be sent. Its callers own the clock.
///
/// When a message in flight reaches the service is unknown, so it counts until a span after its *end*.
#[derive(Debug, Default)]
pub(crate) struct RateWindow {
    rate: Option<Rate>,
    /// When each of the last messages ended, oldest first; no more than the rate allows.
    sent: VecDeque<Moment>,
    in_flight: usize,
}

impl RateWindow {
    pub(crate) fn new(rate: Option<Rate>) -> RateWindow {
        RateWindow { rate, sent: VecDeque::new(), in_flight: 0 }
    }

    /// When the next message may be sent; it may be in the past.
    pub(crate) fn next_send_at(&self) -> Moment {
        let Some(rate) = self.rate else { return Moment::MIN };
        let messages = rate.messages as usize;
        match (self.sent.len() + self.in_flight).checked_sub(messages) {
            None => Moment::MIN,
            // Unknown before one of those in flight has ended.
            Some(over) => self.sent.get(over).map_or(Moment::MAX, |ended| ended.saturating_add(after(rate))),
        }
    }

    /// A message is in flight.
    pub(crate) fn begin(&mut self) {
        self.in_flight += 1;
    }

    /// A message in flight has ended: it may have reached the service as late as now.
    pub(crate) fn ended(&mut self, now: Moment) {
        self.in_flight -= 1;
        self.count(now);
    }

    /// Counts a message that ended then, also one of an earlier run.
    pub(crate) fn count(&mut self, at: Moment) {
        let Some(rate) = self.rate else { return };
        if self.sent.len() >= rate.messages as usize {
            self.sent.pop_front();
        }
        // The times of an earlier run may be slightly out of order.
        let at = self.sent.back().map_or(at, |last| at.max(*last));
        self.sent.push_back(at);
    }

    /// A message in flight has ended and never reached the service.
    pub(crate) fn cancel(&mut self) {
        self.in_flight -= 1;
    }

    /// The earliest time at which the last of `left` more messages can be sent, assuming instant responses.
    pub(crate) fn last_send_at(&self, left: usize, now: Moment) -> Moment {
        let Some(rate) = self.rate else { return now };
        let size = rate.messages as usize;
        let held = self.sent.len() + self.in_flight;
        let Some(behind) = left.checked_sub(size.saturating_sub(held) + 1) else { return now };
        // Places become free in this order: those of messages that ended, of those in flight, of those that are sent from now on.
        let ended = self.sent.get(held.saturating_sub(size) + behind % size).map_or(now, |ended| *ended);
        let rounds = i64::try_from(behind / size + 1).unwrap_or(i64::MAX);
        let free = ended.max(now - after(rate)).saturating_add(after(rate).saturating_mul(rounds));
        free.max(now)
    }
}

/// How long after a message's end its place is free. One more millisecond, for it may have ended late in its own.
fn after(rate: Rate) -> Moment {
    moment(rate.per) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_parsed_from_what_it_prints() {
        for (text, messages, seconds) in [("100/h", 100, 3600), ("2/s", 2, 1), ("30/min", 30, 60), ("5/d", 5, 86_400)] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate.messages(), rate.per().as_secs()), (messages, seconds));
            assert_eq!(rate.to_string(), text);
        }
        for wrong in ["", "100", "100/", "/h", "0/h", "-1/h", "+1/h", "1.5/h", "100/hour", "100 / h", "99999999999/h"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
        let error = "100 an hour".parse::<Rate>().unwrap_err();
        assert_eq!(error.message(), "rate is \"100 an hour\". Give messages per s, min, h or d, like 100/h.");
    }

    fn three_in_100_ms() -> RateWindow {
        RateWindow::new(Some(Rate::new(3, Duration::from_millis(100)).unwrap()))
    }

    #[test]
    fn no_span_holds_more_than_the_rate_however_long_a_message_is_in_flight() {
        for length in [0, 1, 7, 60, 250] {
            let (mut window, mut now) = (three_in_100_ms(), 0);
            // When each may have reached the service: at any time from its beginning to its end.
            let mut sent: Vec<(Moment, Moment)> = Vec::new();
            for n in 0..60 {
                now = now.max(window.next_send_at());
                window.begin();
                let end = now + length * (n % 3);
                window.ended(end);
                sent.push((now, end));
                now = end.max(now + n % 7);
            }
            for (n, (begin, _)) in sent.iter().enumerate().skip(3) {
                assert!(begin - sent[n - 3].1 > 100, "{sent:?}");
            }
            assert_eq!(sent[1].0, sent[0].1, "the first are sent at once");
        }
    }

    #[test]
    fn a_message_in_flight_holds_its_place() {
        let mut window = three_in_100_ms();
        (0..3).for_each(|_| window.begin());
        assert_eq!(window.next_send_at(), Moment::MAX, "when one of them will end is unknown");
        window.ended(40);
        assert_eq!(window.next_send_at(), 141);
        window.begin();
        assert_eq!(window.next_send_at(), Moment::MAX);
    }

    #[test]
    fn a_message_that_was_not_sent_is_not_counted() {
        let mut window = three_in_100_ms();
        (0..3).for_each(|_| window.begin());
        window.cancel();
        assert_eq!(window.next_send_at(), Moment::MIN);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut window = RateWindow::new(None);
        window.begin();
        window.ended(5);
        assert_eq!(window.next_send_at(), Moment::MIN);
        assert_eq!(window.last_send_at(1000, 7), 7);
    }

    #[test]
    fn the_last_message_s_time_is_when_the_window_allows_it() {
        for (ended, in_flight) in [(0, 0), (1, 0), (2, 1), (3, 0), (3, 2), (5, 0), (1, 2)] {
            for (left, begin) in (1..20).flat_map(|left| [(left, 60), (left, 1000)]) {
                let mut window = three_in_100_ms();
                (0..ended).for_each(|n| window.count(n * 10));
                (0..in_flight).for_each(|_| window.begin());
                let (predicted, mut now) = (window.last_send_at(left, begin), begin);
                (0..in_flight).for_each(|_| window.ended(begin));
                for _ in 0..left {
                    now = now.max(window.next_send_at());
                    window.begin();
                    window.ended(now);
                }
                assert_eq!(predicted, now, "{ended} ended, {in_flight} in flight, {left} left at {begin}");
            }
        }
    }
}
