//! An exchange's end, read: a job, or an error with its situation, its verdict and its sentence.

use std::time::{Duration, SystemTime};

use crate::call::error_body::{best_words, bounded_text, retry_after};
use crate::delivery::{Delivery, Sent, Situation, delivery};
use crate::error::{Error, ErrorKind};
use crate::http::exchange::{Broken, Reply};
use crate::http::failure::Cause;
use crate::job::{Job, NoJob};
use crate::operation::Operation;
use crate::redact::Redactor;
use crate::text::describe;

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) situation: Situation,
    pub(crate) error: Error,
}

/// Reads an exchange's end. Nothing of an error holds a secret: what is shortened was redacted before, and at the end the whole
/// sentence is. A record is the service's own data, which is handed on as it is. `check` is asked now and then, while a long
/// record is read, what has ended the call.
pub(crate) fn read(
    operation: &Operation<'_>,
    ended: Result<Reply, Broken>,
    redactor: &Redactor<'_>,
    check: &mut dyn FnMut() -> Result<(), Cause>,
) -> Result<Job, Failure> {
    let failed = match ended {
        Ok(reply) if (200..300).contains(&reply.status) => read_record(operation, reply, redactor, check),
        Ok(reply) => Err(refused(operation, &reply, redactor)),
        Err(broken) => Err(unanswered(operation, broken)),
    };
    failed.map_err(|Failure { situation, error }| Failure { situation, error: error.redacted(redactor) })
}

/// The caller ended the call where no request was under way. `verdict` is that of the requests before.
pub(crate) fn interrupted(operation: &Operation<'_>, cause: &Cause, verdict: Option<Delivery>) -> Error {
    sentence(operation, kind_of(cause), verdict, &cause.clause(), "")
}

/// A 2xx: any of them with a readable record of the job that was asked for is a success (CONTRACT "Operations").
fn read_record(
    operation: &Operation<'_>,
    mut reply: Reply,
    redactor: &Redactor<'_>,
    check: &mut dyn FnMut() -> Result<(), Cause>,
) -> Result<Job, Failure> {
    if reply.cut.is_none() {
        match record_of(operation, std::mem::take(&mut reply.body), redactor, check) {
            Ok(job) => return Ok(job),
            Err(Unusable::Wrong(what)) => {
                return Err(no_record(
                    operation,
                    &reply,
                    redactor,
                    ErrorKind::InvalidResponse,
                    Situation::NoRecord,
                    &what,
                ));
            }
            Err(Unusable::Cut(cause)) => reply.cut = Some(cause),
        }
    }
    let Some(cause) = &reply.cut else { unreachable!("an answer that is whole was read") };
    // What was asked for may be asked again when it was lost on the way.
    let final_cause =
        matches!(cause, Cause::Cancelled | Cause::Closed | Cause::TooLarge { .. } | Cause::NoMemory { .. });
    let situation = if final_cause || operation.delivers() { Situation::NoRecord } else { Situation::NoAnswer };
    let what = format!("its record did not come whole: {}", cause.clause());
    Err(no_record(operation, &reply, redactor, kind_of(cause), situation, &what))
}

/// Why an answer that came whole is not used.
enum Unusable {
    /// What is wrong with it, in a clause.
    Wrong(String),
    Cut(Cause),
}

fn record_of(
    operation: &Operation<'_>,
    body: Vec<u8>,
    redactor: &Redactor<'_>,
    check: &mut dyn FnMut() -> Result<(), Cause>,
) -> Result<Job, Unusable> {
    let (bytes, mut ended) = (body.len(), None);
    let read = Job::read_asking(body, &mut || check().map_err(|cause| ended = Some(cause)).is_ok());
    let job = read.map_err(|no_job| match no_job {
        NoJob::Wrong(what) => Unusable::Wrong(format!("its record cannot be read: {what}")),
        NoJob::NoMemory => Unusable::Cut(Cause::NoMemory { bytes }),
        NoJob::Stopped => Unusable::Cut(ended.unwrap_or(Cause::Timeout)),
    })?;
    let asked = operation.job_id();
    if !asked.is_empty() && job.id() != asked {
        return Err(Unusable::Wrong(format!(
            "its record is of another job ({})",
            describe(&redactor.redact(job.id()))
        )));
    }
    Ok(job)
}

fn no_record(
    operation: &Operation<'_>,
    reply: &Reply,
    redactor: &Redactor<'_>,
    kind: ErrorKind,
    situation: Situation,
    what: &str,
) -> Failure {
    let what = format!("the service answered {}, but {what}", reply.status);
    Failure {
        situation,
        error: with_reply(sentence(operation, kind, verdict(operation, situation), &what, ""), reply, redactor),
    }
}

/// An answer that is no success.
fn refused(operation: &Operation<'_>, reply: &Reply, redactor: &Redactor<'_>) -> Failure {
    let situation = Situation::Status(reply.status, reply.sent);
    let kind = ErrorKind::of_status(reply.status);
    let words = best_words(&reply.body, reply.cut.is_some(), redactor);
    let what = match words {
        Some(words) => format!("the service answered {} ({words})", reply.status),
        None => format!("the service answered {}", reply.status),
    };
    Failure {
        situation,
        error: with_reply(
            sentence(operation, kind, verdict(operation, situation), &what, hint(reply, kind)),
            reply,
            redactor,
        ),
    }
}

