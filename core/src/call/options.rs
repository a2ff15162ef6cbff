//! The settings of one call.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::control::{CancelToken, Control};
use crate::call::meta::MetaHandler;
use crate::config::headers::Headers;

/// Settings of one call that differ from the client's.
#[derive(Clone, Default)]
pub struct CallOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) started_at: Option<Instant>,
    /// The message is a step's. A 429 ends the call, because all workers of the store have to pause.
    pub(crate) is_step: bool,
    /// The message leaves before this time since the machine started, or not at all.
    pub(crate) leaves_before: Option<Duration>,
    pub(crate) cancel: Option<CancelToken>,
    pub(crate) control: Option<Arc<dyn Control>>,
    pub(crate) meta: Option<MetaHandler>,
    pub(crate) headers: Option<Arc<Headers>>,
    /// In a batch: the item's place in the list, from 1.
    pub(crate) item: Option<u64>,
    /// Closing the client does not end the call.
    pub(crate) ignores_close: bool,
}

impl CallOptions {
    /// The client's settings, no cancel token, no control; the time counts from when the call is made.
    pub fn new() -> CallOptions {
        CallOptions::default()
    }

    /// The call's deadline, retries and pauses included: more than 0, at most 7 days. Default: the client's `timeout`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> CallOptions {
        self.timeout = Some(timeout);
        self
    }

    /// When the call's time began, for programs whose calls queue for a thread: the timeout and
    /// [`Error::elapsed`](crate::Error::elapsed) count from this instant. Default: when the call is made. A call whose deadline has
    /// already passed makes no request, and ends with [`Timeout`](crate::ErrorKind::Timeout).
    #[must_use]
    pub fn started_at(mut self, instant: Instant) -> CallOptions {
        self.started_at = Some(instant);
        self
    }

    /// The message is a step's, which a 429 ends, and which leaves before this time since the machine started: unlike [`Instant`], that
    /// counts its sleep. It is checked right before each write, so that at most part of the message leaves later.
    #[doc(hidden)]
    #[must_use]
    pub fn of_step(mut self, leaves_before: Option<Duration>) -> CallOptions {
        self.is_step = true;
        self.leaves_before = leaves_before;
        self
    }

    /// A token that can cancel the call, or `None`. Default: none.
    #[must_use]
    pub fn cancel<'a>(mut self, token: impl Into<Option<&'a CancelToken>>) -> CallOptions {
        self.cancel = token.into().cloned();
        self
    }

    /// A control that observes the call and can end it. Default: none.
    #[must_use]
    pub fn control(mut self, control: Arc<dyn Control>) -> CallOptions {
        self.control = Some(control);
        self
    }

    /// A function that receives the metadata of a success: once before a call returns its record, and in a wait for each record that it
    /// reads, so the last call is for the returned record. It runs on the calling thread. Default: none.
    ///
    /// ```no_run
    /// # use std::sync::{Arc, Mutex};
    /// # use agentjob_core::{CallOptions, Client};
    /// # fn main() -> Result<(), agentjob_core::Error> {
    /// # let client = Client::builder().build()?;
    /// let meta = Arc::new(Mutex::new(None));
    /// let kept = meta.clone();
    /// let call = CallOptions::new().meta(Arc::new(move |seen| *kept.lock().unwrap() = Some(seen.clone())));
    /// let job = client.send_message_with("job_123", "Also cover the error cases", &call)?;
    /// let meta = meta.lock().unwrap().take().expect("a call that succeeds has metadata");
    /// println!("{} {:?} after {:?}", job.status(), meta.request_id(), meta.elapsed());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn meta(mut self, handler: MetaHandler) -> CallOptions {
        self.meta = Some(handler);
        self
    }

    /// Headers of each request of the call, in addition to the client's; they win over those of the same name. A
    /// second call adds more. Default: none.
    #[must_use]
    pub fn headers(mut self, headers: Headers) -> CallOptions {
        if !headers.is_empty() {
            Arc::make_mut(self.headers.get_or_insert_default()).add(&headers);
        }
        self
    }

    /// Keeps the call running when the client is closed: a batch ends its calls itself, after their grace.
    #[must_use]
    pub(crate) fn ignoring_close(mut self) -> CallOptions {
        self.ignores_close = true;
        self
    }
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("started_at", &self.started_at)
            .field("cancel", &self.cancel)
            .field("control", &self.control.is_some())
            .field("meta", &self.meta.is_some())
            .field("headers", &self.headers)
            .finish()
    }
}
