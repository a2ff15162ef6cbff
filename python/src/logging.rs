//! The standard logger `agentjob`, for programs that use `logging`: on the calling thread, and only if the program has loaded
//! it, for to load it takes longer than everything else here.

use agentjob_core as core;
use agentjob_core::Event;
use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

const DEBUG: u8 = 10;
const INFO: u8 = 20;

/// The logger, and what it takes.
pub(crate) struct Log {
    logger: Py<PyAny>,
    level: u8,
}

impl Log {
    /// The logger, if the program logs and wants to hear of events at all. This runs Python, so a signal's handler may raise here.
    pub(crate) fn wanted(py: Python<'_>) -> PyResult<Option<Log>> {
        match Log::find(py) {
            // A module that is half loaded, or half taken down at the program's end, has no logger yet or any more.
            Err(error) if error.is_instance_of::<PyAttributeError>(py) => Ok(None),
            found => found,
        }
    }

    fn find(py: Python<'_>) -> PyResult<Option<Log>> {
        /// `sys.modules`: asked at every call, so found once.
        static LOADED: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
        let loaded = LOADED.get_or_try_init(py, || {
            Ok::<_, PyErr>(py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?.unbind())
        })?;
        let Some(logging) = loaded.bind(py).get_item(intern!(py, "logging"))? else { return Ok(None) };
        let logger = logging.call_method1(intern!(py, "getLogger"), (intern!(py, "agentjob"),))?;
        for level in [DEBUG, INFO] {
            if logger.call_method1(intern!(py, "isEnabledFor"), (level,))?.is_truthy()? {
                return Ok(Some(Log { logger: logger.unbind(), level }));
            }
        }
        Ok(None)
    }

    /// Retries and polls are news; that a request is made is detail.
    fn level_of(event: &Event<'_>) -> u8 {
        if matches!(event, Event::Attempt { .. }) { DEBUG } else { INFO }
    }

    pub(crate) fn takes(&self, event: &Event<'_>) -> bool {
        Log::level_of(event) >= self.level
    }

    /// Writes the event as text, with its facts as the record's attribute `agentjob`.
    pub(crate) fn write(&self, py: Python<'_>, event: &Event<'_>, facts: &Bound<'_, PyDict>) -> PyResult<()> {
        self.line(py, Log::level_of(event), event.to_string(), facts)
    }

    /// Writes what is worth a line of its own, in the same way.
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

/// What a person sees of a text from outside, on a terminal as in a log: the core's own escapes.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub(crate) fn escape(text: &str) -> std::borrow::Cow<'_, str> {
    core::escape(text)
}
