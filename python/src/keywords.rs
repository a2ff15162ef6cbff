//! The keyword arguments of a method, which it takes as `**keywords`: each is read by its name, and what is left is refused.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arguments::{Refused, flag};

/// What a method was given by keyword.
pub(crate) struct Keywords<'py> {
    method: &'static str,
    left: Vec<(String, Bound<'py, PyAny>)>,
}

impl<'py> Keywords<'py> {
    /// `method`: what an error calls the method.
    pub(crate) fn of(method: &'static str, given: Option<&Bound<'py, PyDict>>) -> Keywords<'py> {
        // Python takes only str as names. A subclass may have a `__str__` of its own, which is not called.
        let text = |name: &Bound<'_, PyString>| name.to_string_lossy().into_owned();
        let given = given.into_iter().flatten();
        let left = given.map(|(name, value)| (name.cast().map(text).expect("Python checks it"), value));
        Keywords { method, left: left.collect() }
    }

    /// Reads the arguments, and refuses one that `read` did not take, as Python would. `delivers`: the call is to deliver a message.
    pub(crate) fn read<T>(
        mut self,
        py: Python<'_>,
        delivers: bool,
        read: impl FnOnce(&mut Self) -> Result<T, Refused>,
    ) -> PyResult<T> {
        let done = read(&mut self).and_then(|done| match self.left.first() {
            None => Ok(done),
            Some((name, _)) => {
                Err(Refused::Type(format!("{}() got an unexpected keyword argument '{name}'", self.method)))
            }
        });
        done.map_err(|refused| refused.raised(py, delivers))
    }

    /// An argument, if it was given.
    pub(crate) fn given(&mut self, name: &str) -> Option<Bound<'py, PyAny>> {
        let at = self.left.iter().position(|(given, _)| given == name)?;
        Some(self.left.remove(at).1)
    }

    /// An argument whose default is None.
    pub(crate) fn optional(&mut self, name: &str) -> Option<Bound<'py, PyAny>> {
        self.given(name).filter(|given| !given.is_none())
    }

    /// A bool whose default is False.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Refused> {
        self.given(name).map_or(Ok(false), |given| flag(name, &given))
    }
}

/// Passes each argument that was given to the setter of its name: `set!(options, keywords.optional: settle = seconds_or_zero;)`. The
/// core checks the values. With `given` instead of `optional`, None is refused.
macro_rules! set {
    ($options:expr, $keywords:ident.$take:ident: $($name:ident = $read:expr;)*) => {
        $(if let Some(value) = $keywords.$take(stringify!($name)) {
            $options = $options.$name($read(stringify!($name), &value)?);
        })*
    };
}
pub(crate) use set;
