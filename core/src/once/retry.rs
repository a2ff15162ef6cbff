//! Whether an engine runs a step again after an error, and when. The table in docs/reference/steps.md is a test.

use std::time::Duration;

use crate::batch::pace::circuit_breaker::service_backoff;
use crate::batch::pace::failure_scope::{FailureScope, failure_scope};
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::jitter;
use crate::once::pace::step_pause;

/// Why a step failed.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum StepFailure {
    /// The call to the service failed, or was refused before.
    Call { kind: ErrorKind, http_status: Option<u16>, delivery: Option<Delivery>, retry_after: Option<Duration> },
    /// The store could not be used; the message's delivery, if the call was to send one.
    Store(Option<Delivery>),
    /// Another worker that was sending the message had no outcome in time.
    InFlight,
}

/// How long to wait before a step runs again; `None` if that doesn't help: a person has to do something first. `failures`: how many there were
/// in a row before this one.
#[doc(hidden)]
pub fn step_retry(failure: StepFailure, failures: u32) -> Option<Duration> {
    decide(failure, failures, jitter::draw())
}

fn decide(failure: StepFailure, failures: u32, draw: f64) -> Option<Duration> {
    let passes = match failure {
        StepFailure::InFlight => true,
        StepFailure::Store(delivery) => matches!(delivery, None | Some(Delivery::NotSent)),
        StepFailure::Call { kind, http_status, delivery, retry_after } => {
            let error =
                Error::new(kind, "").with_delivery(delivery).with_response(http_status, retry_after, None, None);
            match (failure_scope(&error), delivery) {
                (_, Some(Delivery::Unknown)) => false,
                (FailureScope::RateLimit, _) => return Some(step_pause(retry_after)),
                // The record of an accepted message is missing: the next call reads the job.
                (FailureScope::Item, Some(Delivery::Accepted)) => true,
                (scope, _) => matches!(scope, FailureScope::Job | FailureScope::Service),
            }
        }
    };
    passes.then(|| service_backoff(failures, draw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind as Kind;
    use Delivery::*;

    const EVEN: f64 = 0.5;

    #[test]
    fn a_step_runs_again_after_what_passes_by_itself() {
        for (kind, delivery, http_status, again) in [
            (Kind::Connect, Some(NotSent), None, true),
            (Kind::Timeout, Some(NotSent), None, true),
            (Kind::Server, Some(NotSent), Some(503), true),
            (Kind::BadRequest, Some(Rejected), Some(408), true),
            (Kind::Conflict, Some(Rejected), Some(409), true),
            (Kind::InvalidResponse, Some(Accepted), Some(200), true),
            (Kind::Timeout, Some(Accepted), Some(200), true),
            (Kind::Server, None, Some(503), true), // reading the record of an accepted message
            (Kind::BadRequest, Some(Rejected), Some(400), false),
            (Kind::NotFound, Some(Rejected), Some(404), false),
            (Kind::Authentication, Some(Rejected), Some(401), false),
            (Kind::PermissionDenied, Some(Rejected), Some(403), false),
            (Kind::Tls, Some(NotSent), None, false),
            (Kind::InvalidArgument, Some(NotSent), None, false),
            (Kind::Timeout, Some(Unknown), None, false),
            (Kind::Server, Some(Unknown), Some(503), false),
            (Kind::RateLimit, Some(Unknown), Some(429), false), // an earlier attempt may have arrived
            (Kind::Closed, Some(NotSent), None, false),
            (Kind::Cancelled, Some(Accepted), None, false),
            (Kind::WaitTimeout, None, None, false),
        ] {
            let failure = StepFailure::Call { kind, http_status, delivery, retry_after: None };
            let pause = again.then_some(Duration::from_secs(1));
            assert_eq!(decide(failure, 0, EVEN), pause, "{failure:?}");
        }
        for (failure, again) in [
            (StepFailure::InFlight, true),
            (StepFailure::Store(None), true),
            (StepFailure::Store(Some(NotSent)), true),
            (StepFailure::Store(Some(Accepted)), false),
            (StepFailure::Store(Some(Unknown)), false),
        ] {
            assert_eq!(decide(failure, 0, EVEN).is_some(), again, "{failure:?}");
        }
    }

    #[test]
    fn the_pauses_double_up_to_five_minutes_and_a_rate_limit_has_its_own() {
        let pauses = [0, 1, 5, 8, 9, 1000].map(|failures| decide(StepFailure::InFlight, failures, EVEN).unwrap());
        assert_eq!(pauses.map(|pause| pause.as_secs()), [1, 2, 32, 256, 300, 300]);
        for (asked, pause) in [(None, 60), (Some(0), 1), (Some(1800), 1800)] {
            let (kind, delivery, retry_after) = (Kind::RateLimit, Some(Rejected), asked.map(Duration::from_secs));
            let failure = StepFailure::Call { kind, http_status: Some(429), delivery, retry_after };
            assert_eq!(decide(failure, 9, EVEN), Some(Duration::from_secs(pause)));
        }
    }
}
