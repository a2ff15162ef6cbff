//! The settings in which clients with the same connections may differ.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::config::headers::Headers;
use crate::config::settings::{Config, EventHandler, MAX_RETRIES, check_bytes};
use crate::duration::{MAX_TIMEOUT, check_time};
use crate::error::Error;
use crate::wait::schedule_options::ScheduleOptions;

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
    pub(crate) headers: Option<Headers>,
    pub(crate) waits: ScheduleOptions,
    pub(crate) on_event: Option<EventHandler>,
}

impl ClientOptions {
    /// No setting changed.
    pub fn new() -> ClientOptions {
        ClientOptions::default()
    }

    /// Checks what is set.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (name, timeout) in [("timeout", self.timeout), ("connect_timeout", self.connect_timeout)] {
            timeout.map_or(Ok(Duration::ZERO), |timeout| check_time(name, timeout))?;
        }
        if let Some(retries) = self.max_retries.filter(|retries| *retries > MAX_RETRIES) {
            return Err(
                Error::invalid(format!("max_retries is {retries}")).with_hint(format!("Give 0 to {MAX_RETRIES}."))
            );
        }
        if self.max_retry_after.is_some_and(|limit| limit > MAX_TIMEOUT) {
            return Err(Error::invalid("max_retry_after is longer than 7 days"));
        }
        for (name, bytes) in
            [("max_prompt_bytes", self.max_prompt_bytes), ("max_response_bytes", self.max_response_bytes)]
        {
            bytes.map_or(Ok(0), |bytes| check_bytes(name, bytes))?;
        }
        self.waits.timeout.flatten().map_or(Ok(Duration::ZERO), |timeout| check_time("wait_timeout", timeout))?;
        self.waits.check()
    }

    /// Checks what is set and applies it to a client's settings.
    pub(crate) fn apply(self, config: &mut Config) -> Result<(), Error> {
        self.check()?;
        config.timeout = self.timeout.unwrap_or(config.timeout);
        config.connect_timeout = self.connect_timeout.unwrap_or(config.connect_timeout);
        config.limits.max_retries = self.max_retries.unwrap_or(config.limits.max_retries);
        config.limits.max_retry_after = self.max_retry_after.unwrap_or(config.limits.max_retry_after);
        config.max_prompt_bytes = self.max_prompt_bytes.unwrap_or(config.max_prompt_bytes);
        config.max_response_bytes = self.max_response_bytes.unwrap_or(config.max_response_bytes);
        if let Some(headers) = &self.headers {
            config.request_head = Arc::new(config.request_head.with_headers(headers)?);
        }
        config.waits = self.waits.over(&config.waits);
        config.waits.check()?;
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
            .field("headers", &self.headers)
            .field("waits", &self.waits)
            .field("on_event", &self.on_event.is_some())
            .finish()
    }
}
