//! Reads a list of messages.

use std::path::PathBuf;

use agentjob_core::{BatchItem, ListFormat, ListOptions};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::{Flag, Given, Refused, path as path_of};
use crate::batch::items::BatchItems;
use crate::convert;
use crate::errors;
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// The messages of a file, as dicts (types.BatchItem) for Client.send_all: JSON objects with job_id, prompt and, optionally, key, one
/// per line or in one array; or CSV or TSV with a header that names these columns, in which a field with a separator, a quote or a line
/// break is quoted as a whole (RFC 4180).
///
/// path: the file, UTF-8.
/// format: "json" or "jsonl", "csv" or "tsv"; None for what the file's name suggests: .csv, .tsv, and JSON for all others.
/// extra: keep other columns or fields as each item's extra, a dict; otherwise they are refused.
///
/// Raises InvalidArgumentError: the file cannot be read, has no messages, or has a wrong line, which it names, with its column. It never
/// quotes a prompt.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, extra=Given::Right(false)), text_signature = "(path, *, format=None, extra=False)")]
pub(crate) fn read_batch_list<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
    format: Option<&str>,
    extra: Flag,
) -> PyResult<Bound<'py, PyList>> {
    guarded(py, || {
        let read =
            || -> Result<(PathBuf, ListOptions), Refused> { Ok((path_of("path", path)?, options(format, &extra)?)) };
        let (path, options) = read().map_err(|refused| refused.raised(py, false))?;
        let mut items = Vec::new();
        blocking(py, &Watcher::default(), false, || {
            items = BatchItem::read_list(&path, &options)?;
            Ok(())
        })?;
        dicts(py, &items)
    })
}

/// The same for a list's content, with each extra as it is written there. name is what errors call it. For the command line.
#[pyfunction]
#[pyo3(signature = (content, name, format=None, extra=Given::Right(false)), text_signature = "(content, name, format=None, extra=False)")]
pub(crate) fn parse_batch_list(
    py: Python<'_>,
    content: &[u8],
    name: &str,
    format: Option<&str>,
    extra: Flag,
) -> PyResult<BatchItems> {
    guarded(py, || {
        let options = options(format, &extra).map_err(|refused| refused.raised(py, false))?;
        let read = py.detach(|| BatchItem::parse_list(content, name, &options));
        Ok(BatchItems::of(read.map_err(|error| errors::raised(py, &error))?))
    })
}

fn options(format: Option<&str>, extra: &Flag) -> Result<ListOptions, Refused> {
    let format = format.map(str::parse::<ListFormat>).transpose()?;
    Ok(ListOptions::new().format(format).extra(extra.flag("extra")?))
}

fn dicts<'py>(py: Python<'py>, items: &[BatchItem]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for item in items {
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "job_id"), item.job_id())?;
        dict.set_item(intern!(py, "prompt"), item.prompt())?;
        if let Some(key) = item.key() {
            dict.set_item(intern!(py, "key"), key)?;
        }
        dict.set_item(intern!(py, "line"), item.line())?;
        if let Some(extra) = item.extra() {
            dict.set_item(intern!(py, "extra"), convert::json(py, extra)?)?;
        }
        list.append(dict)?;
    }
    Ok(list)
}
