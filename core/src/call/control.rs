//! How a caller observes and interrupts a call.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::job::Job;
use crate::text::{describe, escape};

/// The longest time that a call waits or computes before it checks its cancel token, its control and its deadline.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// Cancels calls from another thread, or from a signal handler.
///
/// Cancelling is one atomic store, so it is async-signal-safe. A call notices it within 100 ms, whatever it is doing, and ends with
/// [`Cancelled`](crate::ErrorKind::Cancelled). A token stays cancelled; use a new one for the next call.
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels every call that has this token or a clone of it, current and future ones.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether [`cancel`](CancelToken::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// "End this call": what a [`Control`] returns to stop it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted;

/// Observes one call and can end it. All methods are called on the calling thread, and none after the call has returned.
///
/// Each may return [`Interrupted`] to end the call with [`Cancelled`](crate::ErrorKind::Cancelled). The error still has the delivery
/// verdict.
pub trait Control: Send + Sync {
    /// Called at least every 50 ms while the call waits or pauses, and after a signal interrupted a system call.
    ///
    /// # Errors
    /// [`Interrupted`] ends the call.
    fn check(&self) -> Result<(), Interrupted> {
        Ok(())
    }

    /// Called for each event: an attempt, a retry, a poll.
    ///
    /// # Errors
    /// [`Interrupted`] ends the call.
    fn event(&self, _event: &Event<'_>) -> Result<(), Interrupted> {
        Ok(())
    }

    /// Called when a wait sees its first record, and each record that differs from the one before.
    ///
    /// # Errors
    /// [`Interrupted`] ends the wait.
    fn update(&self, _job: &Job) -> Result<(), Interrupted> {
        Ok(())
    }
}

/// What happens during a call. An event never contains the key, a prompt or a body. Its texts are as they came, without secrets;
/// `to_string()` escapes them.
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
        /// The pause before the next request.
        delay: Duration,
        /// Why it failed, as an error's message.
        reason: &'a str,
    },
    /// A wait polled its job.
    Poll {
        /// The job.
        job_id: &'a str,
        /// How many polls the wait has made.
        polls: u32,
        /// The job's status, if the poll succeeded.
        status: Option<&'a str>,
        /// Why the poll failed, as an error's message.
        reason: Option<&'a str>,
        /// How long the wait has lasted.
        elapsed: Duration,
        /// The time until the next poll; `None` if the job is done.
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

/// The line that `AGENTJOB_LOG` prints: always one line, with its texts escaped.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Event::Attempt { operation, job_id, attempt } => {
                write!(f, "{operation} {}: request {attempt}", escape(job_id))
            }
            Event::Retry { operation, job_id, attempt, delay, reason } => {
                let (job_id, reason) = (escape(job_id), escape(reason));
                write!(f, "{operation} {job_id}: request {attempt} failed ({reason}); retry in {delay:.1?}")
            }
            Event::Poll { job_id, polls, status, reason, elapsed, next } => {
                let (job_id, seen) = (escape(job_id), describe(status.or(reason).unwrap_or("nothing")));
                write!(f, "wait {job_id}: poll {polls} after {elapsed:.1?}: {seen}")?;
                next.map_or(Ok(()), |next| write!(f, "; next in {next:.1?}"))
            }
        }
    }
}

/// Seconds with at most three decimals.
fn seconds(duration: Duration) -> Value {
    (duration.as_millis() as f64 / 1000.0).into()
}
