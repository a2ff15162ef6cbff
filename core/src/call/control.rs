//! How a caller observes and interrupts a call.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::job::Job;
use crate::text::describe;
use crate::text::escape;

/// How long a call may go without checking its cancel token, its control and its deadline.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// Ends calls from another thread or a signal handler.
///
/// Cancelling is one atomic store, so it is legal in a signal handler. A call notices it within 100 ms, wherever it is,
/// and ends with [`Cancelled`](crate::ErrorKind::Cancelled). A token stays cancelled: use a new one for the next call.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Ends every call that has this token or a clone of it, now and later.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether [`cancel`](CancelToken::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Ends the call: what a [`Control`] returns to stop it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted;

/// Observes one call, and can end it. Every method is called on the calling thread, and none after the call has returned.
///
/// Each may return [`Interrupted`] to end the call with [`Cancelled`](crate::ErrorKind::Cancelled). The error still says
/// what happened to the message.
pub trait Control: Send + Sync {
    /// Called at least every 50 ms while the call blocks or pauses, and after a signal interrupts it.
    fn check(&self) -> Result<(), Interrupted> {
        Ok(())
    }

    /// Something happened: an attempt, a retry, a poll.
    fn event(&self, _event: &Event<'_>) -> Result<(), Interrupted> {
        Ok(())
    }

    /// A wait read a record that differs from the one before it. The first record counts as different.
    fn update(&self, _job: &Job) -> Result<(), Interrupted> {
        Ok(())
    }
}

/// What happens inside a call. It never holds the key, a prompt or a body. Its texts are unescaped; `to_string()` escapes them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A request is about to be made.
    Attempt {
        /// `send_message`, `get_job` or `create_job`.
        operation: &'static str,
        /// The job, or `""` for `create_job`.
        job_id: &'a str,
        /// 1 for the first request of the call.
        attempt: u32,
    },
    /// A request failed and will be retried after a pause.
    Retry {
        /// `send_message`, `get_job` or `create_job`.
        operation: &'static str,
        /// The job, or `""` for `create_job`.
        job_id: &'a str,
        /// The number of the request that failed.
        attempt: u32,
        /// The pause before the next one.
        delay: Duration,
        /// Why it failed: the error's [`reason`](crate::Error::reason).
        reason: &'a str,
    },
    /// A wait polled its job.
    Poll {
        /// The job.
        job_id: &'a str,
        /// How many polls the wait has made.
        polls: u32,
        /// The job's status, when it could be read.
        status: Option<&'a str>,
        /// Why it could not be read: the error's [`reason`](crate::Error::reason).
        reason: Option<&'a str>,
        /// How long the wait has lasted.
        elapsed: Duration,
        /// In how long the next poll is due; `None` when the wait is over.
        next: Option<Duration>,
    },
}

impl Event<'_> {
    /// The event's name: `attempt`, `retry` or `poll`.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Attempt { .. } => "attempt",
            Event::Retry { .. } => "retry",
            Event::Poll { .. } => "poll",
        }
    }

    /// The event as a JSON object, the same in every language. Durations are seconds.
    pub fn to_json(&self) -> String {
        let mut json = format!("{{\"event\":\"{}\"", self.name());
        let mut put = |key: &str, value: Value| write!(json, ",\"{key}\":{value}").expect("a String takes every write");
        match *self {
            Event::Attempt { operation, job_id, attempt } => {
                put("operation", operation.into());
                put("job_id", job_id.into());
                put("attempt", attempt.into());
            }
            Event::Retry { operation, job_id, attempt, delay, reason } => {
                put("operation", operation.into());
                put("job_id", job_id.into());
                put("attempt", attempt.into());
                put("delay", seconds(delay));
                put("reason", reason.into());
            }
            Event::Poll { job_id, polls, status, reason, elapsed, next } => {
                put("job_id", job_id.into());
                put("polls", polls.into());
                put("status", status.into());
                put("reason", reason.into());
                put("elapsed", seconds(elapsed));
                put("next", next.map_or(Value::Null, seconds));
            }
        }
        json.push('}');
        json
    }
}

/// The line that `AGENTJOB_LOG` prints. Escaping keeps it one line, whatever the texts in it are.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Event::Attempt { operation, job_id, attempt } => {
                write!(f, "{operation} {}: request {attempt}", escape(job_id))
            }
            Event::Retry { operation, job_id, attempt, delay, reason } => {
                let (job_id, reason) = (escape(job_id), escape(reason));
                write!(f, "{operation} {job_id}: request {attempt} failed ({reason}); retrying in {delay:.1?}")
            }
            Event::Poll { job_id, polls, status, reason, elapsed, next } => {
                let (job_id, seen) = (escape(job_id), describe(status.or(reason).unwrap_or("nothing")));
                write!(f, "wait {job_id}: poll {polls} after {elapsed:.1?}: {seen}")?;
                next.map_or(Ok(()), |next| write!(f, "; next in {next:.1?}"))
            }
        }
    }
}

/// Rounded down to milliseconds, which is all that a reader needs.
fn seconds(duration: Duration) -> Value {
    (duration.as_millis() as f64 / 1000.0).into()
}
