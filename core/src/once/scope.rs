//! What the failure of a step affects: itself, its job, or everything that is sent. For faces that have only an error's facts, too.

use crate::batch::pace::failure_scope::{FailureScope, failure_scope};
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};

/// What a failure affects, by name: `item`, `job`, `rate_limit`, `service` or `batch`.
#[doc(hidden)]
pub fn step_scope(error: &Error) -> &'static str {
    match failure_scope(error) {
        FailureScope::Item => "item",
        FailureScope::Job => "job",
        FailureScope::RateLimit => "rate_limit",
        FailureScope::Service => "service",
        FailureScope::Batch => "batch",
    }
}

/// Whether the error that ended a poll would end each other poll, too. What passes, such as an outage, ends none.
#[doc(hidden)]
pub fn ends_every_poll(kind: ErrorKind, is_a_setting: bool, http_status: Option<u16>) -> bool {
    !matches!(scope_of(kind, is_a_setting, http_status, None), FailureScope::Item | FailureScope::Job)
}

/// What a failure affects of which a face has only the facts.
pub(crate) fn scope_of(
    kind: ErrorKind,
    is_a_setting: bool,
    http_status: Option<u16>,
    delivery: Option<Delivery>,
) -> FailureScope {
    let error = Error::new(kind, "").with_delivery(delivery).with_response(http_status, None, None, None);
    failure_scope(&if is_a_setting { error.with_wrong_setting() } else { error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failure_affects_has_a_name() {
        for (kind, scope) in [
            (ErrorKind::NotFound, "item"),
            (ErrorKind::Conflict, "job"),
            (ErrorKind::RateLimit, "rate_limit"),
            (ErrorKind::Server, "service"),
            (ErrorKind::Authentication, "batch"),
        ] {
            assert_eq!(step_scope(&Error::new(kind, "x")), scope);
            assert_eq!(ends_every_poll(kind, false, None), !["item", "job"].contains(&scope));
        }
        assert!(!ends_every_poll(ErrorKind::WaitTimeout, false, None));
        assert!(
            !ends_every_poll(ErrorKind::BadRequest, false, Some(400))
                && ends_every_poll(ErrorKind::BadRequest, true, None)
        );
    }
}
