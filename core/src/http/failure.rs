//! Why an exchange has no answer, in words.

use std::io;

/// What ended an exchange, or cut its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The name has no address.
    Resolve { host: String, why: String },
    /// No TCP connection to any address.
    Connect { to: String, why: String },
    /// `connect_timeout` was over.
    ConnectTimeout,
    /// The proxy said no, or nothing sensible. A clause that follows "the proxy".
    Proxy(String),
    /// The process has no descriptor or thread left for a connection.
    Resources(String),
    /// The TLS handshake failed, and what helps, if anything is known to.
    Tls { why: String, hint: &'static str },
    /// A kept connection was dead before a byte of the request left.
    Stale,
    /// The connection ended.
    Lost(String),
    /// The call's total time was over.
    Timeout,
    /// The caller's token or control ended the call.
    Cancelled,
    /// The client was closed.
    Closed,
    /// The answer is no HTTP that we take.
    Garbled(String),
    /// The body is longer than `max_response_bytes`.
    TooLarge { limit: usize },
    /// There is no memory for the body.
    NoMemory { bytes: usize },
    /// A panic below us.
    Bug(String),
}

impl Cause {
    /// What happened, as a clause of an error's sentence.
    pub(crate) fn clause(&self) -> String {
        match self {
            Cause::Resolve { host, why } => format!("the name {host} could not be looked up ({why})"),
            Cause::Connect { to, why } => format!("no connection to {to} ({why})"),
            Cause::ConnectTimeout => "no connection within connect_timeout".to_owned(),
            Cause::Proxy(why) => format!("the proxy {why}"),
            Cause::Resources(why) => format!("no connection could be begun ({why})"),
            Cause::Tls { why, .. } => format!("no TLS connection ({why})"),
            Cause::Stale => "the kept connection was dead".to_owned(),
            Cause::Lost(why) => format!("the connection was lost ({why})"),
            Cause::Timeout => "the call's time (timeout) was over".to_owned(),
            Cause::Cancelled => "the call was cancelled".to_owned(),
            Cause::Closed => "the client is closed".to_owned(),
            Cause::Garbled(why) => format!("the answer is not the service's ({why})"),
            Cause::TooLarge { limit } => format!("the answer is longer than {limit} bytes (max_response_bytes)"),
            Cause::NoMemory { bytes } => format!("there is no memory for an answer of {bytes} bytes or more"),
            Cause::Bug(what) => format!("agentjob failed inside, which is a bug of agentjob ({what})"),
        }
    }

    /// What to look at, as another clause; often nothing.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Cause::Resolve { .. } | Cause::Connect { .. } => "check base_url and the network",
            Cause::Proxy(_) => "check the proxy, or set trust_env to false to go without",
            Cause::Tls { hint, .. } => hint,
            _ => "",
        }
    }
}

/// An I/O error as few plain words.
pub(crate) fn words(error: &io::Error) -> String {
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
