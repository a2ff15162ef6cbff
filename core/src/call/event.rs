//! What a call reports while it runs.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::time::Duration;

use serde_json::Value;

use crate::call::timings::{Timings, seconds_to_the_microsecond};
use crate::text::{describe, escape};

/// After how many polls in a row that failed alike there is a warning, once: what they have in common may never pass.
const WARNS_AT: u32 = 5;

/// What happens during a call. An event never contains the key, a prompt or a body. Its texts are as they came, without secrets;
/// `to_string()` escapes them.
///
/// The events of one request come in this order: `Attempt`, then `Response` if the service responded, then `Retry` if the request
/// failed and another one follows. In a wait, `Poll` comes after the requests of each poll. The requests of a batch have the events of
/// any other call, with the item that they are for; `Paused` and `Resumed` are the batch's own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A request is about to be made.
    Attempt {
        /// `send_message`, `get_job` or `create_job`.
        operation: &'static str,
        /// The job, or `""` for `create_job`.
        job_id: Cow<'a, str>,
        /// 1 for the first request of the call.
        attempt: u32,
        /// In a batch: the item's place in the list, from 1.
        item: Option<u64>,
    },
    /// The service, or a gateway in front of it, responded to a request: with any status, also if its body was cut off. A request
    /// without a response has no such event; a `Retry` or the call's error says what happened to it.
    Response {
        /// `send_message`, `get_job` or `create_job`.
        operation: &'static str,
        /// The job, or `""` for `create_job`.
        job_id: Cow<'a, str>,
        /// The number of the request.
        attempt: u32,
        /// The HTTP status.
        status: u16,
        /// The service's or a gateway's id of the request, if the response has one.
        request_id: Option<Cow<'a, str>>,
        /// How many bytes of the body were read.
        bytes: u64,
        /// From the beginning of this request, the connection included, until the response had been read.
        elapsed: Duration,
        /// Where that time went.
        timings: Timings,
        /// In a batch: the item's place in the list, from 1.
        item: Option<u64>,
    },
    /// A request failed and will be retried after a pause.
    Retry {
        /// `send_message`, `get_job` or `create_job`.
        operation: &'static str,
        /// The job, or `""` for `create_job`.
        job_id: Cow<'a, str>,
        /// The number of the request that failed.
        attempt: u32,
        /// The pause before the next request.
        delay: Duration,
        /// Why it failed: the error's [`reason`](crate::Error::reason), without the service's own words.
        reason: Cow<'a, str>,
        /// In a batch: the item's place in the list, from 1.
        item: Option<u64>,
    },
    /// A wait polled its job.
    Poll {
        /// The job.
        job_id: Cow<'a, str>,
        /// How many polls the wait has made.
        polls: u32,
        /// The job's status, if the poll succeeded.
        status: Option<Cow<'a, str>>,
        /// Why the poll failed: the error's [`reason`](crate::Error::reason), without the service's own words.
        reason: Option<Cow<'a, str>>,
        /// How many polls in a row, up to this one, failed alike: with the same kind of error and HTTP status. 0 if it succeeded.
        consecutive_failures: u32,
        /// How long the wait has lasted.
        elapsed: Duration,
        /// The time until the next poll; `None` if the job is done.
        next: Option<Duration>,
        /// In a batch: the item's place in the list, from 1.
        item: Option<u64>,
    },
    /// A batch pauses: it sends no message.
    Paused {
        /// `rate_limit` or `service_failure`.
        reason: &'static str,
        /// For how long.
        pause: Duration,
        /// The failure that caused it: the error's [`reason`](crate::Error::reason), without the service's own words; or that it
        /// began in an earlier run.
        error: Cow<'a, str>,
    },
    /// A batch sends messages again after a pause.
    Resumed,
}

/// How much an event matters to a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventLevel {
    /// Every request and its response.
    Debug,
    /// What a person may want to know: retries, polls and pauses.
    Info,
    /// What a person should know: the fifth poll in a row that failed alike. What they have in common may never pass.
    Warning,
}

