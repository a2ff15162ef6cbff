//! A list of messages that the workers of a store share: what is checked before any is sent, when a worker may send, and what is held.

use std::time::Duration;

use crate::batch::item::{BatchItem, ItemChecks};
use crate::batch::pace::circuit_breaker::{CircuitBreaker, Permit};
use crate::batch::pace::moment::moment;
use crate::client::Client;
use crate::config::headers::Headers;
use crate::delivery::Delivery;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};
use crate::jitter;
use crate::once::pace::SHORTEST_PAUSE;
use crate::text::describe;
use crate::wait::options::WaitOptions;

#[doc(hidden)]
impl Client {
    /// Checks the items of a list. Each needs a key, by which the store knows it. Returns the digests of their messages.
    ///
    /// # Errors
    /// `InvalidArgument`, which names the item by its line or its number, from 1.
    pub fn step_list(&self, items: &[BatchItem], headers: &Headers) -> Result<Vec<String>, Error> {
        let mut checks = ItemChecks::new(self.shared.config.max_prompt_bytes);
        let mut check = |item: &BatchItem| {
            let key = item.key().ok_or_else(|| {
                Error::invalid("key is missing")
                    .with_hint("Give each message a key of its own: the store knows it by that.")
            })?;
            checks.check(item)?;
            self.step_message(key, item.job_id(), item.prompt(), headers)
        };
        let numbered = items.iter().zip(1..);
        numbered.map(|(item, number)| check(item).map_err(|error| error.in_item(number, item.line()))).collect()
    }

    /// The shortest pause between two polls of a wait.
    ///
    /// # Errors
    /// `InvalidArgument`: an option is wrong.
    pub fn shortest_pause(&self, options: &WaitOptions) -> Result<Duration, Error> {
        Ok(options.resolve(&self.shared.config.waits)?.min_interval)
    }
}

/// When a worker may send: the circuit breaker of a batch. Its caller has the clock; times count from any moment before.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct ListBreaker(CircuitBreaker);

#[doc(hidden)]
impl ListBreaker {
    /// Whether a message may be sent now, of which so many are in flight: how long it has to wait at least, or whether its job is polled
    /// first. After a pause it is a probe.
    pub fn admit(&mut self, now: Duration, in_flight: usize) -> Result<bool, Duration> {
        match self.0.admit(moment(now), in_flight) {
            Permit::Send => Ok(false),
            Permit::Probe { poll_first } => {
                self.0.begin_probe();
                Ok(poll_first)
            }
            Permit::NotBefore(time) => {
                Err(Duration::from_millis(u64::try_from(time.saturating_sub(moment(now))).unwrap_or(0)))
            }
            Permit::AfterInFlight => Err(Duration::ZERO),
        }
    }

    /// The service responded to a message. Returns whether that ended a pause.
    pub fn responded(&mut self) -> bool {
        self.0.record_response()
    }

    /// The service returned 429: for how long it pauses all workers, the store says.
    pub fn rate_limited(&mut self, now: Duration) {
        self.0.record_rate_limit(moment(now), Some(SHORTEST_PAUSE));
    }

    /// The service failed, or can't be reached. Returns how long it has.
    pub fn failed(&mut self, now: Duration) -> Duration {
        self.0.record_service_failure(moment(now), jitter::draw());
        self.0.outage(moment(now))
    }
}

/// The error of a step that is held behind another one of its job, whose key is `behind`. `is_unknown`: whether that one arrived is not
/// known; otherwise the wait for it ended without its result. `delivery`: what is known of the held step.
#[doc(hidden)]
pub fn step_held(key: &str, job_id: &str, behind: &str, is_unknown: bool, delivery: Delivery) -> Error {
    let behind = describe(behind);
    let (reason, hint) = match is_unknown {
        true => (
            format!("step \"{behind}\", to the same job, may have arrived, so the order is no longer known"),
            "Check the job, resolve that step, and run the list again.",
        ),
        false => (
            format!("the wait for step \"{behind}\", to the same job, ended without its result"),
            "Run the list again to wait for it.",
        ),
    };
    // What is unknown of it has another cause.
    let reason = if delivery == Delivery::Unknown { format!("it is held: {reason}") } else { reason };
    Error::new(ErrorKind::Conflict, reason)
        .about(Subject::Step { key: describe(key), job_id: describe(job_id) })
        .with_hint(hint)
        .with_delivery(Some(delivery))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::once::client;

    #[test]
    fn a_list_is_refused_whole_if_an_item_cannot_be_sent_and_the_error_names_the_item() {
        let client = client("https://a.example", "p");
        let item = |key: &str| BatchItem::new("job_1", "Go").with_key(key);
        let check = |items: &[BatchItem]| client.step_list(items, &Headers::new());
        let digest = client.step_message("a", "job_1", "Go", &Headers::new()).unwrap();
        assert_eq!(check(&[item("a"), item("b")]).unwrap(), [digest.clone(), digest]);
        for (second, reason) in [
            (BatchItem::new("job_1", "Go"), "item 2: key is missing. Give each message a key of its own"),
            (item("b\0b").with_line(9), "line 9: key contains a control character (U+0000)"),
            (item("a"), "item 2: key \"a\" is also the key of item 1"),
            (BatchItem::new("job_1", "").with_key("b"), "item 2: prompt is empty"),
        ] {
            let error = check(&[item("a"), second]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().starts_with(reason), "{error}");
        }
    }

    #[test]
    fn after_a_pause_one_message_goes_first_alone_and_after_a_service_failure_a_poll() {
        let second = Duration::from_secs;
        let mut breaker = ListBreaker::default();
        assert_eq!(breaker.admit(second(10), 3), Ok(false));
        breaker.rate_limited(second(10));
        assert_eq!(breaker.admit(second(10), 0), Err(second(1)));
        assert_eq!((breaker.admit(second(11), 1), breaker.admit(second(11), 0)), (Err(Duration::ZERO), Ok(false)));
        assert!(breaker.responded() && !breaker.responded());
        assert_eq!(breaker.failed(second(20)), Duration::ZERO);
        assert!(!breaker.responded(), "the response to an earlier message");
        assert_eq!(breaker.failed(second(22)), second(2));
        assert_eq!(breaker.admit(second(30), 0), Ok(true));
        breaker.rate_limited(second(30));
        assert_eq!(breaker.admit(second(31), 0), Ok(false));
        assert_eq!(breaker.failed(second(32)), Duration::ZERO, "a 429 is a response");
    }

    #[test]
    fn a_held_step_says_behind_which_one_and_what_to_do() {
        for (is_unknown, delivery, begins, ends) in [
            (
                true,
                Delivery::NotSent,
                "was not sent: step \"a\", to the same job, may have arrived",
                "resolve that step, and run the list again.",
            ),
            (
                false,
                Delivery::Unknown,
                "may have arrived: it is held: the wait for step \"a\", to the same job, ended without",
                "to wait for it.",
            ),
        ] {
            let error = step_held("b", "job_1", "a", is_unknown, delivery);
            assert_eq!((error.kind(), error.delivery()), (ErrorKind::Conflict, Some(delivery)));
            assert!(error.message().starts_with(&format!("step \"b\": message to job job_1 {begins}")), "{error}");
            assert!(error.message().contains(ends), "{error}");
        }
    }
}
