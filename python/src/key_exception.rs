//! An exception that a callable in place of a key raised.

use std::error::Error;
use std::fmt;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// An exception of the callable, as the core passes it on.
#[derive(Debug)]
pub(crate) struct Raised(pub(crate) PyErr);

impl Raised {
    /// The exception.
    pub(crate) fn exception(&self, py: Python<'_>) -> PyErr {
        self.0.clone_ref(py)
    }

    /// Whether it ends more than the call, as KeyboardInterrupt and SystemExit do.
    pub(crate) fn ends_program(&self, py: Python<'_>) -> bool {
        !self.0.is_instance_of::<PyException>(py)
    }
}

/// The name of its class alone: its text may quote a secret.
impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Python::try_attach(|py| self.0.get_type(py).name().map(|name| name.to_string()).ok());
        f.write_str(name.flatten().as_deref().unwrap_or("an exception"))
    }
}

impl Error for Raised {}
