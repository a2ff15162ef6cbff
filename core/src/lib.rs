//! Send a follow-up message to an agent job, and follow the job until it is done.
//!
//! A service runs asynchronous *agent jobs*: each works on a source repository with an AI model and may open a pull
//! request. [`Client::send_message`] sends a follow-up instruction to a job that exists, and [`Client::wait`] follows the
//! job until it is `completed`, `archived` or `failed`.
//!
//! Sending twice makes the agent work twice, and the service has no idempotency key. So a call never sends a message
//! twice, and every error says with [`Error::delivery`] what became of the message.
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

mod answer;
mod attempts;
mod batch;
mod client;
mod config;
mod control;
mod delivery;
mod descriptor;
mod error;
mod escape;
mod jitter;
mod job;
mod json;
mod net;
mod operation;
mod options;
mod outcome;
mod poll;
mod poller;
mod privilege;
mod process;
mod prompt;
mod recent;
mod record;
mod redact;
mod retry;
#[doc(hidden)]
pub mod thread;
mod timestamp;
mod waits;

pub use batch::{
    Batch, BatchHandle, BatchItem, BatchOptions, BatchOutcome, BatchProgress, BatchStatus, BatchStep, BatchUpdate,
    BegunItem, DEFAULT_CONCURRENCY, DEFAULT_GRACE, DEFAULT_MAX_TROUBLE, MAX_CONCURRENCY, PauseReason, Rate,
    batch_status,
};
pub use client::Client;
pub use config::{
    ClientBuilder, ClientOptions, DEFAULT_CONNECT_TIMEOUT, DEFAULT_MAX_PROMPT_BYTES, DEFAULT_MAX_RESPONSE_BYTES,
    DEFAULT_MAX_RETRIES, DEFAULT_MAX_RETRY_AFTER, DEFAULT_TIMEOUT, EventHandler, KeySource, MAX_RETRIES, MAX_TIMEOUT,
    duration_from_seconds, duration_from_seconds_or_zero,
};
pub use control::{CancelToken, Control, Event, Interrupted};
pub use delivery::Delivery;
pub use error::{Error, ErrorKind};
pub use escape::escape;
#[doc(hidden)]
pub use job::TextField;
pub use job::{Job, JobStatus};
pub use json::{Json, JsonText, JsonToken, JsonTokens};
pub use options::{CallOptions, WaitOptions};
pub use poll::{DEFAULT_LATENESS, DEFAULT_MAX_INTERVAL, DEFAULT_MIN_INTERVAL, DEFAULT_SETTLE, DEFAULT_WAIT_TIMEOUT};
pub use poller::Poller;
pub use prompt::{EncodedPrompt, Prompt};
pub use record::{Field, Fields};
pub use waits::Watch;

/// This version of agentjob.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
