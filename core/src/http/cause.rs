//! Why an exchange has no complete response.

use std::io;

use crate::error::internal::{INTERNAL_HINT, internal_reason};
use crate::error::kind::ErrorKind;

/// What ended an exchange, or cut its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The name has no address.
    Resolve { host: String, why: String },
    /// No TCP connection to any address.
    Connect { to: String, why: String },
    /// Connecting took longer than `connect_timeout`.
    ConnectTimeout,
    /// The proxy refused, or its response made no sense. A clause that follows "the proxy".
    Proxy(String),
    /// The proxy refused the login (407).
    ProxyLogin { credentials: bool },
    /// The process has no descriptor or thread left for a connection.
    Resources(String),
    /// The TLS handshake failed, and what helps, if anything is known to.
    Tls { why: String, hint: Option<&'static str> },
    /// The service refused the client's certificate, or requires one: it processed nothing, also of a request that was written.
    ClientRefused { why: String, hint: Option<&'static str> },
    /// A kept connection was closed before a byte of the request left.
    Stale,
    /// The connection ended.
    Lost(String),
    /// The call timed out.
    Timeout,
    /// The caller's token or control ended the call.
    Cancelled,
    /// The client was closed.
    Closed,
    /// The response is no HTTP that we accept.
    Garbled(String),
    /// The body is longer than `max_response_bytes`.
    TooLarge { limit: usize },
    /// The body does not fit into memory.
    NoMemory { bytes: usize },
    /// A panic below us.
    Bug(String),
}

impl Cause {
    /// The kind of an error that it makes.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Cause::Resolve { .. } | Cause::Connect { .. } | Cause::Resources(_) => ErrorKind::Connect,
            Cause::Proxy(_) | Cause::ProxyLogin { .. } => ErrorKind::Connect,
            Cause::Tls { .. } | Cause::ClientRefused { .. } => ErrorKind::Tls,
            Cause::Stale | Cause::Lost(_) => ErrorKind::ConnectionLost,
            Cause::ConnectTimeout | Cause::Timeout => ErrorKind::Timeout,
            Cause::Cancelled => ErrorKind::Cancelled,
            Cause::Closed => ErrorKind::Closed,
            Cause::Garbled(_) | Cause::TooLarge { .. } | Cause::NoMemory { .. } => ErrorKind::InvalidResponse,
            Cause::Bug(_) => ErrorKind::Internal,
        }
    }

    /// Whether a setting has to change first, so that another request cannot succeed: the one place that says so for what happens
    /// before there is a response. For responses [`ErrorKind::is_a_setting`] does.
    pub(crate) fn is_a_setting(&self) -> bool {
        matches!(self, Cause::ProxyLogin { .. } | Cause::Tls { .. } | Cause::ClientRefused { .. })
    }

    /// What happened, as an error's reason.
    pub(crate) fn reason(&self) -> String {
        match self {
            Cause::Resolve { host, why } => format!("could not resolve the host name {host} ({why})"),
            Cause::Connect { to, why } => format!("no connection to {to} ({why})"),
            Cause::ConnectTimeout => "connecting timed out (connect_timeout)".to_owned(),
            Cause::Proxy(why) => format!("the proxy {why}"),
            Cause::ProxyLogin { credentials: true } => "the proxy refused the user name or password (407)".to_owned(),
            Cause::ProxyLogin { credentials: false } => "the proxy requires a user name and password (407)".to_owned(),
            Cause::Resources(why) => format!("could not open a connection ({why})"),
            Cause::Tls { why, .. } | Cause::ClientRefused { why, .. } => format!("no TLS connection ({why})"),
            Cause::Stale => "the kept connection had been closed".to_owned(),
            Cause::Lost(why) => format!("the connection was lost ({why})"),
            Cause::Timeout => "the call timed out (timeout)".to_owned(),
            Cause::Cancelled => "the call was cancelled".to_owned(),
            Cause::Closed => "the client was closed".to_owned(),
            Cause::Garbled(why) => format!("the response is not valid ({why})"),
            Cause::TooLarge { limit } => format!("the response is longer than {limit} bytes (max_response_bytes)"),
            Cause::NoMemory { bytes } => format!("out of memory for a response of {bytes} bytes or more"),
            Cause::Bug(what) => internal_reason(what),
        }
    }

    /// What to do about it, as an error's hint.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Cause::Resolve { .. } | Cause::Connect { .. } => Some("Check base_url and the network."),
            Cause::Proxy(_) | Cause::ProxyLogin { .. } => {
                Some("Check the option proxy, or the proxy in the environment, which trust_env = false ignores.")
            }
            Cause::Tls { hint, .. } | Cause::ClientRefused { hint, .. } => *hint,
            Cause::Bug(_) => Some(INTERNAL_HINT),
            _ => None,
        }
    }
}

/// An I/O error, in a few words: the common ones without the number that the system gives them.
pub(crate) fn describe_io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::TimedOut => error.kind().to_string(),
        _ => error.to_string(),
    }
}
