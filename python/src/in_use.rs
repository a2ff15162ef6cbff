//! Objects that only one thread may use at a time.

use std::sync::{Mutex, MutexGuard, TryLockError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Locks an object for one poll or one call of next(). A second thread, or a callback during that, gets a RuntimeError: waiting for
/// the lock would block with the GIL held.
pub(crate) fn claim<'a, T>(object: &'a Mutex<T>, name: &str) -> PyResult<MutexGuard<'a, T>> {
    match object.try_lock() {
        Ok(claimed) => Ok(claimed),
        Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err(format!("this {name} is already in use"))),
    }
}
