//! One connection to the service, as ureq's transport: it collects a request and writes it at once, checks that a kept connection
//! is alive right before the first byte, and knows how much the kernel took.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::rc::Rc;
use std::time::Instant;

use rustls::ClientConnection;
use ureq::Error;
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};

use crate::delivery::Sent;
use crate::http::buffers::{FLUSH_AT, RequestBuffers};
use crate::http::call_in_flight::{self, CallInFlight, Phase};
use crate::http::cause::Cause;
use crate::http::interim::{Begins, begins};
use crate::http::socket::{Idle, Socket, Wrote};
use crate::http::tls::{self, Secured, Waiting};
use crate::http::tls_failure;
use crate::http::tunnel::surplus;

/// How many early reads are made before the call is checked again: TLS's own records may never end.
const MAX_EARLY_READS: u32 = 1000;
/// How many reads, of 4 KiB each, the records that TLS itself sent to an idle connection may take: they may never end.
const MAX_IDLE_READS: u32 = 16;

/// A connection, plain or TLS.
pub(crate) struct Connection {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    /// It goes through a proxy's tunnel.
    tunnelled: bool,
    /// The client has a certificate.
    certified: bool,
    buffers: RequestBuffers,
    /// It has carried a response before, so it may have died while it was idle.
    reused: bool,
    last_used: Instant,
    /// After how many idle seconds the service closes it, as a response on it said last.
    idle_timeout: Option<u64>,
    /// ureq has not written the request's first line yet.
    awaits_first_line: bool,
    /// Nothing of the request has been passed to the kernel yet.
    unwritten: bool,
    /// The service may still refuse the client's certificate, or that there is none.
    may_refuse_client: bool,
    /// The final response to the current request has begun.
    response_began: bool,
    /// It began while the request was still being written, and ureq has not asked for it yet.
    response_came_early: bool,
    /// The peer accepts no more of the request, but may have responded.
    write_broken: bool,
    /// It failed; never use it again.
    dead: bool,
}

impl Connection {
    pub(crate) fn new(socket: Socket, secured: Option<Secured>, tunnelled: bool, certified: bool) -> Connection {
        Connection {
            socket,
            may_refuse_client: secured.as_ref().is_some_and(|secured| secured.may_refuse),
            tls: secured.map(|secured| Box::new(secured.tls)),
            tunnelled,
            certified,
            buffers: RequestBuffers::default(),
            reused: false,
            last_used: Instant::now(),
            idle_timeout: None,
            awaits_first_line: true,
            unwritten: true,
            response_began: false,
            response_came_early: false,
            write_broken: false,
            dead: false,
        }
    }

    /// Passes everything collected to the kernel.
    fn flush(&mut self, call: &CallInFlight) -> Result<(), Cause> {
        if self.buffers.pending().is_empty() || self.write_broken {
            self.buffers.clear_pending();
            return Ok(());
        }
        if self.unwritten && self.reused && !self.is_alive() {
            return Err(Cause::Stale);
        }
        if self.unwritten && self.tunnelled && self.tls.is_none() && self.socket.idle() == Idle::Readable {
            return Err(surplus());
        }
        // It came with the handshake, so it responds to nothing (RFC 9112 9.2).
        if self.unwritten && self.tls.as_mut().is_some_and(|tls| !tls::is_drained(tls)) {
            return Err(Cause::Lost("the service responded, or ended, before the request".to_owned()));
        }
        self.unwritten = false;
        let flushed = if self.tls.is_some() { self.flush_tls(call) } else { self.flush_plain(call) };
        self.buffers.clear_pending();
        flushed
    }

    fn flush_plain(&mut self, call: &CallInFlight) -> Result<(), Cause> {
        let mut at = 0;
        while at < self.buffers.pending().len() {
            match self.socket.write(call, &self.buffers.pending()[at..])? {
                Wrote::Some(n) => {
                    call.note_sent_some();
                    at += n;
                }
                Wrote::ResponseWaiting if !self.read_early_response(call) => {}
                Wrote::Broken | Wrote::ResponseWaiting => {
                    self.write_broken = true;
                    break;
                }
            }
        }
        Ok(())
    }

