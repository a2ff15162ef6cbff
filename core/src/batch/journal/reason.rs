//! Why a message was not accepted, as the journal keeps it: facts, without any of the service's text. The error is made from them
//! when it is needed.

use crate::call::response_text::{hint_of_kind, returned};
use crate::delivery::Delivery;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};
use crate::text::describe;

/// What the facts are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The request failed, or the response was no success.
    Request,
    /// The run that sent the message ended before it noted a response.
    RunEnded,
    /// The worker that sent the message of a step noted no outcome before its lease was over.
    LeaseOver,
}

impl Origin {
    const ALL: [Origin; 3] = [Origin::Request, Origin::RunEnded, Origin::LeaseOver];

    /// The origin's name in the journal.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Origin::Request => "request",
            Origin::RunEnded => "run_ended",
            Origin::LeaseOver => "lease_over",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Origin> {
        Origin::ALL.into_iter().find(|origin| origin.as_str() == name)
    }
}

/// What differs between the message of a batch and that of a step.
pub(crate) struct Phrasing {
    earlier: &'static str,
    cancelled: &'static str,
}

const OF_BATCH: Phrasing = Phrasing { earlier: "an earlier run", cancelled: "the batch was cancelled" };
pub(crate) const OF_STEP: Phrasing = Phrasing { earlier: "an earlier attempt", cancelled: "the call was cancelled" };

/// The facts of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(crate) origin: Origin,
    pub(crate) kind: ErrorKind,
    pub(crate) http_status: Option<u16>,
    pub(crate) request_id: Option<Box<str>>,
}

impl Reason {
    pub(crate) fn of(error: &Error) -> Reason {
        Reason {
            origin: Origin::Request,
            kind: error.kind(),
            http_status: error.http_status(),
            request_id: error.request_id().map(Into::into),
        }
    }

    /// No run noted how the message ended.
    pub(crate) fn not_noted() -> Reason {
        Reason { origin: Origin::RunEnded, kind: ErrorKind::ConnectionLost, http_status: None, request_id: None }
    }

    /// The error as later runs report it. `sent`: how this send ended. `earlier_send_unknown`: an earlier run may have delivered the same
    /// message.
    pub(crate) fn error(&self, job_id: &str, sent: Delivery, earlier_send_unknown: bool) -> Error {
        self.error_about(Subject::BatchMessage(describe(job_id)), sent, earlier_send_unknown, &OF_BATCH)
    }

    /// The same error about something else, in other phrasing.
    pub(crate) fn error_about(
        &self,
        about: Subject,
        sent: Delivery,
        earlier_send_unknown: bool,
        phrasing: &Phrasing,
    ) -> Error {
        let again = self.refusal(sent).filter(|_| earlier_send_unknown);
        let clause = self.clause(phrasing);
        let (verdict, reason) = match again {
            Some(refusal) => {
                let earlier = phrasing.earlier;
                let reason = format!("{earlier} may have delivered it, and the second attempt {refusal} ({clause})");
                (Delivery::Unknown, reason)
            }
            None => (sent, clause),
        };
        let error = Error::new(self.kind, reason);
        let error = error.about(about).with_delivery(Some(verdict));
        let error = error.with_hint_if_any(self.hint());
        match self.http_status {
            Some(status) => error.with_response(status, None, self.request_id.as_deref().map(str::to_owned), None),
            None => error,
        }
    }

    /// How the second send of an `unknown` message ended, if that says nothing about the first one.
    fn refusal(&self, sent: Delivery) -> Option<&'static str> {
        match sent {
            Delivery::NotSent => Some("was not sent"),
            Delivery::Rejected => Some("was rejected"),
            // The journal has such a message as unknown, for that is what it still is.
            Delivery::Unknown if matches!(self.http_status, Some(400..500)) => Some("was rejected"),
            Delivery::Unknown | Delivery::Accepted => None,
        }
    }

    fn clause(&self, phrasing: &Phrasing) -> String {
        match (self.origin, self.http_status) {
            (Origin::LeaseOver, _) => {
                "the worker that sent it recorded no outcome before its lease was over".to_owned()
            }
            (Origin::RunEnded, _) => "the run that sent it ended before it recorded a response".to_owned(),
            (Origin::Request, Some(status @ 200..300)) if self.kind == ErrorKind::InvalidResponse => {
                format!("the record in the response ({status}) could not be read")
            }
            (Origin::Request, Some(status @ 200..300)) => {
                format!("the record in the response ({status}) was incomplete")
            }
            (Origin::Request, Some(status)) => returned(status, None),
            (Origin::Request, None) => self.without_response(phrasing).to_owned(),
        }
    }

    fn without_response(&self, phrasing: &Phrasing) -> &'static str {
        match self.kind {
            ErrorKind::Connect => "no connection was made",
            ErrorKind::Tls => "the TLS handshake failed",
            ErrorKind::ConnectionLost => "the connection ended before the response came",
            ErrorKind::Timeout => "no response came in time",
            ErrorKind::Cancelled => phrasing.cancelled,
            ErrorKind::Closed => "the client was closed",
            ErrorKind::InvalidResponse => "the response could not be read",
            ErrorKind::Internal => "agentjob failed internally",
            _ => "the request failed",
        }
    }

    fn hint(&self) -> Option<&'static str> {
        if self.origin == Origin::Request { hint_of_kind(self.kind) } else { None }
    }
}

