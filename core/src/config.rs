//! A client's settings: everything is checked and resolved once, before any request.

mod builder;
mod endpoint;
mod environment;
mod file;
mod head;
mod proxy;
mod secret;
mod tuning;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

pub use builder::ClientBuilder;
pub(crate) use endpoint::Endpoint;
use environment::Environment;
use file::{MAX_WAIT, SettingFile};
pub(crate) use head::Head;
pub(crate) use proxy::Proxy;
pub use secret::KeySource;
pub use tuning::ClientOptions;

use crate::control::{Control, Event};
use crate::error::Error;
use crate::operation::shown;
use crate::redact::Redactor;
use crate::retry::Limits;

/// The total time of one call.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The time to connect: name lookup, TCP, proxy and TLS together.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest of any time that can be set.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How often one call makes a failed request again.
pub const DEFAULT_MAX_RETRIES: u32 = 2;
/// The most retries that can be set.
pub const MAX_RETRIES: u32 = 100;
/// The longest `Retry-After` that a call waits for by itself.
pub const DEFAULT_MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// The longest prompt that is sent.
pub const DEFAULT_MAX_PROMPT_BYTES: usize = 4 << 20;
/// The longest answer that is read.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 8 << 20;
/// The longest `user_agent_suffix`.
const MAX_USER_AGENT_SUFFIX_BYTES: usize = 256;

/// The longest `ca_file`: ten times what operating systems ship.
const MAX_CA_FILE_BYTES: usize = 4 << 20;

/// What a client calls with each event.
pub type EventHandler = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// How much `AGENTJOB_LOG` prints on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(crate) enum LogLevel {
    Off,
    /// Retries and polls.
    Info,
    /// Every request, too.
    Debug,
}

/// Settings that were checked. Immutable.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) endpoint: Endpoint,
    pub(crate) head: Arc<Head>,
    pub(crate) key_source: KeySource,
    pub(crate) project_id: String,
    /// The path of the project's jobs.
    pub(crate) jobs_path: String,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) limits: Limits,
    pub(crate) max_prompt_bytes: usize,
    pub(crate) max_response_bytes: usize,
    pub(crate) extra_roots: Vec<CertificateDer<'static>>,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) on_event: Option<EventHandler>,
    pub(crate) log: LogLevel,
}

impl Config {
    /// Takes the key, and the proxy's password, out of what is shown.
    pub(crate) fn redactor(&self) -> Redactor<'_> {
        Redactor::new([self.head.key(), self.proxy.as_ref().map_or(b"", Proxy::password)])
    }
}

#[cfg(test)]
impl Config {
    pub(crate) fn for_test() -> Config {
        let variables =
            [("AGENTJOB_BASE_URL", "http://127.0.0.1:9"), ("AGENTJOB_API_KEY", "k"), ("AGENTJOB_PROJECT_ID", "p")];
        ClientBuilder::default().with_environment(&variables).resolve().expect("these settings are right")
    }
}

/// A time in seconds as scripts give it, checked: a number, more than 0, at most 7 days.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) that names `name`.
pub fn duration_from_seconds(name: &str, seconds: f64) -> Result<Duration, Error> {
    if seconds.is_nan() || seconds <= 0.0 || seconds > MAX_TIMEOUT.as_secs_f64() {
        return Err(not_seconds(name, &short(seconds)));
    }
    // Below a nanosecond a positive time would round to none at all.
    Ok(Duration::from_secs_f64(seconds).max(Duration::from_nanos(1)))
}

/// The same for a time that may be none: 0, or more than 0 and at most 7 days.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) that names `name`.
pub fn duration_from_seconds_or_zero(name: &str, seconds: f64) -> Result<Duration, Error> {
    if seconds == 0.0 {
        return Ok(Duration::ZERO);
    }
    duration_from_seconds(name, seconds).map_err(|_| {
        Error::invalid(format!("{name} is {}; give a number of seconds from 0 to 604800 (7 days)", short(seconds)))
    })
}

/// A number in a sentence; one of three hundred digits is no help.
pub(crate) fn short(number: f64) -> String {
    // serde_json's printer, which is there anyway: std's own would be 13 KB more.
    match serde_json::Number::from_f64(number) {
        Some(finite) => finite.to_string().trim_end_matches(".0").to_owned(),
        None if number.is_nan() => "NaN".to_owned(),
        None if number > 0.0 => "inf".to_owned(),
        None => "-inf".to_owned(),
    }
}

/// Refuses a time that is none or longer than 7 days.
pub(crate) fn check_time(name: &str, time: Duration) -> Result<Duration, Error> {
    if time.is_zero() || time > MAX_TIMEOUT {
        return Err(not_seconds(name, &short(time.as_secs_f64())));
    }
    Ok(time)
}

fn not_seconds(name: &str, given: &str) -> Error {
    Error::invalid(format!("{name} is {given}; give a number of seconds more than 0 and at most 604800 (7 days)"))
}

fn check_bytes(name: &str, bytes: usize) -> Result<usize, Error> {
    match bytes {
        0 => Err(Error::invalid(format!("{name} is 0; give a number of bytes"))),
        bytes if bytes > 1 << 30 => Err(Error::invalid(format!("{name} is more than 1 GiB"))),
        bytes => Ok(bytes),
    }
}

fn read_roots(name: &str, path: &Path, control: Option<&dyn Control>) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = SettingFile::open(name, path)?.read(MAX_CA_FILE_BYTES, MAX_WAIT, control)?;
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match roots {
        Ok(roots) if roots.is_empty() => {
            Err(Error::invalid(format!("{name} {path:?} holds no certificate; give a PEM file with at least one")))
        }
        Ok(roots) => Ok(roots),
        Err(error) => Err(Error::invalid(format!("{name} {path:?} is no PEM file: {error}"))),
    }
}

fn user_agent(suffix: Option<&str>) -> Result<String, Error> {
    let own = concat!("agentjob/", env!("CARGO_PKG_VERSION"));
    let Some(suffix) = suffix.filter(|suffix| !suffix.is_empty()) else {
        return Ok(own.to_owned());
    };
    if suffix.len() > MAX_USER_AGENT_SUFFIX_BYTES || !suffix.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        return Err(Error::invalid("user_agent_suffix must be visible ASCII, at most 256 bytes"));
    }
    Ok(format!("{own} {suffix}"))
}

fn log_level(environment: &Environment) -> Result<LogLevel, Error> {
    match environment.get("AGENTJOB_LOG")?.as_deref() {
        None | Some("off" | "0") => Ok(LogLevel::Off),
        Some("info") => Ok(LogLevel::Info),
        Some("debug") => Ok(LogLevel::Debug),
        Some(other) => Err(Error::invalid(format!("AGENTJOB_LOG is {:?}; give off, info or debug", shown(other)))),
    }
}

/// Seconds as plain decimal digits.
pub(crate) fn decimal(text: &str) -> Option<Duration> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || text.len() <= usize::from(text.contains('.')) {
        return None;
    }
    let seconds =
        whole.bytes().fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    let nanos =
        part.bytes().chain(std::iter::repeat(b'0')).take(9).fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Some(Duration::new(seconds, nanos))
}
