//! One exchange whose head was read: the body, what the service says to it, and the response as the rule has it.

use std::io;
use std::time::{Duration, Instant};

use crate::body::{self, Body, BodyRead};
use crate::connection::{Connection, Exchange, Next};
use crate::fault::{Fault, Spot};
use crate::head::Head;
use crate::response::{Response, Shape};
use crate::rule::{AfterResponse, Framing, Rule};
use crate::script;
use crate::service::{self, Call};
use crate::wire::Ending;

/// How long a connection whose writing half is closed still listens to what the client says.
const HALF_CLOSED: Duration = Duration::from_secs(30);

impl Connection {
    /// Reads the body, asks the service, and responds.
    pub(crate) fn respond(&mut self, exchange: &Exchange) -> io::Result<Next> {
        let head = &exchange.head;
        let limit = match exchange.fault().map(|fault| fault.at) {
            Some(Spot::Body(bytes)) => Some(bytes),
            _ => None,
        };
        if head.expects_continue && self.input.bytes().len() == head.length {
            self.wire.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let body = match body::read(&mut self.wire, &mut self.input, head, limit)? {
            BodyRead::Whole(body) => body,
            BodyRead::Limited(bytes) => return Ok(self.break_in_body(exchange, bytes)),
            BodyRead::BrokenOff(bytes) => {
                self.shared.state().note(&exchange.ticket, |entry| entry.body_bytes = bytes);
                return Ok(Next::End(Ending::Orderly));
            }
            BodyRead::Refused(status, reason) => {
                self.shared.state().note(&exchange.ticket, |entry| entry.status = Some(status));
                return self.refuse(&exchange.ticket, &Response::error(status, reason));
            }
        };
        let response = self.ask(exchange, Some(&body));
        self.input.discard(body.used);
        match exchange.fault() {
            Some(fault) if !matches!(fault.at, Spot::Response(_)) => Ok(self.strike(fault)),
            _ => self.send(exchange, &response),
        }
    }

    fn break_in_body(&mut self, exchange: &Exchange, bytes: u64) -> Next {
        self.shared.state().note(&exchange.ticket, |entry| {
            entry.body_bytes = bytes;
            entry.fault = exchange.fault().map(Fault::to_string);
        });
        exchange.fault().map_or(Next::End(Ending::Cut), |fault| self.strike(fault))
    }

    /// The response to be. The message is in the ledger and the log before this returns.
    fn ask(&mut self, exchange: &Exchange, body: Option<&Body>) -> Response {
        let (head, rule) = (&exchange.head, exchange.rule.as_deref());
        let content = body.map(|body| body.content(head, &self.input));
        let fault = exchange.fault();
        let mut state = self.shared.state();
        let process = rule.is_none_or(Rule::processes) && state.is_current(&exchange.ticket);
        let call = Call {
            now: Instant::now(),
            method: &head.method,
            path: head.path(),
            authorized: exchange.authorized,
            body: content,
            process,
            request: exchange.ticket.n,
        };
        let mut response = service::serve(&mut state, &call);
        if let Some(rule) = rule {
            response = response.scripted(rule);
        }
        state.note(&exchange.ticket, |entry| {
            entry.complete = content.is_some();
            entry.body_bytes = content.map_or(0, |content| content.len() as u64);
            entry.fault = fault.map(Fault::to_string);
            entry.status = match fault.map(|fault| fault.at) {
                None | Some(Spot::Response(1..)) => logged_status(rule, &response),
                Some(_) => None,
            };
        });
        response
    }

    /// Writes the response as the rule has it, and returns how the connection ends.
    fn send(&mut self, exchange: &Exchange, response: &Response) -> io::Result<Next> {
        let head = &exchange.head;
        let request = Some(exchange.ticket.n);
        self.output.clear();
        let Some(rule) = exchange.rule.as_deref() else {
            let shape = Shape { request, closing: head.closes, ..Shape::default() };
            response.encode(&mut self.output, &shape, None);
            self.wire.write_all(&self.output)?;
            return Ok(if head.closes { Next::End(Ending::Orderly) } else { Next::Again });
        };
        if let Some(interim) = &rule.interim {
            self.wire.write_all(interim.as_bytes())?;
        }
        self.wire.pause(Duration::from_millis(rule.delay_ms))?;
        if let Some(kind) = rule.endless {
            script::write_endless(&mut self.wire, response, rule, kind, exchange.ticket.n)?;
            return Ok(Next::End(Ending::Cut));
        }
        let shape = Shape {
            request,
            framing: rule.framing,
            content_length: rule.content_length,
            closing: head.closes || rule.early,
        };
        match &rule.raw {
            Some(raw) => self.output.extend_from_slice(raw.as_bytes()),
            None => response.encode(&mut self.output, &shape, Some(rule)),
        }
        if let Some(fault) = &rule.fault {
            let limit = match fault.at {
                Spot::Response(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
                _ => usize::MAX,
            };
            let cut = limit.min(self.output.len());
            script::write(&mut self.wire, &self.output[..cut], rule.drip)?;
            return Ok(self.strike(fault));
        }
        script::write(&mut self.wire, &self.output, rule.drip)?;
        self.after_response(rule, head, response)
    }

    fn after_response(&mut self, rule: &Rule, head: &Head, response: &Response) -> io::Result<Next> {
        if let Some(end) = rule.after_response {
            self.wire.pause(Duration::from_millis(rule.after_response_ms))?;
            return Ok(Next::End(match end {
                AfterResponse::Close => Ending::Cut,
                AfterResponse::Reset => Ending::Reset,
                AfterResponse::CloseNotify => {
                    self.wire.close_notify()?;
                    self.wire.discard_for(HALF_CLOSED)?;
                    Ending::Orderly
                }
            }));
        }
        // The bytes that were promised will never come: the end of the connection says so.
        if rule.content_length.is_some_and(|length| length > response.body.len() as u64) {
            return Ok(Next::End(Ending::Cut));
        }
        if head.closes || (rule.framing == Framing::Close && rule.raw.is_none()) {
            return Ok(Next::End(Ending::Orderly));
        }
        Ok(Next::Again)
    }

    /// Responds before the body is read, then lingers or resets.
    pub(crate) fn respond_early(&mut self, exchange: &Exchange) -> io::Result<Next> {
        let response = self.ask(exchange, None);
        self.send(exchange, &response)?;
        let linger = exchange.rule.as_ref().map_or(0, |rule| rule.linger_ms);
        if linger == 0 {
            // Whether a close resets would otherwise hang on how much of the body came along with the head.
            return Ok(Next::End(Ending::Reset));
        }
        self.wire.discard_for(Duration::from_millis(linger))?;
        Ok(Next::End(Ending::Orderly))
    }
}

/// The status that the client gets, unless the rule's raw bytes have none.
fn logged_status(rule: Option<&Rule>, response: &Response) -> Option<u16> {
    match rule {
        Some(rule) if rule.raw.is_some() => rule.scripted_status(),
        _ => Some(response.status),
    }
}
