//! How a program gives its settings, and how they are resolved: argument, then variable, then default.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::call::control::Control;
use crate::call::retry::Limits;
use crate::config::client_options::ClientOptions;
use crate::config::endpoint::Endpoint;
use crate::config::environment::{Environment, flag, required};
use crate::config::proxy::Proxy;
use crate::config::request_head::RequestHead;
use crate::config::secret::{KeySource, Secret};
use crate::config::settings::{
    Config, DEFAULT_CONNECT_TIMEOUT, DEFAULT_MAX_PROMPT_BYTES, DEFAULT_MAX_RESPONSE_BYTES, DEFAULT_MAX_RETRIES,
    DEFAULT_MAX_RETRY_AFTER, DEFAULT_TIMEOUT, log_level, read_roots, user_agent,
};
use crate::duration::{check_time, not_seconds, parse_seconds};
use crate::error::Error;
use crate::operation::{check_id, jobs_path};
use crate::text::describe;

const ALLOW_SHARED_KEY_FILE: &str = "AGENTJOB_ALLOW_SHARED_KEY_FILE";

/// Collects a client's settings. An argument wins over its `AGENTJOB_` variable, which wins over the default.
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
    /// What [`Client::with_options`](crate::Client::with_options) can change later, too.
    pub(crate) options: ClientOptions,
    ca_file: Option<PathBuf>,
    proxy: Option<String>,
    ignore_proxy_variables: bool,
    allow_plaintext: bool,
    allow_shared_key_file: Option<bool>,
    control: Option<Arc<dyn Control>>,
    user_agent_suffix: Option<String>,
}

/// One setter per setting, so that the builder reads as a table.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $from:ty => |$value:ident| $to:expr;)*) => {
        impl ClientBuilder {
            $($(#[$doc])* pub fn $name(mut self, $value: $from) -> Self { self.$name = Some($to); self })*
        }
    };
}

setters! {
    /// The URL of the service, `https://…`; plain http only to this machine. Required; also `AGENTJOB_BASE_URL`.
    base_url: impl Into<String> => |url| url.into();
    /// The API key. Required, here or as `api_key_file`; also `AGENTJOB_API_KEY`.
    api_key: impl Into<String> => |key| Zeroizing::new(key.into());
    /// A file that contains only the API key; also `AGENTJOB_API_KEY_FILE`. It may be a pipe. As OpenSSH does with private keys, a
    /// file of this user that others may read or write is refused; see `allow_shared_key_file`.
    api_key_file: impl AsRef<Path> => |path| path.as_ref().to_owned();
    /// The project that the jobs belong to. Required; also `AGENTJOB_PROJECT_ID`.
    project_id: impl Into<String> => |id| id.into();
    /// A PEM file of certificate authorities to trust besides the platform's; also `AGENTJOB_CA_FILE`.
    ca_file: impl AsRef<Path> => |path| path.as_ref().to_owned();
    /// The HTTP proxy to use, `http://[user:password@]host:port`, instead of the environment's.
    proxy: impl Into<String> => |url| url.into();
    /// Whether other users may have access to the key's file, as with the secrets of containers. Default: false; also
    /// `AGENTJOB_ALLOW_SHARED_KEY_FILE`, 1 or 0.
    allow_shared_key_file: bool => |allow| allow;
    /// A control that `build` checks at least every 50 ms while it reads a file that is a pipe; it waits for one at most 60 s.
    control: Arc<dyn Control> => |control| control;
    /// What to append to `agentjob/<version>` in the `User-Agent` header: at most 256 bytes of visible ASCII. Default: nothing.
    user_agent_suffix: impl Into<String> => |suffix| suffix.into();
}

impl ClientBuilder {
    /// Whether to use `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. Default: true.
    pub fn trust_env(mut self, trust: bool) -> Self {
        self.ignore_proxy_variables = !trust;
        self
    }

    /// Whether plain http to another machine is allowed, which shows the key to the network. Default: false.
    pub fn allow_plaintext(mut self, allow: bool) -> Self {
        self.allow_plaintext = allow;
        self
    }