    fn flush_tls(&mut self, call: &CallInFlight) -> Result<(), Cause> {
        let mut at = 0;
        loop {
            let tls = self.tls.as_mut().expect("a TLS connection");
            if at == self.buffers.pending().len() && !tls.wants_write() {
                return Ok(());
            }
            let rest = &self.buffers.pending()[at..];
            // rustls buffers plaintext up to its own limit, then its records must be written. It would also add its response to a key
            // update, even behind the request's end: if that could not be written, the request would seem to have left in part.
            if !rest.is_empty() {
                at += tls.writer().write(rest).map_err(|error| Cause::Lost(error.to_string()))?;
            }
            match tls::write_records(call, tls, &self.socket)? {
                Wrote::Some(_) => call.note_sent_some(),
                Wrote::ResponseWaiting if !self.read_early_response(call) => {}
                Wrote::Broken | Wrote::ResponseWaiting => {
                    self.write_broken = true;
                    return Ok(());
                }
            }
        }
    }

    /// Reads some of the response into the input buffer; 0 means that the connection ended.
    fn receive(&mut self, call: &CallInFlight) -> Result<usize, Cause> {
        let room = self.buffers.input_append_buf();
        if room.is_empty() {
            // ureq waits for the end of a line, or `take_in` for that of an interim response.
            return Err(Cause::Garbled("a line or an interim response of it is too long".to_owned()));
        }
        let Some(tls) = self.tls.as_mut() else {
            return self.socket.read(call, room);
        };
        let (may_refuse, certified) = (self.may_refuse_client, self.certified);
        let take_in = |tls: &mut ClientConnection| match tls.process_new_packets() {
            Ok(_) => Ok(()),
            Err(error) => {
                // It sends session tickets (RFC 8446 4.6.1) and responds only to a client that it accepted.
                let may_refuse = may_refuse && tls.tls13_tickets_received() == 0 && tls::is_drained(tls);
                Err(tls_failure::after_handshake(&error, certified, may_refuse))
            }
        };
        // Perhaps an alert, which was read while the request was being written.
        if self.write_broken {
            take_in(tls)?;
        }
        loop {
            match tls.reader().read(room) {
                Ok(n) => return Ok(n),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // It ended without a close_notify: an attacker in between may have cut the response short.
                Err(_) => return Err(Cause::Lost("the TLS connection was cut off".to_owned())),
            }
            tls::read_records(call, tls, &self.socket)?;
            take_in(tls)?;
        }
    }

    /// Reads what arrived while the request is still being written, without waiting for more. Returns whether to stop writing:
    /// the final response began, or the connection ended. Interim responses (1xx, RFC 9110 15.2) and TLS's own records do not count.
    fn read_early_response(&mut self, call: &CallInFlight) -> bool {
        let mut ended = false;
        for _ in 0..MAX_EARLY_READS {
            let room = self.buffers.input_append_buf();
            let n = match self.tls.as_mut() {
                None => match self.socket.read_at_once(room) {
                    Some(n) => n,
                    None => return false,
                },
                Some(tls) => match tls.reader().read(room) {
                    Ok(n) => n,
                    Err(error) if error.kind() == ErrorKind::WouldBlock && !ended => {
                        match tls::read_waiting_records(tls, &self.socket) {
                            Waiting::Nothing => return false,
                            Waiting::Records => {}
                            Waiting::End => ended = true,
                        }
                        continue;
                    }
                    Err(_) => return true,
                },
            };
            if n == 0 {
                return true;
            }
            if self.take_in(n, call) {
                self.response_came_early = true;
                return true;
            }
        }
        false
    }

