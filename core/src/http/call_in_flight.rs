//! The call in flight on this thread: its deadlines, and how much of its request the kernel has taken.
//!
//! ureq runs a whole request on the calling thread, but it passes no context of ours to its transports, and a kept connection
//! outlives its call. So the call in flight is a thread-local, and every socket operation consults it.

use std::cell::{Cell, RefCell};
use std::io;
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFd;

use crate::call::control::SLICE;
use crate::call::timings::Timings;
use crate::config::api_keys::KeyRing;
use crate::config::request_head::RequestHead;
use crate::config::settings::Config;
use crate::delivery::Sent;
use crate::http::cause::Cause;
use crate::http::exchange::Exchange;
use crate::http::interrupt::Interrupts;
use crate::http::keep_alive::{self, KeepAlive};
use crate::os::uptime::since_boot;

thread_local! {
    // Without a destructor, so that a thread that is ending can still make calls: C programs do in the destructors of their own
    // thread-specific data. Nothing leaks, because `Entered` empties it.
    static CURRENT: ManuallyDrop<RefCell<Option<Rc<CallInFlight>>>> = const { ManuallyDrop::new(RefCell::new(None)) };
}

/// One request of a call, from before the connection is made until the response is read.
pub(crate) struct CallInFlight {
    interrupts: Interrupts,
    key: Arc<KeyRing>,
    request_head: Arc<RequestHead>,
    began: Instant,
    deadline: Instant,
    connect_timeout: Duration,
    /// The current phase's: earlier than `deadline` while connecting, and while reading an error's body.
    phase_deadline: Cell<Instant>,
    connecting: Cell<bool>,
    new_connection: bool,
    is_post: bool,
    /// Before each of its bytes leaves, this time since the machine started must not have come.
    leaves_before: Option<Duration>,
    sent: Cell<Sent>,
    /// What the response declared about its connection; `None` if that must not be kept.
    keep_alive: Cell<Option<KeepAlive>>,
    /// When the whole response had been read.
    response_read_at: Cell<Option<Instant>>,
    failure: RefCell<Option<Cause>>,
    /// What ended the call, if the rest of the response is read from what had arrived by then.
    late: RefCell<Option<Late>>,
    /// Where the time of the request goes.
    timings: Cell<Timings>,
    /// When the current phase began.
    phase_began: Cell<Instant>,
}

/// A call that has ended, whose response may have arrived before.
struct Late {
    cause: Cause,
    /// How many bytes may still be read.
    unread: usize,
}

/// A phase of a request, in the order in which they come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    Resolve,
    Connect,
    Proxy,
    Tls,
    FirstByte,
}

impl CallInFlight {
    pub(crate) fn new(interrupts: Interrupts, exchange: &Exchange<'_>, config: &Config) -> CallInFlight {
        let now = Instant::now();
        CallInFlight {
            interrupts,
            key: exchange.key.clone(),
            request_head: exchange.head.clone(),
            began: now,
            deadline: exchange.deadline,
            connect_timeout: config.connect_timeout,
            phase_deadline: Cell::new(exchange.deadline),
            connecting: Cell::new(false),
            new_connection: exchange.new_connection,
            is_post: exchange.body.is_some(),
            leaves_before: exchange.call.leaves_before.filter(|_| exchange.body.is_some()),
            sent: Cell::new(Sent::Nothing),
            keep_alive: Cell::new(None),
            response_read_at: Cell::new(None),
            failure: RefCell::new(None),
            late: RefCell::new(None),
            timings: Cell::default(),
            phase_began: Cell::new(now),
        }
    }

    /// One that has more time than a test needs, even on a starved machine.
    #[cfg(test)]
    pub(crate) fn for_test() -> CallInFlight {
        CallInFlight::for_test_with(&crate::call::control::CancelToken::new(), Duration::from_secs(60))
    }

    #[cfg(test)]
    pub(crate) fn for_test_with(token: &crate::call::control::CancelToken, timeout: Duration) -> CallInFlight {
        CallInFlight::with_options(&crate::call::options::CallOptions::new().cancel(token), None, timeout)
    }

    #[cfg(test)]
    pub(super) fn with_options(
        call: &crate::call::options::CallOptions,
        body: Option<&[u8]>,
        timeout: Duration,
    ) -> CallInFlight {
        let config = Config::for_test();
        let (path, deadline, pid) = (String::new(), Instant::now() + timeout, std::process::id());
        let (key, head) = (&config.keys.current(pid), &config.request_head);
        let exchange = Exchange { path, key, head, body, deadline, new_connection: false, pid, call };
        CallInFlight::new(Interrupts::new(&Arc::default(), call), &exchange, &config)
    }

    /// Makes this the thread's call until the guard is dropped. The guard restores the former one: a control may make a call
    /// of its own while another is in flight.
    pub(crate) fn enter(self: &Rc<CallInFlight>) -> Entered {
        Entered(CURRENT.with(|current| current.replace(Some(self.clone()))))
    }

    /// Checks everything that may end the call: after each slice of waiting, and after a signal.
    pub(crate) fn check(&self) -> Result<(), Cause> {
        self.interrupts.check()?;
        self.check_deadline()
    }

