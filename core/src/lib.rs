//! Send a follow-up message to an agent job, and follow the job until it is done.
//!
//! A service runs asynchronous *agent jobs*: each works on a source repository with an AI model and may open a pull
//! request. [`Client::send_message`] sends a follow-up instruction to an existing job, and [`Client::wait`] follows the
//! job until it is `completed`, `archived` or `failed`.
//!
//! A message that is sent twice makes the agent work twice, and the service has no idempotency key. So a call never sends a
//! message twice on its own, and when it fails, [`Error::delivery`] says what happened to the message: not sent, rejected,
//! accepted, or unknown.
//!
//! ```no_run
//! use agentjob_core::{Client, WaitOptions};
//!
//! # fn main() -> Result<(), agentjob_core::Error> {
//! let client = Client::builder().build()?; // base URL, key and project from the AGENTJOB_ variables
//! let job = client.send_message("job_123", "Also cover the error cases")?;
//! let done = client.wait(job.id(), &WaitOptions::new())?;
//! println!("{} {:?}", done.status(), done.pr_link());
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod batch;
mod call;
mod client;
mod config;
mod delivery;
mod duration;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod jitter;
mod job;
mod json;
mod once;
mod operation;
mod os;
mod redact;
mod shared;
mod text;
mod timestamp;
mod wait;

pub use batch::decisions::decision::{Decision, Resolution};
#[doc(hidden)]
pub use batch::decisions::desk::batch_decide_with_checkpoints;
pub use batch::decisions::desk::{BatchDecision, batch_drop, batch_resolve, batch_retry};
pub use batch::decisions::export::{BatchExport, BatchExportItem, ExportFormat, batch_export};
pub use batch::decisions::selection::BatchRef;
pub use batch::events::{BatchEvent, BatchOutcome, BatchProgress, BatchUpdate};
pub use batch::handle::BatchHandle;
pub use batch::item::BatchItem;
pub use batch::iterator::Batch;
pub use batch::list::options::{ListFormat, ListOptions};
pub use batch::options::{
    BatchOptions, DEFAULT_CONCURRENCY, DEFAULT_GRACE, DEFAULT_MAX_BUSY, DEFAULT_MAX_OUTAGE, MAX_CONCURRENCY,
};
pub use batch::pace::circuit_breaker::PauseReason;
pub use batch::pace::rate::Rate;
pub use batch::report_file::{batch_report, write_batch_report};
pub use batch::status::{BatchStatus, BatchStatusItem, batch_status};
pub use call::control::{CancelToken, Control, Interrupted};
pub use call::event::{Event, EventLevel};
pub use call::meta::{MetaHandler, ResponseMeta};
pub use call::options::CallOptions;
pub use call::prompt::{EncodedPrompt, Prompt};
pub use call::timings::Timings;
pub use client::Client;
pub use config::api_keys::KeyFunction;
pub use config::builder::ClientBuilder;
pub use config::client_options::ClientOptions;
pub use config::headers::{Headers, MAX_HEADERS, MAX_HEADERS_BYTES};
pub use config::secret::KeySource;
pub use config::settings::{
    DEFAULT_CONNECT_TIMEOUT, DEFAULT_MAX_PROMPT_BYTES, DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_MAX_RETRIES,
    DEFAULT_MAX_RETRY_AFTER, DEFAULT_TIMEOUT, EventHandler, MAX_RETRIES,
};
pub use delivery::Delivery;
pub use duration::{MAX_TIMEOUT, duration_from_seconds, duration_from_seconds_or_zero};
#[doc(hidden)]
pub use error::internal::panic_text;
pub use error::{Error, ErrorKind};
#[doc(hidden)]
pub use job::record::TextField;
pub use job::{Job, JobStatus};
#[doc(hidden)]
pub use once::list::{ListBreaker, step_held};
#[doc(hidden)]
pub use once::pace::{StepPace, step_pause};
#[doc(hidden)]
pub use once::resolution::{resolved_step, unresolvable_step, unwaitable_step};
#[doc(hidden)]
pub use once::retry::{StepFailure, step_retry};
#[doc(hidden)]
pub use once::scope::{ends_every_poll, step_scope};
#[doc(hidden)]
pub use once::step::{
    StoredWait, check_step_key, other_message, step_error, step_in_flight, step_throttled, stored_job,
};
#[doc(hidden)]
pub use os::{thread, uptime};
#[doc(hidden)]
pub use text::describe;
pub use text::escape;
pub use wait::background::BackgroundPoll;
pub use wait::client::Watch;
pub use wait::options::WaitOptions;
pub use wait::poller::Poller;
pub use wait::schedule::{
    DEFAULT_LATENESS, DEFAULT_MAX_INTERVAL, DEFAULT_MIN_INTERVAL, DEFAULT_SETTLE, DEFAULT_WAIT_TIMEOUT,
};

/// This version of agentjob.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
