//! Where the time of one request went.

use std::time::Duration;

use serde_json::{Map, Value};

/// The phases of one request, one after the other; what is left of its time was spent on reading the response.
///
/// The phases that make a connection are absent if the request used a kept one. A phase that this connection does not have, such as
/// the proxy's, is absent, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// The lookup of the host's name, or of the proxy's. Absent if the URL has an address instead of a name.
    pub resolve: Option<Duration>,
    /// The TCP connection, to the service or to the proxy.
    pub connect: Option<Duration>,
    /// The tunnel through the proxy.
    pub proxy: Option<Duration>,
    /// The TLS handshake with the service. For the first connection of a client this includes reading the trusted roots.
    pub tls: Option<Duration>,
    /// From when the connection was there until the first byte of the response: writing the request, and the service's own work.
    pub first_byte: Option<Duration>,
}

impl Timings {
    /// As a JSON object, in seconds, without what is absent.
    pub(crate) fn to_json(self) -> Value {
        let phases = [
            ("resolve", self.resolve),
            ("connect", self.connect),
            ("proxy", self.proxy),
            ("tls", self.tls),
            ("first_byte", self.first_byte),
        ];
        let present = phases.into_iter().filter_map(|(name, time)| Some((name.to_owned(), time?)));
        Value::Object(present.map(|(name, time)| (name, seconds_to_the_microsecond(time))).collect::<Map<_, _>>())
    }
}

/// Seconds with at most six decimals: on a fast network a phase takes less than a millisecond.
pub(crate) fn seconds_to_the_microsecond(duration: Duration) -> Value {
    (duration.as_micros() as f64 / 1_000_000.0).into()
}
