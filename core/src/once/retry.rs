//! Whether an engine runs a step again after an error, and when: the table in docs/reference/steps.md, whose rows are in a test here.

use std::time::Duration;

use crate::batch::pace::circuit_breaker::service_backoff;
use crate::batch::pace::failure_scope::FailureScope;
use crate::delivery::Delivery;
use crate::error::ErrorKind;
use crate::jitter;
use crate::once::pace::step_pause;
use crate::once::scope::scope_of;

/// How much later than a rate limit allows a step runs again, at most.
const LATEST: Duration = Duration::from_secs(30);

/// Why a step failed.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum StepFailure {
    /// The call to the service failed, or was refused before.
    Call {
        kind: ErrorKind,
        /// A setting has to change first, whatever the kind is.
        is_a_setting: bool,
        http_status: Option<u16>,
        delivery: Option<Delivery>,
        retry_after: Option<Duration>,
    },
    /// The store could not be used; the message's delivery, if the call was to send one.
    Store(Option<Delivery>),
    /// Another worker that was sending the message had no outcome in time.
    InFlight,
}

/// How long to wait before a step runs again, and how many failures in a row there are then; `None` if that doesn't help: a person has to do
/// something first, or it failed too often. `failures`: how many there were in a row before this one, of at most `most`. A rate limit is none.
#[doc(hidden)]
pub fn step_retry(failure: StepFailure, failures: u32, most: u32) -> Option<(Duration, u32)> {
    decide(failure, failures, most, jitter::draw())
}

fn decide(failure: StepFailure, failures: u32, most: u32, draw: f64) -> Option<(Duration, u32)> {
    let passes = match failure {
        StepFailure::InFlight => true,
        StepFailure::Store(delivery) => matches!(delivery, None | Some(Delivery::NotSent)),
        StepFailure::Call { kind, is_a_setting, http_status, delivery, retry_after } => {
            match (scope_of(kind, is_a_setting, http_status, delivery), delivery) {
                (_, Some(Delivery::Unknown)) => false,
                (FailureScope::RateLimit, _) => {
                    // Those that wait for one time don't ask at the same moment.
                    let pause = step_pause(retry_after);
                    return Some((pause + pause.mul_f64(draw / 2.0).min(LATEST), failures));
                }
                // The record of an accepted message is missing: the next call reads the job.
                (FailureScope::Item, Some(Delivery::Accepted)) => true,
                (scope, _) => matches!(scope, FailureScope::Job | FailureScope::Service),
            }
        }
    };
    (passes && failures < most).then(|| (service_backoff(failures, draw), failures + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind as Kind;
    use Delivery::*;

    const EVEN: f64 = 0.5;

    fn call(kind: Kind, delivery: Option<Delivery>, http_status: Option<u16>) -> StepFailure {
        StepFailure::Call { kind, is_a_setting: false, http_status, delivery, retry_after: None }
    }

    #[test]
    fn a_step_runs_again_after_what_passes_by_itself() {
        let proxy_login = StepFailure::Call {
            kind: Kind::Connect,
            is_a_setting: true,
            http_status: None,
            delivery: Some(NotSent),
            retry_after: None,
        };
        for (failure, again) in [
            (call(Kind::Connect, Some(NotSent), None), true),
            (proxy_login, false),
            (call(Kind::Timeout, Some(NotSent), None), true),
            (call(Kind::Server, Some(NotSent), Some(503)), true),
            (call(Kind::BadRequest, Some(Rejected), Some(408)), true),
            (call(Kind::BadRequest, Some(Rejected), Some(421)), true),
            (call(Kind::BadRequest, Some(Rejected), Some(425)), true),
            (call(Kind::Conflict, Some(Rejected), Some(409)), true),
            (call(Kind::InvalidResponse, Some(Accepted), Some(200)), true),
            (call(Kind::Timeout, Some(Accepted), Some(200)), true),
            (call(Kind::Server, None, Some(503)), true), // reading the record of an accepted message
            (call(Kind::BadRequest, Some(Rejected), Some(400)), false),
            (call(Kind::NotFound, Some(Rejected), Some(404)), false),
            (call(Kind::Authentication, Some(Rejected), Some(401)), false),
            (call(Kind::PermissionDenied, Some(Rejected), Some(403)), false),
            (call(Kind::Redirect, Some(Rejected), Some(307)), false),
            (call(Kind::Redirect, Some(Unknown), Some(302)), false),
            (call(Kind::Tls, Some(NotSent), None), false),
            (call(Kind::InvalidArgument, Some(NotSent), None), false),
            (call(Kind::Timeout, Some(Unknown), None), false),
            (call(Kind::Server, Some(Unknown), Some(503)), false),
            (call(Kind::RateLimit, Some(Unknown), Some(429)), false), // an earlier attempt may have arrived
            (call(Kind::Closed, Some(NotSent), None), false),
            (call(Kind::Cancelled, Some(Accepted), None), false),
            (call(Kind::WaitTimeout, None, None), false),
            (StepFailure::InFlight, true),
            (StepFailure::Store(None), true),
            (StepFailure::Store(Some(NotSent)), true),
            (StepFailure::Store(Some(Accepted)), false),
            (StepFailure::Store(Some(Unknown)), false),
        ] {
            let expected = again.then_some((Duration::from_secs(1), 1));
            assert_eq!(decide(failure, 0, 20, EVEN), expected, "{failure:?}");
        }
    }

    #[test]
    fn the_pauses_double_up_to_five_minutes_and_twenty_failures_last_about_an_hour() {
        let (mut pauses, mut failures) = (Vec::new(), 0);
        while let Some((pause, counted)) = decide(StepFailure::InFlight, failures, 20, EVEN) {
            pauses.push(pause.as_secs());
            failures = counted;
        }
        assert_eq!((pauses.len(), &pauses[..10]), (20, &[1, 2, 4, 8, 16, 32, 64, 128, 256, 300][..]));
        assert_eq!(pauses.iter().sum::<u64>() / 60, 63);
    }

    #[test]
    fn a_rate_limit_lasts_as_long_as_the_service_asks_and_is_no_failure() {
        for (asked, draw, millis) in [
            (None, 0.0, 60_000),
            (Some(0), 0.0, 1000),
            (Some(0), 1.0, 1500),
            (Some(1800), 0.0, 1_800_000),
            (Some(1800), 1.0, 1_830_000),
        ] {
            let failure = StepFailure::Call {
                kind: Kind::RateLimit,
                is_a_setting: false,
                http_status: Some(429),
                delivery: Some(Rejected),
                retry_after: asked.map(Duration::from_secs),
            };
            assert_eq!(decide(failure, 20, 20, draw), Some((Duration::from_millis(millis), 20)));
        }
    }
}
