//! The settings in which clients with the same connections may differ.

use std::fmt;
use std::time::Duration;

use crate::config::settings::{Config, EventHandler, MAX_RETRIES, check_bytes};
use crate::duration::{MAX_TIMEOUT, check_time};
use crate::error::Error;

/// Settings of a client that shares its connections; see [`Client::with_options`](crate::Client::with_options).
///
/// What is not set stays as it was. The setters are in `config/setters.rs`.
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

impl ClientOptions {
    /// No setting changed.
    pub fn new() -> ClientOptions {
        ClientOptions::default()
    }

    /// Checks what is set and applies it to a client's settings.
    pub(crate) fn apply(self, config: &mut Config) -> Result<(), Error> {
        if let Some(timeout) = self.timeout {
            config.timeout = check_time("timeout", timeout)?;
        }
        if let Some(timeout) = self.connect_timeout {
            config.connect_timeout = check_time("connect_timeout", timeout)?;
        }
        if let Some(retries) = self.max_retries {
            if retries > MAX_RETRIES {
                return Err(
                    Error::invalid(format!("max_retries is {retries}")).with_hint(format!("Give 0 to {MAX_RETRIES}."))
                );
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
