//! The core's errors as exceptions of `agentjob.errors`, and the note that an exception gets about its message.

use agentjob_core::{Delivery, Error, ErrorKind, Job};
use pyo3::exceptions::PyBaseException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyModule, PyString};

use crate::convert;
use crate::key_exception::Raised;

/// An error of the core, as it is.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    raised_with(py, error, error.delivery())
}

/// The same with another verdict.
pub(crate) fn raised_with(py: Python<'_>, error: &Error, delivery: Option<Delivery>) -> PyErr {
    let own = error.function_error().and_then(|own| own.downcast_ref::<Raised>());
    match own {
        // Ctrl-C in a function of the program is Ctrl-C, and only gets the verdict.
        Some(own) if own.ends_program(py) => {
            let raised = own.exception(py);
            if let Some(delivery) = delivery {
                add_note(raised.value(py), delivery);
            }
            raised
        }
        own => {
            let raised = exception(py, error, delivery).unwrap_or_else(|failed| {
                // There was no memory for it.
                if let Some(delivery) = delivery {
                    add_note(failed.value(py), delivery);
                }
                failed
            });
            if let Some(own) = own {
                raised.set_cause(py, Some(own.exception(py)));
            }
            raised
        }
    }
}

/// The error for a job that failed, for `check=True`.
pub(crate) fn failed(py: Python<'_>, job: &Job, delivers: bool) -> PyErr {
    let made = job_failed(py, job.id(), convert::job(py, job).ok()).map(|error| {
        if delivers {
            add_note(&error, Delivery::Accepted);
        }
        PyErr::from_value(error)
    });
    made.unwrap_or_else(|other| other)
}

/// The same from a record.
#[pyfunction]
#[pyo3(signature = (job_id, job, /))]
pub(crate) fn job_failed<'py>(
    py: Python<'py>,
    job_id: &str,
    job: Option<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = module(py)?.getattr(intern!(py, "JobFailedError"))?;
    let (error, facts) = make(&class, &format!("job {} failed; its record is in .job", job_id.escape_debug()))?;
    facts.set_item(intern!(py, "job"), job)?;
    Ok(error)
}

fn exception(py: Python<'_>, error: &Error, delivery: Option<Delivery>) -> PyResult<PyErr> {
    let (made, facts) = make(&class_of(py, error.kind())?, error.message())?;
    facts.set_item(intern!(py, "reason"), error.reason())?;
    facts.set_item(intern!(py, "hint"), error.hint())?;
    facts.set_item(intern!(py, "item"), error.item())?;
    facts.set_item(intern!(py, "line"), error.line())?;
    facts.set_item(intern!(py, "http_status"), error.http_status())?;
    facts.set_item(intern!(py, "retry_after"), error.retry_after().map(|after| after.as_secs_f64()))?;
    facts.set_item(intern!(py, "request_id"), error.request_id())?;
    facts.set_item(intern!(py, "body"), error.body())?;
    facts.set_item(intern!(py, "attempts"), error.attempts())?;
    facts.set_item(intern!(py, "elapsed"), error.elapsed().as_secs_f64())?;
    if error.is_a_setting() {
        // For `once.rs`, which doesn't get the core's error.
        facts.set_item(intern!(py, "_is_a_setting"), true)?;
    }
    // If there is no memory for the record, the error and its verdict still stand.
    let job = error.job().and_then(|job| convert::job(py, job).ok());
    facts.set_item(intern!(py, "job"), job)?;
    if let Some(delivery) = delivery {
        add_note(&made, delivery);
    }
    Ok(PyErr::from_value(made))
}

/// An exception of one of our classes with a text, and its attributes. This runs no code of Python, neither `__init__` nor a property: in
/// such code the interpreter's end would end a daemon thread, and the process would crash.
fn make<'py>(class: &Bound<'py, PyAny>, message: &str) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let py = class.py();
    let made = class.call_method1(intern!(py, "__new__"), (class,))?;
    let args = py.get_type::<PyBaseException>().getattr(intern!(py, "args"))?;
    args.call_method1(intern!(py, "__set__"), (&made, (message,)))?;
    let facts = made.getattr(intern!(py, "__dict__"))?.cast_into()?;
    Ok((made, facts))
}

/// The class of a kind. A kind without one is a bug in agentjob, and must not hide the error.
fn class_of(py: Python<'_>, kind: ErrorKind) -> PyResult<Bound<'_, PyAny>> {
    let module = module(py)?;
    let classes = module.getattr(intern!(py, "BY_KIND"))?.cast_into::<PyDict>()?;
    match classes.get_item(kind.as_str())? {
        Some(class) => Ok(class),
        None => module.getattr(intern!(py, "InternalError")),
    }
}

/// The kinds of all errors, for the test that each has a class.
#[pyfunction]
pub(crate) fn error_kinds() -> Vec<&'static str> {
    ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

fn module(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("agentjob.errors").map(Bound::unbind))?;
    Ok(module.bind(py))
}

