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

use crate::call::control::{CancelToken, Control, SLICE};
use crate::call::options::CallOptions;
use crate::config::request_head::Head;
use crate::config::settings::Config;
use crate::delivery::Sent;
use crate::http::exchange::Exchange;
use crate::http::failure::Cause;
use crate::http::response_head::Head as ResponseHead;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Call>>> = const { RefCell::new(None) };
}

/// What all calls of a client look at.
pub(crate) struct Gate {
    /// The client was closed.
    pub(crate) closed: AtomicBool,
    /// What the transport puts into the head itself, so that ureq and its logs never see it.
    pub(crate) head: Arc<Head>,
}

impl Gate {
    /// What costs two loads to ask.
    pub(crate) fn glance(&self, cancel: Option<&CancelToken>, outlives_close: bool) -> Result<(), Cause> {
        if !outlives_close && self.closed.load(Ordering::Acquire) {
            return Err(Cause::Closed);
        }
        if cancel.is_some_and(CancelToken::is_cancelled) {
            return Err(Cause::Cancelled);
        }
        Ok(())
    }
}

/// What may end a call from outside.
#[derive(Clone)]
pub(crate) struct Hold {
    gate: Arc<Gate>,
    cancel: Option<CancelToken>,
    control: Option<Arc<dyn Control>>,
    outlives_close: bool,
}

impl Hold {
    pub(crate) fn new(gate: &Arc<Gate>, call: &CallOptions) -> Hold {
        Hold {
            gate: gate.clone(),
            cancel: call.cancel.clone(),
            control: call.control.clone(),
            outlives_close: call.outlives_close,
        }
    }

    fn glance(&self) -> Result<(), Cause> {
        self.gate.glance(self.cancel.as_ref(), self.outlives_close)
    }

