//! The settings of one batch.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::batch::pace::rate::Rate;
use crate::call::control::CancelToken;
use crate::call::event::EventLevel;
use crate::call::options::CallOptions;
use crate::config::headers::Headers;
use crate::duration::check_time;
use crate::error::Error;
use crate::wait::options::WaitOptions;

/// How many messages are in flight at once.
pub const DEFAULT_CONCURRENCY: u32 = 4;
/// The highest concurrency.
pub const MAX_CONCURRENCY: u32 = 64;
/// How long a batch continues while the service can't be reached or fails.
pub const DEFAULT_MAX_OUTAGE: Duration = Duration::from_secs(3600);
/// How long a job may be busy before a message to it is rejected.
pub const DEFAULT_MAX_BUSY: Duration = Duration::from_secs(3600);
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
    pub(crate) retry_prompts: Vec<Box<str>>,
    pub(crate) max_outage: Duration,
    pub(crate) max_busy: Duration,
    pub(crate) grace: Duration,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) headers: Option<Arc<Headers>>,
    pub(crate) call_events: Option<EventLevel>,
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
            retry_prompts: Vec::new(),
            max_outage: DEFAULT_MAX_OUTAGE,
            max_busy: DEFAULT_MAX_BUSY,
            grace: DEFAULT_GRACE,
            cancel: None,
            headers: None,
            call_events: None,
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

    /// Waits for the job of each accepted message until it is done. The job's next message is sent only then, so each outcome has
    /// its own result. Default: no wait; a job's next message is sent as soon as the previous one was accepted.
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

    /// A prompt with which [`batch_retry`](crate::batch_retry) decided to send a rejected message again. The journal has only its
    /// digest, so a run needs the prompt again, from here or from its item in the list; a run that has neither refuses to begin. Call
    /// it once for each such prompt.
    pub fn retry_prompt(mut self, prompt: impl Into<Box<str>>) -> BatchOptions {
        self.retry_prompts.push(prompt.into());
        self
    }

    /// How long the batch keeps trying while the service responds to no message: no connection, timeouts, 5xx. Default: 1 hour; at most
    /// 7 days.
    pub fn max_outage(mut self, time: Duration) -> BatchOptions {
        self.max_outage = time;
        self
    }

    /// How long a job may be busy. While the service responds 409 to a message, its job is polled, and the message is sent again
    /// when the job is no longer active; other jobs' messages are sent meanwhile. After this time the message is rejected. Each run
    /// of the journal allows this time again. Default: 1 hour; at most 7 days; 0 rejects it at once.
    pub fn max_busy(mut self, time: Duration) -> BatchOptions {
        self.max_busy = time;
        self
    }

    /// How long a stopped batch waits for the responses to the messages in flight; without a response they are unknown. Default:
    /// 5 s; may be 0.
    pub fn grace(mut self, time: Duration) -> BatchOptions {
        self.grace = time;
        self
    }

    /// A token that stops the batch, or `None`: nothing more is sent, and the messages in flight still have their
    /// [`grace`](BatchOptions::grace).
    pub fn cancel<'a>(mut self, token: impl Into<Option<&'a CancelToken>>) -> BatchOptions {
        self.cancel = token.into().cloned();
        self
    }

    /// Headers of each request of the batch, in addition to the client's; they win over those of the same name. A
    /// second call adds more. Default: none.
    pub fn headers(mut self, headers: Headers) -> BatchOptions {
        if !headers.is_empty() {
            Arc::make_mut(self.headers.get_or_insert_default()).add(&headers);
        }
        self
    }

    /// Reports the events of the batch's calls and of its pauses that are at least this important through
    /// [`next_event`](crate::Batch::next_event), as [`BatchEvent::Call`](crate::BatchEvent::Call), on the owner's thread; `None`
    /// reports none. At most 10,000 of them are kept for an owner who does not take them; later ones are lost until there is room.
    /// The client's [`on_event`](crate::ClientBuilder::on_event) gets all of them in any case, on the batch's threads. Default: none.
    pub fn call_events(mut self, level: impl Into<Option<EventLevel>>) -> BatchOptions {
        self.call_events = level.into();
        self
    }

    /// Calls this with the name of each point of the journal's protocol, on the thread that reaches it. `tests/faults` uses it to
    /// kill a batch between any two of them; it isn't part of the interface.
    #[doc(hidden)]
    pub fn on_checkpoint(mut self, handler: Arc<dyn Fn(&'static str) + Send + Sync>) -> BatchOptions {
        self.on_checkpoint = Some(handler);
        self
    }

    /// The settings that all calls of the batch have.
    pub(crate) fn call(&self) -> CallOptions {
        CallOptions { headers: self.headers.clone(), ..CallOptions::new() }
    }

    /// Checks every setting, as [`Client::send_all`](crate::Client::send_all) does, for callers that report a wrong one at once.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names the setting.
    pub fn check(&self) -> Result<(), Error> {
        check_journal(&self.journal)?;
        if !(1..=MAX_CONCURRENCY).contains(&self.concurrency) {
            return Err(Error::invalid(format!("concurrency is {}", self.concurrency))
                .with_hint(format!("Give 1 to {MAX_CONCURRENCY}.")));
        }
        check_time("max_outage", self.max_outage)?;
        for (name, time) in [("max_busy", self.max_busy), ("grace", self.grace)] {
            if !time.is_zero() {
                check_time(name, time)?;
            }
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
            .field("retry_prompts", &self.retry_prompts.len())
            .field("max_outage", &self.max_outage)
            .field("max_busy", &self.max_busy)
            .field("grace", &self.grace)
            .field("cancel", &self.cancel)
            .field("headers", &self.headers)
            .field("call_events", &self.call_events)
            .finish_non_exhaustive()
    }
}

/// Refuses an empty path, which is no file.
pub(crate) fn check_journal(path: &Path) -> Result<(), Error> {
    if path.as_os_str().is_empty() {
        return Err(Error::invalid("journal is empty")
            .with_hint("Give the path of the file that records how far the batch is."));
    }
    Ok(())
}
