//! Arguments, checked by type here and by value in the core. Each error names its argument. pyo3 would do that in a note, which
//! Python before 3.11 does not show, so its methods take any object, and these functions read it.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use agentjob_core::{Delivery, EncodedPrompt, Error, Headers, duration_from_seconds, duration_from_seconds_or_zero};
use pyo3::exceptions::{PyAttributeError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PySlice, PyString};

use crate::cancel_token::CancelToken;
use crate::errors;

/// An argument as it was given, of any type.
pub(crate) type Argument<'a, 'py> = &'a Bound<'py, PyAny>;

/// An argument that is refused.
pub(crate) enum Refused {
    /// Its type; a TypeError.
    Type(String),
    /// Its value; an InvalidArgumentError.
    Value(Error),
    /// Reading it ran the program's own code, which raised this.
    Raised(PyErr),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Value(error)
    }
}

impl Refused {
    /// As an exception. `delivers`: the call was to deliver a message, which was not sent.
    pub(crate) fn raised(self, py: Python<'_>, delivers: bool) -> PyErr {
        let raised = match self {
            Refused::Type(sentence) => PyTypeError::new_err(sentence),
            Refused::Value(error) => {
                let verdict = error.delivery().or(delivers.then_some(Delivery::NotSent));
                return errors::raised_with(py, &error, verdict);
            }
            Refused::Raised(raised) => raised,
        };
        if delivers {
            errors::add_note(raised.value(py), Delivery::NotSent);
        }
        raised
    }

    /// What it means that reading an argument raised something: that the argument is wrong, if that is what Python raises for one.
    /// Anything else was raised by the program's own code (`__float__`, a generator, a signal handler), and is raised unchanged.
    pub(crate) fn by(raised: PyErr, py: Python<'_>, wrong: impl FnOnce() -> Refused) -> Refused {
        let is_pythons = raised.is_instance_of::<PyTypeError>(py)
            || raised.is_instance_of::<PyValueError>(py)
            || raised.is_instance_of::<PyOverflowError>(py)
            || raised.is_instance_of::<PyAttributeError>(py);
        if is_pythons { wrong() } else { Refused::Raised(raised) }
    }
}

fn is_bool(given: &Bound<'_, PyAny>) -> bool {
    given.is_instance_of::<PyBool>()
}

pub(crate) fn type_name(given: &Bound<'_, PyAny>) -> String {
    given.get_type().name().map_or_else(|_| "that".to_owned(), |name| name.to_string())
}

pub(crate) fn wrong_type(name: &str, wanted: &str, given: &Bound<'_, PyAny>) -> Refused {
    Refused::Type(format!("{name} must be {wanted}, not {}", type_name(given)))
}

/// An int or a float: seconds, or a fraction. Not a bool, although that is an int in Python.
pub(crate) fn number(name: &str, given: &Bound<'_, PyAny>) -> Result<f64, Refused> {
    let wrong = || wrong_type(name, "a number", given);
    match given.extract::<f64>() {
        Ok(number) if !is_bool(given) => Ok(number),
        Ok(_) => Err(wrong()),
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => Ok(f64::MAX),
        Err(error) => Err(Refused::by(error, given.py(), wrong)),
    }
}

/// Seconds: more than 0, at most 7 days.
pub(crate) fn seconds(name: &str, given: &Bound<'_, PyAny>) -> Result<Duration, Refused> {
    Ok(duration_from_seconds(name, number(name, given)?)?)
}

/// The same, or 0.
pub(crate) fn seconds_or_zero(name: &str, given: &Bound<'_, PyAny>) -> Result<Duration, Refused> {
    Ok(duration_from_seconds_or_zero(name, number(name, given)?)?)
}

/// An int, as the core's type. The core checks its limits.
pub(crate) fn integer<T: TryFrom<i64>>(name: &str, given: &Bound<'_, PyAny>) -> Result<T, Refused> {
    let wrong = || wrong_type(name, "a whole number", given);
    let number = match given.extract::<i64>() {
        Ok(number) if !is_bool(given) => number,
        Ok(_) => return Err(wrong()),
        // The core's limits are far smaller.
        Err(error) if error.is_instance_of::<PyOverflowError>(given.py()) => {
            if given.lt(0).map_err(|error| Refused::by(error, given.py(), wrong))? { i64::MIN } else { i64::MAX }
        }
        Err(error) => return Err(Refused::by(error, given.py(), wrong)),
    };
    T::try_from(number).map_err(|_| {
        let size = if number < 0 { "negative" } else { "too large" };
        Error::invalid_argument(format!("{name} is {size}")).into()
    })
}

