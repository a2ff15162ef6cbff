//! The settings of one batch.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::batch::pace::rate::Rate;
use crate::call::control::CancelToken;
use crate::duration::check_time;
use crate::error::Error;
use crate::wait::options::WaitOptions;

/// How many messages are in flight at once.
pub const DEFAULT_CONCURRENCY: u32 = 4;
/// The highest concurrency.
pub const MAX_CONCURRENCY: u32 = 64;
/// How long a batch continues while the service can't be reached or fails.
pub const DEFAULT_MAX_OUTAGE: Duration = Duration::from_secs(3600);
/// How long a stopped batch waits for the responses to the messages in flight.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(5);

/// Called with the name of each point of the journal's protocol.
pub(crate) type CheckpointHandler = Arc<dyn Fn(&'static str) + Send + Sync>;

/// Settings of one batch; see [`Client::send_all`](crate::Client::send_all).
#[derive(Clone)]
#[must_use]
pub struct BatchOptions {
    pub(crate) journal: PathBuf,
    pub(crate) concurrency: u32,
    pub(crate) rate: Option<Rate>,
    pub(crate) wait: Option<WaitOptions>,
    pub(crate) resend_unknown: bool,
    pub(crate) max_outage: Duration,
    pub(crate) grace: Duration,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) on_checkpoint: Option<CheckpointHandler>,
}

impl BatchOptions {
    /// The journal's file. If it exists, the batch continues where it was. The path is made absolute when the batch begins, so
    /// the program may then change its working directory.
    pub fn new(journal: impl AsRef<Path>) -> BatchOptions {
        BatchOptions {
            journal: journal.as_ref().to_owned(),
            concurrency: DEFAULT_CONCURRENCY,
            rate: None,
            wait: None,
            resend_unknown: false,
            max_outage: DEFAULT_MAX_OUTAGE,
            grace: DEFAULT_GRACE,
            cancel: None,
            on_checkpoint: None,
        }
    }

    /// How many messages are in flight at once; never two for one job. Default: 4; from 1 to 64.
    pub fn concurrency(mut self, messages: u32) -> BatchOptions {
        self.concurrency = messages;
        self
    }

    /// How fast messages are sent, over all runs of the journal. Default: no limit but `concurrency`.
    pub fn rate(mut self, rate: impl Into<Option<Rate>>) -> BatchOptions {
        self.rate = rate.into();
        self
    }

    /// Waits for the job of each accepted message until it is done. Default: no wait.
    ///
    /// The cancel token and the control of these options are not used; the batch's own token ends its waits, too.
    pub fn wait(mut self, wait: impl Into<Option<WaitOptions>>) -> BatchOptions {
        self.wait = wait.into();
        self
    }

    /// Sends the messages again that may have arrived in an earlier run. **For those that did arrive, the agent works twice**, so
    /// check their jobs first. Default: off.
    pub fn resend_unknown(mut self, resend: bool) -> BatchOptions {
        self.resend_unknown = resend;
        self
    }

    /// How long the batch keeps trying while the service responds to no message: no connection, timeouts, 5xx. Default: 1 hour; at most
    /// 7 days.
    pub fn max_outage(mut self, time: Duration) -> BatchOptions {
        self.max_outage = time;
        self
    }

    /// How long a stopped batch waits for the responses to the messages in flight; without a response they are unknown. Default:
    /// 5 s; may be 0.
    pub fn grace(mut self, time: Duration) -> BatchOptions {
        self.grace = time;
        self
    }

    /// A token that stops the batch: nothing more is sent, and the messages in flight still have their
    /// [`grace`](BatchOptions::grace).
    pub fn cancel(mut self, token: &CancelToken) -> BatchOptions {
        self.cancel = Some(token.clone());
        self
    }

    /// Calls this with the name of each point of the journal's protocol, on the thread that reaches it. `tests/faults` uses it to
    /// kill a batch between any two of them; it isn't part of the interface.
    #[doc(hidden)]
    pub fn on_checkpoint(mut self, handler: Arc<dyn Fn(&'static str) + Send + Sync>) -> BatchOptions {
        self.on_checkpoint = Some(handler);
        self
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.journal.as_os_str().is_empty() {
            return Err(Error::invalid("journal is empty")
                .with_hint("Give the path of the file that records how far the batch is."));
        }
        if !(1..=MAX_CONCURRENCY).contains(&self.concurrency) {
            return Err(Error::invalid(format!("concurrency is {}", self.concurrency))
                .with_hint(format!("Give 1 to {MAX_CONCURRENCY}.")));
        }
        check_time("max_outage", self.max_outage)?;
        if !self.grace.is_zero() {
            check_time("grace", self.grace)?;
        }
        self.wait.as_ref().map_or(Ok(()), WaitOptions::check)
    }
}

impl fmt::Debug for BatchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchOptions")
            .field("journal", &self.journal)
            .field("concurrency", &self.concurrency)
            .field("rate", &self.rate)
            .field("wait", &self.wait)
            .field("resend_unknown", &self.resend_unknown)
            .field("max_outage", &self.max_outage)
            .field("grace", &self.grace)
            .field("cancel", &self.cancel)
            .finish_non_exhaustive()
    }
}
