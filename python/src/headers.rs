//! Headers as text, for the command line.

use agentjob_core::Headers;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors;

/// The headers in a text of lines `Name: value`, as a dict. name is what errors call the text.
#[pyfunction]
pub(crate) fn read_headers<'py>(py: Python<'py>, name: &str, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let headers = Headers::parse(name, text).map_err(|error| errors::raised(py, &error))?;
    let dict = PyDict::new(py);
    headers.iter().try_for_each(|(name, value)| dict.set_item(name, value))?;
    Ok(dict)
}
