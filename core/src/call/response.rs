//! Turns an exchange's result into a job, or into an error with its kind, its verdict and the response's facts.

use std::time::{Duration, SystemTime};

use crate::call::error_body::{bounded_text, service_message};
use crate::call::response_text::{Hint, early_success, hint, incomplete_record, returned, unusable_record};
use crate::call::retry_after::{parse_retry_after, retry_after_text};
use crate::delivery::{Delivery, Sent, Situation, delivery};
use crate::error::{Error, ErrorKind};
use crate::http::cause::Cause;
use crate::http::exchange::{Broken, Reply};
use crate::http::response_headers::ResponseHeaders;
use crate::job::Job;
use crate::operation::Operation;
use crate::redact::Redactor;
use crate::text::{describe, without_mark};

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) situation: Situation,
    pub(crate) error: Error,
}

/// Turns an exchange's result into a job or an error. No part of an error holds a secret: what is shortened was redacted before, and at the end
/// each part is. A record is the service's own data and is returned as it is.
pub(crate) fn read(
    operation: &Operation<'_>,
    ended: Result<Reply, Broken>,
    redactor: &Redactor<'_>,
) -> Result<Job, Failure> {
    let read = match ended {
        Ok(reply) if (200..300).contains(&reply.status) => read_record(operation, reply, redactor),
        Ok(reply) => Err(refused(operation, &reply, redactor)),
        Err(broken) => Err(no_response(operation, &broken, redactor)),
    };
    read.map_err(|Failure { situation, error }| Failure { situation, error: error.redacted(redactor) })
}

/// The caller ended the call while no request was in flight. `verdict` is that of the requests before.
pub(crate) fn interrupted(operation: &Operation<'_>, cause: &Cause, verdict: Option<Delivery>) -> Error {
    Error::new(cause.kind(), cause.reason()).about(operation.subject()).with_delivery(verdict)
}

/// A 2xx: any of them with a readable record of the right job is a success (docs/contract.md, "Operations"), but not one to a message of
/// which the service can't have the end.
fn read_record(operation: &Operation<'_>, mut reply: Reply, redactor: &Redactor<'_>) -> Result<Job, Failure> {
    if operation.delivers() && reply.sent != Sent::All {
        let (situation, reason) = (Situation::Status(reply.status, reply.sent), early_success(reply.status));
        return Err(no_record(operation, &reply, redactor, ErrorKind::InvalidResponse, situation, reason));
    }
    let Some(cause) = &reply.cut else {
        return record_of(operation, std::mem::take(&mut reply.body), redactor).map_err(|why| {
            let reason = unusable_record(reply.status, &why);
            no_record(operation, &reply, redactor, ErrorKind::InvalidResponse, Situation::NoRecord, reason)
        });
    };
    // A record that was asked for may be asked for again when it was lost on the way.
    let is_final = matches!(cause, Cause::Cancelled | Cause::Closed | Cause::TooLarge { .. } | Cause::NoMemory { .. });
    let situation = if is_final || operation.delivers() { Situation::NoRecord } else { Situation::NoResponse };
    let reason = incomplete_record(reply.status, &cause.reason());
    Err(no_record(operation, &reply, redactor, cause.kind(), situation, reason))
}

/// The record in a body, or what is wrong with it, as a clause. A byte order mark before it may be ignored (RFC 8259 8.1).
fn record_of(operation: &Operation<'_>, mut body: Vec<u8>, redactor: &Redactor<'_>) -> Result<Job, String> {
    body.drain(..body.len() - without_mark(&body).len());
    let job = Job::read(body)?;
    let asked = operation.job_id();
    if !asked.is_empty() && job.id() != asked {
        return Err(format!("it is the record of another job ({})", describe(&redactor.redact_beginning(job.id()))));
    }
    Ok(job)
}

