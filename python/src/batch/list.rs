//! Reads a list of messages, for the command line.

use agentjob_core::{BatchItem, ListFormat};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors;

/// The messages in a list's content, as dicts with job_id, prompt, line and, where an item has one, key: what Client.send_all
/// takes.
///
/// name is what errors call the list; format is "jsonl" or "csv", or None for what the name suggests. Raises InvalidArgumentError,
/// which names the first wrong line.
#[pyfunction]
#[pyo3(signature = (content, name, format=None))]
pub(crate) fn read_batch_list<'py>(
    py: Python<'py>,
    content: &[u8],
    name: &str,
    format: Option<&str>,
) -> PyResult<Bound<'py, PyList>> {
    let read = || {
        let format = format.map_or_else(|| Ok(ListFormat::of_path(name)), str::parse)?;
        BatchItem::parse_list(content, name, format)
    };
    let items = py.detach(read).map_err(|error| errors::raised(py, &error))?;
    let list = PyList::empty(py);
    for item in items {
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "job_id"), item.job_id())?;
        dict.set_item(intern!(py, "prompt"), item.prompt())?;
        if let Some(key) = item.key() {
            dict.set_item(intern!(py, "key"), key)?;
        }
        dict.set_item(intern!(py, "line"), item.line())?;
        list.append(dict)?;
    }
    Ok(list)
}
