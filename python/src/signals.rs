//! The one place that blocks: without the GIL, awake for signals, and closed to panics.

use std::any::Any;
use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentjob_core::{BatchProgress, BatchUpdate, Control, Delivery, Error, Event, Interrupted, Job};
use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3::{PyTraverseError, PyVisit};

use crate::logging::Log;
use crate::{batch_records, convert, errors};

/// How long something that blocks here does not hear of signals and tokens.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// What a call of the core asks of Python, on the calling thread: signal handlers to run, callbacks to call. What one of
/// them raises ends the call, is kept here, and is raised in its place.
#[derive(Default)]
pub(crate) struct Watcher {
    on_event: Option<Py<PyAny>>,
    on_update: Option<Py<PyAny>>,
    log: Option<Log>,
    raised: Mutex<Option<PyErr>>,
}

impl Watcher {
    /// `delivers` says that the call is to deliver a message.
    pub(crate) fn new(
        py: Python<'_>,
        on_event: Option<Py<PyAny>>,
        on_update: Option<Py<PyAny>>,
        delivers: bool,
    ) -> PyResult<Arc<Watcher>> {
        let log = Log::wanted(py).inspect_err(|raised| {
            if delivers {
                add_note(raised.value(py), Delivery::NotSent);
            }
        })?;
        Ok(Arc::new(Watcher { on_event, on_update, log, raised: Mutex::default() }))
    }

    /// For the garbage collector.
    pub(crate) fn traverse(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        [&self.on_event, &self.on_update].into_iter().flatten().try_for_each(|call| visit.call(call))
    }

    /// Tells of what happens in a batch.
    pub(crate) fn batch(&self, update: &BatchUpdate, progress: &BatchProgress) -> Result<(), Interrupted> {
        if self.on_update.is_none() && (self.log.is_none() || batch_records::sentence(update).is_none()) {
            return Ok(());
        }
        self.ask(|py| {
            let record = batch_records::update(py, update, progress)?;
            self.note(py, update, &record)?;
            self.on_update.as_ref().map_or(Ok(()), |on_update| on_update.call1(py, (record,)).map(drop))
        })
    }

    /// Tells the logger alone.
    pub(crate) fn note(&self, py: Python<'_>, update: &BatchUpdate, record: &Bound<'_, PyDict>) -> PyResult<()> {
        match (&self.log, batch_records::sentence(update)) {
            (Some(log), Some(sentence)) => log.news(py, sentence, record),
            _ => Ok(()),
        }
    }

    /// Runs Python. An interpreter that is about to end runs none any more, and ends the call.
    fn ask(&self, run: impl FnOnce(Python<'_>) -> PyResult<()>) -> Result<(), Interrupted> {
        match Python::try_attach(run) {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                self.slot().get_or_insert(error);
                Err(Interrupted)
            }
            None => Err(Interrupted),
        }
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control for Watcher {
    fn check(&self) -> Result<(), Interrupted> {
        if runs_signal_handlers() { self.ask(|py| py.check_signals()) } else { Ok(()) }
    }

    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        let log = self.log.as_ref().filter(|log| log.takes(event));
        if log.is_none() && self.on_event.is_none() {
            return Ok(());
        }
        self.ask(|py| {
            let record = convert::event(py, event)?;
            log.map_or(Ok(()), |log| log.write(py, event, &record))?;
            self.on_event.as_ref().map_or(Ok(()), |on_event| on_event.call1(py, (record,)).map(drop))
        })
    }

    fn update(&self, job: &Job) -> Result<(), Interrupted> {
        let Some(on_update) = &self.on_update else { return Ok(()) };
        self.ask(|py| on_update.call1(py, (convert::job(py, job)?,)).map(drop))
    }
}

thread_local! {
    /// Whether this is Python's main thread, and the process that it was asked in.
    static MAIN: Cell<Option<(bool, u32)>> = const { Cell::new(None) };
}

/// Whether Python runs signal handlers on this thread. Its other threads need not come for the GIL twenty times a second, and at the
/// interpreter's end must not: before Python 3.13 one that comes in the wrong moment crashes the process. A thread that forks is
/// the child's main thread.
fn runs_signal_handlers() -> bool {
    MAIN.get().is_none_or(|(main, pid)| main || pid != process::id())
}

/// Finds out, once, whether this is the main thread.
fn know_thread(py: Python<'_>) {
    if MAIN.get().is_none() {
        MAIN.set(Some((is_main(py).unwrap_or(true), process::id())));
    }
}

fn is_main(py: Python<'_>) -> PyResult<bool> {
    // Until somebody has loaded threading there is one thread.
    let loaded = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
    let Some(threading) = loaded.get_item("threading")? else { return Ok(true) };
    let this = py.import("_thread")?.call_method0("get_ident")?;
    threading.call_method0("main_thread")?.getattr("ident")?.eq(this)
}

/// Makes a call of the core that may take long. `delivers` says that it is to deliver a message.
pub(crate) fn blocking<T: Send>(
    py: Python<'_>,
    watcher: &Watcher,
    delivers: bool,
    call: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    know_thread(py);
    let ended = py.detach(|| {
        catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(Error::internal(&words(&*panic), delivers)))
    });
    // A signal that came while the answer did is heard here, where the verdict is known, and not a line later.
    let raised = watcher.slot().take().or_else(|| py.check_signals().err());
    match (raised, ended) {
        (None, Ok(done)) => Ok(done),
        (None, Err(error)) => Err(errors::raised(py, &error)),
        // The exception goes on, whatever the call came to; only the verdict is added.
        (Some(raised), ended) => {
            let verdict = match &ended {
                Ok(_) => delivers.then_some(Delivery::Accepted),
                Err(error) => error.delivery(),
            };
            if let Some(verdict) = verdict {
                add_note(raised.value(py), verdict);
            }
            Err(raised)
        }
    }
}

