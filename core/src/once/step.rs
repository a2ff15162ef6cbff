//! A step's message and its outcome, as a store keeps them: digests, documented fields and kinds; no key of the service, no prompt, no
//! free text of the service.

use std::time::{Duration, SystemTime};

use crate::batch::item_limits::check_key;
use crate::batch::journal::decode::decode_reason;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::encode::LineWriter;
use crate::batch::journal::reason::{OF_STEP, Origin, Reason};
use crate::batch::journal::stored_record::RecordFilter;
use crate::call::options::CallOptions;
use crate::call::prompt::Prompt;
use crate::call::retry_after::retry_after_text;
use crate::client::Client;
use crate::config::headers::Headers;
use crate::delivery::Delivery;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::operation::Operation;
use crate::redact::Redactor;
use crate::text::describe;
use crate::wait::options::WaitOptions;
use crate::wait::poller::{Poller, by_the_calendar};

/// What a store keeps of a message that was accepted.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct StoredWait {
    /// The job's record, as JSON: its status, times and pull request; `None` if the response to the message could not be read.
    pub record: Option<String>,
    /// The wait for the message's result.
    pub poller: String,
}

#[doc(hidden)]
impl Client {
    /// Checks a step's arguments, and returns the digest of its message: the job, the prompt, the project and the service.
    ///
    /// # Errors
    /// `InvalidArgument`: the key, the job's id, the prompt or the headers cannot be used.
    pub fn step_message<'a>(
        &self,
        key: &str,
        job_id: &str,
        prompt: impl Into<Prompt<'a>>,
        headers: &Headers,
    ) -> Result<String, Error> {
        let prompt = prompt.into();
        check_step_key(key)?;
        self.shared.config.request_head.headers().merged(headers)?;
        Operation::SendMessage { job_id, prompt }.check(self.shared.config.max_prompt_bytes)?;
        let parts = [self.base_url(), self.project_id(), job_id].map(str::as_bytes);
        Ok(Digest::of(&[b"step", parts[0], parts[1], parts[2], &prompt.body()]).to_string())
    }

    /// What is stored of a wait. `call`: the options of its calls, whose headers may be secrets.
    pub fn stored_wait(&self, poller: &Poller, call: &CallOptions) -> StoredWait {
        let record = poller.job().map(|job| self.with_filter(call, |filter| filter.record(poller.job_id(), job)));
        StoredWait { record, poller: poller.journal_text() }
    }

    /// What is stored of a failure, as JSON: the delivery of the message, the kind of the error, and of the response its status and its
    /// request id.
    pub fn stored_failure(
        &self,
        delivery: Delivery,
        kind: ErrorKind,
        (http_status, request_id): (Option<u16>, Option<&str>),
        call: &CallOptions,
    ) -> String {
        let reason = Reason { origin: Origin::Request, kind, http_status, request_id: None };
        self.with_filter(call, |filter| {
            let fields = LineWriter::object("delivery", Some(delivery.as_str()));
            fields.reason_fields(&reason, filter.name(request_id)).json_text()
        })
    }

    /// The wait for a step's result, from its stored text, or without one: then it is not known when the job took the message, and
    /// the settle time counts from now. The options' timeout counts from now, too.
    ///
    /// # Errors
    /// `InvalidArgument`: an option is wrong, or the text is not a poller's.
    pub fn resume_step(&self, job_id: &str, poller: Option<&str>, options: &WaitOptions) -> Result<Poller, Error> {
        let schedule = options.resolve(&self.shared.config.waits)?;
        match poller {
            None => Ok(Poller::after_lost_response(job_id, schedule)),
            Some(text) => match Poller::resume(text, by_the_calendar, schedule) {
                Ok(poller) if poller.job_id() == job_id => Ok(poller),
                _ => Err(Error::invalid("the wait in the store was changed")),
            },
        }
    }

    fn with_filter<T>(&self, call: &CallOptions, write: impl FnOnce(&RecordFilter<'_>) -> T) -> T {
        let secrets = self.shared.secrets(call);
        write(&RecordFilter { is_secret: &Redactor::new(&secrets).finder() })
    }
}

/// Checks a step's key. Databases refuse some control characters in a text.
///
/// # Errors
/// `InvalidArgument`.
#[doc(hidden)]
pub fn check_step_key(key: &str) -> Result<(), Error> {
    if key.is_empty() {
        return Err(Error::invalid("key is empty").with_hint("Give each step a key of its own."));
    }
    check_key(key)?;
    match key.chars().find(|c| c.is_control()) {
        Some(c) => {
            let reason = format!("key contains a control character (U+{:04X})", u32::from(c));
            Err(Error::invalid(reason).with_hint("Give the key without it."))
        }
        None => Ok(()),
    }
}

