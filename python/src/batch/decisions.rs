//! What a person decides about the messages of a batch, between its runs.

use agentjob_core as core;
use agentjob_core::{BatchDecision, BatchRef, Error, Resolution};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arguments::{Integer, Refused, path, text, type_name, wrong_type};
use crate::batch::records;
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// Decides about messages that may have arrived: "arrived" (count it as accepted), "not_arrived" (send it), or "resend" (send it
/// although it may have arrived; the agent works twice if it did). The next run of the batch acts on it.
///
/// - items: numbers and keys, or "all" for every message that is unknown and about which nothing was decided.
///
/// Returns the decisions (types.BatchDecision), which are on the disk. Raises InvalidArgumentError, which names the item, and then
/// nothing was written; JournalError: the journal cannot be read or written, is damaged, or a run is using it.
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
///
/// The journal has only the digest of a new prompt: give the prompt to the next run, too, as one of its retry_prompts or in its
/// item. A run without it refuses to begin. Otherwise as batch_resolve.
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

/// Decides that the batch is done with messages that were rejected, not sent, or may have arrived: no run sends or reports them.
/// "all" is every message that was rejected or may have arrived. Otherwise as batch_resolve.
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

/// Every message of the last run that was sent or tried, or those that are named, as text: "jsonl" (an object per line)
/// or "csv" (with a header). It sends nothing and writes nothing, and works during a run, too.
///
/// The keys and columns are item, key, job_id, state (accepted, rejected, unknown, not_sent, sending, dropped), decision, decided_at,
/// at (when the outcome was recorded), http_status, reason, status and pr_link (the job's, once a run
/// has waited for the message's result).
///
/// Raises InvalidArgumentError: an item is not in the journal; JournalError: the journal cannot be read or is damaged.
#[pyfunction]
#[pyo3(signature = (journal, format=None, items=None), text_signature = "(journal, format='jsonl', items='all')")]
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
        if word.to_cow()? == "all" {
            return Ok(vec![BatchRef::All]);
        }
        let error =
            Error::invalid_argument("items is a str other than \"all\"").with_hint("Give a list of numbers and keys.");
        return Err(Refused::Value(error).raised(py, false));
    }
    let each = match items.try_iter() {
        Ok(each) => each,
        Err(_) => {
            return Err(wrong_type("items", "an iterable of numbers and keys", &type_name(items)).raised(py, false));
        }
    };
    each.map(|item| {
        let item = item?;
        if let Ok(key) = item.cast::<PyString>() {
            return Ok(BatchRef::Key(key.to_cow()?.as_ref().into()));
        }
        let number: Integer = item.extract()?;
        read(py, || match number.right() {
            // `Integer` stops here, and would name another item.
            Some(i64::MAX) => {
                let number = item.extract().map_err(|_| Error::invalid_argument("a number in items is too large"))?;
                Ok(BatchRef::Number(number))
            }
            _ => number.integer("items").map(BatchRef::Number),
        })
    })
    .collect()
}
