//! JSON values as Python objects, as `json.loads` would give them: ints exact, floats nearest, keys in order.

use agentjob_core::{Field, Fields, Job};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString};
use serde_json::{Map, Number, Value};

/// As many digits as Python itself takes for an int by default (`sys.set_int_max_str_digits`): the time to read one grows
/// with the square of its length. A longer one, which `json.loads` refuses, is handed on as text.
const MAX_INT_DIGITS: usize = 4300;
/// Fewer digits than the least that Python's limit can be set to (640), so that reading these never fails.
const DIGITS_AT_ONCE: usize = 512;

/// A job's record.
pub(crate) fn job<'py>(py: Python<'py>, job: &Job) -> PyResult<Bound<'py, PyDict>> {
    fields(py, job.fields())
}

pub(crate) fn object<'py>(py: Python<'py>, map: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, item) in map {
        dict.set_item(key, value(py, item)?)?;
    }
    Ok(dict)
}

fn fields<'py>(py: Python<'py>, fields: Fields<'_>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, field) in fields {
        match field {
            Field::Text(text) => dict.set_item(key, text)?,
            Field::Object(inner) => dict.set_item(key, self::fields(py, inner)?)?,
            Field::Value(item) => dict.set_item(key, value(py, item)?)?,
            _ => dict.set_item(key, value(py, &field.to_value())?)?,
        }
    }
    Ok(dict)
}

/// Any value. The core bounds how deep it nests.
pub(crate) fn value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(given) => given.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => self::number(py, number)?,
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(self::value(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(map) => object(py, map)?.into_any(),
    })
}

/// A number by its digits: an int if it has no fraction and no exponent.
fn number<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    let digits = number.as_str();
    if let Ok(small) = digits.parse::<i64>() {
        return Ok(small.into_pyobject(py)?.into_any());
    }
    if digits.contains(['.', 'e', 'E']) {
        // Rust and Python both take the nearest double, and infinity for what is too large.
        return Ok(PyFloat::new(py, digits.parse().unwrap_or(f64::NAN)).into_any());
    }
    if digits.trim_start_matches('-').len() > MAX_INT_DIGITS {
        return Ok(PyString::new(py, digits).into_any());
    }
    long_int(py, digits)
}

fn long_int<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |digits| (true, digits));
    let int = py.get_type::<PyInt>();
    let mut read = int.call0()?;
    for part in digits.as_bytes().chunks(DIGITS_AT_ONCE) {
        let part = std::str::from_utf8(part).unwrap_or_default();
        let scale = PyInt::new(py, 10).pow(part.len(), py.None())?;
        read = read.mul(scale)?.add(int.call1((part,))?)?;
    }
    if negative { read.neg() } else { Ok(read) }
}
