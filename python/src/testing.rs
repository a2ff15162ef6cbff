//! The emulator in this process, for `agentjob.testing`, and as the command `agentjob emulator`.

use std::mem;
use std::process;

use agentjob_core::Error;
use agentjob_emulator as emulator;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::convert;
use crate::errors;
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// The emulator of the service, behind `agentjob.testing.Emulator`.
#[pyclass(frozen, module = "agentjob._native")]
pub(crate) struct Emulator {
    core: Option<emulator::Emulator>,
    /// A forked child has the emulator's memory, but not its threads, so it must not wait for them.
    pid: u32,
}

impl Emulator {
    fn core(&self) -> &emulator::Emulator {
        self.core.as_ref().expect("only its drop takes it")
    }
}

fn config(py: Python<'_>, json: &str) -> PyResult<emulator::Config> {
    emulator::Config::from_json(json).map_err(|error| invalid(py, &error.to_string()))
}

fn invalid(py: Python<'_>, sentence: &str) -> PyErr {
    errors::raised(
        py,
        &Error::invalid_argument(format!("the emulator's configuration: {}", agentjob_core::describe(sentence))),
    )
}

fn plain<'py>(py: Python<'py>, truth: Result<String, serde_json::Error>) -> PyResult<Bound<'py, PyAny>> {
    convert::json(py, &truth.map_err(|error| errors::raised(py, &Error::internal(&error.to_string(), false)))?)
}

#[pymethods]
impl Emulator {
    /// Listens on loopback. config is the emulator's configuration as JSON.
    #[new]
    #[pyo3(signature = (config="{}"))]
    fn new(py: Python<'_>, config: &str) -> PyResult<Emulator> {
        guarded(py, || {
            let config = self::config(py, config)?;
            let core = emulator::Emulator::start(config)
                .map_err(|error| PyOSError::new_err(format!("the emulator cannot listen: {error}")))?;
            Ok(Emulator { core: Some(core), pid: process::id() })
        })
    }

    #[getter]
    fn base_url(&self) -> &str {
        self.core().base_url()
    }

    #[getter]
    fn api_key(&self) -> String {
        self.core().api_key()
    }

    #[getter]
    fn project_id(&self) -> String {
        self.core().project_id()
    }

    #[getter]
    fn job_id(&self) -> String {
        self.core().job_id()
    }

    /// Every message that was processed.
    fn ledger<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || plain(py, py.detach(|| serde_json::to_string(&self.core().ledger()))))
    }

    /// Every request that was started.
    fn requests<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(py, || plain(py, py.detach(|| serde_json::to_string(&self.core().requests()))))
    }

    /// Starts over with another configuration (JSON); connections stay open.
    #[pyo3(signature = (config="{}"))]
    fn reset(&self, py: Python<'_>, config: &str) -> PyResult<()> {
        guarded(py, || {
            let config = self::config(py, config)?;
            py.detach(|| self.core().reset(config)).map_err(|error| invalid(py, &error.to_string()))
        })
    }

    /// Takes only this key from now on.
    fn set_api_key(&self, py: Python<'_>, api_key: &str) -> PyResult<()> {
        guarded(py, || self.core().set_api_key(api_key).map_err(|error| invalid(py, &error.to_string())))
    }

    /// Stops listening and closes every connection.
    fn stop(&self, py: Python<'_>) {
        if self.pid == process::id() {
            py.detach(|| self.core().stop());
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let Some(core) = self.core.take() else { return };
        if self.pid == process::id() {
            let _ = Python::try_attach(|py| py.detach(|| drop(core)));
        } else {
            mem::forget(core);
        }
    }
}

/// Runs the emulator as a command, which `program` names, until a signal ends it. Returns its exit status.
#[pyfunction]
pub(crate) fn serve_emulator(py: Python<'_>, program: &str, args: Vec<String>) -> PyResult<i32> {
    let watcher = Watcher::default();
    blocking(py, &watcher, false, || {
        Ok(emulator::serve_command(program, args, &mut || agentjob_core::Control::check(&watcher).is_err()))
    })
}
