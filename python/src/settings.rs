//! A client's settings: read for the core, and kept without the key for pickling.

use std::sync::Arc;

use agentjob_core as core;
use agentjob_core::{ClientBuilder, ClientOptions, KeyFunction, KeySource};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{IntoPyObjectExt, intern};

use crate::arguments::{Flag, Integer, Number, Refused, callback, headers, path, text};
use crate::caller::Caller;
use crate::convert;
use crate::key_function::key_function;
use crate::options::wait_timeout;
use crate::signals::blocking;
use crate::watcher::Watcher;

type Any<'py> = Option<Bound<'py, PyAny>>;

/// The settings that clients with shared connections may each have.
pub(crate) struct Options<'py> {
    pub(crate) timeout: Option<Number>,
    pub(crate) connect_timeout: Option<Number>,
    pub(crate) max_retries: Option<Integer>,
    pub(crate) max_retry_after: Option<Number>,
    pub(crate) max_prompt_bytes: Option<Integer>,
    pub(crate) max_response_bytes: Option<Integer>,
    pub(crate) headers: Any<'py>,
    pub(crate) wait_timeout: Option<Number>,
    pub(crate) min_interval: Option<Number>,
    pub(crate) max_interval: Option<Number>,
    pub(crate) lateness: Option<Number>,
    pub(crate) settle: Option<Number>,
    pub(crate) on_event: Any<'py>,
}

/// All settings.
pub(crate) struct Settings<'py> {
    pub(crate) base_url: Any<'py>,
    pub(crate) api_key: Any<'py>,
    pub(crate) api_key_file: Any<'py>,
    pub(crate) project_id: Any<'py>,
    pub(crate) ca_file: Any<'py>,
    pub(crate) client_cert: Any<'py>,
    pub(crate) client_key: Any<'py>,
    pub(crate) proxy: Any<'py>,
    pub(crate) trust_env: Flag,
    pub(crate) allow_plaintext: Flag,
    pub(crate) allow_shared_key_file: Option<Flag>,
    pub(crate) user_agent_suffix: Any<'py>,
    pub(crate) options: Options<'py>,
}

/// One line per setting; the core checks the values. Used for the builder and the options, whose setters have the same names.
macro_rules! set {
    ($target:ident: $($name:expr => $setter:ident = $read:expr;)*) => {
        $(if let Some(given) = &$name { $target = $target.$setter($read(given)?); })*
    };
}

macro_rules! set_options {
    ($target:ident, $options:expr) => {
        set! { $target:
            $options.timeout => timeout = |given: &Number| given.seconds("timeout");
            $options.connect_timeout => connect_timeout = |given: &Number| given.seconds("connect_timeout");
            $options.max_retries => max_retries = |given: &Integer| given.integer("max_retries");
            $options.max_retry_after => max_retry_after = |given: &Number| given.seconds_or_zero("max_retry_after");
            $options.max_prompt_bytes => max_prompt_bytes = |given: &Integer| given.integer("max_prompt_bytes");
            $options.max_response_bytes => max_response_bytes = |given: &Integer| given.integer("max_response_bytes");
            $options.headers => headers = headers;
            $options.wait_timeout => wait_timeout = |given: &Number| wait_timeout("wait_timeout", given);
            $options.min_interval => min_interval = |given: &Number| given.seconds("min_interval");
            $options.max_interval => max_interval = |given: &Number| given.seconds("max_interval");
            $options.lateness => lateness = |given: &Number| given.number("lateness");
            $options.settle => settle = |given: &Number| given.seconds_or_zero("settle");
        }
    };
}

impl<'py> Options<'py> {
    fn client_options(&self) -> Result<ClientOptions, Refused> {
        let mut options = ClientOptions::new();
        set_options!(options, self);
        Ok(options)
    }

    fn on_event(&self) -> Result<Option<Py<PyAny>>, Refused> {
        callback("on_event", self.on_event.clone())
    }

    /// A client with these options, which shares the connections of another one, and what it pickles as.
    pub(crate) fn applied(&self, caller: &Caller, kept: &Bound<'py, PyDict>) -> PyResult<(Caller, Py<PyDict>)> {
        let py = kept.py();
        let make =
            || -> Result<_, Refused> { Ok((caller.core().with_options(self.client_options()?)?, self.on_event()?)) };
        let (core, on_event) = make().map_err(|refused| refused.raised(py, false))?;
        let kept = kept.copy()?;
        self.keep(&kept)?;
        Ok((caller.with(py, core, on_event), kept.unbind()))
    }

    /// Adds the options that were given to `kept`.
    fn keep(&self, kept: &Bound<'py, PyDict>) -> PyResult<()> {
        let py = kept.py();
        for (name, number) in [
            (intern!(py, "timeout"), &self.timeout),
            (intern!(py, "connect_timeout"), &self.connect_timeout),
            (intern!(py, "max_retry_after"), &self.max_retry_after),
            (intern!(py, "wait_timeout"), &self.wait_timeout),
            (intern!(py, "min_interval"), &self.min_interval),
            (intern!(py, "max_interval"), &self.max_interval),
            (intern!(py, "lateness"), &self.lateness),
            (intern!(py, "settle"), &self.settle),
        ] {
            if let Some(number) = number {
                kept.set_item(name, number.right())?;
            }
        }
        for (name, number) in [
            (intern!(py, "max_retries"), &self.max_retries),
            (intern!(py, "max_prompt_bytes"), &self.max_prompt_bytes),
            (intern!(py, "max_response_bytes"), &self.max_response_bytes),
        ] {
            if let Some(number) = number {
                kept.set_item(name, number.right())?;
            }
        }
        if self.headers.is_some() {
            // Its values may be secrets.
            kept.set_item(intern!(py, "headers"), py.None())?;
        }
        self.on_event.as_ref().map_or(Ok(()), |call| kept.set_item(intern!(py, "on_event"), call))
    }
}

