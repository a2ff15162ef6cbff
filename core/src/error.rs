//! The one error of the library: a kind to branch on, a sentence to read, and the facts behind it.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::delivery::Delivery;
use crate::job::Job;
use crate::redact::Redactor;
use crate::text::escape;

/// What went wrong. One list for every language: each kind is one Python class and one C code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument or a setting is wrong or missing. Nothing was sent.
    InvalidArgument,
    /// No connection: name lookup, TCP, or a proxy that said no.
    Connect,
    /// The TLS handshake failed: an unknown authority, a wrong name, an expired certificate.
    Tls,
    /// The connection ended before the answer did.
    ConnectionLost,
    /// The call's total time (`timeout`, or `connect_timeout` while connecting) was over.
    Timeout,
    /// The caller's cancel token or callback ended the call.
    Cancelled,
    /// The client was closed.
    Closed,
    /// 401: the key is wrong or expired.
    Authentication,
    /// 403: the key may not do this, or not from this address.
    PermissionDenied,
    /// 404: no such job or project.
    NotFound,
    /// 409: the job cannot take the request now.
    Conflict,
    /// 429: the project's hourly allowance is used up.
    RateLimit,
    /// 400 or another 4xx: the service refused the request.
    BadRequest,
    /// 5xx: the service or a gateway before it failed.
    Server,
    /// 3xx: none is ever followed, so that the key goes nowhere else.
    Redirect,
    /// An answer that is not the contract's: no HTTP, no JSON, no record, or too large.
    InvalidResponse,
    /// A wait's time was over and the job was not done.
    WaitTimeout,
    /// A bug of this library, caught.
    Internal,
    /// A batch's journal cannot be opened, read or written, is damaged, or another run has it.
    Journal,
}

impl ErrorKind {
    /// Every kind, in the order of the codes in C (-1, -2, …).
    pub const ALL: [ErrorKind; 19] = [
        ErrorKind::InvalidArgument,
        ErrorKind::Connect,
        ErrorKind::Tls,
        ErrorKind::ConnectionLost,
        ErrorKind::Timeout,
        ErrorKind::Cancelled,
        ErrorKind::Closed,
        ErrorKind::Authentication,
        ErrorKind::PermissionDenied,
        ErrorKind::NotFound,
        ErrorKind::Conflict,
        ErrorKind::RateLimit,
        ErrorKind::BadRequest,
        ErrorKind::Server,
        ErrorKind::Redirect,
        ErrorKind::InvalidResponse,
        ErrorKind::WaitTimeout,
        ErrorKind::Internal,
        ErrorKind::Journal,
    ];

