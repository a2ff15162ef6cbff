//! What a failed message means: for itself, and for the whole batch. Pure, so that the README's table is a test.

use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};

/// What a failure means for the whole batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
    /// Nothing: it is this message's alone.
    None,
    /// The allowance is used up.
    Allowance,
    /// The service or the way to it fails, which passes.
    Trouble,
    /// Every other message would fail alike, until somebody does something.
    All,
}

pub(crate) fn concern(error: &Error) -> Concern {
    match error.kind() {
        ErrorKind::RateLimit => Concern::Allowance,
        ErrorKind::Authentication | ErrorKind::PermissionDenied | ErrorKind::Redirect | ErrorKind::Tls => Concern::All,
        ErrorKind::Cancelled | ErrorKind::Closed | ErrorKind::Internal | ErrorKind::InvalidArgument => Concern::All,
        _ if error.delivery() == Some(Delivery::Accepted) => Concern::None,
        ErrorKind::Connect | ErrorKind::ConnectionLost | ErrorKind::Timeout | ErrorKind::Server => Concern::Trouble,
        ErrorKind::InvalidResponse => Concern::Trouble,
        _ if matches!(error.http_status(), Some(408 | 421 | 425)) => Concern::Trouble,
        _ => Concern::None,
    }
}

/// What the journal says of a message that failed. One that was refused for a reason that is not its own will be sent again.
pub(crate) fn verdict(error: &Error) -> Delivery {
    match error.delivery() {
        Some(Delivery::Rejected) if concern(error) != Concern::None => Delivery::NotSent,
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
    fn every_row_of_the_batch_s_table() {
        use Delivery::*;
        use ErrorKind as Kind;
        let rows = [
            (Kind::Connect, NotSent, None, Concern::Trouble, NotSent),
            (Kind::Tls, NotSent, None, Concern::All, NotSent),
            (Kind::Timeout, NotSent, None, Concern::Trouble, NotSent),
            (Kind::Timeout, Unknown, None, Concern::Trouble, Unknown),
            (Kind::ConnectionLost, Unknown, None, Concern::Trouble, Unknown),
            (Kind::Server, Unknown, Some(503), Concern::Trouble, Unknown),
            (Kind::Server, NotSent, Some(503), Concern::Trouble, NotSent),
            (Kind::InvalidResponse, Unknown, None, Concern::Trouble, Unknown),
            (Kind::InvalidResponse, Accepted, Some(200), Concern::None, Accepted),
            (Kind::Timeout, Accepted, Some(200), Concern::None, Accepted),
            (Kind::RateLimit, Rejected, Some(429), Concern::Allowance, NotSent),
            (Kind::Authentication, Rejected, Some(401), Concern::All, NotSent),
            (Kind::PermissionDenied, Rejected, Some(403), Concern::All, NotSent),
            (Kind::Redirect, Rejected, Some(307), Concern::All, NotSent),
            (Kind::Redirect, Unknown, Some(302), Concern::All, Unknown),
            (Kind::BadRequest, Rejected, Some(408), Concern::Trouble, NotSent),
            (Kind::BadRequest, Rejected, Some(421), Concern::Trouble, NotSent),
            (Kind::BadRequest, Rejected, Some(425), Concern::Trouble, NotSent),
            (Kind::BadRequest, Rejected, Some(400), Concern::None, Rejected),
            (Kind::NotFound, Rejected, Some(404), Concern::None, Rejected),
            (Kind::Conflict, Rejected, Some(409), Concern::None, Rejected),
            (Kind::Cancelled, NotSent, None, Concern::All, NotSent),
            (Kind::Cancelled, Unknown, None, Concern::All, Unknown),
            (Kind::Closed, Unknown, None, Concern::All, Unknown),
        ];
        for (kind, delivery, status, means, noted) in rows {
            let error = error(kind, delivery, status);
            assert_eq!((concern(&error), verdict(&error)), (means, noted), "{kind} {delivery} {status:?}");
        }
    }
}