/// No answer.
fn unanswered(operation: &Operation<'_>, broken: Broken) -> Failure {
    let Broken { cause, sent } = broken;
    let situation = match (&cause, sent) {
        // Nobody asks again for a caller who went away, nor after a bug.
        (Cause::Cancelled | Cause::Closed | Cause::Bug(_), _) if !operation.delivers() => Situation::NeverBegan,
        (_, Sent::Part) => Situation::CutShort,
        (_, Sent::All) => Situation::NoAnswer,
        (Cause::Cancelled | Cause::Closed | Cause::Bug(_), Sent::Nothing) => Situation::NeverBegan,
        (Cause::Tls { .. }, Sent::Nothing) => Situation::NoTls,
        (Cause::Stale, Sent::Nothing) => Situation::StaleConnection,
        (_, Sent::Nothing) => Situation::NoConnection,
    };
    Failure {
        situation,
        error: sentence(operation, kind_of(&cause), verdict(operation, situation), &cause.clause(), cause.hint()),
    }
}

pub(crate) fn kind_of(cause: &Cause) -> ErrorKind {
    match cause {
        Cause::Resolve { .. } | Cause::Connect { .. } | Cause::Proxy(_) | Cause::Resources(_) => ErrorKind::Connect,
        Cause::Tls { .. } => ErrorKind::Tls,
        Cause::Stale | Cause::Lost(_) => ErrorKind::ConnectionLost,
        Cause::ConnectTimeout | Cause::Timeout => ErrorKind::Timeout,
        Cause::Cancelled => ErrorKind::Cancelled,
        Cause::Closed => ErrorKind::Closed,
        Cause::Garbled(_) | Cause::TooLarge { .. } | Cause::NoMemory { .. } => ErrorKind::InvalidResponse,
        Cause::Bug(_) => ErrorKind::Internal,
    }
}

fn verdict(operation: &Operation<'_>, situation: Situation) -> Option<Delivery> {
    operation.delivers().then(|| delivery(situation))
}

/// What to do with a message after this verdict.
pub(crate) fn advice(verdict: Delivery) -> &'static str {
    match verdict {
        Delivery::NotSent => "nothing was delivered, so it may be sent again",
        Delivery::Rejected => "mend that, then send it again",
        Delivery::Unknown => "look at the job before sending it again",
        Delivery::Accepted => "do not send it again",
    }
}

/// What a sentence says of a message first.
pub(crate) fn lead(verdict: Delivery) -> &'static str {
    match verdict {
        Delivery::NotSent => "was not sent",
        Delivery::Rejected => "was rejected",
        Delivery::Unknown => "may have arrived",
        Delivery::Accepted => "was accepted",
    }
}

/// An error's sentence without what to do with its message: for those who do it themselves.
pub(crate) fn without_advice(error: &Error) -> &str {
    let advice = error.delivery().map_or("", advice);
    let shorter = error.message().strip_suffix(advice).and_then(|rest| rest.strip_suffix("; "));
    shorter.unwrap_or(error.message())
}

/// Subject, verdict, what happened, what to do: one sentence.
fn sentence(operation: &Operation<'_>, kind: ErrorKind, verdict: Option<Delivery>, what: &str, hint: &str) -> Error {
    let subject = operation.subject();
    let lead = verdict.map_or("could not be read", lead);
    let advice = verdict.map_or("", advice);
    let mut message = format!("{subject} {lead}: {what}");
    for part in [hint, advice] {
        if !part.is_empty() {
            message.push_str("; ");
            message.push_str(part);
        }
    }
    let error = Error::new(kind, message).with_reason(what).with_delivery(verdict);
    if hint.is_empty() { error } else { error.with_hint(hint.to_owned()) }
}

fn hint(reply: &Reply, kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Authentication => "check the API key, it may be wrong or expired",
        ErrorKind::PermissionDenied => "the API key may not do this, or not from this address",
        ErrorKind::NotFound => "check the job id, the project id and the base URL",
        ErrorKind::RateLimit if asked(reply).is_some() => {
            "the project's allowance is used up until the time in retry_after"
        }
        ErrorKind::RateLimit => "the project's hourly allowance is used up",
        ErrorKind::Redirect => "redirects are never followed; check the base URL",
        _ => "",
    }
}

/// How long the service asked to wait.
fn asked(reply: &Reply) -> Option<Duration> {
    let now = SystemTime::now();
    // Where two gateways each say how long, the longer one is right for both.
    reply.headers.all("retry-after").filter_map(|value| retry_after(value, reply.headers.text("date"), now)).max()
}

