//! What a batch does about a failure that affects more than one message: it pauses or stops.

use std::sync::Arc;
use std::time::Duration;

use crate::batch::events::BatchUpdate;
use crate::batch::journal::encode::LineWriter;
use crate::batch::pace::circuit_breaker::{LONGEST_PAUSE, PauseReason};
use crate::batch::pace::failure_scope::{FailureScope, failure_scope, recorded_delivery};
use crate::batch::pace::moment::Moment;
use crate::batch::run::engine::Engine;
use crate::batch::run::stop_errors::{describe_time, stopped};
use crate::call::event::Event;
use crate::error::{Error, ErrorKind};
use crate::jitter;

/// Two pauses that end this close together, in milliseconds, are one.
const SAME_PAUSE: Moment = 1000;

impl Engine {
    /// The service responded to a message: a pause is over.
    pub(crate) fn record_response(self: &Arc<Engine>) {
        let mut state = self.lock();
        if state.breaker.record_response() {
            state.events.update(BatchUpdate::Resumed);
            drop(state);
            self.notify_owner();
            self.report(&Event::Resumed);
        }
    }

    /// This run begins in a pause of an earlier one: its owner gets it like any other, so that `Resumed` has its `Paused`.
    pub(crate) fn report_earlier_pause(self: &Arc<Engine>, reason: PauseReason, pause: Duration) {
        self.lock().events.update(BatchUpdate::Paused { reason, pause, error: None });
        self.report(&Event::Paused { reason: reason.as_str(), pause, error: "it began in an earlier run".into() });
    }

    /// Pauses or stops the batch if this failure affects more than its item.
    pub(crate) fn handle_failure(self: &Arc<Engine>, error: &Error) {
        let now = self.now();
        let mut state = self.lock();
        let before = state.breaker.open_until(now);
        let until = match failure_scope(error) {
            FailureScope::Item | FailureScope::Job => return,
            // The owner cancelled it and knows.
            FailureScope::Batch if error.kind() == ErrorKind::Cancelled => {
                drop(state);
                return self.stop(None);
            }
            FailureScope::Batch => {
                drop(state);
                return self.stop(Some(stopped(error, "")));
            }
            FailureScope::RateLimit if error.retry_after().is_some_and(|asked| asked > LONGEST_PAUSE) => {
                drop(state);
                return self.stop(Some(stopped(error, "because the service asked for a pause of more than a day")));
            }
            FailureScope::RateLimit => state.breaker.record_rate_limit(now, error.retry_after()),
            FailureScope::Service => state.breaker.record_service_failure(now, jitter::draw()),
        };
        let outage = state.breaker.outage(now);
        if !outage.is_zero() && outage >= self.options.max_outage {
            drop(state);
            let after = format!("after an outage of {} (max_outage)", describe_time(outage));
            return self.stop(Some(stopped(error, after)));
        }
        // Several messages in flight report one failure, each with its own end of the pause.
        let is_same = |(reason, until): (PauseReason, Moment)| {
            before.is_some_and(|(known, end)| known == reason && until.saturating_sub(end) < SAME_PAUSE)
        };
        let Some((reason, _)) = state.breaker.open_until(now).filter(|pause| !is_same(*pause)) else { return };
        let pause = Duration::from_millis(u64::try_from(until - now).unwrap_or(0));
        // The batch sends it again itself, and its caller must not. A failed poll is about no message.
        let delivery = error.delivery().map(|_| recorded_delivery(error));
        let error = error.clone().in_batch().with_delivery(delivery);
        let event = Event::Paused { reason: reason.as_str(), pause, error: error.unquoted_reason().to_owned().into() };
        state.events.update(BatchUpdate::Paused { reason, pause, error: Some(error) });
        drop(state);
        self.notify_owner();
        // Without this line the next run makes one request too many.
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let line = LineWriter::new("paused").text("reason", reason.as_str()).number("pause_ms", pause_ms);
        drop(self.journal.append(line.stamp(self.clock.stamp())));
        self.report(&event);
    }
}
