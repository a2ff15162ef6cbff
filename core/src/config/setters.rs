//! The setters that [`ClientBuilder`] and [`ClientOptions`] have in common, from one table.

use std::time::Duration;

use crate::config::builder::ClientBuilder;
use crate::config::client_options::ClientOptions;
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
    /// A function to call with each event (attempts, retries, polls), on the calling thread. Default: none.
    on_event: EventHandler;
}
