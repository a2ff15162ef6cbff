//! The report of a batch.

use agentjob_core as core;
use pyo3::prelude::*;

use crate::arguments::{Flag, Given, path as path_of};
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// A report about a batch, from its journal, as one page of HTML: the counts, what to do next, when what happened, and a table of all
/// messages. It loads nothing, and works without a script. It has no prompts and no key, but names jobs and pull requests. It sends
/// nothing and writes nothing.
///
/// Raises JournalError: the file cannot be read, is damaged, or is not a journal.
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
///
/// replace: replace the file if it exists. Raises JournalError as batch_report does, and InvalidArgumentError: the file exists, is the
/// journal itself or no regular file, or cannot be written; then it is as it was.
#[pyfunction]
#[pyo3(signature = (journal, path, *, replace=Given::Right(false)), text_signature = "(journal, path, *, replace=False)")]
pub(crate) fn write_batch_report(
    py: Python<'_>,
    journal: &Bound<'_, PyAny>,
    path: &Bound<'_, PyAny>,
    replace: Flag,
) -> PyResult<()> {
    guarded(py, || {
        let read = || Ok((path_of("journal", journal)?, path_of("path", path)?, replace.flag("replace")?));
        let (journal, path, replace) =
            read().map_err(|refused: crate::arguments::Refused| refused.raised(py, false))?;
        blocking(py, &Watcher::default(), false, || core::write_batch_report(&journal, &path, replace))
    })
}