impl Event<'_> {
    /// The event's name: `attempt`, `response`, `retry`, `poll`, `paused` or `resumed`.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Attempt { .. } => "attempt",
            Event::Response { .. } => "response",
            Event::Retry { .. } => "retry",
            Event::Poll { .. } => "poll",
            Event::Paused { .. } => "paused",
            Event::Resumed => "resumed",
        }
    }

    /// How much it matters: attempts and responses are [`Debug`](EventLevel::Debug), the fifth poll in a row that failed alike
    /// is a [`Warning`](EventLevel::Warning), the others [`Info`](EventLevel::Info).
    pub fn level(&self) -> EventLevel {
        match self {
            Event::Poll { consecutive_failures: WARNS_AT, .. } => EventLevel::Warning,
            Event::Attempt { .. } | Event::Response { .. } => EventLevel::Debug,
            _ => EventLevel::Info,
        }
    }

    /// The event with its own copies of its texts, to keep it.
    pub fn into_owned(self) -> Event<'static> {
        fn own(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        match self {
            Event::Attempt { operation, job_id, attempt, item } => {
                Event::Attempt { operation, job_id: own(job_id), attempt, item }
            }
            Event::Response { operation, job_id, attempt, status, request_id, bytes, elapsed, timings, item } => {
                let (job_id, request_id) = (own(job_id), request_id.map(own));
                Event::Response { operation, job_id, attempt, status, request_id, bytes, elapsed, timings, item }
            }
            Event::Retry { operation, job_id, attempt, delay, reason, item } => {
                Event::Retry { operation, job_id: own(job_id), attempt, delay, reason: own(reason), item }
            }
            Event::Poll { job_id, polls, status, reason, consecutive_failures, elapsed, next, item } => {
                let (job_id, status, reason) = (own(job_id), status.map(own), reason.map(own));
                Event::Poll { job_id, polls, status, reason, consecutive_failures, elapsed, next, item }
            }
            Event::Paused { reason, pause, error } => Event::Paused { reason, pause, error: own(error) },
            Event::Resumed => Event::Resumed,
        }
    }

    /// In a batch: the place in the list, from 1, of the item that the event is about.
    pub fn item(&self) -> Option<u64> {
        match self {
            Event::Attempt { item, .. }
            | Event::Response { item, .. }
            | Event::Retry { item, .. }
            | Event::Poll { item, .. } => *item,
            Event::Paused { .. } | Event::Resumed => None,
        }
    }

    /// The event as a JSON object, the same in every language. Durations are seconds.
    pub fn to_json(&self) -> String {
        let mut json = format!("{{\"event\":\"{}\"", self.name());
        let mut put = |key: &str, value: Value| write!(json, ",\"{key}\":{value}").expect("a String takes every write");
        match self {
            Event::Attempt { operation, job_id, attempt, .. } => {
                put("operation", (*operation).into());
                put("job_id", (**job_id).into());
                put("attempt", (*attempt).into());
            }
            Event::Response { operation, job_id, attempt, status, request_id, bytes, elapsed, timings, .. } => {
                put("operation", (*operation).into());
                put("job_id", (**job_id).into());
                put("attempt", (*attempt).into());
                put("status", (*status).into());
                put("request_id", request_id.as_deref().into());
                put("bytes", (*bytes).into());
                put("elapsed", seconds_to_the_microsecond(*elapsed));
                put("timings", timings.to_json());
            }
            Event::Retry { operation, job_id, attempt, delay, reason, .. } => {
                put("operation", (*operation).into());
                put("job_id", (**job_id).into());
                put("attempt", (*attempt).into());
                put("delay", seconds(*delay));
                put("reason", (**reason).into());
            }
            Event::Poll { job_id, polls, status, reason, consecutive_failures, elapsed, next, .. } => {
                put("job_id", (**job_id).into());
                put("polls", (*polls).into());
                put("status", status.as_deref().into());
                put("reason", reason.as_deref().into());
                put("consecutive_failures", (*consecutive_failures).into());
                put("elapsed", seconds(*elapsed));
                put("next", next.map_or(Value::Null, seconds));
            }
            Event::Paused { reason, pause, error } => {
                put("reason", (*reason).into());
                put("pause", seconds(*pause));
                put("error", (**error).into());
            }
            Event::Resumed => {}
        }
        if let Some(item) = self.item() {
            put("item", item.into());
        }
        json.push('}');
        json
    }
}

/// The line that `AGENTJOB_LOG` prints: always one line, with its texts escaped.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Attempt { operation, job_id, attempt, item } => {
                write!(f, "{operation} {}{}: request {attempt}", escape(job_id), OfItem(*item))
            }
            Event::Response { operation, job_id, attempt, status, request_id, bytes, elapsed, item, .. } => {
                let (job_id, of_item) = (escape(job_id), OfItem(*item));
                write!(
                    f,
                    "{operation} {job_id}{of_item}: request {attempt} returned {status} after {elapsed:.1?} ({bytes} bytes"
                )?;
                match request_id {
                    Some(id) => write!(f, ", request id {})", describe(id)),
                    None => f.write_str(")"),
                }
            }
            Event::Retry { operation, job_id, attempt, delay, reason, item } => {
                let (job_id, of_item, reason) = (escape(job_id), OfItem(*item), escape(reason));
                write!(f, "{operation} {job_id}{of_item}: request {attempt} failed ({reason}); retrying in {delay:.1?}")
            }
            Event::Poll { job_id, polls, status, reason, consecutive_failures, elapsed, next, item } => {
                let seen = describe(status.as_deref().or(reason.as_deref()).unwrap_or("nothing"));
                write!(f, "wait {}{}: poll {polls} after {elapsed:.1?}: {seen}", escape(job_id), OfItem(*item))?;
                if *consecutive_failures > 1 {
                    write!(f, " ({consecutive_failures} in a row failed alike)")?;
                }
                next.map_or(Ok(()), |next| write!(f, "; next in {next:.1?}"))
            }
            Event::Paused { reason, pause, error } => {
                write!(f, "batch: paused for {pause:.1?} ({reason}): {}", escape(error))
            }
            Event::Resumed => f.write_str("batch: resumed"),
        }
    }
}

/// ` (item 7)`, or nothing outside a batch.
struct OfItem(Option<u64>);

impl fmt::Display for OfItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |item| write!(f, " (item {item})"))
    }
}

/// Seconds with at most three decimals.
fn seconds(duration: Duration) -> Value {
    (duration.as_millis() as f64 / 1000.0).into()
}
