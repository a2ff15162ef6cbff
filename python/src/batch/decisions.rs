//! What a person decides about the messages of a batch, between its runs.

use agentjob_core as core;
use agentjob_core::{BatchDecision, BatchRef, Error, Resolution};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arguments::{Refused, integer, path, text, wrong_type};
use crate::batch::records;
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// Decides about messages that may have arrived: "arrived", "not_arrived" or "resend".
#[pyfunction]
#[pyo3(signature = (journal, items, resolution))]
pub(crate) fn batch_resolve<'py>(
    py: Python<'py>,
    journal: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
    resolution: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    guarded(py, || {
        let resolution = read(py, || Ok(text("resolution", resolution)?.parse::<Resolution>()?))?;
        let (journal, items) = (read(py, || path("journal", journal))?, references(items)?);
        decided(py, || core::batch_resolve(&journal, &items, resolution))
    })
}

/// Decides that the next run sends rejected messages again, with the same prompt or with another one.
#[pyfunction]
#[pyo3(signature = (journal, items, prompt=None))]
pub(crate) fn batch_retry<'py>(
    py: Python<'py>,
    journal: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
    prompt: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    guarded(py, || {
        let prompt = read(py, || prompt.map(|prompt| text("prompt", prompt)).transpose())?;
        let (journal, items) = (read(py, || path("journal", journal))?, references(items)?);
        decided(py, || core::batch_retry(&journal, &items, prompt.as_deref()))
    })
}

/// Decides that the batch is done with messages that were rejected, not sent, or may have arrived.
#[pyfunction]
#[pyo3(signature = (journal, items))]
pub(crate) fn batch_drop<'py>(
    py: Python<'py>,
    journal: &Bound<'py, PyAny>,
    items: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    guarded(py, || {
        let (journal, items) = (read(py, || path("journal", journal))?, references(items)?);
        decided(py, || core::batch_drop(&journal, &items))
    })
}

/// Every message of the last run that was sent or tried, or those that are named, as JSON Lines or CSV.
#[pyfunction]
#[pyo3(signature = (journal, format=None, items=None))]
pub(crate) fn batch_export(
    py: Python<'_>,
    journal: &Bound<'_, PyAny>,
    format: Option<&Bound<'_, PyAny>>,
    items: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    guarded(py, || {
        let format = match format {
            Some(format) => read(py, || Ok(text("format", format)?.parse::<core::ExportFormat>()?))?,
            None => core::ExportFormat::JsonLines,
        };
        let journal = read(py, || path("journal", journal))?;
        let items = items.map_or_else(|| Ok(vec![BatchRef::All]), references)?;
        blocking(py, &Watcher::default(), false, || Ok(core::batch_export(&journal, &items)?.text(format)))
    })
}

/// The number or the key that a word on the command line names. For the command line, which reads "all" itself.
#[pyfunction]
pub(crate) fn parse_item_name<'py>(py: Python<'py>, word: &str) -> PyResult<Bound<'py, PyAny>> {
    Ok(match word.parse() {
        Ok(BatchRef::Number(number)) => number.into_pyobject(py)?.into_any(),
        Ok(BatchRef::Key(key)) => PyString::new(py, &key).into_any(),
        Ok(BatchRef::All) | Err(_) => PyString::new(py, word).into_any(),
    })
}

fn read<T>(py: Python<'_>, read: impl FnOnce() -> Result<T, Refused>) -> PyResult<T> {
    read().map_err(|refused| refused.raised(py, false))
}

fn decided<'py>(
    py: Python<'py>,
    decide: impl FnOnce() -> Result<Vec<BatchDecision>, Error> + Send,
) -> PyResult<Bound<'py, PyList>> {
    let made = blocking(py, &Watcher::default(), false, decide)?;
    records::decisions(py, &made)
}

/// Numbers and keys, or "all".
fn references(items: &Bound<'_, PyAny>) -> PyResult<Vec<BatchRef>> {
    let py = items.py();
    if let Ok(word) = items.cast::<PyString>() {
        if read(py, || text("items", word))? == "all" {
            return Ok(vec![BatchRef::All]);
        }
        let error =
            Error::invalid_argument("items is a str, but not \"all\"").with_hint("Give a list of numbers and keys.");
        return Err(Refused::Value(error).raised(py, false));
    }
    let wrong = || wrong_type("items", "an iterable of numbers and keys", items);
    let each = read(py, || items.try_iter().map_err(|error| Refused::by(error, py, wrong)))?;
    each.map(|item| {
        let item = item?;
        if let Ok(key) = item.cast::<PyString>() {
            return read(py, || Ok(BatchRef::Key(text("items", key)?.into())));
        }
        read(py, || match integer("items", &item)? {
            // `integer` stops here, and would name another item.
            i64::MAX.. => {
                let too_large = || Error::invalid_argument("a number in items is too large").into();
                let number = item.extract().map_err(|error| Refused::by(error, py, too_large))?;
                Ok(BatchRef::Number(number))
            }
            _ => integer("items", &item).map(BatchRef::Number),
        })
    })
    .collect()
}
