//! The items of a batch, as Python gives them: mappings or tuples. An error names the item by its line or its number.

use std::sync::{Mutex, MutexGuard, PoisonError};

use agentjob_core::{BatchItem, BatchProgress, BatchUpdate, Error};
use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyTuple, PyType};

use crate::arguments::{Refused, integer, text, wrong_type};
use crate::batch::records;
use crate::errors;
use crate::panic::guarded;

/// How many items to read between two checks for Ctrl-C, because an iterable may be endless.
const SIGNALS_EVERY: usize = 1024;
/// The longest unknown name that an error quotes.
const MAX_QUOTED: usize = 60;

/// Items that are read already, for one Client.send_all. For agentjob.aio, whose on_update runs on a different thread from the one that
/// reads them, but also before any is sent. And for the command line: as Python objects, numbers of an extra would not stay as they are
/// written.
#[pyclass(frozen, module = "agentjob._native")]
pub(crate) struct BatchItems(Mutex<Vec<BatchItem>>);

impl BatchItems {
    pub(crate) fn of(items: Vec<BatchItem>) -> BatchItems {
        BatchItems(Mutex::new(items))
    }

    fn items(&self) -> MutexGuard<'_, Vec<BatchItem>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl BatchItems {
    #[new]
    fn new(py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<BatchItems> {
        guarded(py, || Ok(BatchItems::of(read(items)?)))
    }

    fn __len__(&self) -> usize {
        self.items().len()
    }

    /// The update about repeated messages (types.BatchUpdate), if there are any.
    fn repeated<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        guarded(py, || {
            // Locked without the GIL: another thread may wait for it with the GIL held.
            let Some((update, progress)) = py.detach(|| repeated(&self.items())) else { return Ok(None) };
            records::update(py, &update, &progress).map(Some)
        })
    }
}

/// The update about repeated messages, with the progress of a batch that has not begun.
pub(crate) fn repeated(items: &[BatchItem]) -> Option<(BatchUpdate, BatchProgress)> {
    let update = BatchItem::repeated(items)?;
    let mut progress = BatchProgress::default();
    (progress.items, progress.left) = (items.len() as u64, items.len() as u64);
    Some((update, progress))
}

/// Reads every item.
pub(crate) fn read(items: &Bound<'_, PyAny>) -> PyResult<Vec<BatchItem>> {
    if let Ok(read) = items.cast::<BatchItems>() {
        return Ok(std::mem::take(&mut *read.get().items()));
    }
    let py = items.py();
    // The length of any other class is the program's own code, and may be wrong.
    let mut read = Vec::with_capacity(items.cast::<PyList>().map_or(0, PyListMethods::len));
    let each = match items.try_iter() {
        Ok(each) => each,
        // Otherwise the iterable's own code raised.
        Err(_) if !items.hasattr(intern!(py, "__iter__"))? => {
            return Err(wrong_type("items", "an iterable", items).raised(py, false));
        }
        Err(error) => return Err(error),
    };
    for (at, given) in each.enumerate() {
        if at % SIGNALS_EVERY == 0 {
            py.check_signals()?;
        }
        read.push(item(&given?).map_err(|wrong| wrong.raised(py, at))?);
    }
    Ok(read)
}

/// Why an item is refused.
enum Wrong {
    /// With the line that the item gives.
    Refused(Refused, Option<u64>),
    /// The code of the item's own class raised.
    Raised(PyErr),
}

impl From<Refused> for Wrong {
    fn from(refused: Refused) -> Wrong {
        Wrong::Refused(refused, None)
    }
}

impl From<PyErr> for Wrong {
    fn from(error: PyErr) -> Wrong {
        Wrong::Raised(error)
    }
}

impl Wrong {
    fn value(reason: String) -> Wrong {
        Wrong::error(Error::invalid_argument(reason))
    }

    fn error(error: Error) -> Wrong {
        Wrong::from(Refused::Value(error))
    }

    fn on(self, line: Option<u64>) -> Wrong {
        match self {
            Wrong::Refused(refused, None) => Wrong::Refused(refused, line),
            wrong => wrong,
        }
    }

    fn raised(self, py: Python<'_>, at: usize) -> PyErr {
        let (error, line) = match self {
            Wrong::Refused(Refused::Type(sentence), line) => (Error::invalid_argument(sentence), line),
            Wrong::Refused(Refused::Value(error), line) => (error, line),
            Wrong::Refused(Refused::Raised(error), _) | Wrong::Raised(error) => return error,
        };
        errors::raised(py, &error.in_item(at as u64 + 1, line))
    }
}

