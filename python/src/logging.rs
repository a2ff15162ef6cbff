//! The standard logger `agentjob`, for programs that use `logging`. Messages are logged on the calling thread. `logging` is not
//! imported here, because that takes longer than everything else; a program that has not imported it gets no messages.

use agentjob_core as core;
use agentjob_core::{Event, EventLevel};
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

const DEBUG: u8 = 10;
const INFO: u8 = 20;
const WARNING: u8 = 30;

/// The logger, and its level.
pub(crate) struct Log {
    logger: Py<PyAny>,
    level: u8,
}

impl Log {
    /// The logger, if the program logs at INFO or below. This runs Python, so a signal handler may raise here.
    pub(crate) fn wanted(py: Python<'_>) -> PyResult<Option<Log>> {
        Log::of_levels(py, [DEBUG, INFO])
    }

    fn of_levels(py: Python<'_>, levels: impl IntoIterator<Item = u8>) -> PyResult<Option<Log>> {
        match Log::find(py, levels) {
            // A module that is being imported, or torn down at exit, has no logger.
            Err(error) if error.is_instance_of::<PyAttributeError>(py) => Ok(None),
            found => found,
        }
    }

    fn find(py: Python<'_>, levels: impl IntoIterator<Item = u8>) -> PyResult<Option<Log>> {
        /// `sys.modules`, needed for every call and so looked up once.
        static LOADED: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
        let loaded = LOADED.get_or_try_init(py, || {
            Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind())
        })?;
        let Some(logging) = loaded.bind(py).get_item(intern!(py, "logging"))? else { return Ok(None) };
        let logger = logging.call_method1(intern!(py, "getLogger"), (intern!(py, "agentjob"),))?;
        for level in levels {
            if logger.call_method1(intern!(py, "isEnabledFor"), (level,))?.is_truthy()? {
                return Ok(Some(Log { logger: logger.unbind(), level }));
            }
        }
        Ok(None)
    }

    fn level_of(event: &Event<'_>) -> u8 {
        match event.level() {
            EventLevel::Debug => DEBUG,
            EventLevel::Info => INFO,
            EventLevel::Warning => WARNING,
        }
    }

    /// Whether it takes requests and responses.
    pub(crate) fn is_debug(&self) -> bool {
        self.level == DEBUG
    }

    pub(crate) fn takes(&self, event: &Event<'_>) -> bool {
        Log::level_of(event) >= self.level
    }

    /// Logs the event as text; the log record's attribute `agentjob` is its dict.
    pub(crate) fn write(&self, py: Python<'_>, event: &Event<'_>, facts: &Bound<'_, PyDict>) -> PyResult<()> {
        self.line(py, Log::level_of(event), event.to_string(), facts)
    }

    /// Logs another sentence in the same way.
    pub(crate) fn info(&self, py: Python<'_>, sentence: String, facts: &Bound<'_, PyDict>) -> PyResult<()> {
        self.line(py, INFO, sentence, facts)
    }

    fn line(&self, py: Python<'_>, level: u8, sentence: String, facts: &Bound<'_, PyDict>) -> PyResult<()> {
        let keywords = PyDict::new(py);
        let extra = PyDict::new(py);
        extra.set_item(intern!(py, "agentjob"), facts.copy()?)?;
        keywords.set_item(intern!(py, "extra"), extra)?;
        let line = (level, intern!(py, "%s"), sentence);
        self.logger.bind(py).call_method(intern!(py, "log"), line, Some(&keywords)).map(drop)
    }
}

/// Logs a sentence as a warning, in the same way as an event.
pub(crate) fn warning(py: Python<'_>, sentence: String, facts: &Bound<'_, PyDict>) -> PyResult<()> {
    match Log::of_levels(py, [WARNING])? {
        Some(log) => log.line(py, WARNING, sentence, facts),
        None => Ok(()),
    }
}

/// A text from outside, with control and invisible characters escaped, for a terminal or a log.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn escape(text: &str) -> std::borrow::Cow<'_, str> {
    core::escape(text)
}
