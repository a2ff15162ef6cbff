//! How a program gives its settings, and how they are resolved: argument, then variable, then default.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::call::control::Control;
use crate::call::retry::Limits;
use crate::config::api_keys::{ApiKeys, KeyFunction};
use crate::config::client_certificate::{self, Reading};
use crate::config::client_options::ClientOptions;
use crate::config::endpoint::Endpoint;
use crate::config::environment::{Environment, flag, required};
use crate::config::headers::Headers;
use crate::config::key_file::KeyFile;
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
use crate::os::file::FileStamp;
use crate::text::{describe, quoted};
use crate::wait::schedule::DEFAULT_SCHEDULE;

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
    api_key_function: Option<KeyFunction>,
    project_id: Option<String>,
    /// What [`Client::with_options`](crate::Client::with_options) can change later, too.
    pub(crate) options: ClientOptions,
    ca_file: Option<PathBuf>,
    client_cert: Option<PathBuf>,
    client_key: Option<PathBuf>,
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
    /// A file that contains only the API key; also `AGENTJOB_API_KEY_FILE`. It is read again when it changed, and after a 401 (see
    /// docs/how-to/rotating-key.md); a pipe is read once. As OpenSSH does with private keys, a file of this user that others may read
    /// or write is refused; see `allow_shared_key_file`.
    api_key_file: impl AsRef<Path> => |path| path.as_ref().to_owned();
    /// A function that returns the key, in place of `api_key` and `api_key_file`. It is called before each call, on the calling thread and
    /// without a lock, and once more after a 401; the request is made again if it returns another key. Its time counts against the
    /// call's `timeout`, which cannot interrupt it. If it fails, or returns no key, the call ends before anything is sent. It must not
    /// use the client.
    api_key_function: KeyFunction => |function| function;
    /// The project that the jobs belong to. Required; also `AGENTJOB_PROJECT_ID`.
    project_id: impl Into<String> => |id| id.into();
    /// A PEM file of certificate authorities to trust in addition to the platform's; also `AGENTJOB_CA_FILE`.
    ca_file: impl AsRef<Path> => |path| path.as_ref().to_owned();
    /// The client certificate for mutual TLS: a PEM file with its chain, the client's own first, and perhaps with the private key;
    /// also `AGENTJOB_CLIENT_CERT`. Read once.
    client_cert: impl AsRef<Path> => |path| path.as_ref().to_owned();
    /// A PEM file with the private key of `client_cert`, unencrypted; also `AGENTJOB_CLIENT_KEY`. Not needed if `client_cert` has the
    /// key. The rule for `api_key_file` about other users holds for it, too.
    client_key: impl AsRef<Path> => |path| path.as_ref().to_owned();
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

    /// Checks the settings that were given, each alone, for callers that report a wrong one at once. `build` checks the rest: that
    /// nothing is missing, what only shows together (plain http without `allow_plaintext`), files, and variables.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names the setting.
    pub fn check(&self) -> Result<(), Error> {
        let plaintext_may_be_allowed_later = true;
        if let Some(url) = &self.base_url {
            Endpoint::parse(url, plaintext_may_be_allowed_later)?;
        }
        if let Some(key) = &self.api_key {
            Secret::new("api_key", key)?;
        }
        if let Some(id) = &self.project_id {
            check_id("project_id", id)?;
        }
        if let Some(url) = &self.proxy {
            Proxy::parse("proxy", url)?;
        }
        user_agent(self.user_agent_suffix.as_deref())?;
        self.check_paths()?;
        self.options.check()
    }

    fn check_paths(&self) -> Result<(), Error> {
        let paths = [
            ("api_key_file", &self.api_key_file),
            ("ca_file", &self.ca_file),
            ("client_cert", &self.client_cert),
            ("client_key", &self.client_key),
        ];
        let is_empty = |path: &PathBuf| path.as_os_str().is_empty();
        match paths.into_iter().find(|(_, path)| path.as_ref().is_some_and(is_empty)) {
            Some((name, _)) => Err(Error::invalid(format!("{name} is empty")).with_hint("Give the path of a file.")),
            None => Ok(()),
        }
    }

    /// Checks every setting, and reads the files and variables that they name.
    pub(crate) fn resolve(self) -> Result<Config, Error> {
        self.check_paths()?;
        let environment = &self.environment;
        let base_url = required(self.base_url, environment, "base_url", "AGENTJOB_BASE_URL")?;
        let endpoint = Endpoint::parse(&base_url, self.allow_plaintext)?;
        let project_id = required(self.project_id, environment, "project_id", "AGENTJOB_PROJECT_ID")?;
        check_id("project_id", &project_id)?;
        let control = self.control.as_deref();
        let shared = self.allow_shared_key_file.map_or_else(|| flag(environment, ALLOW_SHARED_KEY_FILE), Ok)?;
        let from_file = |name: &str, path: &Path| KeyFile::open(name, path, shared, control);
        let both = |one, other| {
            let error = Error::invalid(format!("{one} and {other} are both given"));
            Err(error.with_hint("Give only one of them."))
        };
        let (keys, key_source) = match (self.api_key_function, self.api_key, self.api_key_file) {
            (None, Some(_), Some(_)) => return both("api_key", "api_key_file"),
            (Some(_), Some(_), _) => return both("api_key", "a function for it"),
            (Some(_), None, Some(_)) => return both("api_key_file", "a function for the API key"),
            (Some(function), None, None) => (ApiKeys::of_function(function), KeySource::Function),
            (None, Some(key), None) => (ApiKeys::new(Secret::new("api_key", &key)?, None), KeySource::Argument),
            (None, None, Some(path)) => {
                let (secret, file) = from_file("api_key_file", &path)?;
                (ApiKeys::new(secret, file), KeySource::File)
            }
            (None, None, None) => {
                let ((secret, file), source) = key_from_environment(environment, from_file)?;
                (ApiKeys::new(secret, file), source)
            }
        };
        let mut options = self.options;
        if options.timeout.is_none()
            && let Some(text) = environment.get("AGENTJOB_TIMEOUT")?
        {
            let seconds =
                parse_seconds(text.trim()).ok_or_else(|| not_seconds("AGENTJOB_TIMEOUT", &describe(&text)))?;
            options.timeout = Some(check_time("AGENTJOB_TIMEOUT", seconds)?);
        }
        options.waits = options.waits.or_environment(environment)?;
        let extra_roots = match (self.ca_file, environment.get("AGENTJOB_CA_FILE")?) {
            (Some(path), _) => read_roots("ca_file", &path, control)?,
            (None, Some(path)) => read_roots("AGENTJOB_CA_FILE", Path::new(&path), control)?,
            (None, None) => Vec::new(),
        };
        let reading = Reading { may_be_shared: shared, control };
        let certificate =
            client_certificate::read(self.client_cert.as_deref(), self.client_key.as_deref(), environment, reading)?;
        let proxy = match &self.proxy {
            Some(url) => Some(Proxy::parse("proxy", url)?.checked_for(&endpoint)?),
            None if self.ignore_proxy_variables => None,
            None => Proxy::from_environment(environment, &endpoint)?,
        };
        let headers = match environment.get("AGENTJOB_HEADERS")?.map(Zeroizing::new) {
            Some(lines) => Headers::parse("AGENTJOB_HEADERS", &lines)?,
            None => Headers::new(),
        };
        let mut config = Config {
            keys: Arc::new(keys),
            request_head: Arc::new(RequestHead::new(user_agent(self.user_agent_suffix.as_deref())?, headers)),
            log: log_level(environment)?,
            limits: Limits { max_retries: DEFAULT_MAX_RETRIES, max_retry_after: DEFAULT_MAX_RETRY_AFTER },
            waits: DEFAULT_SCHEDULE,
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
            client_certificate: certificate,
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

/// A key, and the file that is read again for the next one.
type KeyAndFile = (Secret, Option<(KeyFile, FileStamp)>);

fn key_from_environment(
    environment: &Environment,
    from_file: impl Fn(&str, &Path) -> Result<KeyAndFile, Error>,
) -> Result<(KeyAndFile, KeySource), Error> {
    if let Some(key) = environment.get("AGENTJOB_API_KEY")?.map(Zeroizing::new) {
        // The key's file is not read, but one that is missing is a mistake: it may be the key that was meant.
        if let Some(path) = environment.get("AGENTJOB_API_KEY_FILE")?
            && let Err(error) = std::fs::metadata(&path)
        {
            return Err(Error::invalid(format!(
                "AGENTJOB_API_KEY_FILE {} cannot be read ({error})",
                quoted(path.as_ref())
            ))
            .with_hint("AGENTJOB_API_KEY is set, too: unset one of them."));
        }
        return Ok(((Secret::new("AGENTJOB_API_KEY", &key)?, None), KeySource::Variable));
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
