//! One connection: a thread that reads a request, asks the service, and writes the response, until one side ends it.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use crate::body::{self, BodyRead};
use crate::fault::{Deed, Fault, Spot};
use crate::head::{self, Head, Parsed};
use crate::input::Input;
use crate::response::{Response, Shape};
use crate::rule::Rule;
use crate::shared::{Seat, Shared};
use crate::state::{Place, Ticket};
use crate::truth;
use crate::wire::{Ending, Wire};

const MAX_HEAD: usize = 64 * 1024;
/// How long a refused request is read away, so that its response is not lost to a reset.
const REFUSED: Duration = Duration::from_millis(200);

pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) wire: Wire,
    pub(crate) input: Input,
    pub(crate) output: Vec<u8>,
    place: Place,
}

/// A request whose head was read, and the rule for its response.
pub(crate) struct Exchange {
    pub(crate) ticket: Ticket,
    pub(crate) head: Head,
    pub(crate) authorized: bool,
    pub(crate) rule: Option<Arc<Rule>>,
}

impl Exchange {
    pub(crate) fn fault(&self) -> Option<&Fault> {
        self.rule.as_ref().and_then(|rule| rule.fault.as_ref())
    }
}

/// What follows an exchange.
pub(crate) enum Next {
    Again,
    End(Ending),
}

/// Serves `tcp` to its end. `fault` strikes before anything is read.
pub(crate) fn serve(shared: Arc<Shared>, tcp: Arc<TcpStream>, seat: Seat, place: Place, fault: Option<Fault>) {
    if let Ok(wire) = Wire::new(tcp, shared.tls.as_ref()) {
        let mut connection = Connection { shared, wire, input: Input::default(), output: Vec::new(), place };
        let mut next = match fault {
            Some(fault) => connection.strike(&fault),
            None => Next::Again,
        };
        let ending = loop {
            match next {
                Next::End(ending) => break ending,
                // An error means that the client is gone, or that the emulator stops: there is no one to report it to.
                Next::Again => next = connection.exchange().unwrap_or(Next::End(Ending::Cut)),
            }
        };
        connection.wire.end(ending);
    }
    drop(seat);
}

impl Connection {
    /// One request and its response.
    fn exchange(&mut self) -> io::Result<Next> {
        match self.await_request()? {
            None => return Ok(Next::End(Ending::Orderly)),
            Some(true) => return self.serve_truth(),
            Some(false) => {}
        }
        let (ticket, fault) = self.shared.state().begin(&mut self.place);
        if let Some(fault) = fault {
            return self.break_in_head(&ticket, &fault);
        }
        let mut head = match self.read_head(ticket.is_logged())? {
            Some(Parsed::Whole(head)) => head,
            Some(Parsed::Bad(reason)) => return self.refuse_head(&ticket, &reason),
            Some(Parsed::Partial) => return self.refuse_head(&ticket, "the request's head is too large"),
            None => {
                let line = head::request_line(self.input.bytes());
                self.shared.state().broke_off(&ticket, line, None);
                return Ok(Next::End(Ending::Orderly));
            }
        };
        let (authorized, rule) = self.shared.state().decide(&ticket, &mut head);
        let exchange = Exchange { ticket, head, authorized, rule };
        if exchange.rule.as_ref().is_some_and(|rule| rule.early) {
            return self.respond_early(&exchange);
        }
        self.respond(&exchange)
    }

    /// Waits for a request's first bytes. Returns whether it asks for the truth; `None` if the client closed.
    fn await_request(&mut self) -> io::Result<Option<bool>> {
        loop {
            if !self.input.bytes().is_empty()
                && let Some(addressed) = truth::is_addressed(self.input.bytes())
            {
                return Ok(Some(addressed));
            }
            if self.input.more(&mut self.wire)? == 0 {
                return Ok((!self.input.bytes().is_empty()).then_some(false));
            }
        }
    }

    /// Reads the head; none if the client closed first, partial if it is too large.
    fn read_head(&mut self, keep_headers: bool) -> io::Result<Option<Parsed>> {
        loop {
            match head::parse(self.input.bytes(), keep_headers) {
                Parsed::Partial if self.input.bytes().len() < MAX_HEAD => {}
                parsed => return Ok(Some(parsed)),
            }
            if self.input.more(&mut self.wire)? == 0 {
                return Ok(None);
            }
        }
    }

    /// Breaks the connection when the head's bytes that `fault` lets through were consumed.
    fn break_in_head(&mut self, ticket: &Ticket, fault: &Fault) -> io::Result<Next> {
        let limit = match fault.at {
            Spot::Head(bytes) => usize::try_from(bytes).unwrap_or(MAX_HEAD).min(MAX_HEAD),
            _ => 0,
        };
        while self.input.bytes().len() < limit && matches!(head::parse(self.input.bytes(), false), Parsed::Partial) {
            if self.input.more_up_to(&mut self.wire, limit)? == 0 {
                break;
            }
        }
        let seen = &self.input.bytes()[..self.input.bytes().len().min(limit)];
        self.shared.state().broke_off(ticket, head::request_line(seen), Some(fault.to_string()));
        Ok(self.strike(fault))
    }

    /// Responds to what is not HTTP, and ends the connection: where its next request would begin is unknown.
    fn refuse_head(&mut self, ticket: &Ticket, reason: &str) -> io::Result<Next> {
        let status = if self.input.bytes().len() < MAX_HEAD { 400 } else { 431 };
        let line = head::request_line(self.input.bytes());
        let mut state = self.shared.state();
        state.broke_off(ticket, line, None);
        state.note(ticket, |entry| entry.status = Some(status));
        drop(state);
        self.refuse(ticket, &Response::error(status, reason))
    }

    pub(crate) fn refuse(&mut self, ticket: &Ticket, response: &Response) -> io::Result<Next> {
        let shape = Shape { request: Some(ticket.n), closing: true, ..Shape::default() };
        self.output.clear();
        response.encode(&mut self.output, &shape, None);
        self.wire.write_all(&self.output)?;
        self.wire.close_notify()?;
        self.wire.discard_for(REFUSED)?;
        Ok(Next::End(Ending::Orderly))
    }

    pub(crate) fn strike(&mut self, fault: &Fault) -> Next {
        match fault.deed {
            Deed::Reset => Next::End(Ending::Reset),
            Deed::Close => Next::End(Ending::Cut),
            Deed::Stall => {
                self.wire.stall(fault.silence());
                Next::End(Ending::Cut)
            }
        }
    }

    fn serve_truth(&mut self) -> io::Result<Next> {
        self.shared.state().give_back(&mut self.place);
        let Some(Parsed::Whole(head)) = self.read_head(false)? else {
            return Ok(Next::End(Ending::Orderly));
        };
        if head.expects_continue && self.input.bytes().len() == head.length {
            self.wire.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let BodyRead::Whole(body) = body::read(&mut self.wire, &mut self.input, &head, None)? else {
            return Ok(Next::End(Ending::Orderly));
        };
        let content = body.content(&head, &self.input);
        let response = truth::serve(&self.shared, &head.method, head.path(), content);
        self.input.discard(body.used);
        self.output.clear();
        response.encode(&mut self.output, &Shape { closing: head.closes, ..Shape::default() }, None);
        self.wire.write_all(&self.output)?;
        Ok(if head.closes { Next::End(Ending::Orderly) } else { Next::Again })
    }
}
