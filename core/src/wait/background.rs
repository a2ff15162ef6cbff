//! A poll on a thread of its own, for programs whose event loop must not block.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rustix::fd::BorrowedFd;

use crate::call::control::{Control, Interrupted};
use crate::call::event::Event;
use crate::call::options::CallOptions;
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::os::bell::Bell;
use crate::os::thread;
use crate::wait::poller::Poller;

/// What a poll needs at most, a TLS handshake and callbacks included.
const STACK_BYTES: usize = 512 << 10;

/// Polls for an event loop, one after the other: [`begin`](BackgroundPoll::begin) one when it is due, wait until the
/// [`descriptor`](BackgroundPoll::descriptor) is readable, and [`finish`](BackgroundPoll::finish) it.
///
/// A thread lives for the time of one poll. Dropping this ends the poll, and waits for its thread: at most 100 ms.
pub struct BackgroundPoll {
    bell: Arc<Bell>,
    running: Option<Running>,
}

struct Running {
    thread: JoinHandle<()>,
    result: Arc<Mutex<Option<Polled>>>,
    stop: Arc<AtomicBool>,
    /// The thread exists only in this process.
    pid: u32,
}

/// The poller after its poll, and what the poll returned.
type Polled = (Poller, Result<Option<Job>, Error>);

impl BackgroundPoll {
    /// Makes the descriptor. No poll is in progress.
    ///
    /// # Errors
    /// [`Connect`](crate::ErrorKind::Connect): no descriptor is free.
    pub fn new() -> Result<BackgroundPoll, Error> {
        let bell = Bell::new()
            .map_err(|error| Error::new(ErrorKind::Connect, format!("no descriptor for the poll: {error}")))?;
        Ok(BackgroundPoll { bell: Arc::new(bell), running: None })
    }

    /// Becomes readable when the poll has ended, and stays so until [`finish`](BackgroundPoll::finish). It is the same for every poll;
    /// wait for it, but do not read or close it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.bell.descriptor()
    }

    /// Whether a poll was begun and not finished.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Begins a poll with a copy of this poller, and returns at once.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument): a poll is in progress. [`Connect`](crate::ErrorKind::Connect): no thread
    /// can be started.
    pub fn begin(&mut self, poller: &Poller, client: &Client, call: &CallOptions) -> Result<(), Error> {
        if self.running.is_some() {
            return Err(Error::invalid("a poll is in progress").with_hint("Finish it first."));
        }
        let (result, stop) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let control = Stop { stop: Arc::clone(&stop), inner: call.control.clone() };
        let call = call.clone().control(Arc::new(control));
        let (mut poller, client, bell) = (poller.clone(), client.clone(), Arc::clone(&self.bell));
        let slot: Arc<Mutex<Option<Polled>>> = Arc::clone(&result);
        let builder = Builder::new().name("agentjob-poll".to_owned()).stack_size(STACK_BYTES);
        let thread = thread::spawn(builder, move || {
            let polled = catch_unwind(AssertUnwindSafe(|| poller.poll(&client, &call)));
            let polled = polled.unwrap_or_else(|_| Err(Error::internal("a poll's thread failed", false)));
            // Before the bell, so that no event function runs afterwards.
            drop((client, call));
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((poller, polled));
            bell.ring();
        });
        let thread =
            thread.map_err(|error| Error::new(ErrorKind::Connect, format!("no thread for the poll: {error}")))?;
        self.running = Some(Running { thread, result, stop, pid: process::id() });
        Ok(())
    }

    /// The poll's result, which replaces `poller`; waits for it if the descriptor is not readable yet.
    ///
    /// # Errors
    /// Those of [`Poller::poll`]; [`InvalidArgument`](crate::ErrorKind::InvalidArgument): no poll is in progress, or the poll belongs to
    /// the parent process.
    pub fn finish(&mut self, poller: &mut Poller) -> Result<Option<Job>, Error> {
        let running = self.running.take();
        let running = running.ok_or_else(|| Error::invalid("no poll is in progress").with_hint("Begin one first."))?;
        if running.pid != process::id() {
            std::mem::forget(running);
            return Err(Error::invalid("this poll belongs to another process: a forked child cannot use it"));
        }
        drop(running.thread.join());
        self.bell.hush();
        let polled = running.result.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (after, result) = polled.ok_or_else(|| Error::internal("a poll's thread failed", false))?;
        *poller = after;
        result
    }
}

impl Drop for BackgroundPoll {
    fn drop(&mut self) {
        let Some(running) = self.running.take() else { return };
        if running.pid != process::id() {
            return std::mem::forget(running);
        }
        running.stop.store(true, Ordering::Release);
        drop(running.thread.join());
    }
}

impl fmt::Debug for BackgroundPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundPoll").field("is_running", &self.is_running()).finish_non_exhaustive()
    }
}

/// Ends the poll when its owner is dropped; otherwise the caller's control.
struct Stop {
    stop: Arc<AtomicBool>,
    inner: Option<Arc<dyn Control>>,
}

impl Control for Stop {
    fn check(&self) -> Result<(), Interrupted> {
        if self.stop.load(Ordering::Acquire) {
            return Err(Interrupted);
        }
        self.inner.as_ref().map_or(Ok(()), |inner| inner.check())
    }

    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        self.inner.as_ref().map_or(Ok(()), |inner| inner.event(event))
    }

    fn wants_responses(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.wants_responses())
    }
}
