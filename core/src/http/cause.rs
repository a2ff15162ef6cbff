//! Why an exchange has no complete response.

use std::io;

use crate::error::internal::{INTERNAL_HINT, internal_reason};
use crate::error::kind::ErrorKind;
use crate::http::response_headers::ResponseHeaders;

/// What ended an exchange, or cut its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The name has no address.
    Resolve { host: String, why: String },
    /// No TCP connection to any address.
    Connect { to: String, why: String },
    /// Connecting took longer than `connect_timeout`.
    ConnectTimeout,
    /// The proxy cannot be reached, or its response made no sense. A clause that follows "the proxy".
    Proxy(String),
    /// Connecting took too long, and the proxy is why, or what is behind it once it `is_reached`. `why` follows "the proxy".
    ProxyTimeout { why: String, is_reached: bool },
    /// The proxy's response is not a tunnel.
    TunnelRefused(Box<TunnelRefused>),
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

/// A proxy's response to CONNECT that is not a success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TunnelRefused {
    pub(crate) status: u16,
    pub(crate) headers: ResponseHeaders,
    pub(crate) body: Vec<u8>,
    /// The body's end is missing.
    pub(crate) cut: bool,
    /// The proxy got a user name and a password.
    pub(crate) with_credentials: bool,
    /// The tunnel was to be for https on its own port, which every proxy may allow.
    pub(crate) for_https: bool,
}

impl TunnelRefused {
    /// What happened, as an error's reason. `said`: the proxy's own message.
    pub(crate) fn reason(&self, said: Option<&str>) -> String {
        let what = match (self.status, self.with_credentials) {
            (407, true) => "refused the user name or password",
            (407, false) => "requires a user name and password",
            _ => "refused the tunnel",
        };
        match said {
            Some(said) => format!("the proxy {what} ({}: {said})", self.status),
            None => format!("the proxy {what} ({})", self.status),
        }
    }

    /// The statuses are those of proxies that do not know the method, or do not allow it for this port.
    fn hint(&self) -> &'static str {
        match (self.status, self.for_https) {
            (400 | 403 | 404 | 405 | 501, false) => ONLY_CONNECT,
            _ => CHECK_PROXY,
        }
    }
}

pub(crate) const CHECK_PROXY: &str =
    "Check the option proxy, or HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY in the environment.";
/// A proxy may also wait in silence for a service that it can't reach.
const CHECK_PROXY_AND_SERVICE: &str = "Check the option proxy, or HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY in the environment. \
    Check base_url, too: the proxy may be waiting for the service.";
const ONLY_CONNECT: &str = "agentjob asks a proxy only for tunnels (CONNECT), and many proxies allow those only to port 443. \
    Use https on port 443, or reach the service without a proxy (NO_PROXY).";