/// Whether this is called in the wake of Ctrl-C or a cancellation: in an `except`, a `finally` or the exit of a `with` statement that
/// one of them runs through. Another one is the second then.
pub(crate) fn is_interrupted(py: Python<'_>) -> bool {
    let handled = || -> PyResult<bool> {
        let exception = py.import(intern!(py, "sys"))?.call_method0(intern!(py, "exc_info"))?.get_item(1)?;
        Ok(!exception.is_none() && !exception.is_instance_of::<PyException>())
    };
    handled().unwrap_or(false)
}

/// Does a piece of work that does not block, closed to panics: pyo3 would raise one as a BaseException.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| Err(errors::raised(py, &Error::internal(&words(&*panic), false))))
}

/// Blocks every signal on the calling thread but its own faults, for a thread of agentjob.aio.
#[pyfunction]
pub(crate) fn block_signals() {
    agentjob_core::thread::block_signals();
}

/// Says at an exception what became of a message, by the verdict's name: for what the core did not raise.
#[pyfunction(name = "add_note", signature = (exception, delivery, /))]
pub(crate) fn note_verdict(exception: &Bound<'_, PyAny>, delivery: &str) {
    if let Some(verdict) = Delivery::ALL.into_iter().find(|verdict| verdict.as_str() == delivery) {
        add_note(exception, verdict);
    }
}

/// Says at an exception what became of the message: in its `delivery`, and in a note that tells what that means for sending it
/// again. An exception that has a `delivery` of its own tells of another message, and keeps it.
pub(crate) fn add_note(exception: &Bound<'_, PyAny>, verdict: Delivery) {
    // An exception that takes no attributes, or whose own code raises, goes on without.
    let _ = try_note(exception, verdict);
}

fn try_note(exception: &Bound<'_, PyAny>, verdict: Delivery) -> PyResult<()> {
    let py = exception.py();
    let own = exception.getattr_opt(intern!(py, "delivery"))?.filter(|delivery| !delivery.is_none());
    let other = own.is_some_and(|own| own.eq(verdict.as_str()).is_ok_and(|same| !same));
    if !other {
        exception.setattr(intern!(py, "delivery"), verdict.as_str())?;
    }
    let said = match verdict {
        Delivery::NotSent => "the message was not sent, so it may be sent again",
        Delivery::Rejected => "the service rejected the message; mend the cause, then send it again",
        Delivery::Unknown => "the message may have arrived; look at the job before sending it again",
        Delivery::Accepted => "the message was accepted; do not send it again",
    };
    let note = format!("agentjob: {}{said}", if other { "of the call that this came out of, " } else { "" });
    let notes = match exception.getattr_opt(intern!(py, "__notes__"))? {
        Some(notes) => notes.cast_into::<PyList>()?,
        // Where Python from 3.11 on keeps them and shows them; whoever looks finds them there in an older one, too.
        None => PyList::empty(py),
    };
    if !notes.contains(&note)? {
        notes.append(note)?;
        exception.setattr(intern!(py, "__notes__"), notes)?;
    }
    Ok(())
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".to_owned())
}

/// A value whose end may take long (it closes connections), and so is let go without the GIL.
pub(crate) struct Detached<T: Send>(Option<T>);

impl<T: Send> Detached<T> {
    pub(crate) fn new(value: T) -> Detached<T> {
        Detached(Some(value))
    }
}

impl<T: Send> Deref for Detached<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("it is taken by its drop alone")
    }
}

impl<T: Send> Drop for Detached<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        let _ = Python::try_attach(|py| py.detach(|| catch_unwind(AssertUnwindSafe(|| drop(value)))));
    }
}