/// A bool.
pub(crate) fn flag(name: &str, given: &Bound<'_, PyAny>) -> Result<bool, Refused> {
    given.cast::<PyBool>().map(|flag| flag.is_true()).map_err(|_| wrong_type(name, "True or False", given))
}

/// An iterable of str, not a str itself.
pub(crate) fn strings(name: &str, given: &Bound<'_, PyAny>) -> Result<Vec<String>, Refused> {
    let wrong = || wrong_type(name, "an iterable of str", given);
    if given.is_instance_of::<PyString>() {
        return Err(wrong());
    }
    let refused = |error| Refused::by(error, given.py(), wrong);
    let each = given.try_iter().map_err(refused)?;
    each.map(|item| Ok(text(name, &item.map_err(refused)?)?.into_owned())).collect()
}

/// A str as UTF-8. It must not contain a lone surrogate, which cannot be encoded.
pub(crate) fn text<'a>(name: &str, given: &'a Bound<'_, PyAny>) -> Result<Cow<'a, str>, Refused> {
    let text = given.cast::<PyString>().map_err(|_| wrong_type(name, "a str", given))?;
    Ok(text.to_cow().map_err(|_| lone_surrogate(name))?)
}

/// A str as the JSON that is sent. The stable ABI of Python 3.9 only gives a copy of a str as UTF-8, so a long one is read in
/// pieces: there is never a second whole copy. A piece ends between two characters.
pub(crate) fn encoded(name: &str, given: &Bound<'_, PyAny>) -> Result<EncodedPrompt, Refused> {
    const PIECE: usize = 16 << 10;
    let text = given.cast::<PyString>().map_err(|_| wrong_type(name, "a str", given))?;
    let characters = text.code_point_len().unwrap_or(0);
    let mut encoded = EncodedPrompt::with_capacity(characters);
    // A subclass may have a slicing of its own.
    if characters <= PIECE || !given.is_exact_instance_of::<PyString>() {
        encoded.push(&PyBackedStr::try_from(text.clone()).map_err(|_| lone_surrogate(name))?);
        return Ok(encoded);
    }
    for begin in (0..characters).step_by(PIECE) {
        let slice = PySlice::new(given.py(), begin as isize, (begin + PIECE) as isize, 1);
        let piece = text.get_item(slice).and_then(|piece| piece.extract::<PyBackedStr>());
        encoded.push(&piece.map_err(|_| lone_surrogate(name))?);
    }
    Ok(encoded)
}

fn lone_surrogate(name: &str) -> Error {
    Error::invalid_argument(format!("{name} contains a lone surrogate, which cannot be encoded as UTF-8"))
}

/// A str or an os.PathLike.
pub(crate) fn path(name: &str, given: &Bound<'_, PyAny>) -> Result<PathBuf, Refused> {
    given
        .extract()
        .map_err(|error| Refused::by(error, given.py(), || wrong_type(name, "a str or an os.PathLike", given)))
}

/// A token that can end a call.
pub(crate) fn cancel_token<'a>(name: &str, given: &'a Bound<'_, PyAny>) -> Result<&'a CancelToken, Refused> {
    match given.cast::<CancelToken>() {
        Ok(token) => Ok(token.get()),
        Err(_) => Err(wrong_type(name, "an agentjob.CancelToken", given)),
    }
}

/// A mapping of header names to values. Two names that differ only in case are a mistake.
pub(crate) fn headers(name: &str, given: &Bound<'_, PyAny>) -> Result<Headers, Refused> {
    let wrong = || wrong_type(name, "a mapping of str to str", given);
    let refused = |error| Refused::by(error, given.py(), wrong);
    if !given.hasattr("keys").map_err(refused)? {
        return Err(wrong());
    }
    let items = given.call_method0("items").and_then(|items| items.try_iter()).map_err(refused)?;
    let mut headers = Headers::new();
    for item in items {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
            item.and_then(|item| item.extract()).map_err(refused)?;
        let name = text("a header's name", &name)?;
        // The name is not quoted before it is checked: where name and value were confused, it is the secret.
        let value = text("a header's value", &value)?;
        if headers.contains(&name) {
            return Err(Error::invalid_argument(format!("header {name} is given twice")).into());
        }
        headers.set(&name, &value)?;
    }
    Ok(headers)
}

/// A callback, or none.
pub(crate) fn callback(name: &str, given: Option<Bound<'_, PyAny>>) -> Result<Option<Py<PyAny>>, Refused> {
    match given {
        Some(given) if !given.is_callable() => Err(wrong_type(name, "callable", &given)),
        given => Ok(given.map(Bound::unbind)),
    }
}
