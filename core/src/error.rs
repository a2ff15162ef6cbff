//! The one error of the library, as parts: what failed, why, what helps, what happened to the message, and the facts.

pub(crate) mod internal;
pub(crate) mod kind;
pub(crate) mod sentence;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::delivery::Delivery;
pub use crate::error::kind::ErrorKind;
use crate::error::sentence::{Sentence, Subject};
use crate::job::Job;
use crate::redact::Redactor;
use crate::text::escape;

/// Everything that can go wrong in a call. Its text is a sentence or two: what failed, for which job, and what to do. Its parts
/// can be read one by one: [`reason`](Error::reason), [`hint`](Error::hint), [`delivery`](Error::delivery) and the facts.
///
/// It never holds the key or the proxy's password (without one, its user name): where the service quotes one, in whatever
/// encoding, it says `***`. It holds no prompt either, unless the service's own words quote it.
#[derive(Clone, thiserror::Error)]
#[error("{}", self.message())]
pub struct Error(Box<Parts>);

/// An error of the program's own code, from which another one follows.
pub(crate) type Source = Arc<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Parts {
    subject: Subject,
    kind: ErrorKind,
    reason: String,
    /// The reason without the service's own words, if it quotes any.
    unquoted: Option<String>,
    hint: Option<Cow<'static, str>>,
    /// The hint says when to try again, and there is nothing to fix.
    hint_is_time: bool,
    /// A setting has to change: the cause says so, although the kind does not.
    wrong_setting: bool,
    delivery: Option<Delivery>,
    http_status: Option<u16>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    body: Option<String>,
    attempts: u32,
    elapsed: Duration,
    job: Option<Job>,
    source: Option<Source>,
    /// The parts as one text, once it was asked for.
    message: OnceLock<String>,
}

impl Error {
    /// An error whose reason names what it is about.
    pub(crate) fn new(kind: ErrorKind, reason: impl Into<String>) -> Error {
        Error(Box::new(Parts {
            subject: Subject::Named,
            kind,
            reason: reason.into(),
            unquoted: None,
            hint: None,
            hint_is_time: false,
            wrong_setting: false,
            delivery: None,
            http_status: None,
            retry_after: None,
            request_id: None,
            body: None,
            attempts: 0,
            elapsed: Duration::ZERO,
            job: None,
            source: None,
            message: OnceLock::new(),
        }))
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Error {
        Error::new(ErrorKind::InvalidArgument, reason)
    }

    /// The error of a call on a closed client that does not reach the core.
    #[doc(hidden)]
    pub fn closed() -> Error {
        Error::new(ErrorKind::Closed, "the client was closed")
    }

    /// The error for an argument that a face itself refuses. `reason` names the argument.
    #[doc(hidden)]
    pub fn invalid_argument(reason: impl Into<String>) -> Error {
        Error::invalid(reason)
    }

    /// Adds what to do about the cause: a sentence, or several.
    #[doc(hidden)]
    #[must_use]
    pub fn with_hint(self, hint: impl Into<Cow<'static, str>>) -> Error {
        self.changed(|parts| (parts.hint, parts.hint_is_time) = (Some(hint.into()), false))
    }

    /// Adds when to try again, if that is all there is to do.
    pub(crate) fn with_time_hint(self, hint: String) -> Error {
        self.changed(|parts| (parts.hint, parts.hint_is_time) = (Some(hint.into()), true))
    }

    pub(crate) fn with_hint_if_any(self, hint: Option<impl Into<Cow<'static, str>>>) -> Error {
        match hint {
            Some(hint) => self.with_hint(hint),
            None => self,
        }
    }

    /// The same error about an item of a batch's list: its number from 1, and the line of the file that it is from.
    #[doc(hidden)]
    #[must_use]
    pub fn in_item(self, number: u64, line: Option<u64>) -> Error {
        self.about(Subject::Item { number, line })
    }

    /// The same error of a message that a batch sends.
    pub(crate) fn in_batch(self) -> Error {
        self.changed(|parts| {
            if let Subject::Message(job_id) = &mut parts.subject {
                parts.subject = Subject::BatchMessage(std::mem::take(job_id));
            }
        })
    }

    pub(crate) fn about(self, subject: Subject) -> Error {
        self.changed(|parts| parts.subject = subject)
    }

    /// With its reason as it is without the service's own words.
    pub(crate) fn with_unquoted_reason(self, reason: String) -> Error {
        self.changed(|parts| parts.unquoted = Some(reason))
    }

    pub(crate) fn with_delivery(self, delivery: Option<Delivery>) -> Error {
        self.changed(|parts| parts.delivery = delivery)
    }

    pub(crate) fn with_response(
        self,
        status: impl Into<Option<u16>>,
        retry_after: Option<Duration>,
        request_id: Option<String>,
        body: Option<String>,
    ) -> Error {
        self.changed(|parts| {
            parts.http_status = status.into();
            parts.retry_after = retry_after;
            parts.request_id = request_id;
            parts.body = body;
        })
    }

    /// With the facts of the response that another error has.
    pub(crate) fn with_response_of(self, other: &Error) -> Error {
        self.changed(|parts| {
            parts.http_status = other.0.http_status;
            parts.retry_after = other.0.retry_after;
            parts.request_id.clone_from(&other.0.request_id);
            parts.body.clone_from(&other.0.body);
        })
    }

    /// Without secrets in the parts that make its text, each of them escaped. The request's id and the body were redacted when
    /// they were put in.
    pub(crate) fn redacted(self, redactor: &Redactor<'_>) -> Error {
        let clean = |text: &str| escape(&redactor.redact(text)).into_owned();
        self.changed(|parts| {
            parts.subject.change_job(clean);
            parts.reason = clean(&parts.reason);
            parts.unquoted = parts.unquoted.as_deref().map(clean);
            parts.hint = parts.hint.as_deref().map(clean).map(Cow::Owned);
        })
    }

    pub(crate) fn with_effort(self, attempts: u32, elapsed: Duration) -> Error {
        self.changed(|parts| {
            parts.attempts = attempts;
            parts.elapsed = elapsed;
        })
    }

    pub(crate) fn with_job(self, job: Option<Job>) -> Error {
        self.changed(|parts| parts.job = job)
    }

    pub(crate) fn with_source(self, source: Option<Source>) -> Error {
        self.changed(|parts| parts.source = source)
    }

    /// The error of the program's own function, if that is the cause, as itself: to downcast it.
    pub fn function_error(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }

    pub(crate) fn take_source(&mut self) -> Option<Source> {
        self.0.source.take()
    }

    pub(crate) fn with_wrong_setting(self) -> Error {
        self.changed(|parts| parts.wrong_setting = true)
    }

    /// Whether a setting has to change first, so that trying again cannot help.
    #[doc(hidden)]
    pub fn is_a_setting(&self) -> bool {
        self.0.wrong_setting || self.kind().is_a_setting()
    }

    /// Adds a clause to the reason.
    pub(crate) fn with_clause(self, clause: &str) -> Error {
        self.changed(|parts| {
            parts.reason.push_str(clause);
            parts.unquoted.iter_mut().for_each(|reason| reason.push_str(clause));
        })
    }

    /// Changes a part: the text is another one then.
    fn changed(mut self, change: impl FnOnce(&mut Parts)) -> Error {
        change(&mut self.0);
        self.0.message.take();
        self
    }

    /// What went wrong, to branch on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// All parts as text for a person: what failed, for which job, and what to do. The same as `to_string()`.
    pub fn message(&self) -> &str {
        self.0.message.get_or_init(|| self.sentence().whole())
    }

    /// The message without the advice; lists print the advice once.
    pub(crate) fn without_advice(&self) -> String {
        self.sentence().without_advice()
    }

    fn sentence(&self) -> Sentence<'_> {
        let parts = &*self.0;
        Sentence {
            subject: &parts.subject,
            kind: parts.kind,
            delivery: parts.delivery,
            reason: &parts.reason,
            hint: parts.hint.as_deref(),
            hint_is_time: parts.hint_is_time,
        }
    }

