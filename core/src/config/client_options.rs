//! The settings that clients with the same connections may have each for themselves.

use std::fmt;
use std::time::Duration;

use crate::config::settings::{Config, EventHandler, MAX_RETRIES, check_bytes};
use crate::duration::{MAX_TIMEOUT, check_time};
use crate::error::Error;

/// Settings of a client that shares its connections; see [`Client::with_options`](crate::Client::with_options).
///
/// What is not set stays as it is.
#[derive(Clone, Default)]
#[must_use]
pub struct ClientOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) max_retry_after: Option<Duration>,
    pub(crate) max_prompt_bytes: Option<usize>,
    pub(crate) max_response_bytes: Option<usize>,
    pub(crate) on_event: Option<EventHandler>,
}

/// One setter a setting, for this and for the builder, so that they read as one table.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl ClientOptions {
            $($(#[$doc])* pub fn $name(mut self, value: $type) -> Self { self.$name = Some(value); self })*
        }

        impl crate::config::builder::ClientBuilder {
            $($(#[$doc])* pub fn $name(mut self, value: $type) -> Self { self.tuning.$name = Some(value); self })*
        }
    };
}

setters! {
    /// The total time of one call, retries and pauses included. 60 s; for the builder also `AGENTJOB_TIMEOUT` in seconds.
    timeout: Duration;
    /// The time to connect: name lookup, TCP, proxy and TLS together. 10 s.
    connect_timeout: Duration;
    /// How often a call makes a failed request again, where that cannot deliver a message twice. 2; 0 to 100.
    max_retries: u32;
    /// The longest `Retry-After` that a call waits for by itself. 60 s; may be 0.
    max_retry_after: Duration;
    /// The longest prompt that is sent, in bytes of UTF-8. 4 MiB.
    max_prompt_bytes: usize;
    /// The longest answer that is read, in bytes. 8 MiB.
    max_response_bytes: usize;
    /// What to call with each event, on the calling thread: attempts, retries, polls.
    on_event: EventHandler;
}

impl ClientOptions {
    /// Nothing changed.
    pub fn new() -> ClientOptions {
        ClientOptions::default()
    }

    /// Checks what is set and puts it into a client's settings.
    pub(crate) fn apply(self, config: &mut Config) -> Result<(), Error> {
        if let Some(timeout) = self.timeout {
            config.timeout = check_time("timeout", timeout)?;
        }
        if let Some(timeout) = self.connect_timeout {
            config.connect_timeout = check_time("connect_timeout", timeout)?;
        }
        if let Some(retries) = self.max_retries {
            if retries > MAX_RETRIES {
                return Err(Error::invalid(format!("max_retries is {retries}"))
                    .with_hint(format!("Give at most {MAX_RETRIES}.")));
            }
            config.limits.max_retries = retries;
        }
        if let Some(limit) = self.max_retry_after {
            if limit > MAX_TIMEOUT {
                return Err(Error::invalid("max_retry_after is longer than 7 days"));
            }
            config.limits.max_retry_after = limit;
        }
        if let Some(bytes) = self.max_prompt_bytes {
            config.max_prompt_bytes = check_bytes("max_prompt_bytes", bytes)?;
        }
        if let Some(bytes) = self.max_response_bytes {
            config.max_response_bytes = check_bytes("max_response_bytes", bytes)?;
        }
        if self.on_event.is_some() {
            config.on_event = self.on_event;
        }
        Ok(())
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("timeout", &self.timeout)
            .field("connect_timeout", &self.connect_timeout)
            .field("max_retries", &self.max_retries)
            .field("max_retry_after", &self.max_retry_after)
            .field("max_prompt_bytes", &self.max_prompt_bytes)
            .field("max_response_bytes", &self.max_response_bytes)
            .field("on_event", &self.on_event.is_some())
            .finish()
    }
}
