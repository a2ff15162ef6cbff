//! Reads a list of messages.

use agentjob_core::{BatchItem, ListFormat, ListOptions};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arguments::{Refused, flag, path as path_of, text};
use crate::batch::items::BatchItems;
use crate::convert;
use crate::errors;
use crate::keywords::{Keywords, set};
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// The messages of a file, as dicts (types.BatchItem) for Client.send_all.
#[pyfunction]
#[pyo3(signature = (path, **keywords))]
pub(crate) fn read_batch_list<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyList>> {
    guarded(py, || {
        let (path, options) = Keywords::of("read_batch_list", keywords).read(py, false, |keywords| {
            let mut options = ListOptions::new();
            set! { options, keywords.optional: format = format; }
            set! { options, keywords.given: extra = flag; }
            Ok((path_of("path", path)?, options))
        })?;
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
#[pyo3(signature = (content, name, format=None, extra=false))]
pub(crate) fn parse_batch_list(
    py: Python<'_>,
    content: &[u8],
    name: &str,
    format: Option<&str>,
    extra: bool,
) -> PyResult<BatchItems> {
    guarded(py, || {
        let format = format.map(str::parse).transpose().map_err(|error| errors::raised(py, &error))?;
        let options = ListOptions::new().format(format).extra(extra);
        let read = py.detach(|| BatchItem::parse_list(content, name, &options));
        Ok(BatchItems::of(read.map_err(|error| errors::raised(py, &error))?))
    })
}

fn format(name: &str, given: &Bound<'_, PyAny>) -> Result<ListFormat, Refused> {
    Ok(text(name, given)?.parse()?)
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