/// The error of a step whose message may have arrived. `failure`: the JSON that is stored of it; `None` if no worker recorded an outcome
/// before its lease was over. `may_have_arrived`: an earlier send may have arrived, whatever the last one did.
#[doc(hidden)]
pub fn step_error(key: &str, job_id: &str, failure: Option<&str>, may_have_arrived: bool) -> Error {
    let stored = failure.and_then(|json| Some((sent(json)?, decode_reason(json)?)));
    let (sent, reason) = stored.unwrap_or_else(|| {
        let reason = Reason { origin: Origin::LeaseOver, ..Reason::not_noted() };
        (Delivery::Unknown, reason)
    });
    let about = Subject::Step { key: describe(key), job_id: describe(job_id) };
    reason.error_about(about, sent, may_have_arrived, &OF_STEP)
}

/// The error of a call that waited for the outcome of another worker's, and ended before it came: `Timeout`, `Cancelled` or `Closed`.
#[doc(hidden)]
pub fn step_in_flight(key: &str, job_id: &str, kind: ErrorKind) -> Error {
    let reason = match kind {
        ErrorKind::Timeout => "no outcome came in time (timeout)",
        ErrorKind::Closed => "the client was closed",
        _ => "the call was cancelled",
    };
    Error::new(kind, reason)
        .about(Subject::StepInFlight { key: describe(key), job_id: describe(job_id) })
        .with_hint("Call send_message again with the same key for the outcome: it does not send it twice.")
        .with_delivery(Some(Delivery::Unknown))
}

/// The error of a call that may not send its message before it must end. `is_pause`: not because of the rate, but because the service responded
/// 429 to a message before.
#[doc(hidden)]
pub fn step_throttled(key: &str, job_id: &str, is_pause: bool, retry_after: Duration) -> Error {
    let reason = match is_pause {
        false => "the rate of its store is used up",
        true => "the service said that it is called too often (429)",
    };
    Error::new(ErrorKind::RateLimit, reason)
        .about(Subject::Step { key: describe(key), job_id: describe(job_id) })
        .with_delivery(Some(Delivery::NotSent))
        .with_response(None, Some(retry_after), None, None)
        .with_time_hint(retry_after_text(retry_after, SystemTime::now()))
}

/// The delivery that a stored failure has.
fn sent(json: &str) -> Option<Delivery> {
    #[derive(serde::Deserialize)]
    struct Sent<'a> {
        #[serde(borrow)]
        delivery: &'a str,
    }
    let sent: Sent<'_> = serde_json::from_str(json).ok()?;
    Delivery::ALL.into_iter().find(|known| known.as_str() == sent.delivery)
}

/// Why a step refuses a message: its key has another one.
#[doc(hidden)]
pub fn other_message(key: &str, known_job_id: &str, job_id: &str) -> Error {
    let reason = match known_job_id == job_id {
        true => "with another prompt, project or service".to_owned(),
        false => format!("to job {}", describe(known_job_id)),
    };
    Error::invalid(format!("step \"{}\" is another message: the store has it {reason}", describe(key)))
        .with_hint("Give each message a key of its own.")
        .with_delivery(Some(Delivery::NotSent))
}