impl Cause {
    /// The kind of an error that it makes.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Cause::Resolve { .. } | Cause::Connect { .. } | Cause::Resources(_) => ErrorKind::Connect,
            Cause::Proxy(_) | Cause::TunnelRefused(_) => ErrorKind::Connect,
            Cause::Tls { .. } | Cause::ClientRefused { .. } => ErrorKind::Tls,
            Cause::Stale | Cause::Lost(_) => ErrorKind::ConnectionLost,
            Cause::ConnectTimeout | Cause::ProxyTimeout { .. } | Cause::Timeout => ErrorKind::Timeout,
            Cause::Cancelled => ErrorKind::Cancelled,
            Cause::Closed => ErrorKind::Closed,
            Cause::Garbled(_) | Cause::TooLarge { .. } | Cause::NoMemory { .. } => ErrorKind::InvalidResponse,
            Cause::Bug(_) => ErrorKind::Internal,
        }
    }

    /// Whether a setting has to change first, so that another request cannot succeed: the one place that says so for what happens
    /// before there is a response. For responses [`ErrorKind::is_a_setting`] does.
    pub(crate) fn is_a_setting(&self) -> bool {
        match self {
            Cause::TunnelRefused(refused) => refused.status == 407,
            Cause::Tls { .. } | Cause::ClientRefused { .. } => true,
            _ => false,
        }
    }

    /// What happened, as an error's reason.
    pub(crate) fn reason(&self) -> String {
        match self {
            Cause::Resolve { host, why } => format!("could not resolve the host name {host} ({why})"),
            Cause::Connect { to, why } => format!("no connection to {to} ({why})"),
            Cause::ConnectTimeout => "connecting timed out (connect_timeout)".to_owned(),
            Cause::Proxy(why) | Cause::ProxyTimeout { why, .. } => format!("the proxy {why}"),
            Cause::TunnelRefused(refused) => refused.reason(None),
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
            Cause::ProxyTimeout { is_reached: true, .. } => Some(CHECK_PROXY_AND_SERVICE),
            Cause::Proxy(_) | Cause::ProxyTimeout { .. } => Some(CHECK_PROXY),
            Cause::TunnelRefused(refused) => Some(refused.hint()),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16, with_credentials: bool, for_https: bool) -> TunnelRefused {
        let (headers, body) = (ResponseHeaders::default(), Vec::new());
        TunnelRefused { status, headers, body, cut: false, with_credentials, for_https }
    }

    #[test]
    fn every_cause_has_its_kind_its_reason_and_what_helps() {
        let tunnel = |status, with_credentials, for_https| {
            Cause::TunnelRefused(Box::new(refused(status, with_credentials, for_https)))
        };
        let why = || "why".to_owned();
        let network = Some("Check base_url and the network.");
        let tls = Some("the hint of TLS");
        for (cause, kind, reason, hint, is_a_setting) in [
            (
                Cause::Resolve { host: "h".to_owned(), why: why() },
                ErrorKind::Connect,
                "could not resolve the host name h (why)",
                network,
                false,
            ),
            (
                Cause::Connect { to: "h:1".to_owned(), why: why() },
                ErrorKind::Connect,
                "no connection to h:1 (why)",
                network,
                false,
            ),
            (Cause::ConnectTimeout, ErrorKind::Timeout, "connecting timed out (connect_timeout)", None, false),
            (Cause::Proxy(why()), ErrorKind::Connect, "the proxy why", Some(CHECK_PROXY), false),
            (
                Cause::ProxyTimeout { why: why(), is_reached: false },
                ErrorKind::Timeout,
                "the proxy why",
                Some(CHECK_PROXY),
                false,
            ),
            (
                Cause::ProxyTimeout { why: why(), is_reached: true },
                ErrorKind::Timeout,
                "the proxy why",
                Some(CHECK_PROXY_AND_SERVICE),
                false,
            ),
            (
                tunnel(407, true, true),
                ErrorKind::Connect,
                "the proxy refused the user name or password (407)",
                Some(CHECK_PROXY),
                true,
            ),
            (
                tunnel(407, false, false),
                ErrorKind::Connect,
                "the proxy requires a user name and password (407)",
                Some(CHECK_PROXY),
                true,
            ),
            (
                tunnel(403, true, false),
                ErrorKind::Connect,
                "the proxy refused the tunnel (403)",
                Some(ONLY_CONNECT),
                false,
            ),
            (
                tunnel(403, true, true),
                ErrorKind::Connect,
                "the proxy refused the tunnel (403)",
                Some(CHECK_PROXY),
                false,
            ),
            (
                tunnel(502, true, false),
                ErrorKind::Connect,
                "the proxy refused the tunnel (502)",
                Some(CHECK_PROXY),
                false,
            ),
            (Cause::Resources(why()), ErrorKind::Connect, "could not open a connection (why)", None, false),
            (Cause::Tls { why: why(), hint: tls }, ErrorKind::Tls, "no TLS connection (why)", tls, true),
            (Cause::ClientRefused { why: why(), hint: tls }, ErrorKind::Tls, "no TLS connection (why)", tls, true),
            (Cause::Stale, ErrorKind::ConnectionLost, "the kept connection had been closed", None, false),
            (Cause::Lost(why()), ErrorKind::ConnectionLost, "the connection was lost (why)", None, false),
            (Cause::Timeout, ErrorKind::Timeout, "the call timed out (timeout)", None, false),
            (Cause::Cancelled, ErrorKind::Cancelled, "the call was cancelled", None, false),
            (Cause::Closed, ErrorKind::Closed, "the client was closed", None, false),
            (Cause::Garbled(why()), ErrorKind::InvalidResponse, "the response is not valid (why)", None, false),
            (
                Cause::TooLarge { limit: 5 },
                ErrorKind::InvalidResponse,
                "the response is longer than 5 bytes (max_response_bytes)",
                None,
                false,
            ),
            (
                Cause::NoMemory { bytes: 5 },
                ErrorKind::InvalidResponse,
                "out of memory for a response of 5 bytes or more",
                None,
                false,
            ),
            (Cause::Bug(why()), ErrorKind::Internal, &internal_reason("why"), Some(INTERNAL_HINT), false),
        ] {
            assert_eq!((cause.kind(), &*cause.reason(), cause.hint()), (kind, reason, hint), "{cause:?}");
            assert_eq!(cause.is_a_setting(), is_a_setting, "{cause:?}");
        }
    }

    #[test]
    fn a_proxy_that_refuses_a_tunnel_is_asked_for_another_port_only_if_it_may_not_allow_this_one() {
        for (status, only_connect) in
            [(400, true), (403, true), (404, true), (405, true), (501, true), (401, false), (500, false), (503, false)]
        {
            let refused = refused(status, false, false);
            assert_eq!(refused.hint() == ONLY_CONNECT, only_connect, "{status}");
            assert_eq!(refused.reason(Some("no")), format!("the proxy refused the tunnel ({status}: no)"));
        }
    }

    #[test]
    fn a_common_error_of_the_system_has_no_number() {
        use io::ErrorKind::*;
        for kind in [
            ConnectionRefused,
            ConnectionReset,
            ConnectionAborted,
            BrokenPipe,
            HostUnreachable,
            NetworkUnreachable,
            UnexpectedEof,
            TimedOut,
        ] {
            assert_eq!(describe_io(&io::Error::new(kind, "own words")), kind.to_string());
        }
        assert_eq!(describe_io(&io::Error::other("own words")), "own words");
    }
}
