//! Why a message was not accepted, as the journal keeps it: parts of ours, none of them the service's text. The sentence is made
//! when it is asked for.

use crate::call::response::{advice, lead};
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::text::describe;

/// How it came to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The request failed, or the service's answer was no success.
    Request,
    /// The run that sent the message ended before it noted an answer.
    RunEnded,
    /// The journal's line about the message is damaged.
    LineDamaged,
}

impl Cause {
    const ALL: [Cause; 3] = [Cause::Request, Cause::RunEnded, Cause::LineDamaged];

    /// The cause's name in the journal.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Cause::Request => "request",
            Cause::RunEnded => "run_ended",
            Cause::LineDamaged => "line_damaged",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.as_str() == name)
    }
}

/// The parts of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reason {
    pub(crate) cause: Cause,
    pub(crate) kind: ErrorKind,
    pub(crate) http_status: Option<u16>,
    pub(crate) request_id: Option<Box<str>>,
}

impl Reason {
    pub(crate) fn of(error: &Error) -> Reason {
        Reason {
            cause: Cause::Request,
            kind: error.kind(),
            http_status: error.http_status(),
            request_id: error.request_id().map(Into::into),
        }
    }

    /// No run noted how the message ended.
    pub(crate) fn not_noted(cause: Cause) -> Reason {
        Reason { cause, kind: ErrorKind::ConnectionLost, http_status: None, request_id: None }
    }

    /// The sentence without what to do with the message. `sent`: how this send ended.
    pub(crate) fn sentence(&self, job_id: &str, sent: Delivery, doubtful: bool) -> String {
        let (job, clause, hint) = (describe(job_id), self.clause(), self.hint());
        let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
        match self.again(sent).filter(|_| doubtful) {
            Some(sent) => format!(
                "message to job {job} may have arrived in an earlier run, and when it was sent again it {}: {clause}{hint}",
                lead(sent)
            ),
            None => format!("message to job {job} {}: {clause}{hint}", lead(sent)),
        }
    }

    /// The error as later runs report it.
    pub(crate) fn error(&self, job_id: &str, sent: Delivery, doubtful: bool) -> Error {
        let verdict = if doubtful && self.again(sent).is_some() { Delivery::Unknown } else { sent };
        let message = format!("{}; {}", self.sentence(job_id, sent, doubtful), advice(verdict));
        let error = Error::new(self.kind, message).with_delivery(Some(verdict));
        match self.http_status {
            Some(status) => error.with_answer(status, None, self.request_id.as_deref().map(str::to_owned), None),
            None => error,
        }
    }

    /// How the second send of an `unknown` message ended, if that says nothing about the first one.
    fn again(&self, sent: Delivery) -> Option<Delivery> {
        match sent {
            Delivery::NotSent | Delivery::Rejected => Some(sent),
            // The journal has such a message as unknown, for that is what it still is.
            Delivery::Unknown if matches!(self.http_status, Some(400..500)) => Some(Delivery::Rejected),
            Delivery::Unknown | Delivery::Accepted => None,
        }
    }

    fn clause(&self) -> String {
        match (self.cause, self.http_status) {
            (Cause::RunEnded, _) => "the run that sent it ended before it noted an answer".to_owned(),
            (Cause::LineDamaged, _) => "its line in the journal is damaged".to_owned(),
            (Cause::Request, Some(status @ 200..300)) if self.kind == ErrorKind::InvalidResponse => {
                format!("the service answered {status}, but its record could not be read")
            }
            (Cause::Request, Some(status @ 200..300)) => {
                format!("the service answered {status}, but its record did not come whole")
            }
            (Cause::Request, Some(status)) => format!("the service answered {status}"),
            (Cause::Request, None) => self.without_answer().to_owned(),
        }
    }

    fn without_answer(&self) -> &'static str {
        match self.kind {
            ErrorKind::Connect => "no connection was made",
            ErrorKind::Tls => "the TLS handshake failed",
            ErrorKind::ConnectionLost => "the connection ended before an answer came",
            ErrorKind::Timeout => "no answer came in time",
            ErrorKind::Cancelled => "the batch was cancelled",
            ErrorKind::Closed => "the client was closed",
            ErrorKind::InvalidResponse => "the answer could not be read",
            ErrorKind::Internal => "agentjob failed inside, which is a bug of agentjob",
            _ => "the request failed",
        }
    }

    fn hint(&self) -> &'static str {
        match (self.cause, self.kind) {
            (Cause::Request, ErrorKind::NotFound) => "check the job id, the project id and the base URL",
            (Cause::Request, ErrorKind::Redirect) => "redirects are never followed; check the base URL",
            _ => "",
        }
    }
}

/// What is said of a message that may have arrived in an earlier run, and was refused when it was sent again.
pub(crate) fn refused_again(job_id: &str, error: &Error) -> Error {
    let doubt = Reason::of(error).error(job_id, Delivery::Rejected, true);
    match error.http_status() {
        Some(status) => doubt.with_answer(
            status,
            error.retry_after(),
            error.request_id().map(str::to_owned),
            error.body().map(str::to_owned),
        ),
        None => doubt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_sentence() {
        let reason = |kind, http_status| Reason { cause: Cause::Request, kind, http_status, request_id: None };
        use Delivery::*;
        let rows = [
            (
                reason(ErrorKind::NotFound, Some(404)),
                Rejected,
                false,
                "message to job j was rejected: the service answered 404; check the job id, the project id and the base URL; mend that, then send it again",
            ),
            (
                reason(ErrorKind::Server, Some(503)),
                Unknown,
                false,
                "message to job j may have arrived: the service answered 503; look at the job before sending it again",
            ),
            (
                reason(ErrorKind::Timeout, None),
                Unknown,
                true,
                "message to job j may have arrived: no answer came in time; look at the job before sending it again",
            ),
            (
                reason(ErrorKind::Conflict, Some(409)),
                Unknown,
                true,
                "message to job j may have arrived in an earlier run, and when it was sent again it was rejected: the service answered 409; look at the job before sending it again",
            ),
            (
                reason(ErrorKind::Connect, None),
                NotSent,
                true,
                "message to job j may have arrived in an earlier run, and when it was sent again it was not sent: no connection was made; look at the job before sending it again",
            ),
            (
                reason(ErrorKind::InvalidResponse, Some(200)),
                Accepted,
                false,
                "message to job j was accepted: the service answered 200, but its record could not be read; do not send it again",
            ),
            (
                Reason::not_noted(Cause::RunEnded),
                Unknown,
                false,
                "message to job j may have arrived: the run that sent it ended before it noted an answer; look at the job before sending it again",
            ),
            (
                Reason::not_noted(Cause::LineDamaged),
                Unknown,
                false,
                "message to job j may have arrived: its line in the journal is damaged; look at the job before sending it again",
            ),
        ];
        for (reason, sent, doubtful, sentence) in rows {
            let error = reason.error("j", sent, doubtful);
            assert_eq!(error.message(), sentence);
            assert_eq!((error.kind(), error.http_status()), (reason.kind, reason.http_status));
            assert!(sentence.starts_with(&reason.sentence("j", sent, doubtful)));
        }
    }

    #[test]
    fn a_cause_is_read_back() {
        for cause in Cause::ALL {
            assert_eq!(Cause::from_name(cause.as_str()), Some(cause));
        }
    }
}