    /// Checks every setting, and reads the files and variables that they name.
    pub(crate) fn resolve(self) -> Result<Config, Error> {
        let environment = &self.environment;
        let base_url = required(self.base_url, environment, "base_url", "AGENTJOB_BASE_URL")?;
        let endpoint = Endpoint::parse(&base_url, self.allow_plaintext)?;
        let project_id = required(self.project_id, environment, "project_id", "AGENTJOB_PROJECT_ID")?;
        check_id("project_id", &project_id)?;
        let control = self.control.as_deref();
        let shared = self.allow_shared_key_file.map_or_else(|| flag(environment, ALLOW_SHARED_KEY_FILE), Ok)?;
        let from_file = |name: &str, path: &Path| Secret::from_file(name, path, shared, control);
        let (secret, key_source) = match (self.api_key, self.api_key_file) {
            (Some(_), Some(_)) => {
                return Err(
                    Error::invalid("api_key and api_key_file are both given").with_hint("Give only one of them.")
                );
            }
            (Some(key), None) => (Secret::new("api_key", &key)?, KeySource::Argument),
            (None, Some(path)) => (from_file("api_key_file", &path)?, KeySource::File),
            (None, None) => key_from_environment(environment, from_file)?,
        };
        let mut options = self.options;
        if options.timeout.is_none()
            && let Some(text) = environment.get("AGENTJOB_TIMEOUT")?
        {
            let seconds =
                parse_seconds(text.trim()).ok_or_else(|| not_seconds("AGENTJOB_TIMEOUT", &describe(&text)))?;
            options.timeout = Some(check_time("AGENTJOB_TIMEOUT", seconds)?);
        }
        let extra_roots = match (self.ca_file, environment.get("AGENTJOB_CA_FILE")?) {
            (Some(path), _) => read_roots("ca_file", &path, control)?,
            (None, Some(path)) => read_roots("AGENTJOB_CA_FILE", Path::new(&path), control)?,
            (None, None) => Vec::new(),
        };
        let proxy = match &self.proxy {
            Some(url) => Some(Proxy::parse("proxy", url)?.checked_for(&endpoint)?),
            None if self.ignore_proxy_variables => None,
            None => Proxy::from_environment(environment, &endpoint)?,
        };
        let mut config = Config {
            request_head: Arc::new(RequestHead::new(&secret, &user_agent(self.user_agent_suffix.as_deref())?)),
            log: log_level(environment)?,
            limits: Limits { max_retries: DEFAULT_MAX_RETRIES, max_retry_after: DEFAULT_MAX_RETRY_AFTER },
            on_event: None,
            jobs_path: jobs_path(&endpoint.path, &project_id),
            endpoint,
            key_source,
            project_id,
            timeout: DEFAULT_TIMEOUT,
            connect_timeout: DEFAULT_CONNECT_TIMEOUT,
            max_prompt_bytes: DEFAULT_MAX_PROMPT_BYTES,
            max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES,
            extra_roots,
            proxy,
        };
        options.apply(&mut config)?;
        Ok(config)
    }

    #[cfg(test)]
    pub(crate) fn with_environment(mut self, variables: &[(&str, &str)]) -> Self {
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

fn key_from_environment(
    environment: &Environment,
    from_file: impl Fn(&str, &Path) -> Result<Secret, Error>,
) -> Result<(Secret, KeySource), Error> {
    if let Some(key) = environment.get("AGENTJOB_API_KEY")?.map(Zeroizing::new) {
        return Ok((Secret::new("AGENTJOB_API_KEY", &key)?, KeySource::Variable));
    }
    if let Some(path) = environment.get("AGENTJOB_API_KEY_FILE")? {
        return Ok((from_file("AGENTJOB_API_KEY_FILE", Path::new(&path))?, KeySource::VariableFile));
    }
    Err(Error::invalid("api_key is missing")
        .with_hint("Pass api_key or api_key_file, or set AGENTJOB_API_KEY or AGENTJOB_API_KEY_FILE."))
}

#[cfg(test)]
impl Config {
    pub(crate) fn for_test() -> Config {
        let variables =
            [("AGENTJOB_BASE_URL", "http://127.0.0.1:9"), ("AGENTJOB_API_KEY", "k"), ("AGENTJOB_PROJECT_ID", "p")];
        ClientBuilder::default().with_environment(&variables).resolve().expect("these settings are right")
    }
}

#[cfg(test)]
mod tests;