    /// The kind's name in snake case, the same in every language: `not_found`, `wait_timeout`, …
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::InvalidArgument => "invalid_argument",
            ErrorKind::Connect => "connect",
            ErrorKind::Tls => "tls",
            ErrorKind::ConnectionLost => "connection_lost",
            ErrorKind::Timeout => "timeout",
            ErrorKind::Cancelled => "cancelled",
            ErrorKind::Closed => "closed",
            ErrorKind::Authentication => "authentication",
            ErrorKind::PermissionDenied => "permission_denied",
            ErrorKind::NotFound => "not_found",
            ErrorKind::Conflict => "conflict",
            ErrorKind::RateLimit => "rate_limit",
            ErrorKind::BadRequest => "bad_request",
            ErrorKind::Server => "server",
            ErrorKind::Redirect => "redirect",
            ErrorKind::InvalidResponse => "invalid_response",
            ErrorKind::WaitTimeout => "wait_timeout",
            ErrorKind::Internal => "internal",
            ErrorKind::Journal => "journal",
        }
    }

    /// The kind of an answer that is no success.
    pub(crate) fn of_status(status: u16) -> ErrorKind {
        match status {
            300..=399 => ErrorKind::Redirect,
            401 => ErrorKind::Authentication,
            403 => ErrorKind::PermissionDenied,
            404 => ErrorKind::NotFound,
            409 => ErrorKind::Conflict,
            429 => ErrorKind::RateLimit,
            400..=499 => ErrorKind::BadRequest,
            500..=599 => ErrorKind::Server,
            _ => ErrorKind::InvalidResponse,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Everything that can go wrong in a call. Its text is one sentence: what failed, for which job, what to do.
///
/// It never holds the key, nor the proxy's password: where the service quotes one, however it is encoded, stands `***`. It holds
/// no prompt either, unless the service's own words quote it.
#[derive(Clone, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Box<Facts>);

#[derive(Debug, Clone)]
struct Facts {
    kind: ErrorKind,
    message: String,
    /// The reason, where it is not the whole message.
    reason: Option<String>,
    hint: Option<Cow<'static, str>>,
    line: Option<u64>,
    delivery: Option<Delivery>,
    http_status: Option<u16>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    body: Option<String>,
    attempts: u32,
    elapsed: Duration,
    job: Option<Job>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Facts {
            kind,
            message: message.into(),
            reason: None,
            hint: None,
            line: None,
            delivery: None,
            http_status: None,
            retry_after: None,
            request_id: None,
            body: None,
            attempts: 0,
            elapsed: Duration::ZERO,
            job: None,
        }))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidArgument, message)
    }

    /// What a face reports for a panic that it caught. With `delivers` the call was to deliver a message, of which a
    /// panic tells nothing, so the verdict is `unknown`.
    pub fn internal(what: &str, delivers: bool) -> Error {
        Error::new(ErrorKind::Internal, format!("agentjob failed inside, which is a bug of agentjob: {what}"))
            .with_delivery(delivers.then_some(Delivery::Unknown))
    }

    /// An argument that a face itself had to refuse, in the core's own form.
    pub fn invalid_argument(message: impl Into<String>) -> Error {
        Error::invalid(message)
    }

    pub(crate) fn with_reason(mut self, reason: impl Into<String>) -> Error {
        self.0.reason = Some(reason.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Error {
        self.0.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_line(mut self, line: Option<u64>) -> Error {
        self.0.line = line;
        self
    }

    pub(crate) fn with_delivery(mut self, delivery: Option<Delivery>) -> Error {
        self.0.delivery = delivery;
        self
    }

    pub(crate) fn with_answer(
        mut self,
        status: u16,
        retry_after: Option<Duration>,
        request_id: Option<String>,
        body: Option<String>,
    ) -> Error {
        self.0.http_status = Some(status);
        self.0.retry_after = retry_after;
        self.0.request_id = request_id;
        self.0.body = body;
        self
    }

    /// Without secrets in its sentence, and escaped; its other texts were redacted when they were put in.
    pub(crate) fn redacted(mut self, redactor: &Redactor<'_>) -> Error {
        let clean = |text: &str| escape(&redactor.redact(text)).into_owned();
        self.0.message = clean(&self.0.message);
        self.0.reason = self.0.reason.as_deref().map(clean);
        self.0.hint = self.0.hint.as_deref().map(clean).map(Cow::Owned);
        self
    }

    pub(crate) fn with_effort(mut self, attempts: u32, elapsed: Duration) -> Error {
        self.0.attempts = attempts;
        self.0.elapsed = elapsed;
        self
    }

    pub(crate) fn with_job(mut self, job: Option<Job>) -> Error {
        self.0.job = job;
        self
    }

    /// What went wrong, to branch on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// One sentence for a person: what failed, for which job, what to do. The same as `to_string()`.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What happened, without the job, the verdict and the advice: `no connection to 127.0.0.1:9 (connection refused)`.
    pub fn reason(&self) -> &str {
        self.0.reason.as_deref().unwrap_or(&self.0.message)
    }

    /// What to do about the cause, as a sentence: `Check base_url and the network.` `None` if nothing is known to help. What to
    /// do with the message follows from [`delivery`](Error::delivery) and is not in it.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The line of the file that a batch's item is from, when the error is about an item that has one.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// What became of the message; `None` when the call was not to deliver one (`get_job`, `wait`).
    pub fn delivery(&self) -> Option<Delivery> {
        self.0.delivery
    }

    /// The status of the answer, when one was read.
    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }

    /// How long the service asked to wait (`Retry-After`, RFC 9110 10.2.3), in either of its forms.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The service's id of the request (`x-request-id` and the like), to quote to its operators.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The text of the answer's body, at most 8 KiB of it, without the key. Otherwise it is the service's text, unchecked.
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// How many requests the call made; a wait's are its polls, and the message before them.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// How long the call took.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// The last record that was seen before a wait ended with this error.
    pub fn job(&self) -> Option<&Job> {
        self.0.job.as_ref()
    }
}

/// What a caught panic said, for [`Error::internal`].
#[doc(hidden)]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = &*self.0;
        f.debug_struct("Error")
            .field("kind", &facts.kind)
            .field("message", &facts.message)
            .field("delivery", &facts.delivery)
            .field("http_status", &facts.http_status)
            .field("attempts", &facts.attempts)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_kind() {
        let rows = [
            (301, ErrorKind::Redirect),
            (308, ErrorKind::Redirect),
            (400, ErrorKind::BadRequest),
            (401, ErrorKind::Authentication),
            (402, ErrorKind::BadRequest),
            (403, ErrorKind::PermissionDenied),
            (404, ErrorKind::NotFound),
            (408, ErrorKind::BadRequest),
            (409, ErrorKind::Conflict),
            (422, ErrorKind::BadRequest),
            (429, ErrorKind::RateLimit),
            (500, ErrorKind::Server),
            (504, ErrorKind::Server),
            (599, ErrorKind::Server),
            (101, ErrorKind::InvalidResponse),
            (700, ErrorKind::InvalidResponse),
        ];
        for (status, kind) in rows {
            assert_eq!(ErrorKind::of_status(status), kind, "{status}");
        }
    }

    #[test]
    fn an_error_is_small_sendable_and_shareable() {
        fn usable<T: Send + Sync + Clone + 'static>() {}
        usable::<Error>();
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }
}