    /// Takes in `count` bytes, which just arrived, and skips interim responses. Returns whether there is something for ureq.
    fn take_in(&mut self, count: usize, call: &CallInFlight) -> bool {
        call.end_phase(Phase::FirstByte);
        self.may_refuse_client = false;
        self.buffers.input_appended(count);
        while !self.response_began {
            match begins(self.buffers.input()) {
                Begins::Unclear => return false,
                Begins::Interim(length) => self.buffers.input_consume(length),
                Begins::Final => self.response_began = true,
            }
        }
        true
    }

    /// Whether a kept connection can carry another request right now.
    fn is_alive(&mut self) -> bool {
        match self.socket.idle() {
            Idle::Quiet => true,
            Idle::Gone => false,
            // Stray bytes would be read as the next response. But TLS has traffic of its own, such as session tickets.
            Idle::Readable => {
                let Some(tls) = self.tls.as_mut() else { return false };
                for _ in 0..MAX_IDLE_READS {
                    match tls::read_waiting_records(tls, &self.socket) {
                        Waiting::Nothing => return tls::is_drained(tls),
                        Waiting::Records => {}
                        Waiting::End => return false,
                    }
                }
                false
            }
        }
    }

    /// Runs an operation for the call in flight, and keeps its failure there.
    fn with_call<T>(
        &mut self,
        operation: impl FnOnce(&mut Self, &CallInFlight) -> Result<T, Cause>,
    ) -> Result<T, Error> {
        let call: Rc<CallInFlight> = call_in_flight::current().ok_or(Error::ConnectionFailed)?;
        operation(self, &call).map_err(|cause| {
            self.dead = true;
            call.fail(cause)
        })
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    /// Ignores ureq's timeout, which is not configured: the deadline is in the call in flight.
    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        self.with_call(|this, call| {
            if std::mem::take(&mut this.awaits_first_line) {
                this.buffers.gather_with(amount, call.request_lines());
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
                call.note_sent_all();
            }
            if std::mem::take(&mut this.response_came_early) && !this.buffers.input().is_empty() {
                return Ok(true);
            }
            loop {
                let n = match this.receive(call) {
                    // The first write on a reused connection failed: it had died while it was idle.
                    Ok(0) | Err(Cause::Lost(_)) if this.write_broken && this.reused && call.sent() == Sent::Nothing => {
                        return Err(Cause::Stale);
                    }
                    received => received?,
                };
                if n == 0 {
                    this.dead = true;
                    if !this.response_began {
                        return Err(Cause::Lost("the service closed it without a response".to_owned()));
                    }
                    return Ok(false);
                }
                if this.take_in(n, call) {
                    return Ok(true);
                }
            }
        })
    }

    /// ureq calls it before it uses a kept connection, and before it keeps a used one. Whether the peer is still there is checked
    /// later, right before the first byte is written.
    fn is_open(&mut self) -> bool {
        let Some(call) = call_in_flight::current() else { return false };
        if self.dead || self.write_broken {
            return false;
        }
        if self.unwritten {
            return call.may_reuse(self.last_used, self.idle_timeout);
        }
        // TLS has already deciphered bytes behind the response, which the next request would read as its own, or the close_notify came
        // together with the response: the socket itself would still look alive.
        if self.tls.as_mut().is_some_and(|tls| !tls::is_drained(tls)) {
            return false;
        }
        // After a response without a body ureq asks before our code has seen its head: that connection is not kept.
        let Some(declared) = call.keep_alive().filter(|declared| !declared.is_over()) else { return false };
        self.idle_timeout = declared.timeout.or(self.idle_timeout);
        self.buffers.shrink();
        (self.reused, self.response_began, self.awaits_first_line, self.unwritten) = (true, false, true, true);
        self.last_used = call.note_response_read();
        true
    }

    fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("tls", &self.tls.is_some())
            .field("reused", &self.reused)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
