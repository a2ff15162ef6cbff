//! The core's batch, as its Python object holds it: of use to the process that started it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentjob_core::{
    self, Batch, BatchEvent, BatchHandle, BatchOutcome, BatchProgress, BatchUpdate, CancelToken, Error,
};

pub(crate) struct Running {
    pid: u32,
    /// Held while it is waited for. `None` once the batch is finished.
    core: Mutex<Option<Batch>>,
    /// Whether the end of its client's `with` statement waits for its messages in flight.
    in_with: Arc<AtomicBool>,
    /// Stops the batch and knows its progress, whichever thread has the core.
    pub(crate) handle: BatchHandle,
    finished: AtomicBool,
    /// As of the last event: of use once the core has gone.
    progress: Mutex<BatchProgress>,
}

/// What the core has reported and the program has not received yet, because an exception came first.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) pending: VecDeque<Event>,
    pub(crate) failure: Option<Error>,
}

pub(crate) enum Event {
    Outcome(BatchOutcome),
    Update(BatchUpdate, BatchProgress),
    /// An event of one of the batch's calls.
    Call(agentjob_core::Event<'static>),
}

impl Running {
    pub(crate) fn new(core: Batch, in_with: Arc<AtomicBool>) -> Running {
        Running {
            pid: std::process::id(),
            handle: core.handle(),
            finished: AtomicBool::new(false),
            progress: Mutex::new(core.progress()),
            core: Mutex::new(Some(core)),
            in_with,
        }
    }

    /// Whether this is the process that started it. A forked child has its memory, and perhaps its locks, but not its threads.
    pub(crate) fn is_owned(&self) -> bool {
        self.pid == std::process::id()
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.finished.load(Ordering::SeqCst)
    }

    pub(crate) fn set_finished(&self) {
        self.finished.store(true, Ordering::SeqCst);
    }

    /// The progress, without waiting.
    pub(crate) fn progress(&self) -> BatchProgress {
        self.handle.progress().unwrap_or_else(|| *guard(&self.progress))
    }

    /// Waits up to `time` for one event of the core, unless the token is cancelled, and adds it to `received`. Returns whether there was
    /// one.
    pub(crate) fn receive(&self, received: &mut Received, time: Duration, cancel: Option<&CancelToken>) -> bool {
        let event = self.with_core(guard(&self.core), |core| {
            let next = match cancel {
                Some(cancel) => core.next_event_or_cancelled(time, cancel),
                None => core.next_event(time),
            };
            next.map(|event| match event {
                BatchEvent::Outcome(outcome) => Some(Event::Outcome(outcome)),
                BatchEvent::Update(update) => Some(Event::Update(update, core.progress())),
                BatchEvent::Call(event) => Some(Event::Call(event)),
                BatchEvent::Finished => {
                    self.set_finished();
                    None
                }
                _ => None,
            })
        });
        match event {
            Some(Ok(Some(event))) => {
                received.pending.push_back(event);
                return true;
            }
            Some(Err(failure)) => {
                received.failure = Some(failure);
                self.set_finished();
            }
            Some(Ok(None)) | None => {}
        }
        if self.is_finished() {
            drop(guard(&self.core).take());
        }
        false
    }

    /// Leaves it to its threads, which have ended or are about to.
    pub(crate) fn close(&self) {
        if let Some(core) = guard(&self.core).take() {
            *guard(&self.progress) = core.progress();
            core.detach();
        }
    }

    /// Runs `work` with the core, unless the batch is finished.
    fn with_core<T>(&self, mut core: MutexGuard<'_, Option<Batch>>, work: impl FnOnce(&mut Batch) -> T) -> Option<T> {
        core.as_mut().map(|core| {
            let done = work(core);
            *guard(&self.progress) = core.progress();
            done
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only in a forked child can it be locked here: a thread of the parent was waiting. The batch is the parent's.
        let Some(core) = self.core.try_lock().ok().and_then(|mut core| core.take()) else { return };
        if !self.in_with.load(Ordering::SeqCst) {
            self.handle.abort();
        }
        core.detach();
    }
}

/// Locks what is held for a moment only, or while the batch is waited for.
fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
