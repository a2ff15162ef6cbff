//! Faults: how a connection breaks, and where in an exchange.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// A connection that breaks on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// How it breaks.
    #[serde(rename = "do")]
    pub deed: Deed,
    /// Where in the exchange.
    pub at: Spot,
    /// Whether the message is really processed before the connection breaks. Default: yes at [`Spot::Response`], no elsewhere;
    /// only [`Spot::Request`] and [`Spot::Response`] have a whole request to process.
    #[serde(default)]
    pub process: Option<bool>,
    /// How long a [`Deed::Stall`] keeps silent before it closes, in milliseconds. Default: 30,000.
    #[serde(default = "default_stall_ms")]
    pub ms: u64,
}

fn default_stall_ms() -> u64 {
    30_000
}

impl Fault {
    /// How long a stall keeps silent.
    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.ms)
    }
}

/// The request log's spelling: `close at body:10`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deed = match self.deed {
            Deed::Close => "close",
            Deed::Reset => "reset",
            Deed::Stall => "stall",
        };
        write!(f, "{deed} at {}", self.at)
    }
}

/// How a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// A FIN, where possible: what the kernel already holds is read first, since a close with unread bytes sends a reset. Over
    /// TLS the FIN comes without a `close_notify`.
    Close,
    /// A reset (RST).
    Reset,
    /// Silence: nothing is read or written until [`Fault::ms`] have passed, the client closes or the emulator stops.
    Stall,
}

/// Where in an exchange a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Spot {
    /// `accept`: as soon as the connection is accepted, over TLS before the handshake.
    Accept,
    /// `head:N`: N bytes of the request's head were consumed (or the whole head, if it is shorter).
    Head(u64),
    /// `body:N`: the head and N bytes of the body, counted on the wire, were consumed (or the whole body, if it is shorter).
    Body(u64),
    /// `request`: the whole request was consumed, and no response byte written.
    Request,
    /// `response:N`: N bytes of the response were written (or the whole response, if it is shorter).
    Response(u64),
}

impl TryFrom<String> for Spot {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let unknown = || {
            format!(
                "`{text}` is no place in an exchange; write `accept`, `head:N`, `body:N`, `request` or `response:N`"
            )
        };
        let Some((place, bytes)) = text.split_once(':') else {
            return match text.as_str() {
                "accept" => Ok(Self::Accept),
                "request" => Ok(Self::Request),
                _ => Err(unknown()),
            };
        };
        let bytes = bytes.parse().map_err(|_| unknown())?;
        match place {
            "head" => Ok(Self::Head(bytes)),
            "body" => Ok(Self::Body(bytes)),
            "response" => Ok(Self::Response(bytes)),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept => f.write_str("accept"),
            Self::Head(bytes) => write!(f, "head:{bytes}"),
            Self::Body(bytes) => write!(f, "body:{bytes}"),
            Self::Request => f.write_str("request"),
            Self::Response(bytes) => write!(f, "response:{bytes}"),
        }
    }
}
