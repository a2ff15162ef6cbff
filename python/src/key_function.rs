//! A callable in place of a key: `Client(api_key=function)`.

use std::error::Error;
use std::sync::Arc;

use agentjob_core::KeyFunction;
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::type_name;
use crate::interpreter_end;
use crate::key_exception::Raised;

/// Keeps the callable alive. A client has it, and so has everything that the client makes; the core, into which the garbage
/// collector can't look, only has a weak reference. So a callable that refers to its client doesn't keep it forever.
#[pyclass(frozen, weakref, module = "agentjob._native")]
pub(crate) struct KeyKeeper {
    function: Py<PyAny>,
}

#[pymethods]
impl KeyKeeper {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)
    }
}

/// The callable as the core calls it, without the GIL and on the thread of the call, and what keeps it alive.
pub(crate) fn key_function(given: &Bound<'_, PyAny>) -> PyResult<(KeyFunction, Py<PyAny>)> {
    let py = given.py();
    let inspect = py.import("inspect");
    let is_async = inspect.and_then(|inspect| inspect.call_method1("iscoroutinefunction", (given,))?.is_truthy());
    // A callable that Python cannot look into is taken as it is. Any other exception is a signal's.
    if is_async.or_else(|error| if error.is_instance_of::<PyException>(py) { Ok(false) } else { Err(error) })? {
        let sentence = "api_key is a coroutine function; give a function that returns the key and is not async";
        return Err(PyTypeError::new_err(sentence));
    }
    let keeper = Bound::new(py, KeyKeeper { function: given.clone().unbind() })?;
    let weak = PyWeakrefReference::new(&keeper)?.unbind();
    let function = move || {
        let called = interpreter_end::run(|py| match weak.bind(py).upgrade_as::<KeyKeeper>() {
            Ok(Some(keeper)) => call(keeper.get().function.bind(py)),
            _ => Err("its client was garbage collected".into()),
        });
        called.unwrap_or_else(|| Err("the interpreter is shutting down".into()))
    };
    Ok((Arc::new(function), keeper.into_any().unbind()))
}

fn call(function: &Bound<'_, PyAny>) -> Result<String, Box<dyn Error + Send + Sync>> {
    let returned = function.call0().map_err(Raised)?;
    match returned.cast::<PyString>() {
        Ok(key) => Ok(key.to_cow().map_err(|_| "it returned a str with a lone surrogate")?.into_owned()),
        Err(_) => {
            // A coroutine would warn that it was never awaited.
            let _ = returned.call_method0("close");
            Err(format!("it returned {} instead of a str", type_name(&returned)).into())
        }
    }
}
