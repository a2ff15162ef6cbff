//! The call that this thread is making: what may end it, and what has left the machine so far.
//!
//! ureq runs a whole request on the calling thread, but hands its transports no context of ours, and a kept connection
//! outlives its call. So the call under way hangs on the thread, and every socket operation asks it.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Exchange;
use super::cause::Cause;
use crate::config::{Config, Head};
use crate::control::{CancelToken, Control, SLICE};
use crate::delivery::Sent;
use crate::options::CallOptions;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Call>>> = const { RefCell::new(None) };
}

/// What may end a call from outside.
#[derive(Clone)]
pub(super) struct Hold {
    closed: Arc<AtomicBool>,
    cancel: Option<CancelToken>,
    control: Option<Arc<dyn Control>>,
}

impl Hold {
    pub(super) fn new(closed: &Arc<AtomicBool>, call: &CallOptions) -> Hold {
        Hold { closed: closed.clone(), cancel: call.cancel.clone(), control: call.control.clone() }
    }

    /// The part that costs two loads.
    pub(super) fn glance(&self) -> Result<(), Cause> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Cause::Closed);
        }
        if self.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(Cause::Cancelled);
        }
        Ok(())
    }

    /// The whole of it; a control may run a program's code.
    pub(super) fn check(&self) -> Result<(), Cause> {
        self.glance()?;
        match &self.control {
            Some(control) => control.check().map_err(|_| Cause::Cancelled),
            None => Ok(()),
        }
    }

    /// Sleeps in slices, so that nothing waits longer than one to be heard.
    pub(super) fn pause(&self, length: Duration) -> Result<(), Cause> {
        let began = Instant::now();
        loop {
            self.check()?;
            let left = length.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

/// The call under way on this thread.
pub(super) struct Call {
    hold: Hold,
    deadline: Instant,
    connect_deadline: Instant,
    connecting: Cell<bool>,
    /// Whether a kept connection may be used.
    pub(super) fresh: bool,
    /// The process that makes the call.
    pub(super) pid: u32,
    /// What the transport puts into the head itself, so that ureq and its logs never see it.
    head: Arc<Head>,
    posts: bool,
    /// A kept connection that idled longer than this is not used.
    pub(super) max_idle: Duration,
    sent: Cell<Sent>,
    cause: RefCell<Option<Cause>>,
}

impl Call {
    pub(super) fn new(hold: Hold, exchange: &Exchange<'_>, config: &Config, max_idle: Duration) -> Call {
        Call {
            hold,
            deadline: exchange.deadline,
            connect_deadline: exchange.deadline.min(Instant::now() + config.connect_timeout),
            connecting: Cell::new(false),
            fresh: exchange.fresh,
            pid: exchange.pid,
            head: config.head.clone(),
            posts: exchange.body.is_some(),
            max_idle,
            sent: Cell::new(Sent::Nothing),
            cause: RefCell::new(None),
        }
    }

    #[cfg(test)]
    pub(super) fn for_test(token: &CancelToken, timeout: Duration) -> Call {
        let options = CallOptions::new().cancel(token);
        let hold = Hold::new(&Arc::default(), &options);
        let deadline = Instant::now() + timeout;
        let exchange = Exchange { path: "", body: None, deadline, fresh: false, pid: 0, call: &options };
        Call::new(hold, &exchange, &Config::for_test(), Duration::MAX)
    }

    /// Makes this the thread's call until the guard goes. A call inside a call (from a control) is put back after.
    pub(super) fn enter(self: &Rc<Call>) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }

    /// Asks everything that may end the call: after each slice of waiting, and after a signal.
    pub(super) fn check(&self) -> Result<(), Cause> {
        self.hold.check()?;
        self.check_time()
    }

    /// Asks what costs next to nothing: before each socket operation.
    pub(super) fn glance(&self) -> Result<(), Cause> {
        self.hold.glance()?;
        self.check_time()
    }

    fn check_time(&self) -> Result<(), Cause> {
        let now = Instant::now();
        if now >= self.deadline {
            Err(Cause::Timeout)
        } else if self.connecting.get() && now >= self.connect_deadline {
            Err(Cause::ConnectTimeout)
        } else {
            Ok(())
        }
    }

    /// How long one wait of the current phase may last.
    pub(super) fn slice(&self) -> Duration {
        let end = if self.connecting.get() { self.connect_deadline } else { self.deadline };
        // Never nothing: a poll of no length would not wait at all, and the check after it ends the call.
        end.saturating_duration_since(Instant::now()).clamp(Duration::from_millis(1), SLICE)
    }

    /// Runs the phase that `connect_timeout` bounds.
    pub(super) fn connecting<T>(&self, phase: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
        self.connecting.set(true);
        let made = phase();
        self.connecting.set(false);
        made
    }

    /// The header lines that the transport puts in.
    pub(super) fn head(&self) -> &[u8] {
        self.head.lines(self.posts)
    }

    /// The kernel took some of the request.
    pub(super) fn sent_some(&self) {
        if self.sent.get() == Sent::Nothing {
            self.sent.set(Sent::Part);
        }
    }

    /// The kernel took the last byte of the request.
    pub(super) fn sent_all(&self) {
        self.sent.set(Sent::All);
    }

    pub(super) fn sent(&self) -> Sent {
        self.sent.get()
    }

    /// Keeps the first cause, for ureq has no room for it, and makes an error that ends ureq's work.
    pub(super) fn fail(&self, cause: Cause) -> ureq::Error {
        self.cause.borrow_mut().get_or_insert(cause);
        ureq::Error::Io(io::Error::other("agentjob"))
    }

    pub(super) fn take_cause(&self) -> Option<Cause> {
        self.cause.borrow_mut().take()
    }
}

/// The thread's call, if one is under way.
pub(super) fn current() -> Option<Rc<Call>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Puts the thread's former call back when it goes.
pub(super) struct Entered(Option<Rc<Call>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
