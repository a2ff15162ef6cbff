//! JSON as Python objects, as `json.loads` would give them: ints exact, floats nearest, keys in order. They are built from the
//! text, piece by piece. Running out of memory raises MemoryError, and never panics.

use agentjob_core::{Event, Field, Fields, Job, Json, JsonText, JsonToken};
use pyo3::exceptions::PyMemoryError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyString};

/// Fewer digits than 640, the smallest limit that `sys.set_int_max_str_digits` accepts.
const DIGITS_AT_ONCE: usize = 512;

/// A job's record.
pub(crate) fn job<'py>(py: Python<'py>, job: &Job) -> PyResult<Bound<'py, PyDict>> {
    let mut builder = Builder::new(py);
    builder.fields(job.fields(), true)
}

/// An event of a call.
pub(crate) fn event<'py>(py: Python<'py>, event: &Event<'_>) -> PyResult<Bound<'py, PyDict>> {
    Ok(json(py, &event.to_json())?.cast_into()?)
}

/// Any JSON of our own.
pub(crate) fn json<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    value(py, Json::parse(json).unwrap_or_default())
}

/// Any value.
fn value<'py>(py: Python<'py>, json: Json<'_>) -> PyResult<Bound<'py, PyAny>> {
    Builder::new(py).value(json)
}

struct Builder<'py> {
    py: Python<'py>,
    /// A buffer to decode texts in.
    decoded: String,
}

/// A dict or a list that is still being filled.
enum Open<'py> {
    Dict(Bound<'py, PyDict>, Option<Bound<'py, PyString>>),
    List(Bound<'py, PyList>),
}

impl<'py> Builder<'py> {
    fn new(py: Python<'py>) -> Builder<'py> {
        Builder { py, decoded: String::new() }
    }

    /// `of_record`: the fields are the record's own, not those of its `source`.
    fn fields(&mut self, fields: Fields<'_>, of_record: bool) -> PyResult<Bound<'py, PyDict>> {
        let dict = self.dict()?;
        for (key, field) in fields {
            let name = match documented(self.py, key.as_written()) {
                Some(known) => known.clone(),
                None => self.text(key)?,
            };
            match field {
                Field::Text(text) => dict.set_item(name, string(self.py, text)?)?,
                Field::Object(inner) => dict.set_item(name, self.fields(inner, false)?)?,
                // A `source` that is no object is None, so that `job["source"] and job["source"]["ref"]` holds for every record.
                Field::Json(json) if json.is_null() || (of_record && key.as_written() == "source") => {
                    dict.set_item(name, self.py.None())?
                }
                Field::Json(json) => dict.set_item(name, self.value(json)?)?,
                _ => {}
            }
        }
        Ok(dict)
    }

    fn value(&mut self, json: Json<'_>) -> PyResult<Bound<'py, PyAny>> {
        let mut open: Vec<Open<'py>> = Vec::new();
        for token in json.tokens() {
            let value = match token {
                JsonToken::Object => {
                    open.push(Open::Dict(self.dict()?, None));
                    continue;
                }
                JsonToken::List => {
                    open.push(Open::List(self.py.get_type::<PyList>().call0()?.cast_into()?));
                    continue;
                }
                JsonToken::Key(text) => {
                    if let Some(Open::Dict(_, key)) = open.last_mut() {
                        *key = Some(self.text(text)?);
                    }
                    continue;
                }
                JsonToken::End => match open.pop() {
                    Some(Open::Dict(dict, _)) => dict.into_any(),
                    Some(Open::List(list)) => list.into_any(),
                    None => break,
                },
                JsonToken::Text(text) => self.text(text)?.into_any(),
                JsonToken::Number(digits) => number(self.py, digits)?,
                JsonToken::Bool(given) => given.into_pyobject(self.py)?.to_owned().into_any(),
                _ => self.py.None().into_bound(self.py),
            };
            match open.last_mut() {
                Some(Open::Dict(dict, key)) => dict.set_item(key.take(), value)?,
                Some(Open::List(list)) => list.append(value)?,
                None => return Ok(value),
            }
        }
        Ok(self.py.None().into_bound(self.py))
    }

    fn dict(&self) -> PyResult<Bound<'py, PyDict>> {
        Ok(self.py.get_type::<PyDict>().call0()?.cast_into()?)
    }

    fn text(&mut self, text: JsonText<'_>) -> PyResult<Bound<'py, PyString>> {
        if !text.as_written().contains('\\') {
            return string(self.py, text.as_written());
        }
        self.decoded.clear();
        text.decode_into(&mut self.decoded).map_err(|_| PyMemoryError::new_err(()))?;
        string(self.py, &self.decoded)
    }
}

/// A documented key: one str for all records, whose hash Python has cached.
fn documented<'py>(py: Python<'py>, key: &str) -> Option<&'py Bound<'py, PyString>> {
    Some(match key {
        "id" => intern!(py, "id"),
        "status" => intern!(py, "status"),
        "source" => intern!(py, "source"),
        "repository" => intern!(py, "repository"),
        "ref" => intern!(py, "ref"),
        "model" => intern!(py, "model"),
        "prLink" => intern!(py, "prLink"),
        "createdAt" => intern!(py, "createdAt"),
        "archivedAt" => intern!(py, "archivedAt"),
        _ => return None,
    })
}

fn string<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, text.as_bytes())
}

/// A number by its digits: an int if it has no fraction and no exponent.
fn number<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(byte) = digits.parse::<u8>() {
        // Python caches these.
        return Ok(byte.into_pyobject(py)?.into_any());
    }
    if digits.contains(['.', 'e', 'E']) {
        return py.get_type::<PyFloat>().call1((string(py, digits)?,));
    }
    if digits.len() <= DIGITS_AT_ONCE {
        return py.get_type::<PyInt>().call1((string(py, digits)?,));
    }
    match digits.strip_prefix('-') {
        Some(digits) => long_int(py, digits)?.neg(),
        None => long_int(py, digits),
    }
}

/// An int of any length. Neighbours are joined pair by pair: appending to one growing number would take quadratic time.
fn long_int<'py>(py: Python<'py>, digits: &str) -> PyResult<Bound<'py, PyAny>> {
    let int = py.get_type::<PyInt>();
    let (first, others) = digits.as_bytes().split_at(digits.len() % DIGITS_AT_ONCE);
    let mut parts = Vec::new();
    for part in [first].into_iter().filter(|part| !part.is_empty()).chain(others.chunks(DIGITS_AT_ONCE)) {
        parts.push(int.call1((PyString::from_bytes(py, part)?,))?);
    }
    let mut scale = int.call1((10,))?.pow(DIGITS_AT_ONCE, py.None())?;
    while parts.len() > 1 {
        let odd = parts.len() % 2;
        let mut joined = Vec::with_capacity(parts.len().div_ceil(2));
        joined.extend(parts[..odd].iter().cloned());
        for pair in parts[odd..].chunks(2) {
            joined.push(pair[0].mul(&scale)?.add(&pair[1])?);
        }
        parts = joined;
        if parts.len() > 1 {
            scale = scale.mul(&scale)?;
        }
    }
    Ok(parts.swap_remove(0))
}
