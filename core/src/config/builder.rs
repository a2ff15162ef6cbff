//! How a program says its settings, and how they are resolved: argument, then variable, then default.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::environment::{Environment, required};
use super::proxy::Proxy;
use super::secret::{KeySource, Secret};
use super::{
    Config, DEFAULT_CONNECT_TIMEOUT, DEFAULT_MAX_PROMPT_BYTES, DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_MAX_RETRIES,
    DEFAULT_MAX_RETRY_AFTER, DEFAULT_TIMEOUT, Endpoint, EventHandler, Head, MAX_RETRIES, MAX_TIMEOUT, check_bytes,
    check_time, duration_from_seconds, log_level, not_seconds, read_roots, user_agent,
};
use crate::client::Client;
use crate::error::Error;
use crate::operation::{check_id, jobs_path, shown};
use crate::retry::Limits;

/// Gathers a client's settings. An argument wins over its `AGENTJOB_` variable, which wins over the default.
///
/// ```no_run
/// # fn main() -> Result<(), agentjob_core::Error> {
/// let client = agentjob_core::Client::builder()
///     .base_url("https://api.example.com")
///     .project_id("my-project")
///     .build()?; // the key comes from AGENTJOB_API_KEY
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct ClientBuilder {
    environment: Environment,
    base_url: Option<String>,
    api_key: Option<Zeroizing<String>>,
    api_key_file: Option<PathBuf>,
    project_id: Option<String>,
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    max_retries: Option<u32>,
    max_retry_after: Option<Duration>,
    max_prompt_bytes: Option<usize>,
    max_response_bytes: Option<usize>,
    ca_file: Option<PathBuf>,
    proxy: Option<String>,
    ignore_proxy_variables: bool,
    allow_plaintext: bool,
    user_agent_suffix: Option<String>,
    on_event: Option<EventHandler>,
}

/// One setter a setting, so that the builder reads as a table.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $from:ty => |$value:ident| $to:expr;)*) => {
        impl ClientBuilder {
            $($(#[$doc])* pub fn $name(mut self, $value: $from) -> Self { self.$name = Some($to); self })*
        }
    };
}

setters! {
    /// Where the service is, `https://…`; plain http only to this machine. Required; also `AGENTJOB_BASE_URL`.
    base_url: impl Into<String> => |url| url.into();
    /// The API key. Required, here or as `api_key_file`; also `AGENTJOB_API_KEY`.
    api_key: impl Into<String> => |key| Zeroizing::new(key.into());
    /// A file that holds the API key alone; also `AGENTJOB_API_KEY_FILE`.
    api_key_file: impl AsRef<Path> => |path| path.as_ref().to_owned();
    /// The project that the jobs belong to. Required; also `AGENTJOB_PROJECT_ID`.
    project_id: impl Into<String> => |id| id.into();
    /// The total time of one call, retries and pauses included. 60 s; also `AGENTJOB_TIMEOUT` in seconds.
    timeout: Duration => |timeout| timeout;
    /// The time to connect: name lookup, TCP, proxy and TLS together. 10 s.
    connect_timeout: Duration => |timeout| timeout;
    /// How often a call makes a failed request again, where that cannot deliver a message twice. 2; 0 to 100.
    max_retries: u32 => |retries| retries;
    /// The longest `Retry-After` that a call waits for by itself. 60 s; may be 0.
    max_retry_after: Duration => |limit| limit;
    /// The longest prompt that is sent, in bytes of UTF-8. 4 MiB.
    max_prompt_bytes: usize => |bytes| bytes;
    /// The longest answer that is read, in bytes. 8 MiB.
    max_response_bytes: usize => |bytes| bytes;
    /// A PEM file of authorities to trust besides the platform's; also `AGENTJOB_CA_FILE`.
    ca_file: impl AsRef<Path> => |path| path.as_ref().to_owned();
    /// The HTTP proxy to go through, `http://[user:password@]host:port`, instead of the environment's.
    proxy: impl Into<String> => |url| url.into();
    /// What to put behind `agentjob/<version>` in the `User-Agent` header.
    user_agent_suffix: impl Into<String> => |suffix| suffix.into();
    /// What to call with each event, on the calling thread: attempts, retries, polls.
    on_event: EventHandler => |handler| handler;
}

impl ClientBuilder {
    /// Whether `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` count. Yes by default.
    pub fn trust_env(mut self, trust: bool) -> Self {
        self.ignore_proxy_variables = !trust;
        self
    }

    /// Whether plain http may go to another machine, which shows the key to the network. No by default.
    pub fn allow_plaintext(mut self, allow: bool) -> Self {
        self.allow_plaintext = allow;
        self
    }