/// A 2xx without a record that can be used.
fn no_record(
    operation: &Operation<'_>,
    reply: &Reply,
    redactor: &Redactor<'_>,
    kind: ErrorKind,
    situation: Situation,
    reason: String,
) -> Failure {
    let error = failed(operation, kind, situation, reason);
    let request_id = reply.headers.request_id(redactor);
    Failure { situation, error: error.with_response(reply.status, asked_to_wait(&reply.headers), request_id, None) }
}

/// A status that is no success.
fn refused(operation: &Operation<'_>, reply: &Reply, redactor: &Redactor<'_>) -> Failure {
    let situation = Situation::Status(reply.status, reply.sent);
    let kind = ErrorKind::of_status(reply.status);
    let (is_cut, asked) = (reply.cut.is_some(), asked_to_wait(&reply.headers));
    let said = service_message(&reply.body, is_cut, redactor);
    let error = failed(operation, kind, situation, returned(reply.status, said.as_deref()));
    let error = error.with_unquoted_reason(returned(reply.status, None));
    let error = match hint(reply.status, error.delivery(), asked, SystemTime::now()) {
        Some(Hint::Fix(hint)) => error.with_hint(hint),
        Some(Hint::When(hint)) => error.with_time_hint(hint),
        None => error,
    };
    let (request_id, body) = (reply.headers.request_id(redactor), bounded_text(&reply.body, is_cut, redactor));
    Failure { situation, error: error.with_response(reply.status, asked, request_id, body) }
}

/// No response, or none that could be read.
fn no_response(operation: &Operation<'_>, broken: &Broken, redactor: &Redactor<'_>) -> Failure {
    let Broken { cause, sent } = broken;
    let situation = match (cause, sent) {
        // A caller who went away wants no other attempt, and after a bug none is made.
        (Cause::Cancelled | Cause::Closed | Cause::Bug(_), _) if !operation.delivers() => Situation::NeverBegan,
        (Cause::ClientRefused { .. }, _) => Situation::WrongSetting,
        (_, Sent::Part) => Situation::CutShort,
        (_, Sent::All) => Situation::NoResponse,
        (Cause::Cancelled | Cause::Closed | Cause::Bug(_), Sent::Nothing) => Situation::NeverBegan,
        (cause, Sent::Nothing) if cause.is_a_setting() => Situation::WrongSetting,
        (Cause::Stale, Sent::Nothing) => Situation::StaleConnection,
        (_, Sent::Nothing) => Situation::NoConnection,
    };
    let refused = if let Cause::TunnelRefused(refused) = cause { Some(&**refused) } else { None };
    let said = refused.and_then(|refused| service_message(&refused.body, refused.cut, redactor));
    let reason = refused.map_or_else(|| cause.reason(), |refused| refused.reason(said.as_deref()));
    let error = failed(operation, cause.kind(), situation, reason).with_hint_if_any(cause.hint());
    let error = if cause.is_a_setting() { error.with_wrong_setting() } else { error };
    let Some(refused) = refused else { return Failure { situation, error } };
    // Without a status: that would be the service's.
    let (asked, body) = (asked_to_wait(&refused.headers), bounded_text(&refused.body, refused.cut, redactor));
    let error = error.with_unquoted_reason(cause.reason()).with_response(None, asked, None, body);
    let error = match asked {
        Some(asked) if !cause.is_a_setting() => error.with_time_hint(retry_after_text(asked, SystemTime::now())),
        _ => error,
    };
    Failure { situation, error }
}

fn failed(operation: &Operation<'_>, kind: ErrorKind, situation: Situation, reason: String) -> Error {
    let verdict = operation.delivers().then(|| delivery(situation));
    Error::new(kind, reason).about(operation.subject()).with_delivery(verdict)
}

