//! One connection to the service, as ureq's transport: it gathers a request and hands it over in one write, looks at a
//! kept connection right before the first byte, and knows what the kernel took.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::rc::Rc;
use std::time::Instant;

use rustls::ClientConnection;
use ureq::Error;
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};

use crate::delivery::Sent;
use crate::http::buffers::{FLUSH_AT, RequestBuffers};
use crate::http::failure::Cause;
use crate::http::incoming::Incoming;
use crate::http::interrupt::{self, Call};
use crate::http::socket::{Idle, Socket, Wrote};
use crate::http::{tls, tls_failure};

/// A connection, plain or TLS.
pub(crate) struct Connection {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    buffers: RequestBuffers,
    /// The process that made it: a forked child must not touch it.
    pid: u32,
    /// An answer came over it before, so it may have died in between.
    kept: bool,
    last_used: Instant,
    /// ureq has not written the request's first line yet.
    headless: bool,
    /// The request's first byte is still here.
    unbegun: bool,
    /// The response that this request gets.
    incoming: Incoming,
    /// Its final head came while the request was still being written, and ureq has not asked for it yet.
    early: bool,
    /// The peer takes no more of the request, but may have answered.
    write_broken: bool,
    /// The peer said goodbye, or its response leaves the connection in no known state: this one is the last.
    ending: bool,
    /// Never to be used again.
    dead: bool,
}

impl Connection {
    pub(crate) fn new(socket: Socket, tls: Option<ClientConnection>, pid: u32) -> Connection {
        Connection {
            socket,
            tls: tls.map(Box::new),
            buffers: RequestBuffers::default(),
            pid,
            kept: false,
            last_used: Instant::now(),
            headless: true,
            unbegun: true,
            incoming: Incoming::new(),
            early: false,
            write_broken: false,
            ending: false,
            dead: false,
        }
    }

    /// Hands everything gathered to the kernel.
    fn flush(&mut self, call: &Call) -> Result<(), Cause> {
        if self.buffers.pending().is_empty() || self.write_broken {
            self.buffers.clear_pending();
            return Ok(());
        }
        if self.unbegun && self.kept && !self.is_alive() {
            self.dead = true;
            return Err(Cause::Stale);
        }
        self.unbegun = false;
        let handed = if self.tls.is_some() { self.flush_tls(call) } else { self.flush_plain(call) };
        self.buffers.clear_pending();
        handed
    }

    fn flush_plain(&mut self, call: &Call) -> Result<(), Cause> {
        let mut at = 0;
        while at < self.buffers.pending().len() {
            match self.socket.write(call, &self.buffers.pending()[at..])? {
                Wrote::Some(n) => {
                    call.sent_some();
                    at += n;
                }
                Wrote::Answering if !self.overhear(call)? => {}
                Wrote::Broken | Wrote::Answering => {
                    self.write_broken = true;
                    break;
                }
            }
        }
        Ok(())
    }

    fn flush_tls(&mut self, call: &Call) -> Result<(), Cause> {
        let mut at = 0;
        loop {
            let tls = self.tls.as_mut().expect("a TLS connection");
            if at == self.buffers.pending().len() && !tls.wants_write() {
                return Ok(());
            }
            // rustls takes plaintext up to its own bound, then wants to be drained.
            at += tls.writer().write(&self.buffers.pending()[at..]).map_err(|error| Cause::Lost(error.to_string()))?;
            match tls::write_records(call, tls, &self.socket)? {
                Wrote::Some(n) => {
                    if n > 0 {
                        call.sent_some();
                    }
                }
                Wrote::Answering if !self.overhear(call)? => {}
                Wrote::Broken | Wrote::Answering => {
                    self.write_broken = true;
                    return Ok(());
                }
            }
        }
    }

