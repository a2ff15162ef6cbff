//! The setters that [`ClientBuilder`] and [`ClientOptions`] have in common, from one table.

use std::time::Duration;

use crate::config::builder::ClientBuilder;
use crate::config::client_options::ClientOptions;
use crate::config::headers::Headers;
use crate::config::settings::EventHandler;

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty;)*) => {
        impl ClientOptions {
            $($(#[$doc])* pub fn $name(mut self, value: $type) -> Self { self.$name = Some(value); self })*
        }

        impl ClientBuilder {
            $($(#[$doc])* pub fn $name(mut self, value: $type) -> Self { self.options.$name = Some(value); self })*
        }
    };
}

setters! {
    /// The deadline of one call, retries and pauses included: more than 0, at most 7 days. Default: 60 s; a builder also reads
    /// `AGENTJOB_TIMEOUT`, in seconds.
    timeout: Duration;
    /// The time limit for a connection: name lookup, TCP, proxy and TLS together; more than 0, at most 7 days. Default: 10 s.
    connect_timeout: Duration;
    /// How many times a call retries a failed request, where a retry cannot deliver a message twice: 0 to 100. Default: 2.
    max_retries: u32;
    /// The longest `Retry-After` that a call waits for on its own: 0 to 7 days. Default: 60 s.
    max_retry_after: Duration;
    /// The longest prompt that may be sent, in bytes of UTF-8: 1 byte to 1 GiB. Default: 4 MiB.
    max_prompt_bytes: usize;
    /// The longest response that is read, in bytes: 1 byte to 1 GiB. Default: 8 MiB.
    max_response_bytes: usize;
    /// A function to call with each event (attempts, responses, retries, polls), on the calling thread. Default: none.
    on_event: EventHandler;
}

impl ClientOptions {
    /// Extra headers of every request. They are added to those that the client has already, and win over those of the same name.
    /// Not for a proxy: the request for a tunnel does not have them. Default: none; a builder also reads `AGENTJOB_HEADERS`, lines
    /// `Name: value`.
    pub fn headers(mut self, headers: Headers) -> Self {
        self.headers.get_or_insert_default().add(&headers);
        self
    }
}

impl ClientBuilder {
    /// Extra headers of every request; see [`ClientOptions::headers`]. Also `AGENTJOB_HEADERS`.
    pub fn headers(mut self, headers: Headers) -> Self {
        self.options = self.options.headers(headers);
        self
    }
}

/// The same for what waits take where their own options are open.
macro_rules! wait_setters {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) => $field:ident = $to:expr;)*) => {
        impl ClientOptions {
            $($(#[$doc])* pub fn $name(mut self, $value: $type) -> Self { self.waits.$field = Some($to); self })*
        }

        impl ClientBuilder {
            $($(#[$doc])* pub fn $name(mut self, $value: $type) -> Self { self.options.waits.$field = Some($to); self })*
        }
    };
}

wait_setters! {
    /// The deadline of a wait that has none of its own: 1 ms to 7 days, or `None` for no deadline. Default: 30 minutes; a builder
    /// also reads `AGENTJOB_WAIT_TIMEOUT`, in seconds or `none`.
    wait_timeout(timeout: impl Into<Option<Duration>>) => timeout = timeout.into();
    /// The shortest pause between two polls of a wait: 1 ms to 7 days. Default: 2 s; a builder also reads `AGENTJOB_MIN_INTERVAL`,
    /// in seconds.
    min_interval(interval: Duration) => min_interval = interval;
    /// The longest pause between two polls of a wait: at least `min_interval`, at most 7 days. Default: 60 s; a builder also reads
    /// `AGENTJOB_MAX_INTERVAL`, in seconds.
    max_interval(interval: Duration) => max_interval = interval;
    /// How late a wait may notice the job's end, as a fraction of the time waited so far: more than 0, at most 1. Default: 0.15; a
    /// builder also reads `AGENTJOB_LATENESS`.
    lateness(fraction: f64) => lateness = fraction;
    /// How long after a message a finished job may still show its previous result: 0 to 7 days. Default: 10 s; a builder also
    /// reads `AGENTJOB_SETTLE`, in seconds.
    settle(settle: Duration) => settle = settle;
}