    /// Checks every setting and makes the client. Nothing is sent, and no certificate store is read.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) names the first setting that is missing or wrong.
    pub fn build(self) -> Result<Client, Error> {
        Ok(Client::new(self.resolve()?))
    }

    pub(super) fn resolve(self) -> Result<Config, Error> {
        let environment = &self.environment;
        let base_url = required(self.base_url, environment, "base_url", "AGENTJOB_BASE_URL")?;
        let endpoint = Endpoint::parse(&base_url, self.allow_plaintext)?;
        let project_id = required(self.project_id, environment, "project_id", "AGENTJOB_PROJECT_ID")?;
        check_id("project_id", &project_id)?;
        let (secret, key_source) = match (self.api_key, self.api_key_file) {
            (Some(_), Some(_)) => return Err(Error::invalid("give api_key or api_key_file, not both")),
            (Some(key), None) => (Secret::new("api_key", &key)?, KeySource::Argument),
            (None, Some(path)) => (Secret::from_file("api_key_file", &path)?, KeySource::File),
            (None, None) => key_from_environment(environment)?,
        };
        let timeout = match self.timeout {
            Some(timeout) => check_time("timeout", timeout)?,
            None => match environment.get("AGENTJOB_TIMEOUT")? {
                Some(text) => {
                    let seconds = text.trim().parse().map_err(|_| not_seconds("AGENTJOB_TIMEOUT", &shown(&text)))?;
                    duration_from_seconds("AGENTJOB_TIMEOUT", seconds)?
                }
                None => DEFAULT_TIMEOUT,
            },
        };
        let connect_timeout = check_time("connect_timeout", self.connect_timeout.unwrap_or(DEFAULT_CONNECT_TIMEOUT))?;
        let max_retry_after = self.max_retry_after.unwrap_or(DEFAULT_MAX_RETRY_AFTER);
        if max_retry_after > MAX_TIMEOUT {
            return Err(Error::invalid("max_retry_after is longer than 7 days"));
        }
        let max_retries = self.max_retries.unwrap_or(DEFAULT_MAX_RETRIES);
        if max_retries > MAX_RETRIES {
            return Err(Error::invalid(format!("max_retries is {max_retries}; at most {MAX_RETRIES} are made")));
        }
        let max_prompt_bytes = check_bytes("max_prompt_bytes", self.max_prompt_bytes, DEFAULT_MAX_PROMPT_BYTES)?;
        let max_response_bytes =
            check_bytes("max_response_bytes", self.max_response_bytes, DEFAULT_MAX_RESPONSE_BYTES)?;
        let extra_roots = match (self.ca_file, environment.get("AGENTJOB_CA_FILE")?) {
            (Some(path), _) => read_roots("ca_file", &path)?,
            (None, Some(path)) => read_roots("AGENTJOB_CA_FILE", Path::new(&path))?,
            (None, None) => Vec::new(),
        };
        let proxy = match &self.proxy {
            Some(url) => Some(Proxy::parse("proxy", url)?.bearing(&endpoint)?),
            None if self.ignore_proxy_variables => None,
            None => Proxy::from_environment(environment, &endpoint)?,
        };
        Ok(Config {
            head: Arc::new(Head::new(&secret, &user_agent(self.user_agent_suffix.as_deref())?)),
            log: log_level(environment)?,
            limits: Limits { max_retries, max_retry_after },
            on_event: self.on_event,
            jobs_path: jobs_path(&endpoint.path, &project_id),
            endpoint,
            key_source,
            project_id,
            timeout,
            connect_timeout,
            max_prompt_bytes,
            max_response_bytes,
            extra_roots,
            proxy,
        })
    }

    #[cfg(test)]
    pub(super) fn with_environment(mut self, variables: &[(&str, &str)]) -> Self {
        self.environment = Environment::of(variables);
        self
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder")
            .field("base_url", &self.base_url.as_ref().map(|_| "(given)"))
            .field("project_id", &self.project_id)
            .finish_non_exhaustive()
    }
}

fn key_from_environment(environment: &Environment) -> Result<(Secret, KeySource), Error> {
    if let Some(key) = environment.get("AGENTJOB_API_KEY")?.map(Zeroizing::new) {
        return Ok((Secret::new("AGENTJOB_API_KEY", &key)?, KeySource::Variable));
    }
    if let Some(path) = environment.get("AGENTJOB_API_KEY_FILE")? {
        return Ok((Secret::from_file("AGENTJOB_API_KEY_FILE", Path::new(&path))?, KeySource::VariableFile));
    }
    Err(Error::invalid(
        "api_key is missing; pass api_key or api_key_file, or set AGENTJOB_API_KEY or AGENTJOB_API_KEY_FILE",
    ))
}

#[cfg(test)]
mod tests;
