//! Panics become `InternalError`: pyo3 would raise them as a BaseException, which `except Exception` misses.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agentjob_core::{Error, panic_text};
use pyo3::prelude::*;

use crate::errors;

/// Runs work that does not block, and raises a panic as InternalError.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(errors::raised(py, &Error::internal(&panic_text(&*panic), false))))
}

/// The same for a call of the core. `delivers`: the call was to deliver a message, which may have arrived before the panic.
pub(crate) fn caught<T>(delivers: bool, call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(Error::internal(&panic_text(&*panic), delivers)))
}