    /// The whole of it; a control may run a program's code.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        self.glance()?;
        match &self.control {
            Some(control) => control.check().map_err(|_| Cause::Cancelled),
            None => Ok(()),
        }
    }

    /// Sleeps in slices, so that nothing waits longer than one to be heard.
    pub(crate) fn pause(&self, length: Duration) -> Result<(), Cause> {
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
pub(crate) struct Call {
    hold: Hold,
    began: Instant,
    /// There was time left just now, and nothing has waited since.
    timely: Cell<bool>,
    /// When the whole answer had been read.
    answered: Cell<Option<Instant>>,
    deadline: Instant,
    connect_timeout: Duration,
    /// Sooner than the call's while it connects, or while it reads an error's body.
    phase_deadline: Cell<Instant>,
    connecting: Cell<bool>,
    /// No kept connection may be used.
    fresh: bool,
    /// The process that makes the call.
    pub(crate) pid: u32,
    posts: bool,
    /// A kept connection that idled longer than this is not used.
    max_idle: Duration,
    sent: Cell<Sent>,
    /// The response's, once it is here; ureq has only what it needs of it.
    response: RefCell<Option<ResponseHead>>,
    cause: RefCell<Option<Cause>>,
}

impl Call {
    pub(crate) fn new(hold: Hold, exchange: &Exchange<'_>, config: &Config, max_idle: Duration) -> Call {
        Call {
            hold,
            began: exchange.now,
            timely: Cell::new(exchange.now < exchange.deadline),
            answered: Cell::new(None),
            deadline: exchange.deadline,
            connect_timeout: config.connect_timeout,
            phase_deadline: Cell::new(exchange.deadline),
            connecting: Cell::new(false),
            fresh: exchange.fresh,
            pid: exchange.pid,
            posts: exchange.body.is_some(),
            max_idle,
            sent: Cell::new(Sent::Nothing),
            response: RefCell::new(None),
            cause: RefCell::new(None),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(token: &CancelToken, timeout: Duration) -> Call {
        let options = CallOptions::new().cancel(token);
        let config = Config::for_test();
        let gate = Arc::new(Gate { closed: false.into(), head: config.head.clone() });
        let now = Instant::now();
        let (path, deadline, pid) = (String::new(), now + timeout, std::process::id());
        let exchange = Exchange { path, body: None, now, deadline, fresh: false, pid, call: &options };
        Call::new(Hold::new(&gate, &options), &exchange, &config, Duration::MAX)
    }

    /// Makes this the thread's call until the guard goes. A call inside a call (from a control) is put back after.
    pub(crate) fn enter(self: &Rc<Call>) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }

    /// Asks everything that may end the call: after each slice of waiting, and after a signal.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        self.hold.check()?;
        self.check_time()
    }

    /// Asks what costs next to nothing: before each socket operation.
    pub(crate) fn glance(&self) -> Result<(), Cause> {
        self.hold.glance()?;
        if self.timely.take() { Ok(()) } else { self.check_time() }
    }

    fn check_time(&self) -> Result<(), Cause> {
        let now = Instant::now();
        if now < self.phase_deadline.get() {
            Ok(())
        } else if self.connecting.get() && now < self.deadline {
            Err(Cause::ConnectTimeout)
        } else {
            Err(Cause::Timeout)
        }
    }

    /// How long one wait of the current phase may last.
    pub(crate) fn slice(&self) -> Duration {
        // Never nothing: a poll of no length would not wait at all, and the check after it ends the call.
        self.phase_deadline.get().saturating_duration_since(Instant::now()).clamp(Duration::from_millis(1), SLICE)
    }

    /// Runs the phase that `connect_timeout` bounds.
    pub(crate) fn connecting<T>(&self, phase: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
        self.bound(self.connect_timeout);
        self.connecting.set(true);
        let made = phase();
        self.connecting.set(false);
        self.phase_deadline.set(self.deadline);
        made
    }

    /// Gives what is left of the call no longer than this.
    pub(crate) fn bound(&self, length: Duration) {
        self.timely.set(false);
        self.phase_deadline.set(self.deadline.min(Instant::now() + length));
    }

    /// Whether a connection that was last used then may be used for this call.
    pub(crate) fn may_reuse(&self, last_used: Instant) -> bool {
        !self.fresh && self.began.saturating_duration_since(last_used) <= self.max_idle
    }

    /// The header lines that the transport puts in, and how far into them the key reaches.
    pub(crate) fn head(&self) -> (&[u8], usize) {
        let head = &self.hold.gate.head;
        (head.lines(self.posts), head.key_end())
    }

    /// The whole answer has been read.
    pub(crate) fn answered(&self) -> Instant {
        let now = Instant::now();
        self.answered.set(Some(now));
        now
    }

    pub(crate) fn answered_at(&self) -> Option<Instant> {
        self.answered.get()
    }

    /// The final head of the response is here.
    pub(crate) fn head_came(&self, head: ResponseHead) {
        self.response.replace(Some(head));
    }

    pub(crate) fn take_head(&self) -> Option<ResponseHead> {
        self.response.take()
    }

    /// The kernel took some of the request.
    pub(crate) fn sent_some(&self) {
        if self.sent.get() == Sent::Nothing {
            self.sent.set(Sent::Part);
        }
    }

    /// The kernel took the last byte of the request.
    pub(crate) fn sent_all(&self) {
        self.sent.set(Sent::All);
    }

    pub(crate) fn sent(&self) -> Sent {
        self.sent.get()
    }

    /// Keeps the first cause, for ureq has no room for it, and makes an error that ends ureq's work.
    pub(crate) fn fail(&self, cause: Cause) -> ureq::Error {
        self.cause.borrow_mut().get_or_insert(cause);
        ureq::Error::Io(io::Error::other("agentjob"))
    }

    pub(crate) fn take_cause(&self) -> Option<Cause> {
        self.cause.borrow_mut().take()
    }
}

/// The thread's call, if one is under way.
pub(crate) fn current() -> Option<Rc<Call>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Puts the thread's former call back when it goes.
pub(crate) struct Entered(Option<Rc<Call>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
