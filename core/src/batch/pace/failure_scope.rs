//! What a failed message means: for itself, and for the whole batch. Pure, so that the table in docs/reference/batches.md is a test.

use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};

/// What a failure affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureScope {
    /// Its item alone.
    Item,
    /// The messages of its job, until the job is not busy.
    Job,
    /// Every message until the service allows more.
    RateLimit,
    /// Every message while the service fails or can't be reached.
    Service,
    /// Every message until a person fixes the cause.
    Batch,
}

/// What a failure affects.
pub(crate) fn failure_scope(error: &Error) -> FailureScope {
    match error.kind() {
        _ if error.is_a_setting() => FailureScope::Batch,
        ErrorKind::RateLimit => FailureScope::RateLimit,
        ErrorKind::Conflict => FailureScope::Job,
        ErrorKind::Cancelled | ErrorKind::Closed | ErrorKind::Internal => FailureScope::Batch,
        _ if error.delivery() == Some(Delivery::Accepted) => FailureScope::Item,
        ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Timeout | ErrorKind::Server => {
            FailureScope::Service
        }
        ErrorKind::InvalidResponse => FailureScope::Service,
        _ if matches!(error.http_status(), Some(408 | 421 | 425)) => FailureScope::Service,
        _ => FailureScope::Item,
    }
}

/// The delivery that the journal records for a message that failed. One that was rejected for a reason that isn't its own will be
/// sent again, so it counts as not sent.
pub(crate) fn recorded_delivery(error: &Error) -> Delivery {
    match error.delivery() {
        Some(Delivery::Rejected) if failure_scope(error) != FailureScope::Item => Delivery::NotSent,
        Some(delivery) => delivery,
        None => Delivery::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: ErrorKind, delivery: Delivery, status: Option<u16>) -> Error {
        let error = Error::new(kind, "x").with_delivery(Some(delivery));
        status.map_or(error.clone(), |status| error.with_response(status, None, None, None))
    }

    #[test]
    fn every_row_of_the_readme_s_table() {
        use Delivery::*;
        use ErrorKind as Kind;
        let rows = [
            (Kind::Connect, NotSent, None, FailureScope::Service, NotSent),
            (Kind::Tls, NotSent, None, FailureScope::Batch, NotSent),
            (Kind::Timeout, NotSent, None, FailureScope::Service, NotSent),
            (Kind::Timeout, Unknown, None, FailureScope::Service, Unknown),
            (Kind::ConnectionLost, Unknown, None, FailureScope::Service, Unknown),
            (Kind::Server, Unknown, Some(503), FailureScope::Service, Unknown),
            (Kind::Server, NotSent, Some(503), FailureScope::Service, NotSent),
            (Kind::InvalidResponse, Unknown, None, FailureScope::Service, Unknown),
            (Kind::InvalidResponse, Unknown, Some(200), FailureScope::Service, Unknown),
            (Kind::InvalidResponse, Accepted, Some(200), FailureScope::Item, Accepted),
            (Kind::Timeout, Accepted, Some(200), FailureScope::Item, Accepted),
            (Kind::RateLimit, Rejected, Some(429), FailureScope::RateLimit, NotSent),
            (Kind::Authentication, Rejected, Some(401), FailureScope::Batch, NotSent),
            (Kind::PermissionDenied, Rejected, Some(403), FailureScope::Batch, NotSent),
            (Kind::Redirect, Rejected, Some(307), FailureScope::Batch, NotSent),
            (Kind::Redirect, Unknown, Some(302), FailureScope::Batch, Unknown),
            (Kind::BadRequest, Rejected, Some(408), FailureScope::Service, NotSent),
            (Kind::BadRequest, Rejected, Some(421), FailureScope::Service, NotSent),
            (Kind::BadRequest, Rejected, Some(425), FailureScope::Service, NotSent),
            (Kind::BadRequest, Rejected, Some(400), FailureScope::Item, Rejected),
            (Kind::NotFound, Rejected, Some(404), FailureScope::Item, Rejected),
            (Kind::Conflict, Rejected, Some(409), FailureScope::Job, NotSent),
            (Kind::Cancelled, NotSent, None, FailureScope::Batch, NotSent),
            (Kind::Cancelled, Unknown, None, FailureScope::Batch, Unknown),
            (Kind::Closed, Unknown, None, FailureScope::Batch, Unknown),
        ];
        for (kind, delivery, status, scope, recorded) in rows {
            let error = error(kind, delivery, status);
            assert_eq!(
                (failure_scope(&error), recorded_delivery(&error)),
                (scope, recorded),
                "{kind} {delivery} {status:?}"
            );
        }
        let login = error(Kind::Connect, NotSent, None).with_wrong_setting();
        assert_eq!((failure_scope(&login), recorded_delivery(&login)), (FailureScope::Batch, NotSent), "a proxy's 407");
    }
}
