//! JSON as Python objects, made by Python's own json module.

use agentjob_core::{Event, Job};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

/// A job's record, with the documented keys that the service left out.
pub(crate) fn job<'py>(py: Python<'py>, job: &Job) -> PyResult<Bound<'py, PyDict>> {
    let record = json(py, job.response().trim_ascii_start())?.cast_into::<PyDict>()?;
    let may_lack = [intern!(py, "model"), intern!(py, "prLink"), intern!(py, "createdAt"), intern!(py, "archivedAt")];
    add_missing(&record, &may_lack)?;
    let source = match record.get_item(intern!(py, "source"))?.map(Bound::cast_into) {
        Some(Ok(source)) => source,
        // A `source` of another type is as none.
        _ => {
            let none = PyDict::new(py);
            record.set_item(intern!(py, "source"), &none)?;
            none
        }
    };
    add_missing(&source, &[intern!(py, "repository"), intern!(py, "ref")])?;
    Ok(record)
}

fn add_missing(dict: &Bound<'_, PyDict>, keys: &[&Bound<'_, PyString>]) -> PyResult<()> {
    for key in keys {
        if !dict.contains(key)? {
            dict.set_item(key, dict.py().None())?;
        }
    }
    Ok(())
}

/// An event of a call.
pub(crate) fn event<'py>(py: Python<'py>, event: &Event<'_>) -> PyResult<Bound<'py, PyDict>> {
    Ok(json(py, &event.to_json())?.cast_into()?)
}

/// Any JSON that was checked.
pub(crate) fn json<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    if !has_long_number(json) {
        // Usually this runs no code of Python. In such code the interpreter's end would end a daemon thread, and the process would crash.
        match scan(py)?.call1((json, 0)) {
            Ok(value_and_end) => return value_and_end.get_item(0),
            // The program allows ints of fewer digits.
            Err(error) if error.is_instance_of::<PyValueError>(py) => {}
            Err(error) => return Err(error),
        }
    }
    py.import(intern!(py, "agentjob._json"))?.call_method1(intern!(py, "loads"), (json,))
}

/// Whether there is a number, or a text, with more digits in a row than `_json.py` makes an int of.
fn has_long_number(json: &str) -> bool {
    const MAX_DIGITS: usize = 4300;
    json.len() > MAX_DIGITS
        && json.as_bytes().split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > MAX_DIGITS)
}

/// Loads Python's json module, if it isn't loaded. A client does so when it is made, because an import inside a call may lose a signal.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    scan(py).map(drop)
}

fn scan(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static SCAN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    SCAN.import(py, "agentjob._json", "scan_once")
}