    /// The check before each socket operation: no control.
    pub(crate) fn check_before_io(&self) -> Result<(), Cause> {
        self.interrupts.check_flags()?;
        self.check_deadline()
    }

    fn check_deadline(&self) -> Result<(), Cause> {
        // Part of a message is no message: the service waits for the rest.
        if self.sent.get() != Sent::All && self.leaves_before.is_some_and(has_come) {
            return Err(Cause::Timeout);
        }
        let now = Instant::now();
        if now < self.phase_deadline.get() {
            Ok(())
        } else if self.connecting.get() && now < self.deadline {
            Err(Cause::ConnectTimeout)
        } else {
            Err(Cause::Timeout)
        }
    }

    /// Waits until one of these is ready or something may have ended the call; the caller checks the call.
    pub(crate) fn wait<'a>(&'a self, on: Vec<PollFd<'a>>) -> Result<(), Cause> {
        // Never zero: the check before this one saw time left.
        let left = self.phase_deadline.get().saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        self.interrupts.wait(left, on)
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
        self.phase_deadline.set(self.deadline.min(Instant::now() + length));
    }

    /// Whether a kept connection that was last used then may carry this request. `idle_timeout` is the service's, in seconds.
    pub(crate) fn may_reuse(&self, last_used: Instant, idle_timeout: Option<u64>) -> bool {
        let idle = self.began.saturating_duration_since(last_used);
        !self.new_connection && keep_alive::may_reuse(idle, self.is_post, idle_timeout)
    }

    /// The header lines that the transport adds, that of the key first, and where in all of them the secrets end.
    pub(crate) fn request_lines(&self) -> ([&[u8]; 2], usize) {
        let (key, head) = (self.key.line(), &self.request_head);
        ([key, if self.is_post { head.post_lines() } else { head.get_lines() }], key.len() + head.secret_end())
    }

    /// What a request for a tunnel has of the header lines.
    pub(crate) fn user_agent(&self) -> &str {
        self.request_head.user_agent()
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

    /// Notes that a phase has ended, and that the next one begins; only the first end of a phase counts.
    pub(crate) fn end_phase(&self, phase: Phase) {
        let mut known = self.timings.get();
        let time = match phase {
            Phase::Resolve => &mut known.resolve,
            Phase::Connect => &mut known.connect,
            Phase::Proxy => &mut known.proxy,
            Phase::Tls => &mut known.tls,
            Phase::FirstByte if known.first_byte.is_some() => return,
            Phase::FirstByte => &mut known.first_byte,
        };
        let now = Instant::now();
        *time = Some(now.saturating_duration_since(self.phase_began.replace(now)));
        self.timings.set(known);
    }

    pub(crate) fn timings(&self) -> Timings {
        self.timings.get()
    }

    /// Notes what the response declares about its connection.
    pub(crate) fn note_keep_alive(&self, declared: Option<KeepAlive>) {
        self.keep_alive.set(declared);
    }

    pub(crate) fn keep_alive(&self) -> Option<KeepAlive> {
        self.keep_alive.get()
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

    /// How many bytes may still be read: as many as had arrived when the call ended; `arrived` counts them, the first time. The process
    /// may have been stopped while the response came (Ctrl-Z, a frozen container), and a response decides the verdict.
    /// What arrives later does not count, or a service that never stops sending would keep the call from ending.
    ///
    /// # Errors
    /// `cause`: nothing of the request was sent, or a request that delivers nothing was cancelled.
    pub(crate) fn unread_when_ended(&self, cause: Cause, arrived: impl FnOnce() -> usize) -> Result<usize, Cause> {
        let counts = match cause {
            Cause::Timeout => true,
            Cause::Cancelled | Cause::Closed => self.is_post,
            _ => false,
        };
        if !counts || self.sent() == Sent::Nothing {
            return Err(cause);
        }
        Ok(self.late.borrow_mut().get_or_insert_with(|| Late { cause, unread: arrived() }).unread)
    }

    /// Notes that some of those bytes were read.
    pub(crate) fn note_read_late(&self, count: usize) {
        if let Some(late) = &mut *self.late.borrow_mut() {
            late.unread = late.unread.saturating_sub(count);
        }
    }

    /// What ended the call, if its response was still read after that.
    pub(crate) fn ended_by(&self) -> Option<Cause> {
        self.late.borrow().as_ref().map(|late| late.cause.clone())
    }

    /// The caller's wish to end the call, after which the rest of the response was read: how that failed does not matter.
    pub(crate) fn interrupted_by(&self) -> Option<Cause> {
        self.ended_by().filter(|cause| matches!(cause, Cause::Cancelled | Cause::Closed))
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

/// Whether this time since the machine started has come.
fn has_come(time: Duration) -> bool {
    since_boot().is_some_and(|now| now >= time)
}

/// The call in flight on this thread, if any.
pub(crate) fn current() -> Option<Rc<CallInFlight>> {
    CURRENT.with(|current| current.borrow().clone())
}

/// Restores the thread's former call when it is dropped.
pub(crate) struct Entered(Option<Rc<CallInFlight>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(self.0.take()));
    }
}

#[cfg(test)]
mod tests;
