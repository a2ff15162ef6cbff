//! The positional arguments of a method that delivers a message. pyo3 would refuse one that is missing, unexpected or surplus before
//! our code runs, and its TypeError would have no verdict. So such a method takes everything, each argument by position and by name,
//! and this refuses what is wrong, in the words of pyo3.

use std::convert::Infallible;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments::Refused;

/// What was passed for an argument, if anything. `None` that was passed counts.
#[derive(Clone, Copy)]
pub(crate) struct Passed<'a, 'py>(Option<Borrowed<'a, 'py, PyAny>>);

/// The default of an argument that has none.
pub(crate) const NOTHING: Passed<'static, 'static> = Passed(None);

impl<'a, 'py> FromPyObject<'a, 'py> for Passed<'a, 'py> {
    type Error = Infallible;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(Passed(Some(given)))
    }
}

/// An argument: its name, what was passed by position, and what by name.
pub(crate) type Argument<'a, 'py> = (&'static str, Passed<'a, 'py>, Passed<'a, 'py>);

/// The arguments of a method of `Client`, which refuses what it was passed besides.
pub(crate) fn bound<'a, 'py, const N: usize>(
    method: &str,
    arguments: [Argument<'a, 'py>; N],
    (surplus, unexpected): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
) -> PyResult<[Borrowed<'a, 'py, PyAny>; N]> {
    let each_once = arguments.iter().all(|(_, positional, named)| positional.0.is_some() != named.0.is_some());
    if !each_once || unexpected.is_some() || !surplus.is_empty() {
        let sentence = format!("Client.{method}() {}", describe(&arguments, surplus.len(), unexpected));
        return Err(Refused::Type(sentence).raised(surplus.py(), true));
    }
    Ok(arguments.map(|(_, positional, named)| positional.0.or(named.0).expect("one of them was passed")))
}

#[cold]
fn describe(arguments: &[Argument<'_, '_>], surplus: usize, unexpected: Option<&Bound<'_, PyDict>>) -> String {
    if let Some((name, _)) = unexpected.and_then(|unexpected| unexpected.iter().next()) {
        return format!("got an unexpected keyword argument '{name}'");
    }
    let twice = |(_, positional, named): &&Argument<'_, '_>| positional.0.is_some() && named.0.is_some();
    if let Some((name, ..)) = arguments.iter().find(twice) {
        return format!("got multiple values for argument '{name}'");
    }
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    if surplus > 0 {
        let (takes, given) = (arguments.len(), arguments.len() + surplus);
        return format!("takes {takes} positional argument{} but {given} were given", plural(takes));
    }
    let missing = arguments.iter().filter(|(_, positional, named)| positional.0.or(named.0).is_none());
    let missing: Vec<String> = missing.map(|(name, ..)| format!("'{name}'")).collect();
    format!(
        "missing {} required positional argument{}: {}",
        missing.len(),
        plural(missing.len()),
        missing.join(" and ")
    )
}
