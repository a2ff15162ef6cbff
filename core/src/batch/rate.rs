//! How fast a batch may send: a rate such as `100/h`, and the window that keeps it.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::error::Error;

const UNITS: [(&str, u64); 4] = [("s", 1), ("min", 60), ("h", 3600), ("d", 86_400)];
/// More in one span is no pace.
const MAX_MESSAGES: u32 = 1_000_000;

/// At most so many messages in any span of time: `100/h`, `2/s`, `30/min`, `500/d`.
///
/// The span slides: a batch that begins may send its first hundred at once and the next one an hour after the first. What an
/// earlier run of the journal sent counts, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    messages: u32,
    per: Duration,
}

impl Rate {
    /// So many messages (1 to 1,000,000) in any span of this length (1 ms to 7 days).
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn new(messages: u32, per: Duration) -> Result<Rate, Error> {
        if messages == 0 || messages > MAX_MESSAGES {
            return Err(Error::invalid(format!("rate is {messages} messages; give 1 to {MAX_MESSAGES}, like 100/h")));
        }
        if per < Duration::from_millis(1) || per > crate::config::MAX_TIMEOUT {
            return Err(Error::invalid("rate's span is not between 1 ms and 7 days; give one like 100/h"));
        }
        Ok(Rate { messages, per })
    }

    /// How many messages.
    pub fn messages(&self) -> u32 {
        self.messages
    }

    /// In which span.
    pub fn per(&self) -> Duration {
        self.per
    }
}

impl FromStr for Rate {
    type Err = Error;

    /// Reads `100/h`: a count, a stroke, and `s`, `min`, `h` or `d`.
    fn from_str(text: &str) -> Result<Rate, Error> {
        let wrong = || {
            let text = crate::operation::shown(text);
            Error::invalid(format!("rate is {text:?}; give messages per s, min, h or d, like 100/h"))
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

/// The messages of the last span, and when the next one may go. Pure: whoever drives it owns the clock. A time may be less than
/// nothing: an earlier run's, before this machine started.
#[derive(Debug, Default)]
pub(super) struct Window {
    rate: Option<Rate>,
    /// When each of the last messages went, oldest first; no more than the rate allows.
    sent: VecDeque<Moment>,
}

/// A time of the batch's clock, in milliseconds.
pub(super) type Moment = i64;

pub(super) fn moment(time: Duration) -> Moment {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl Window {
    pub(super) fn new(rate: Option<Rate>) -> Window {
        Window { rate, sent: VecDeque::new() }
    }

    /// When the next message may go; it may be in the past.
    pub(super) fn next(&self) -> Moment {
        match self.rate {
            Some(rate) if self.sent.len() >= rate.messages as usize => self.sent[0].saturating_add(span(rate)),
            _ => Moment::MIN,
        }
    }

    /// A message goes now; answers the time that it is counted under.
    pub(super) fn take(&mut self, now: Moment) -> Moment {
        let Some(rate) = self.rate else { return now };
        if self.sent.len() >= rate.messages as usize {
            self.sent.pop_front();
        }
        // An earlier run's times may stand a little behind each other's.
        let at = self.sent.back().map_or(now, |last| now.max(*last));
        self.sent.push_back(at);
        at
    }

    /// The message that was counted under `at` never reached the service.
    pub(super) fn give_back(&mut self, at: Moment) {
        if let Some(found) = self.sent.iter().rposition(|sent| *sent == at) {
            self.sent.remove(found);
        }
    }

    /// When the last of `left` more messages may go, if nothing else holds them up.
    pub(super) fn last_of(&self, left: usize, now: Moment) -> Moment {
        let (Some(rate), true) = (self.rate, left > 0) else { return now };
        let (size, per) = (rate.messages as usize, span(rate));
        let free = size - self.sent.len();
        if left <= free {
            return now;
        }
        // The places come free in the order in which they were taken; those that are free now, a span after now.
        let behind = left - free - 1;
        let rounds = i64::try_from(behind / size).unwrap_or(i64::MAX);
        let first_free = self.sent.get(behind % size).map_or(now, |sent| now.max(sent.saturating_add(per)) - per);
        first_free.saturating_add(per.saturating_mul(rounds.saturating_add(1))).max(now)
    }
}

fn span(rate: Rate) -> Moment {
    moment(rate.per).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_as_it_is_written() {
        for (text, messages, seconds) in [("100/h", 100, 3600), ("2/s", 2, 1), ("30/min", 30, 60), ("5/d", 5, 86_400)] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate.messages(), rate.per().as_secs()), (messages, seconds));
            assert_eq!(rate.to_string(), text);
        }
        for wrong in ["", "100", "100/", "/h", "0/h", "-1/h", "+1/h", "1.5/h", "100/hour", "100 / h", "99999999999/h"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
        let error = "100 an hour".parse::<Rate>().unwrap_err();
        assert_eq!(error.message(), "rate is \"100 an hour\"; give messages per s, min, h or d, like 100/h");
    }

    #[test]
    fn no_span_holds_more_than_the_rate() {
        let mut window = Window::new(Some(Rate::new(3, Duration::from_millis(100)).unwrap()));
        let (mut now, mut gone) = (0, Vec::new());
        for n in 0..50 {
            now = now.max(window.next());
            window.take(now);
            gone.push(now);
            now += n % 7;
        }
        for (n, at) in gone.iter().enumerate().skip(3) {
            assert!(at - gone[n - 3] >= 100, "{gone:?}");
        }
        assert_eq!(&gone[..3], [0, 0, 1], "the first ones go at once");
    }

    #[test]
    fn what_never_left_is_not_counted() {
        let mut window = Window::new(Some(Rate::new(1, Duration::from_millis(100)).unwrap()));
        let at = window.take(5);
        assert_eq!(window.next(), 105);
        window.give_back(at);
        assert!(window.next() <= 5);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut window = Window::new(None);
        window.take(5);
        assert!(window.next() <= 5);
        assert_eq!(window.last_of(1000, 7), 7);
    }

    #[test]
    fn the_last_one_s_time_is_when_the_window_lets_it_go() {
        for taken in [0, 1, 2, 3, 5] {
            for left in 1..20 {
                let mut window = Window::new(Some(Rate::new(3, Duration::from_millis(100)).unwrap()));
                for n in 0..taken {
                    window.take(n * 10);
                }
                let told = window.last_of(left, 60);
                let mut now = 60;
                for _ in 0..left {
                    now = now.max(window.next());
                    window.take(now);
                }
                assert_eq!(told, now, "{taken} taken, {left} left");
            }
        }
    }
}