    /// What happened, as a clause: `no connection to 127.0.0.1:9 (connection refused)`. The job, the hint and what to do with
    /// the message are not in it.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// The reason without the service's own words, which are a part of its response and may repeat anything, even a prompt: what events
    /// and logs may have.
    #[doc(hidden)]
    pub fn unquoted_reason(&self) -> &str {
        self.0.unquoted.as_deref().unwrap_or(&self.0.reason)
    }

    /// What to do about the cause, in a sentence or two: `Check base_url and the network.` `None` if there is nothing specific to
    /// do. What to do with the message is not in it; that follows from [`delivery`](Error::delivery).
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The number, from 1, of the item of a batch's list that is wrong. `None` if the error is not about an item.
    pub fn item(&self) -> Option<u64> {
        match self.0.subject {
            Subject::Item { number, .. } => Some(number),
            _ => None,
        }
    }

    /// The line, from 1, of the file that the wrong item is from. `None` if the error is not about an item, or the item has no
    /// line.
    pub fn line(&self) -> Option<u64> {
        match self.0.subject {
            Subject::Item { line, .. } => line,
            Subject::Line { line, .. } => Some(line),
            _ => None,
        }
    }

    /// What happened to the message; `None` when the call was not to deliver one (`get_job`, `wait`).
    pub fn delivery(&self) -> Option<Delivery> {
        self.0.delivery
    }

    /// The status of the service's response, when one was read. That of a proxy that refused is in the reason.
    pub fn http_status(&self) -> Option<u16> {
        self.0.http_status
    }

    /// How long the service, or a proxy that refused, asked to wait (`Retry-After`, RFC 9110 10.2.3), in either of its forms.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The service's id of the request (`x-request-id` and the like), to quote to its operators.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The text of the response's body, at most 8 KiB of it, without the key. Otherwise it is the text of the service, or of a proxy
    /// that refused, unchecked.
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// How many requests the call made. Those of a wait are its polls, and the message before them.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// How long the call took.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// The last record that was seen before a wait ended with this error; none if that may be the previous result. Or that of the job
    /// that was created, if the caller ended the call when its response was there.
    pub fn job(&self) -> Option<&Job> {
        self.0.job.as_ref()
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("message", &self.message())
            .field("delivery", &self.delivery())
            .field("http_status", &self.http_status())
            .field("attempts", &self.attempts())
            .finish_non_exhaustive()
    }
}
