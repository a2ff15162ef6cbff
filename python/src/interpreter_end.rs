//! When the interpreter ends, it stops other threads at their next use of Python, up to 3.13 by unwinding their stacks, which Rust doesn't
//! survive. So the end waits for the program's functions that run on such threads, and no new one begins.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::main_thread::is_main_thread;

/// How often the interpreter's end checks whether the functions have returned.
const PAUSE: Duration = Duration::from_millis(2);

/// How long the interpreter's end waits at most. A function may never return.
const MAX_WAIT: Duration = Duration::from_secs(10);

static IS_EXITING: AtomicBool = AtomicBool::new(false);

/// How many functions are running. A forked child does not have its parent's threads, so it begins with none.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// A function of the program is running on another thread than the main one, which ends the interpreter.
struct Running;

impl Running {
    fn begin() -> Running {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A function in which the program forked is not counted in the child.
        let _ = RUNNING.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |running| running.checked_sub(1));
    }
}

/// Runs Python from a thread that may not be attached. `None`: the interpreter is ending.
pub(crate) fn run<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    if is_main_thread() {
        return Python::try_attach(work);
    }
    // Counted until this thread has left Python.
    let _running = Running::begin();
    if IS_EXITING.load(Ordering::SeqCst) { None } else { Python::try_attach(work) }
}

/// Waits until the functions have returned. Ctrl-C ends the wait.
#[pyfunction]
fn wait_for_functions(py: Python<'_>) -> PyResult<()> {
    IS_EXITING.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    while RUNNING.load(Ordering::SeqCst) > 0 && begun.elapsed() < MAX_WAIT {
        py.detach(|| thread::sleep(PAUSE));
        py.check_signals()?;
    }
    Ok(())
}

/// In a forked child.
#[pyfunction]
fn forget_functions() {
    RUNNING.store(0, Ordering::SeqCst);
}

/// Before the program can register functions for the interpreter's end that use this package: the last registered runs first.
pub(crate) fn register(py: Python<'_>) -> PyResult<()> {
    // Windows has no fork.
    if let Some(register_at_fork) = py.import("os")?.getattr_opt("register_at_fork")? {
        let in_child = PyDict::new(py);
        in_child.set_item("after_in_child", pyo3::wrap_pyfunction!(forget_functions, py)?)?;
        register_at_fork.call((), Some(&in_child))?;
    }
    py.import("atexit")?.call_method1("register", (pyo3::wrap_pyfunction!(wait_for_functions, py)?,)).map(drop)
}