/// Adds a message's verdict, by its name, to an exception that the core did not raise.
#[pyfunction(name = "add_note", signature = (exception, delivery, /))]
pub(crate) fn note_verdict(exception: &Bound<'_, PyAny>, delivery: &str) {
    if let Some(verdict) = Delivery::ALL.into_iter().find(|verdict| verdict.as_str() == delivery) {
        add_note(exception, verdict);
    }
}

/// Adds a note to an exception that the core did not raise.
#[pyfunction]
pub(crate) fn note(exception: &Bound<'_, PyAny>, text: &str) {
    // As in `add_note`.
    let _ = append_note(exception, format!("agentjob: {text}"));
}

/// Adds the job that was created to the exception that ended the call: its record as `job`, and a note with its id, which is redacted.
pub(crate) fn note_id(exception: &Bound<'_, PyAny>, id: &str, record: Option<Bound<'_, PyDict>>) {
    // As in `add_note`.
    let _ = try_note_id(exception, id, record);
}

fn try_note_id(exception: &Bound<'_, PyAny>, id: &str, record: Option<Bound<'_, PyDict>>) -> PyResult<()> {
    let has = |own: &Bound<'_, PyDict>, key| own.contains(key).unwrap_or(false);
    let is_record = |own: &Bound<'_, PyAny>| own.cast::<PyDict>().is_ok_and(|own| has(own, "id") && has(own, "status"));
    let record = record.map_or_else(|| exception.py().None().into_bound(exception.py()), Bound::into_any);
    let this_call = replace(exception, intern!(exception.py(), "job"), &record, is_record);
    append_note(exception, format!("agentjob: {this_call}the new job is {id}"))
}

/// Adds the message's verdict to an exception: as its `delivery`, and as a note that says whether to send the message again. In an
/// exception that left another call before it replaces the verdict of that call: what catches it now decides about this message.
pub(crate) fn add_note(exception: &Bound<'_, PyAny>, verdict: Delivery) {
    // An exception that takes no attributes, or whose own code raises, goes without.
    let _ = try_note(exception, verdict);
}

fn try_note(exception: &Bound<'_, PyAny>, verdict: Delivery) -> PyResult<()> {
    let py = exception.py();
    let is_verdict = |own: &Bound<'_, PyAny>| Delivery::ALL.iter().any(|one| own.eq(one.as_str()).unwrap_or(false));
    let value = PyString::new(py, verdict.as_str()).into_any();
    let this_call = replace(exception, intern!(py, "delivery"), &value, is_verdict);
    let said = match verdict {
        Delivery::NotSent => "the message was not sent, so it may be sent again",
        Delivery::Rejected => "the service rejected the message; fix the cause, then send it again",
        Delivery::Unknown => "the message may have arrived; check the job before you send it again",
        Delivery::Accepted => "the message was accepted; do not send it again",
    };
    append_note(exception, format!("agentjob: {this_call}{said}"))
}

/// Sets an attribute, unless a program's own exception has something else there (`is_ours` is false). Returns what the note begins with:
/// it says which call is meant if the exception already is about another one, as one that a program raises again is.
fn replace(
    exception: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
    is_ours: impl FnOnce(&Bound<'_, PyAny>) -> bool,
) -> &'static str {
    let own = exception.getattr_opt(name).ok().flatten().filter(|own| !own.is_none());
    let other = own.filter(|own| own.eq(value).is_ok_and(|same| !same));
    let this_call = if other.is_some() { "about the call that raised this: " } else { "" };
    if other.is_none_or(|other| is_ours(&other)) {
        // Its class may not allow it. The note says it, too.
        let _ = exception.setattr(name, value);
    }
    this_call
}

/// The note of the last call is the last one, and none is there twice.
fn append_note(exception: &Bound<'_, PyAny>, note: String) -> PyResult<()> {
    let py = exception.py();
    let notes = match exception.getattr_opt(intern!(py, "__notes__"))? {
        Some(notes) => notes.cast_into::<PyList>()?,
        // Python 3.11 and later show `__notes__` in tracebacks. Older versions do not, but a program can read them.
        None => PyList::empty(py),
    };
    if notes.contains(&note)? {
        notes.del_item(notes.index(&note)?)?;
    }
    notes.append(note)?;
    exception.setattr(intern!(py, "__notes__"), notes)
}
