//! Which thread runs Python's signal handlers: the main thread alone.

use std::cell::Cell;
use std::process;

use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

thread_local! {
    /// Whether this is Python's main thread, and the process in which that was found out.
    static MAIN: Cell<Option<(bool, u32)>> = const { Cell::new(None) };
}

/// Whether Python runs signal handlers on this thread. The other threads need not wake twenty times a second for them, and must not take
/// the GIL while the interpreter shuts down: before Python 3.13 a thread that asks for the GIL at the wrong moment crashes the process.
/// A thread that forks is the child's main thread.
pub(crate) fn runs_signal_handlers() -> bool {
    MAIN.get().is_none_or(|(main, pid)| main || pid != process::id())
}

/// Whether this is known to be the main thread: not on a thread of ours.
pub(crate) fn is_main_thread() -> bool {
    MAIN.get().is_some_and(|(main, _)| main)
}

/// Finds out, once for each thread, whether this is the main thread. Python runs meanwhile, and so may a signal handler, whose
/// exception is returned.
pub(crate) fn identify(py: Python<'_>) -> PyResult<()> {
    if MAIN.get().is_none() {
        let main = match is_main(py) {
            Err(error) if !error.is_instance_of::<PyAttributeError>(py) => return Err(error),
            found => found.unwrap_or(true),
        };
        MAIN.set(Some((main, process::id())));
    }
    Ok(())
}

fn is_main(py: Python<'_>) -> PyResult<bool> {
    // Until the program loads `threading` it has one thread.
    let loaded = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    let Some(threading) = loaded.get_item("threading")? else { return Ok(true) };
    let (this, main) = (py.import("_thread")?, field(&threading, "_main_thread", "main_thread")?);
    if field(&main, "_ident", "ident")?.eq(this.call_method0("get_ident")?)? {
        return Ok(true);
    }
    // gevent's get_ident tells greenlets apart, and many of them run on the main thread. Not every platform has native ids.
    match this.getattr_opt("get_native_id")? {
        Some(native) => field(&main, "_native_id", "native_id")?.eq(native.call0()?),
        None => Ok(false),
    }
}

/// What `public` returns, without running its code: up to Python 3.13 the interpreter's end would end a daemon thread in there, and the
/// process would crash. Those versions have the field `own`.
fn field<'py>(of: &Bound<'py, PyAny>, own: &str, public: &str) -> PyResult<Bound<'py, PyAny>> {
    match of.getattr_opt(own)? {
        Some(value) => Ok(value),
        None => {
            let value = of.getattr(public)?;
            if value.is_callable() { value.call0() } else { Ok(value) }
        }
    }
}
