//! Values that are dropped without the GIL.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

/// Drops a value that may block (it closes connections) without holding the GIL.
pub(crate) struct Detached<T: Send>(Option<T>);

impl<T: Send> Detached<T> {
    pub(crate) fn new(value: T) -> Detached<T> {
        Detached(Some(value))
    }
}

impl<T: Send> Deref for Detached<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("only its drop takes it")
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        let _ = Python::try_attach(|py| py.detach(|| catch_unwind(AssertUnwindSafe(|| drop(value)))));
    }
}
