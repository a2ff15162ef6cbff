//! A client's settings, checked and resolved, with their defaults and limits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;

use crate::call::control::Control;
use crate::call::event::Event;
use crate::call::retry::Limits;
use crate::config::api_keys::ApiKeys;
use crate::config::endpoint::Endpoint;
use crate::config::environment::Environment;
use crate::config::proxy::Proxy;
use crate::config::request_head::RequestHead;
use crate::config::secret::KeySource;
use crate::config::setting_file::{MAX_WAIT, SettingFile};
use crate::error::Error;
use crate::text::{describe, quoted};
use crate::wait::schedule::Schedule;

/// Default deadline of one call, retries and pauses included: 60 s.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// Default time limit for a connection, from name lookup to TLS handshake: 10 s.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Default number of retries of one call.
pub const DEFAULT_MAX_RETRIES: u32 = 2;
/// The largest number of retries that can be set.
pub const MAX_RETRIES: u32 = 100;
/// Default longest `Retry-After` that a call waits for on its own: 60 s.
pub const DEFAULT_MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// Default longest prompt, in bytes of UTF-8: 4 MiB.
pub const DEFAULT_MAX_PROMPT_BYTES: usize = 4 << 20;
/// Default longest response, in bytes: 8 MiB.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 8 << 20;
/// The longest `user_agent_suffix`, in bytes.
const MAX_USER_AGENT_SUFFIX_BYTES: usize = 256;

/// The longest `ca_file`, in bytes: ten times what operating systems ship.
const MAX_CA_FILE_BYTES: usize = 4 << 20;

/// A function that a client calls with each event, on the calling thread.
pub type EventHandler = Arc<dyn Fn(&Event<'_>) + Send + Sync>;

/// How much `AGENTJOB_LOG` prints on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(crate) enum LogLevel {
    Off,
    /// Retries and polls.
    Info,
    /// Every request and its response, too.
    Debug,
}

/// Checked settings. Immutable.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) endpoint: Endpoint,
    pub(crate) keys: Arc<ApiKeys>,
    pub(crate) request_head: Arc<RequestHead>,
    pub(crate) key_source: KeySource,
    pub(crate) project_id: String,
    /// The path of the project's jobs, below the service's origin.
    pub(crate) jobs_path: String,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) limits: Limits,
    /// What waits take where their own options are open.
    pub(crate) waits: Schedule,
    pub(crate) max_prompt_bytes: usize,
    pub(crate) max_response_bytes: usize,
    pub(crate) extra_roots: Vec<CertificateDer<'static>>,
    pub(crate) client_certificate: Option<Arc<CertifiedKey>>,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) on_event: Option<EventHandler>,
    pub(crate) log: LogLevel,
}

/// Checks a limit in bytes: 1 byte to 1 GiB.
pub(crate) fn check_bytes(name: &str, bytes: usize) -> Result<usize, Error> {
    match bytes {
        0 => Err(Error::invalid(format!("{name} is 0")).with_hint("Give a number of bytes.")),
        bytes if bytes > 1 << 30 => Err(Error::invalid(format!("{name} is more than 1 GiB"))),
        bytes => Ok(bytes),
    }
}

/// Reads the certificates of a PEM file.
pub(crate) fn read_roots(
    name: &str,
    path: &Path,
    control: Option<&dyn Control>,
) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = SettingFile::open(name, path)?.read(MAX_CA_FILE_BYTES, MAX_WAIT, control)?;
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match roots {
        Ok(roots) if roots.is_empty() => {
            Err(Error::invalid(format!("{name} {} contains no certificate", quoted(path)))
                .with_hint("Give a PEM file with at least one."))
        }
        Ok(roots) => Ok(roots),
        Err(_) => Err(Error::invalid(format!("{name} {} is not a PEM file", quoted(path)))
            .with_hint("Give one with certificates.")),
    }
}

/// The `User-Agent` header's value.
pub(crate) fn user_agent(suffix: Option<&str>) -> Result<String, Error> {
    let own = concat!("agentjob/", env!("CARGO_PKG_VERSION"));
    let Some(suffix) = suffix.filter(|suffix| !suffix.is_empty()) else {
        return Ok(own.to_owned());
    };
    if suffix.len() > MAX_USER_AGENT_SUFFIX_BYTES || !suffix.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        return Err(Error::invalid("user_agent_suffix must be visible ASCII, at most 256 bytes"));
    }
    Ok(format!("{own} {suffix}"))
}

/// Reads `AGENTJOB_LOG`: off, info or debug.
pub(crate) fn log_level(environment: &Environment) -> Result<LogLevel, Error> {
    match environment.get("AGENTJOB_LOG")?.as_deref() {
        None | Some("off" | "0") => Ok(LogLevel::Off),
        Some("info") => Ok(LogLevel::Info),
        Some("debug") => Ok(LogLevel::Debug),
        Some(other) => {
            Err(Error::invalid(format!("AGENTJOB_LOG is {:?}", describe(other))).with_hint("Give off, info or debug."))
        }
    }
}