    /// Reads some of the answer into the input buffer; 0 is its end.
    fn receive(&mut self, call: &Call) -> Result<usize, Cause> {
        let room = self.buffers.input_append_buf();
        if room.is_empty() {
            return Err(Cause::Bug("ureq did not read the response".to_owned()));
        }
        let Some(tls) = self.tls.as_mut() else {
            return self.socket.read(call, room);
        };
        loop {
            match tls.reader().read(room) {
                Ok(n) => return Ok(n),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // No close_notify: someone in between may have cut the answer short.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(Cause::Lost("the TLS connection was cut off".to_owned()));
                }
                Err(error) => return Err(Cause::Lost(error.to_string())),
            }
            tls::read_records(call, tls, &self.socket)?;
            let state = tls.process_new_packets().map_err(|error| Cause::Lost(tls_failure::explain(&error).0))?;
            // The peer's goodbye may come in one piece with its answer; the socket below would look alive for long.
            self.ending |= state.peer_has_closed();
        }
    }

    /// Takes in what came while the request is still being written, without waiting for more: whether there is no sense in
    /// writing on. An interim answer (1xx) says nothing of that (RFC 9110 15.2), nor does what TLS says for itself.
    fn overhear(&mut self, call: &Call) -> Result<bool, Cause> {
        let mut ended = false;
        loop {
            let room = self.buffers.input_append_buf();
            let n = match self.tls.as_mut() {
                None => match self.socket.read_at_once(room) {
                    Some(n) => n,
                    None => return Ok(false),
                },
                Some(tls) => match tls.reader().read(room) {
                    Ok(n) => n,
                    Err(error) if error.kind() == ErrorKind::WouldBlock && !ended => {
                        match tls::take_records(tls, &self.socket) {
                            Some(goes_on) => ended = !goes_on,
                            None => return Ok(false),
                        }
                        continue;
                    }
                    Err(_) => return Ok(true),
                },
            };
            if n == 0 {
                return Ok(true);
            }
            if self.take_in(n, call)? {
                self.early = true;
                return Ok(true);
            }
        }
    }

    /// Takes in the last bytes of the input, which just came. Whether there is something for ureq.
    fn take_in(&mut self, count: usize, call: &Call) -> Result<bool, Cause> {
        self.buffers.input_appended(count);
        let taken = self.incoming.take(&mut self.buffers, count).map_err(Cause::Garbled)?;
        self.ending |= taken.surplus;
        if let Some(head) = taken.head {
            self.ending |= !head.reusable;
            call.head_came(head);
        }
        Ok(taken.ready)
    }

    /// Whether a kept connection can take another request, seen right now.
    fn is_alive(&mut self) -> bool {
        match self.socket.idle() {
            Idle::Quiet => true,
            Idle::Gone => false,
            // Stray bytes would be taken for the next answer; but TLS has its own traffic, such as session tickets.
            Idle::Readable => {
                let Some(tls) = self.tls.as_mut() else { return false };
                while let Some(goes_on) = tls::take_records(tls, &self.socket) {
                    if !goes_on {
                        return false;
                    }
                }
                tls::is_drained(tls)
            }
        }
    }

    fn with_call<T>(&mut self, work: impl FnOnce(&mut Self, &Call) -> Result<T, Cause>) -> Result<T, Error> {
        let call: Rc<Call> = interrupt::current().ok_or(Error::ConnectionFailed)?;
        work(self, &call).map_err(|cause| {
            self.dead = true;
            call.fail(cause)
        })
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    /// The deadline is our own call's; ureq is configured with none.
    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        self.with_call(|this, call| {
            if this.headless {
                this.headless = false;
                this.buffers.gather_with(amount, call.head());
            } else {
                this.buffers.gather(amount);
            }
            if this.buffers.pending().len() < FLUSH_AT { Ok(()) } else { this.flush(call) }
        })
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        self.with_call(|this, call| {
            this.flush(call)?;
            // ureq awaits input only after it wrote its last byte (ureq_contract.rs).
            if !this.write_broken {
                call.sent_all();
            }
            if std::mem::take(&mut this.early) {
                return Ok(true);
            }
            loop {
                if let Some(why) = this.incoming.fault() {
                    return Err(Cause::Garbled(why.to_owned()));
                }
                let n = match this.receive(call) {
                    // The write had failed before a byte was taken, on a connection that had worked: it died while idle.
                    Ok(0) | Err(Cause::Lost(_)) if this.write_broken && this.kept && call.sent() == Sent::Nothing => {
                        return Err(Cause::Stale);
                    }
                    received => received?,
                };
                if n == 0 {
                    this.dead = true;
                    if this.incoming.is_headless() {
                        return Err(Cause::Lost("the service closed it without a response".to_owned()));
                    }
                    return Ok(false);
                }
                if this.take_in(n, call)? {
                    return Ok(true);
                }
            }
        })
    }

    /// Asked before a kept connection is used, and before a used one is kept. Whether the peer is still there is looked
    /// at once, right before the first byte leaves.
    fn is_open(&mut self) -> bool {
        let Some(call) = interrupt::current() else { return false };
        if self.dead || self.ending || self.write_broken || self.pid != call.pid {
            return false;
        }
        if self.unbegun {
            return call.may_reuse(self.last_used);
        }
        // Behind the answer came more, which TLS has deciphered already: the next request would take it for its own.
        if self.tls.as_mut().is_some_and(|tls| !tls::is_drained(tls)) {
            return false;
        }
        self.buffers.shrink();
        self.incoming = Incoming::new();
        (self.kept, self.headless, self.unbegun, self.last_used) = (true, true, true, call.answered());
        true
    }

    fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("tls", &self.tls.is_some()).field("kept", &self.kept).finish_non_exhaustive()
    }
}