fn with_reply(error: Error, reply: &Reply, redactor: &Redactor<'_>) -> Error {
    let is_success = (200..300).contains(&reply.status);
    let body = if is_success { None } else { bounded_text(&reply.body, reply.cut.is_some(), redactor) };
    error.with_answer(reply.status, asked(reply), reply.headers.request_id(redactor), body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::prompt::Prompt;
    use crate::http::exchange::Headers;

    const SEND: Operation<'_> = Operation::SendMessage { job_id: "job_1", prompt: Prompt::Text("p") };
    const GET: Operation<'_> = Operation::GetJob { job_id: "job_1" };

    fn reply(status: u16, body: &str) -> Reply {
        Reply { status, body: body.into(), sent: Sent::All, ..Reply::default() }
    }

    const NO_SECRETS: Redactor<'_> = Redactor::new([b"", b""]);

    fn failure(operation: &Operation<'_>, ended: Result<Reply, Broken>) -> Failure {
        read(operation, ended, &NO_SECRETS, &mut || Ok(())).unwrap_err()
    }

    #[test]
    fn each_verdict_has_its_sentence() {
        let connect = Cause::Connect { to: "127.0.0.1:9".into(), why: "Connection refused".into() };
        for (ended, text) in [
            (
                Err(Broken { cause: connect, sent: Sent::Nothing }),
                "message to job job_1 was not sent: no connection to 127.0.0.1:9 (Connection refused); check base_url and the network; nothing was delivered, so it may be sent again",
            ),
            (
                Ok(reply(404, r#"{"error":"job not found"}"#)),
                "message to job job_1 was rejected: the service answered 404 (job not found); check the job id, the project id and the base URL; mend that, then send it again",
            ),
            (
                Ok(reply(502, "<html>")),
                "message to job job_1 may have arrived: the service answered 502; look at the job before sending it again",
            ),
            (
                Ok(reply(200, "{}")),
                "message to job job_1 was accepted: the service answered 200, but its record cannot be read: it has no \"status\"; do not send it again",
            ),
        ] {
            assert_eq!(failure(&SEND, ended).error.message(), text);
        }
        let error = failure(&GET, Ok(reply(401, ""))).error;
        assert_eq!(
            error.message(),
            "job job_1 could not be read: the service answered 401; check the API key, it may be wrong or expired"
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
    fn a_success_without_its_record_is_accepted_however_it_was_lost() {
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
        assert!(read(&SEND, Ok(reply(202, record)), &NO_SECRETS, &mut || Ok(())).is_ok(), "any 2xx with a record");
        let create = Operation::CreateJob { prompt: Prompt::Text("p") };
        assert!(
            read(&create, Ok(reply(201, record)), &NO_SECRETS, &mut || Ok(())).is_ok(),
            "a new job's id is the service's to choose"
        );
    }

    #[test]
    fn a_record_of_another_job_is_no_answer_to_what_was_asked() {
        let record = |id: &str| reply(200, &format!(r#"{{"id":"{id}","status":"completed"}}"#));
        for (id, same) in
            [("job_1", true), (r"job\u005f1", true), ("job_2", false), ("JOB_1", false), ("job_1 ", false)]
        {
            for operation in [&SEND, &GET] {
                let ended = read(operation, Ok(record(id)), &NO_SECRETS, &mut || Ok(()));
                assert_eq!(ended.is_ok(), same, "{id:?}");
                if let Err(failure) = ended {
                    assert_eq!(failure.error.kind(), ErrorKind::InvalidResponse);
                    assert_eq!(failure.situation, Situation::NoRecord);
                    assert!(failure.error.message().contains("its record is of another job"), "{}", failure.error);
                }
            }
        }
    }

    #[test]
    fn what_ends_the_call_while_its_record_is_read_leaves_the_message_accepted() {
        let body = format!(r#"{{"id":"job_1","status":"active","x":[{}0]}}"#, "0,".repeat(100_000));
        for (cause, kind) in [
            (Cause::Cancelled, ErrorKind::Cancelled),
            (Cause::Closed, ErrorKind::Closed),
            (Cause::Timeout, ErrorKind::Timeout),
        ] {
            let mut asked = 0;
            let mut check = || {
                asked += 1;
                if asked < 2 { Ok(()) } else { Err(cause.clone()) }
            };
            let failure = read(&SEND, Ok(reply(200, &body)), &NO_SECRETS, &mut check).unwrap_err();
            assert_eq!(failure.error.kind(), kind);
            assert_eq!(failure.error.delivery(), Some(Delivery::Accepted));
            assert!(asked == 2, "it is asked as long as it reads, and no longer");
        }
    }

    #[test]
    fn an_answer_leaves_its_facts_on_the_error() {
        let headers = Headers::of(&[("retry-after", "30"), ("x-request-id", "req_1")]);
        let reply = Reply { headers, ..reply(429, r#"{"error":"slow down"}"#) };
        let error = failure(&SEND, Ok(reply)).error;
        assert_eq!(error.kind(), ErrorKind::RateLimit);
        assert_eq!(error.http_status(), Some(429));
        assert_eq!(error.retry_after().map(|d| d.as_secs()), Some(30));
        assert_eq!(error.request_id(), Some("req_1"));
        assert_eq!(error.body(), Some(r#"{"error":"slow down"}"#));
    }
}
