//! A callable in place of a key: `Client(api_key=function)`.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use agentjob_core::{Control, KeyFunction};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::type_name;
use crate::key_exception::Raised;
use crate::main_thread::is_main_thread;
use crate::signals::blocking;
use crate::watcher::Watcher;

/// How often the interpreter's end looks whether the calls have ended.
const PAUSE: Duration = Duration::from_millis(2);

/// The interpreter has begun to end. It then ends other threads that are in Python, up to 3.13 by unwinding their stacks, which Rust does
/// not survive. So it waits for the calls in progress, and no other thread begins one.
static IS_EXITING: AtomicBool = AtomicBool::new(false);

/// How many calls are in progress. A forked child does not have its parent's threads, so it begins with none.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// A call in progress.
struct InProgress;

impl InProgress {
    /// `None`: no call may begin.
    fn begin() -> Option<InProgress> {
        CALLS.fetch_add(1, Ordering::SeqCst);
        let this = InProgress;
        (is_main_thread() || !IS_EXITING.load(Ordering::SeqCst)).then_some(this)
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        // The call in which the program forked is not counted in the child.
        let _ = CALLS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |calls| calls.checked_sub(1));
    }
}

/// Waits for the calls in progress, when the interpreter begins to end. Ctrl-C ends the wait.
#[pyfunction]
fn wait_for_calls(py: Python<'_>) -> PyResult<()> {
    IS_EXITING.store(true, Ordering::SeqCst);
    let watcher = Watcher::default();
    blocking(py, &watcher, false, || {
        while CALLS.load(Ordering::SeqCst) > 0 && watcher.check().is_ok() {
            thread::sleep(PAUSE);
        }
        Ok(())
    })
}

#[pyfunction]
fn forget_calls() {
    CALLS.store(0, Ordering::SeqCst);
}

/// Once for all functions.
fn register(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: PyOnceLock<()> = PyOnceLock::new();
    let register = || {
        let in_child = PyDict::new(py);
        in_child.set_item("after_in_child", pyo3::wrap_pyfunction!(forget_calls, py)?)?;
        py.import("os")?.call_method("register_at_fork", (), Some(&in_child))?;
        py.import("atexit")?.call_method1("register", (pyo3::wrap_pyfunction!(wait_for_calls, py)?,)).map(drop)
    };
    REGISTERED.get_or_try_init(py, register).map(drop)
}

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
    register(py)?;
    let function = move || {
        // Counted until this thread has left Python.
        let _in_progress = InProgress::begin().ok_or("the interpreter is shutting down")?;
        let called = Python::try_attach(|py| match weak.bind(py).upgrade_as::<KeyKeeper>() {
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