/// The error of a message that may have arrived in an earlier run, and was refused when it was sent again.
pub(crate) fn refused_again(job_id: &str, error: &Error) -> Error {
    Reason::of(error).error(job_id, Delivery::Rejected, true).with_response_of(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_sentence() {
        let reason = |kind, http_status| Reason { origin: Origin::Request, kind, http_status, request_id: None };
        use Delivery::*;
        let rows = [
            (
                reason(ErrorKind::NotFound, Some(404)),
                Rejected,
                false,
                "message to job j was rejected: the service returned 404. Check the job id, the project id and the base URL. A later run does not send it again.",
            ),
            (
                reason(ErrorKind::Server, Some(503)),
                Unknown,
                false,
                "message to job j may have arrived: the service returned 503. Check the job before you send it again.",
            ),
            (
                reason(ErrorKind::Timeout, None),
                Unknown,
                true,
                "message to job j may have arrived: no response came in time. Check the job before you send it again.",
            ),
            (
                reason(ErrorKind::Conflict, Some(409)),
                Unknown,
                true,
                "message to job j may have arrived: an earlier run may have delivered it, and the second attempt was rejected (the service returned 409). Check the job before you send it again.",
            ),
            (
                reason(ErrorKind::Connect, None),
                NotSent,
                true,
                "message to job j may have arrived: an earlier run may have delivered it, and the second attempt was not sent (no connection was made). Check the job before you send it again.",
            ),
            (
                reason(ErrorKind::InvalidResponse, Some(200)),
                Accepted,
                false,
                "message to job j was accepted, but the record in the response (200) could not be read. Do not send it again.",
            ),
            (
                Reason::not_noted(),
                Unknown,
                false,
                "message to job j may have arrived: the run that sent it ended before it recorded a response. Check the job before you send it again.",
            ),
        ];
        for (reason, sent, earlier_send_unknown, sentence) in rows {
            let error = reason.error("j", sent, earlier_send_unknown);
            assert_eq!(error.message(), sentence);
            assert_eq!((error.kind(), error.http_status()), (reason.kind, reason.http_status));
            assert!(sentence.starts_with(&error.without_advice()));
        }
    }

    #[test]
    fn what_was_not_sent_or_not_understood_says_why() {
        for (kind, http_status, clause) in [
            (ErrorKind::Connect, None, "no connection was made"),
            (ErrorKind::Tls, None, "the TLS handshake failed"),
            (ErrorKind::ConnectionLost, None, "the connection ended before the response came"),
            (ErrorKind::Timeout, None, "no response came in time"),
            (ErrorKind::Cancelled, None, "the batch was cancelled"),
            (ErrorKind::Closed, None, "the client was closed"),
            (ErrorKind::InvalidResponse, None, "the response could not be read"),
            (ErrorKind::Internal, None, "agentjob failed internally"),
            (ErrorKind::RateLimit, None, "the request failed"),
            (ErrorKind::InvalidResponse, Some(200), "the record in the response (200) could not be read"),
            (ErrorKind::ConnectionLost, Some(200), "the record in the response (200) was incomplete"),
        ] {
            let error = Reason { origin: Origin::Request, kind, http_status, request_id: None }.error(
                "j",
                Delivery::Unknown,
                false,
            );
            assert!(error.message().contains(&format!(": {clause}. ")), "{error}");
        }
    }

    #[test]
    fn a_cause_is_read_back() {
        for origin in Origin::ALL {
            assert_eq!(Origin::from_name(origin.as_str()), Some(origin));
        }
    }
}
