//! A client's settings: everything is checked and resolved once, before any request.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::call::control::{Control, Event};
use crate::call::retry::Limits;
use crate::config::endpoint::Endpoint;
use crate::config::environment::Environment;
use crate::config::proxy::Proxy;
use crate::config::request_head::Head;
use crate::config::secret::KeySource;
use crate::config::setting_file::{MAX_WAIT, SettingFile};
use crate::error::Error;
use crate::redact::Redactor;
use crate::text::describe;

/// The total time of one call.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The time to connect: name lookup, TCP, proxy and TLS together.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
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

pub(crate) fn check_bytes(name: &str, bytes: usize) -> Result<usize, Error> {
    match bytes {
        0 => Err(Error::invalid(format!("{name} is 0")).with_hint("Give a number of bytes.")),
        bytes if bytes > 1 << 30 => Err(Error::invalid(format!("{name} is more than 1 GiB"))),
        bytes => Ok(bytes),
    }
}

pub(crate) fn read_roots(
    name: &str,
    path: &Path,
    control: Option<&dyn Control>,
) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = SettingFile::open(name, path)?.read(MAX_CA_FILE_BYTES, MAX_WAIT, control)?;
    let roots: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match roots {
        Ok(roots) if roots.is_empty() => Err(Error::invalid(format!("{name} {path:?} holds no certificate"))
            .with_hint("Give a PEM file with at least one.")),
        Ok(roots) => Ok(roots),
        Err(_) => {
            Err(Error::invalid(format!("{name} {path:?} is not a PEM file")).with_hint("Give one with certificates."))
        }
    }
}

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
