//! A client's settings: read for the core, and kept without the key for pickling.

use std::path::PathBuf;
use std::sync::Arc;

use agentjob_core as core;
use agentjob_core::{ClientBuilder, ClientOptions, KeyFunction, KeySource};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{IntoPyObjectExt, intern};

use crate::arguments::{Refused, callback, flag, headers, integer, number, path, seconds, seconds_or_zero, text};
use crate::caller::Caller;
use crate::convert;
use crate::key_function::key_function;
use crate::keywords::{Keywords, set};
use crate::options::wait_timeout;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// The settings that clients with shared connections may each have, for the builder and the options alike.
macro_rules! set_options {
    ($options:ident, $keywords:ident) => {
        set! { $options, $keywords.optional:
            timeout = seconds;
            connect_timeout = seconds;
            max_retries = integer;
            max_retry_after = seconds_or_zero;
            max_prompt_bytes = integer;
            max_response_bytes = integer;
            wait_timeout = wait_timeout;
            min_interval = seconds;
            max_interval = seconds;
            lateness = number;
            settle = seconds_or_zero;
            headers = headers;
        }
    };
}

/// A client with these settings, and what it pickles as.
pub(crate) fn client(py: Python<'_>, given: Option<&Bound<'_, PyDict>>) -> PyResult<(Caller, Py<PyDict>)> {
    let api_key = given.map(|given| given.get_item("api_key")).transpose()?.flatten();
    let function = api_key.as_ref().filter(|given| given.is_callable()).map(key_function).transpose()?;
    let (function, keeper) = function.unzip();
    let read = |settings: &mut Keywords<'_>| Ok((builder(settings, function)?, on_event(settings)?));
    let (builder, on_event) = Keywords::of("Client.__new__", given).read(py, false, read)?;
    // It reads files, and a file may be a pipe that has no writer yet.
    let watcher = Arc::new(Watcher::default());
    let builder = builder.control(watcher.clone());
    let core = blocking(py, &watcher, false, || builder.build())?;
    convert::prepare(py)?;
    let kept = PyDict::new(py);
    keep(&kept, given)?;
    // These may be from variables that the other process does not have.
    kept.set_item(intern!(py, "base_url"), core.base_url())?;
    kept.set_item(intern!(py, "project_id"), core.project_id())?;
    kept.set_item(intern!(py, "timeout"), core.timeout().as_secs_f64())?;
    Ok((Caller::new(core, on_event, keeper), kept.unbind()))
}

/// A client with other options, which shares the connections of this one, and what it pickles as.
pub(crate) fn with_options(
    caller: &Caller,
    kept: &Bound<'_, PyDict>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Caller, Py<PyDict>)> {
    let (core, on_event) = Keywords::of("Client.with_options", given).read(kept.py(), false, |keywords| {
        let mut options = ClientOptions::new();
        set_options!(options, keywords);
        Ok((caller.core().with_options(options)?, on_event(keywords)?))
    })?;
    let kept = kept.copy()?;
    keep(&kept, given)?;
    Ok((caller.with(kept.py(), core, on_event), kept.unbind()))
}

fn builder(settings: &mut Keywords<'_>, function: Option<KeyFunction>) -> Result<ClientBuilder, Refused> {
    let mut builder = core::Client::builder();
    set! { builder, settings.given:
        trust_env = flag;
        allow_plaintext = flag;
    }
    let api_key = settings.optional("api_key");
    match (function, api_key) {
        (Some(function), _) => builder = builder.api_key_function(function),
        (None, Some(given)) => builder = builder.api_key(text("api_key", &given)?),
        (None, None) => {}
    }
    set! { builder, settings.optional:
        base_url = text;
        api_key_file = path;
        project_id = text;
        ca_file = path;
        client_cert = path;
        client_key = path;
        proxy = text;
        allow_shared_key_file = flag;
        user_agent_suffix = text;
    }
    set_options!(builder, settings);
    Ok(builder)
}

fn on_event(keywords: &mut Keywords<'_>) -> Result<Option<Py<PyAny>>, Refused> {
    callback("on_event", keywords.optional("on_event"))
}

/// Adds the given settings, already checked, to those that the client pickles as.
fn keep(kept: &Bound<'_, PyDict>, given: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, value) in given.into_iter().flatten().filter(|(_, value)| !value.is_none()) {
        match name.extract::<String>()?.as_str() {
            "api_key" if !value.is_callable() => {}
            // Its values may be secrets.
            "headers" => kept.set_item(name, kept.py().None())?,
            // By their absolute path, because the other process may have another working directory.
            "api_key_file" | "ca_file" | "client_cert" | "client_key" => {
                let value: PathBuf = value.extract()?;
                kept.set_item(name, std::path::absolute(&value).unwrap_or(value).into_os_string())?;
            }
            // A subclass of str may have attributes.
            "proxy" | "user_agent_suffix" => kept.set_item(name, value.extract::<String>()?)?,
            _ => kept.set_item(name, value)?,
        }
    }
    Ok(())
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