fn item(given: &Bound<'_, PyAny>) -> Result<BatchItem, Wrong> {
    if let Ok(dict) = given.cast_exact::<PyDict>() {
        return of_fields(dict.iter().map(Ok));
    }
    if let Ok(tuple) = given.cast::<PyTuple>() {
        return of_tuple(tuple);
    }
    if is_mapping(given)? {
        let fields = given.call_method0(intern!(given.py(), "items"))?.try_iter()?;
        return of_fields(fields.map(|field| field?.extract()));
    }
    Err(wrong_type("it", "a mapping or a tuple", given).into())
}

/// A cast to PyMapping would lose an exception: Python runs here, and so may a signal handler.
fn is_mapping(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    static MAPPING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(given.is_instance_of::<PyDict>()
        || given.is_instance(MAPPING.import(given.py(), "collections.abc", "Mapping")?)?)
}

fn of_tuple(tuple: &Bound<'_, PyTuple>) -> Result<BatchItem, Wrong> {
    let length = tuple.len();
    if !(2..=3).contains(&length) {
        let error = Error::invalid_argument(format!("it has {length} parts"));
        return Err(Wrong::error(error.with_hint("Give (job_id, prompt) or (job_id, prompt, key).")));
    }
    let key = if length == 3 { Some(tuple.get_item(2)?) } else { None };
    make(&tuple.get_item(0)?, &tuple.get_item(1)?, key, None)
}

type Field<'py> = PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

fn of_fields<'py>(fields: impl Iterator<Item = Field<'py>>) -> Result<BatchItem, Wrong> {
    let (mut job_id, mut prompt, mut key, mut line, mut extra, mut unknown) = (None, None, None, None, None, None);
    for field in fields {
        let (name, value) = field?;
        let place = match &*text("the name of a field", &name)? {
            "job_id" => &mut job_id,
            "prompt" => &mut prompt,
            "key" => &mut key,
            "line" => &mut line,
            "extra" => &mut extra,
            other => {
                unknown.get_or_insert_with(|| other.chars().take(MAX_QUOTED).collect::<String>());
                continue;
            }
        };
        *place = Some(value);
    }
    let line = line.map_or(Ok(None), |line| self::line(&line))?;
    let build = || {
        if let Some(name) = unknown {
            let error = Error::invalid_argument(format!("unknown field {name:?}"));
            return Err(Wrong::error(error.with_hint("The fields are job_id, prompt, key, line and extra.")));
        }
        let missing = |name: &str| Wrong::value(format!("{name} is missing"));
        let item =
            make(&job_id.ok_or_else(|| missing("job_id"))?, &prompt.ok_or_else(|| missing("prompt"))?, key, line)?;
        Ok(match extra.filter(|extra| !extra.is_none()) {
            Some(extra) => item.with_extra(json_text(&extra)?),
            None => item,
        })
    };
    build().map_err(|wrong| wrong.on(line))
}

fn make(
    job_id: &Bound<'_, PyAny>,
    prompt: &Bound<'_, PyAny>,
    key: Option<Bound<'_, PyAny>>,
    line: Option<u64>,
) -> Result<BatchItem, Wrong> {
    let mut item = BatchItem::new(text("job_id", job_id)?, text("prompt", prompt)?);
    if let Some(key) = key.filter(|key| !key.is_none()) {
        item = item.with_key(text("key", &key)?);
    }
    Ok(match line {
        Some(line) => item.with_line(line),
        None => item,
    })
}

/// A value as JSON, by Python's own module, which is only loaded for this.
fn json_text(value: &Bound<'_, PyAny>) -> Result<String, Wrong> {
    let py = value.py();
    let write = || {
        let options = [("allow_nan", false), ("ensure_ascii", false)].into_py_dict(py)?;
        options.set_item(intern!(py, "separators"), (",", ":"))?;
        let text = py.import(intern!(py, "json"))?.call_method(intern!(py, "dumps"), (value,), Some(&options))?;
        text.extract::<String>()
    };
    write().map_err(|raised: PyErr| {
        let is_refusal = raised.is_instance_of::<PyTypeError>(py)
            || raised.is_instance_of::<PyValueError>(py)
            || raised.is_instance_of::<PyRecursionError>(py);
        if is_refusal {
            match raised.value(py).str() {
                Ok(why) => Wrong::value(format!("extra is not JSON: {}", why.to_string_lossy())),
                Err(raised) => Wrong::Raised(raised),
            }
        } else {
            Wrong::Raised(raised)
        }
    })
}

fn line(given: &Bound<'_, PyAny>) -> Result<Option<u64>, Wrong> {
    if given.is_none() {
        return Ok(None);
    }
    match integer("line", given)? {
        0 => Err(Wrong::error(Error::invalid_argument("line is 0").with_hint("Lines count from 1."))),
        line => Ok(Some(line)),
    }
}