impl<'py> Settings<'py> {
    /// A client with these settings, and what it pickles as.
    pub(crate) fn client(&self, py: Python<'py>) -> PyResult<(Caller, Py<PyDict>)> {
        let function = self.api_key.as_ref().filter(|given| given.is_callable()).map(key_function).transpose()?;
        let (function, keeper) = function.unzip();
        let read = self.builder(function).and_then(|builder| Ok((builder, self.options.on_event()?)));
        let (builder, on_event) = read.map_err(|refused| refused.raised(py, false))?;
        // It reads files, and a file may be a pipe that has no writer yet.
        let watcher = Arc::new(Watcher::default());
        let builder = builder.control(watcher.clone());
        let core = blocking(py, &watcher, false, || builder.build())?;
        convert::prepare(py)?;
        let kept = self.kept(py, &core)?.unbind();
        Ok((Caller::new(core, on_event, keeper), kept))
    }

    fn builder(&self, function: Option<KeyFunction>) -> Result<ClientBuilder, Refused> {
        let mut builder = core::Client::builder()
            .trust_env(self.trust_env.flag("trust_env")?)
            .allow_plaintext(self.allow_plaintext.flag("allow_plaintext")?);
        set! { builder:
            self.base_url => base_url = |given| text("base_url", given);
            self.api_key_file => api_key_file = |given| path("api_key_file", given);
            self.project_id => project_id = |given| text("project_id", given);
            self.ca_file => ca_file = |given| path("ca_file", given);
            self.client_cert => client_cert = |given| path("client_cert", given);
            self.client_key => client_key = |given| path("client_key", given);
            self.proxy => proxy = |given| text("proxy", given);
            self.allow_shared_key_file => allow_shared_key_file = |given: &Flag| given.flag("allow_shared_key_file");
            self.user_agent_suffix => user_agent_suffix = |given| text("user_agent_suffix", given);
        }
        builder = match (function, &self.api_key) {
            (Some(function), _) => builder.api_key_function(function),
            (None, Some(given)) => builder.api_key(text("api_key", given)?),
            (None, None) => builder,
        };
        set_options!(builder, self.options);
        Ok(builder)
    }

    /// The settings that a client pickles as: all but the key.
    fn kept(&self, py: Python<'py>, made: &core::Client) -> PyResult<Bound<'py, PyDict>> {
        let kept = PyDict::new(py);
        // These may be from variables that the other process does not have.
        kept.set_item(intern!(py, "base_url"), made.base_url())?;
        kept.set_item(intern!(py, "project_id"), made.project_id())?;
        kept.set_item(intern!(py, "timeout"), made.timeout().as_secs_f64())?;
        if let Some(function) = self.api_key.as_ref().filter(|given| given.is_callable()) {
            kept.set_item(intern!(py, "api_key"), function)?;
        }
        // As plain texts; and files by their absolute path, because the other process may have another working directory.
        for (name, given) in [
            ("api_key_file", &self.api_key_file),
            ("ca_file", &self.ca_file),
            ("client_cert", &self.client_cert),
            ("client_key", &self.client_key),
        ] {
            if let Some(Ok(given)) = given.as_ref().map(|given| path(name, given)) {
                kept.set_item(name, std::path::absolute(&given).unwrap_or(given).into_os_string())?;
            }
        }
        for (name, given) in [("proxy", &self.proxy), ("user_agent_suffix", &self.user_agent_suffix)] {
            if let Some(Ok(given)) = given.as_ref().map(|given| text(name, given)) {
                kept.set_item(name, given)?;
            }
        }
        kept.set_item(intern!(py, "trust_env"), self.trust_env.right())?;
        kept.set_item(intern!(py, "allow_plaintext"), self.allow_plaintext.right())?;
        if let Some(allow) = &self.allow_shared_key_file {
            kept.set_item(intern!(py, "allow_shared_key_file"), allow.right())?;
        }
        self.options.keep(&kept)?;
        Ok(kept)
    }
}

/// What a client pickles as: its settings without a secret. The process that unpickles it needs the key in its own environment or
/// file.
pub(crate) fn pickled<'py>(
    kept: &Bound<'py, PyDict>,
    key: &KeySource,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let py = kept.py();
    if matches!(key, KeySource::Argument) {
        return Err(PyTypeError::new_err(
            "an agentjob.Client that was given its api_key cannot be pickled, because the pickle would contain the key; \
            leave api_key out and set AGENTJOB_API_KEY here and where the client is unpickled, or give api_key_file",
        ));
    }
    if kept.contains(intern!(py, "headers"))? {
        return Err(PyTypeError::new_err(
            "an agentjob.Client that was given headers cannot be pickled, because the pickle would contain their values; \
            leave headers out and set AGENTJOB_HEADERS here and where the client is unpickled, or give them to each call",
        ));
    }
    if let Some(proxy) = kept.get_item(intern!(py, "proxy"))?
        && proxy.extract::<String>().is_ok_and(|proxy| proxy.contains('@'))
    {
        return Err(PyTypeError::new_err(
            "an agentjob.Client whose proxy has a password cannot be pickled, because the pickle would contain the password; \
            set HTTPS_PROXY here and where the client is unpickled instead",
        ));
    }
    Ok((().into_bound_py_any(py)?, kept.clone()))
}
