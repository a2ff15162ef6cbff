//! A callable in place of a key: `Client(api_key=function)`.

use std::error::Error;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use agentjob_core::{Control, KeyFunction};
use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyTraverseError, PyVisit};

use crate::arguments::type_name;
use crate::key_exception::Raised;
use crate::main_thread::is_main_thread;
use crate::signals::{SLICE, blocking};
use crate::watcher::Watcher;

/// The interpreter has begun to end. It then ends other threads that are in Python, up to 3.13 by unwinding their stacks, which Rust does
/// not survive. So it waits for the calls in progress, and no other thread begins one.
static IS_EXITING: AtomicBool = AtomicBool::new(false);

/// The calls in progress: their process in the high half, as a forked child does not have its parent's threads, and their count.
static CALLS: AtomicU64 = AtomicU64::new(0);

fn calls(process: u32, count: u64) -> u64 {
    (u64::from(process) << 32) + count
}

fn count(calls: u64, process: u32) -> u64 {
    if calls >> 32 == u64::from(process) { calls & u64::from(u32::MAX) } else { 0 }
}

/// A call in progress, in this process.
struct InProgress(u32);

impl InProgress {
    /// `None`: no call may begin.
    fn begin() -> Option<InProgress> {
        let this = InProgress(process::id());
        this.change(|count| Some(count + 1));
        (is_main_thread() || !IS_EXITING.load(Ordering::SeqCst)).then_some(this)
    }

    fn change(&self, by: impl Fn(u64) -> Option<u64>) {
        let change = |all| Some(calls(self.0, by(count(all, self.0))?));
        let _ = CALLS.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.change(|count| count.checked_sub(1));
    }
}

/// Waits for the calls in progress, when the interpreter begins to end. Ctrl-C ends the wait.
#[pyfunction]
fn wait_for_calls(py: Python<'_>) -> PyResult<()> {
    IS_EXITING.store(true, Ordering::SeqCst);
    let watcher = Watcher::default();
    blocking(py, &watcher, false, || {
        while count(CALLS.load(Ordering::SeqCst), process::id()) > 0 && watcher.check().is_ok() {
            thread::sleep(SLICE);
        }
        Ok(())
    })
}

fn wait_at_exit(py: Python<'_>) -> PyResult<()> {
    static REGISTERED: PyOnceLock<()> = PyOnceLock::new();
    let register =
        || py.import("atexit")?.call_method1("register", (pyo3::wrap_pyfunction!(wait_for_calls, py)?,)).map(drop);
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
    wait_at_exit(py)?;
    let function = move || {
        // Until the GIL is released again.
        let _in_progress = InProgress::begin().ok_or("the interpreter is shutting down")?;
        let called = Python::try_attach(|py| match weak.bind(py).upgrade_as::<KeyKeeper>() {
            Ok(Some(keeper)) => call(keeper.get().function.bind(py)),
            // A batch that was collected still records the responses to its messages in flight.
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