/// How long the response asks to wait.
fn asked_to_wait(headers: &ResponseHeaders) -> Option<Duration> {
    let now = SystemTime::now();
    // Where two gateways each say how long, the longer one is right for both.
    headers.all("retry-after").filter_map(|value| parse_retry_after(value, headers.all("date").next(), now)).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::prompt::Prompt;
    use crate::http::cause::TunnelRefused;

    const SEND: Operation<'_> = Operation::SendMessage { job_id: "job_1", prompt: Prompt::Text("p") };
    const GET: Operation<'_> = Operation::GetJob { job_id: "job_1" };

    fn reply(status: u16, body: &str) -> Reply {
        Reply { status, body: body.into(), sent: Sent::All, ..Reply::default() }
    }

    const NO_SECRETS: Redactor<'_> = Redactor::new(&[]);

    fn failure(operation: &Operation<'_>, ended: Result<Reply, Broken>) -> Failure {
        read(operation, ended, &NO_SECRETS).unwrap_err()
    }

    #[test]
    fn each_verdict_has_its_text() {
        let connect = Cause::Connect { to: "127.0.0.1:9".into(), why: "Connection refused".into() };
        for (ended, text) in [
            (
                Err(Broken { cause: connect, sent: Sent::Nothing }),
                "message to job job_1 was not sent: no connection to 127.0.0.1:9 (Connection refused). Check base_url and the network. It is safe to send it again.",
            ),
            (
                Ok(reply(404, r#"{"error":"job not found"}"#)),
                "message to job job_1 was rejected: the service returned 404 (job not found). Check the job id, the project id and the base URL. You can send it again once that is fixed.",
            ),
            (Ok(reply(408, "")), "message to job job_1 was rejected: the service returned 408. Try again later."),
            (
                Ok(reply(429, "")),
                "message to job job_1 was rejected: the service returned 429. The project's hourly limit is used up. Try again later.",
            ),
            (
                Ok(Reply { headers: ResponseHeaders::of(&[("retry-after", "0")]), ..reply(425, "") }),
                "message to job job_1 was rejected: the service returned 425. Retry now.",
            ),
            (
                Ok(reply(502, "<html>")),
                "message to job job_1 may have arrived: the service returned 502. Check the job before you send it again.",
            ),
            (
                Ok(Reply { sent: Sent::Part, ..reply(200, r#"{"id":"job_1","status":"active"}"#) }),
                "message to job job_1 may have arrived: the service returned 200 before it had the whole request. Check the job before you send it again.",
            ),
            (
                Ok(reply(200, "{}")),
                "message to job job_1 was accepted, but the record in the response (200) cannot be used: it has no \"status\". Do not send it again.",
            ),
        ] {
            assert_eq!(failure(&SEND, ended).error.message(), text);
        }
        let error = failure(&GET, Ok(reply(401, ""))).error;
        assert_eq!(
            error.message(),
            "job job_1 could not be read: the service returned 401. Check the API key: it may be wrong or expired."
        );
        assert_eq!(error.delivery(), None);
    }

    #[test]
    fn what_the_kernel_took_decides_the_verdict_of_a_lost_connection() {
        for (sent, verdict) in
            [(Sent::Nothing, Delivery::NotSent), (Sent::Part, Delivery::NotSent), (Sent::All, Delivery::Unknown)]
        {
            for cause in
                [Cause::Lost("x".into()), Cause::Timeout, Cause::Cancelled, Cause::Closed, Cause::Garbled("x".into())]
            {
                let failure = failure(&SEND, Err(Broken { cause, sent }));
                assert_eq!(failure.error.delivery(), Some(verdict), "{failure:?}");
            }
        }
    }

    #[test]
    fn a_read_that_its_caller_ended_or_that_met_a_bug_is_not_tried_again() {
        for sent in [Sent::Nothing, Sent::Part, Sent::All] {
            for cause in [Cause::Cancelled, Cause::Closed, Cause::Bug("x".into())] {
                assert_eq!(failure(&GET, Err(Broken { cause, sent })).situation, Situation::NeverBegan, "{sent:?}");
            }
        }
    }

    #[test]
    fn a_proxy_that_wants_another_password_is_not_waited_for() {
        for (status, waits) in [(407, false), (503, true)] {
            let headers = ResponseHeaders::of(&[("retry-after", "30")]);
            let (body, cut, with_credentials, for_https) = (vec![], false, true, true);
            let refused = TunnelRefused { status, headers, body, cut, with_credentials, for_https };
            let cause = Cause::TunnelRefused(refused.into());
            let error = failure(&SEND, Err(Broken { cause, sent: Sent::Nothing })).error;
            assert_eq!(error.message().contains("30 s"), waits, "{error}");
        }
    }

    #[test]
    fn a_client_that_the_service_refuses_in_the_handshake_has_delivered_nothing() {
        for sent in [Sent::Nothing, Sent::Part, Sent::All] {
            let cause = Cause::ClientRefused { why: "x".into(), hint: None };
            let failure = failure(&SEND, Err(Broken { cause, sent }));
            assert_eq!(
                (failure.situation, failure.error.delivery()),
                (Situation::WrongSetting, Some(Delivery::NotSent))
            );
        }
    }

    #[test]
    fn a_success_without_its_record_is_accepted_however_the_record_was_lost() {
        for cut in
            [Cause::Lost("x".into()), Cause::Timeout, Cause::Cancelled, Cause::Closed, Cause::TooLarge { limit: 1 }]
        {
            let cut = Reply { cut: Some(cut), ..reply(200, "{") };
            assert_eq!(failure(&SEND, Ok(cut)).error.delivery(), Some(Delivery::Accepted));
        }
        let other = r#"{"id":"job_2","status":"active"}"#;
        for body in ["", "null", "[]", "{", r#"{"id":"job_1"}"#, "<html>", other] {
            let failure = failure(&SEND, Ok(reply(200, body)));
            assert_eq!(failure.error.delivery(), Some(Delivery::Accepted), "{body}");
            assert_eq!(failure.error.kind(), ErrorKind::InvalidResponse, "{body}");
        }
        let record = r#"{"id":"job_1","status":"active"}"#;
        assert!(read(&SEND, Ok(reply(202, record)), &NO_SECRETS).is_ok(), "any 2xx with a record");
        let marked = reply(200, &format!("\u{feff}{record}"));
        let job = read(&SEND, Ok(marked), &NO_SECRETS).unwrap();
        assert!(job.to_json().starts_with('{'), "without its byte order mark");
        let create = Operation::CreateJob { prompt: Prompt::Text("p") };
        assert!(
            read(&create, Ok(reply(201, record)), &NO_SECRETS).is_ok(),
            "a new job's id is the service's to choose"
        );
    }

    #[test]
    fn a_record_of_another_job_is_refused() {
        let record = |id: &str| reply(200, &format!(r#"{{"id":"{id}","status":"completed"}}"#));
        for (id, same) in
            [("job_1", true), (r"job\u005f1", true), ("job_2", false), ("JOB_1", false), ("job_1 ", false)]
        {
            for operation in [&SEND, &GET] {
                let ended = read(operation, Ok(record(id)), &NO_SECRETS);
                assert_eq!(ended.is_ok(), same, "{id:?}");
                if let Err(failure) = ended {
                    assert_eq!(failure.error.kind(), ErrorKind::InvalidResponse);
                    assert_eq!(failure.situation, Situation::NoRecord);
                    assert!(failure.error.reason().contains("it is the record of another job"), "{}", failure.error);
                }
            }
        }
    }

    #[test]
    fn a_response_leaves_its_facts_on_the_error() {
        let headers = ResponseHeaders::of(&[("retry-after", "30"), ("x-request-id", "req_1")]);
        let reply = Reply { headers, ..reply(429, r#"{"error":"slow down"}"#) };
        let error = failure(&SEND, Ok(reply)).error;
        assert_eq!(error.kind(), ErrorKind::RateLimit);
        assert_eq!(error.http_status(), Some(429));
        assert_eq!(error.retry_after().map(|d| d.as_secs()), Some(30));
        assert_eq!(error.request_id(), Some("req_1"));
        assert_eq!(error.body(), Some(r#"{"error":"slow down"}"#));
    }
}
