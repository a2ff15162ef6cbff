//! The report of a batch.

use agentjob_core as core;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::path as path_of;
use crate::keywords::Keywords;
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// A report about a batch, from its journal, as one page of HTML.
#[pyfunction]
pub(crate) fn batch_report(py: Python<'_>, journal: &Bound<'_, PyAny>) -> PyResult<String> {
    guarded(py, || {
        let journal = path_of("journal", journal).map_err(|refused| refused.raised(py, false))?;
        let mut page = String::new();
        blocking(py, &Watcher::default(), false, || {
            page = core::batch_report(&journal)?;
            Ok(())
        })?;
        Ok(page)
    })
}

/// Writes batch_report into a file that other users cannot read: all of it, or nothing.
#[pyfunction]
#[pyo3(signature = (journal, path, **keywords))]
pub(crate) fn write_batch_report(
    py: Python<'_>,
    journal: &Bound<'_, PyAny>,
    path: &Bound<'_, PyAny>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    guarded(py, || {
        let (journal, path, replace) = Keywords::of("write_batch_report", keywords).read(py, false, |keywords| {
            Ok((path_of("journal", journal)?, path_of("path", path)?, keywords.flag("replace")?))
        })?;
        blocking(py, &Watcher::default(), false, || core::write_batch_report(&journal, &path, replace))
    })
}