/// The record that a store has.
///
/// # Errors
/// `InvalidArgument`: it was changed.
#[doc(hidden)]
pub fn stored_job(json: &str) -> Result<Job, Error> {
    Job::read(json.into()).map_err(|_| Error::invalid("the record in the store was changed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::once::client;
    use Delivery::*;

    #[test]
    fn a_message_is_another_one_if_its_job_its_prompt_its_project_or_its_service_is() {
        let client_a = client("https://a.example", "p");
        let digest = |client: &Client, key, job_id, prompt: &str| {
            client.step_message(key, job_id, prompt, &Headers::new()).unwrap()
        };
        let one = digest(&client_a, "k", "job_1", "Go");
        assert_eq!(one, digest(&client_a, "another key", "job_1", "Go"));
        let others = [
            digest(&client_a, "k", "job_2", "Go"),
            digest(&client_a, "k", "job_1", "go"),
            digest(&client("https://a.example", "q"), "k", "job_1", "Go"),
            digest(&client("https://b.example", "p"), "k", "job_1", "Go"),
        ];
        assert!(!others.contains(&one));
        assert_ne!(other_message("k", "job_1", "job_1").message(), other_message("k", "job_1", "job_2").message());
    }

    #[test]
    fn arguments_are_checked_before_a_store_sees_them() {
        let client = client("https://a.example", "p");
        for (key, job_id, prompt, begins) in [
            ("", "job_1", "Go", "key is empty"),
            (" k", "job_1", "Go", "key begins with white space (U+0020)"),
            ("a\0b", "job_1", "Go", "key contains a control character (U+0000)"),
            (&*"k".repeat(1025), "job_1", "Go", "key is 1025 bytes long"),
            ("k", "", "Go", "job_id is empty"),
            ("k", "job_1", "", "prompt is empty"),
        ] {
            let error = client.step_message(key, job_id, prompt, &Headers::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().starts_with(begins), "{error}");
        }
    }

    #[test]
    fn a_failure_is_stored_without_the_services_text_and_becomes_an_error_again() {
        let client = client("https://a.example", "p");
        let store = |request_id, call: &CallOptions| {
            client.stored_failure(Unknown, ErrorKind::Server, (Some(503), Some(request_id)), call)
        };
        let stored = store("req-7", &CallOptions::new());
        assert_eq!(stored, r#"{"delivery":"unknown","kind":"server","http_status":503,"request_id":"req-7"}"#);
        let error = step_error("a/b", "job_1", Some(&stored), false);
        assert_eq!(
            (error.kind(), error.http_status(), error.request_id()),
            (ErrorKind::Server, Some(503), Some("req-7"))
        );
        let mut headers = Headers::new();
        headers.set("x-tenant", "tenant_marker").unwrap();
        for (request_id, call) in
            [("adm_marker", CallOptions::new()), ("tenant_marker", CallOptions::new().headers(headers))]
        {
            assert_eq!(store(request_id, &call), r#"{"delivery":"unknown","kind":"server","http_status":503}"#);
        }
    }

    #[test]
    fn a_call_that_another_workers_outcome_did_not_reach_says_to_call_again() {
        let begins = "step \"k\": another worker is sending the message to job j: ";
        let ends = ". Call send_message again with the same key for the outcome: it does not send it twice.";
        for (kind, reason) in [
            (ErrorKind::Timeout, "no outcome came in time (timeout)"),
            (ErrorKind::Cancelled, "the call was cancelled"),
            (ErrorKind::Closed, "the client was closed"),
        ] {
            let error = step_in_flight("k", "j", kind);
            assert_eq!((error.kind(), error.delivery()), (kind, Some(Unknown)));
            assert_eq!(error.message(), format!("{begins}{reason}{ends}"));
        }
    }

    #[test]
    fn what_is_unknown_says_why_and_what_to_do() {
        let client = client("https://a.example", "p");
        let failed = |sent, kind, status| Some(client.stored_failure(sent, kind, (status, None), &CallOptions::new()));
        let again = "Check the job, then resolve the step: arrived, not_arrived or resend.";
        let lease_over = "the worker that sent it recorded no outcome before its lease was over";
        for (failure, may_have_arrived, reason) in [
            (None, false, lease_over),
            (Some("{".to_owned()), false, lease_over),
            (Some("{\"kind\":\"timeout\"}".to_owned()), false, lease_over),
            (failed(Unknown, ErrorKind::Timeout, None), false, "no response came in time"),
            (failed(Unknown, ErrorKind::Cancelled, None), false, "the call was cancelled"),
            (
                failed(Rejected, ErrorKind::Conflict, Some(409)),
                true,
                "an earlier attempt may have delivered it, and the second attempt was rejected (the service returned 409)",
            ),
            (
                failed(NotSent, ErrorKind::Connect, None),
                true,
                "an earlier attempt may have delivered it, and the second attempt was not sent (no connection was made)",
            ),
        ] {
            let error = step_error("a/b", "job_1", failure.as_deref(), may_have_arrived);
            assert_eq!(error.delivery(), Some(Unknown));
            assert_eq!(
                error.message(),
                format!("step \"a/b\": message to job job_1 may have arrived: {reason}. {again}")
            );
        }
    }

    #[test]
    fn a_call_that_may_not_send_yet_says_why_and_until_when() {
        for (is_pause, reason) in
            [(false, "the rate of its store is used up"), (true, "the service said that it is called too often (429)")]
        {
            let error = step_throttled("a/b", "job_1", is_pause, Duration::from_millis(1_200_500));
            let begins = format!("step \"a/b\": message to job job_1 was not sent: {reason}. Retry after 1201 s (");
            assert!(error.message().starts_with(&begins), "{error}");
            assert_eq!((error.kind(), error.delivery()), (ErrorKind::RateLimit, Some(Delivery::NotSent)));
            assert_eq!(error.retry_after(), Some(Duration::from_millis(1_200_500)));
        }
    }
}
