//! The call in flight on this thread: its deadlines, and how much of its request the kernel has taken.
//!
//! ureq runs a whole request on the calling thread, but it passes no context of ours to its transports, and a kept connection
//! outlives its call. So the call in flight is a thread-local, and every socket operation consults it.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::control::SLICE;
use crate::config::request_head::RequestHead;
use crate::config::settings::Config;
use crate::delivery::Sent;
use crate::http::cause::Cause;
use crate::http::exchange::Exchange;
use crate::http::interrupt::Interrupts;
use crate::http::response_head::ResponseHead;

thread_local! {
    static CURRENT: RefCell<Option<Rc<CallInFlight>>> = const { RefCell::new(None) };
}

/// One request of a call, from before the connection is made until the response is read.
pub(crate) struct CallInFlight {
    interrupts: Interrupts,
    request_head: Arc<RequestHead>,
    began: Instant,
    deadline: Instant,
    connect_timeout: Duration,
    /// The current phase's: earlier than `deadline` while connecting, and while reading an error's body.
    phase_deadline: Cell<Instant>,
    connecting: Cell<bool>,
    /// The deadline was checked and nothing has waited since, so the next check saves the clock read.
    deadline_just_checked: Cell<bool>,
    new_connection: bool,
    /// The process that makes the call.
    pub(crate) pid: u32,
    is_post: bool,
    /// A kept connection that has been idle for longer is not used.
    max_idle: Duration,
    sent: Cell<Sent>,
    /// The response's head; ureq gets a shortened one.
    response_head: RefCell<Option<ResponseHead>>,
    /// When the whole response had been read.
    response_read_at: Cell<Option<Instant>>,
    failure: RefCell<Option<Cause>>,
}

impl CallInFlight {
    pub(crate) fn new(
        interrupts: Interrupts,
        exchange: &Exchange<'_>,
        config: &Config,
        max_idle: Duration,
    ) -> CallInFlight {
        CallInFlight {
            interrupts,
            request_head: config.request_head.clone(),
            began: exchange.now,
            deadline: exchange.deadline,
            connect_timeout: config.connect_timeout,
            phase_deadline: Cell::new(exchange.deadline),
            connecting: Cell::new(false),
            deadline_just_checked: Cell::new(exchange.now < exchange.deadline),
            new_connection: exchange.new_connection,
            pid: exchange.pid,
            is_post: exchange.body.is_some(),
            max_idle,
            sent: Cell::new(Sent::Nothing),
            response_head: RefCell::new(None),
            response_read_at: Cell::new(None),
            failure: RefCell::new(None),
        }
    }

    #[cfg(test)]
    pub(crate) fn for_test(token: &crate::call::control::CancelToken, timeout: Duration) -> CallInFlight {
        let options = crate::call::options::CallOptions::new().cancel(token);
        let config = Config::for_test();
        let now = Instant::now();
        let (path, deadline, pid) = (String::new(), now + timeout, std::process::id());
        let exchange = Exchange { path, body: None, now, deadline, new_connection: false, pid, call: &options };
        CallInFlight::new(Interrupts::new(&Arc::default(), &options), &exchange, &config, Duration::MAX)
    }

    /// Makes this the thread's call until the guard is dropped. The guard restores the former one: a control may make a call
    /// of its own while another is in flight.
    pub(crate) fn enter(self: &Rc<CallInFlight>) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }

    /// Checks everything that may end the call: after each slice of waiting, and after a signal.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        self.interrupts.check()?;
        self.check_deadline()
    }

    /// The cheap check before each socket operation: no control, and usually no clock.
    pub(crate) fn check_before_io(&self) -> Result<(), Cause> {
        self.interrupts.check_flags()?;
        if self.deadline_just_checked.take() { Ok(()) } else { self.check_deadline() }
    }

    fn check_deadline(&self) -> Result<(), Cause> {
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
        // Never zero: a poll(2) with no timeout would not wait at all. The check after the wait ends the call.
        self.phase_deadline.get().saturating_duration_since(Instant::now()).clamp(Duration::from_millis(1), SLICE)
    }

    /// Runs the phase that `connect_timeout` bounds.
    pub(crate) fn while_connecting<T>(&self, connect: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
        self.limit_phase(self.connect_timeout);
        self.connecting.set(true);
        let connected = connect();
        self.connecting.set(false);
        self.phase_deadline.set(self.deadline);
        connected
    }

    /// Limits the rest of the call to this length; its own deadline still holds.
    pub(crate) fn limit_phase(&self, length: Duration) {
        self.deadline_just_checked.set(false);
        self.phase_deadline.set(self.deadline.min(Instant::now() + length));
    }

    /// Whether a kept connection that was last used then may carry this request.
    pub(crate) fn may_reuse(&self, last_used: Instant) -> bool {
        !self.new_connection && self.began.saturating_duration_since(last_used) <= self.max_idle
    }

    /// The header lines that the transport adds, and where in them the key ends.
    pub(crate) fn request_lines(&self) -> (&[u8], usize) {
        let head = &self.request_head;
        (if self.is_post { head.post_lines() } else { head.get_lines() }, head.key_end())
    }

    /// Notes that the whole response has been read, and returns when.
    pub(crate) fn note_response_read(&self) -> Instant {
        let now = Instant::now();
        self.response_read_at.set(Some(now));
        now
    }

    pub(crate) fn response_read_at(&self) -> Option<Instant> {
        self.response_read_at.get()
    }

    /// Keeps the response's final head.
    pub(crate) fn put_response_head(&self, head: ResponseHead) {
        self.response_head.replace(Some(head));
    }

    pub(crate) fn take_response_head(&self) -> Option<ResponseHead> {
        self.response_head.take()
    }

    /// Notes that the kernel took some of the request.
    pub(crate) fn note_sent_some(&self) {
        if self.sent.get() == Sent::Nothing {
            self.sent.set(Sent::Part);
        }
    }

    /// Notes that the kernel took the last byte of the request.
    pub(crate) fn note_sent_all(&self) {
        self.sent.set(Sent::All);
    }

    pub(crate) fn sent(&self) -> Sent {
        self.sent.get()
    }

    /// Keeps the first failure, which a `ureq::Error` could not carry, and returns an error that makes ureq stop.
    pub(crate) fn fail(&self, cause: Cause) -> ureq::Error {
        self.failure.borrow_mut().get_or_insert(cause);
        ureq::Error::Io(io::Error::other("agentjob"))
    }

    pub(crate) fn take_failure(&self) -> Option<Cause> {
        self.failure.borrow_mut().take()
    }
}

/// The call in flight on this thread, if any.
pub(crate) fn current() -> Option<Rc<CallInFlight>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Restores the thread's former call when it is dropped.
pub(crate) struct Entered(Option<Rc<CallInFlight>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
