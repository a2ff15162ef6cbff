//! A connected TCP socket whose operations are interruptible and end with the call's deadline.

use std::io::{self, Read};
use std::net::TcpStream;

use rustix::event::{PollFd, PollFlags};
use rustix::net::RecvFlags;

use crate::call::control::SLICE;
use crate::http::call_in_flight::CallInFlight;
use crate::http::cause::{Cause, describe_io};
use crate::os::socket::{becomes_writable, receive_at_once, set_slice, write_some};

/// The kernel ends each read and write after one [`SLICE`] (a socket option, so fast responses cost no extra system call). Then the
/// call is checked, and a read waits on, in one poll(2), for the response and for whatever may end the call.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
}

/// The state of an idle socket.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Nothing to read, and the peer has not closed.
    Quiet,
    /// There are bytes to read.
    Readable,
    /// The peer closed or reset the connection.
    Gone,
}

/// How a write ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// The kernel took this many bytes.
    Some(usize),
    /// The peer accepts no more; it may have responded before.
    Broken,
    /// Nothing could be written for one slice, or the call has ended, and there is something to read: perhaps a response to a request
    /// that the peer has stopped reading.
    ResponseWaiting,
}

impl Socket {
    /// Takes a connected stream and sets its options.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        set_slice(&stream, SLICE)?;
        Ok(Socket { stream })
    }

    /// Reads some bytes; 0 means that the peer closed. Once the call has ended, only what had arrived by then.
    pub(crate) fn read(&self, call: &CallInFlight, buf: &mut [u8]) -> Result<usize, Cause> {
        match call.ended_by() {
            Some(cause) => self.read_late(call, buf, cause),
            None => self.read_in_time(call, buf).or_else(|cause| self.read_late(call, buf, cause)),
        }
    }

    fn read_late(&self, call: &CallInFlight, buf: &mut [u8], cause: Cause) -> Result<usize, Cause> {
        let unread = call.unread_when_ended(cause.clone(), || self.arrived())?;
        let read = match unread.min(buf.len()) {
            // The connection's end may be the response's.
            0 => receive_at_once(&self.stream, &mut [0; 1], RecvFlags::PEEK).ok().filter(|n| *n == 0),
            room => self.read_at_once(&mut buf[..room]),
        };
        call.note_read_late(read.unwrap_or(0));
        read.ok_or(cause)
    }

    /// How many bytes have arrived and are unread.
    fn arrived(&self) -> usize {
        rustix::io::ioctl_fionread(&self.stream).map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    fn read_in_time(&self, call: &CallInFlight, buf: &mut [u8]) -> Result<usize, Cause> {
        loop {
            call.check_before_io()?;
            match (&self.stream).read(buf) {
                Ok(n) => return Ok(n),
                Err(error) if is_slice_end(&error) => {
                    call.check()?;
                    call.wait(vec![PollFd::new(&self.stream, PollFlags::IN)])?;
                    call.check()?;
                }
                Err(error) => return Err(Cause::Lost(describe_io(&error))),
            }
        }
    }

    /// Passes some bytes to the kernel.
    pub(crate) fn write(&self, call: &CallInFlight, bytes: &[u8]) -> Result<Wrote, Cause> {
        if let Some(cause) = call.ended_by() {
            return Err(cause);
        }
        self.write_in_time(call, bytes).or_else(|cause| {
            match call.unread_when_ended(cause.clone(), || self.arrived())? {
                0 => Err(cause),
                _ => Ok(Wrote::ResponseWaiting),
            }
        })
    }

    fn write_in_time(&self, call: &CallInFlight, bytes: &[u8]) -> Result<Wrote, Cause> {
        loop {
            call.check_before_io()?;
            match write_some(&self.stream, bytes) {
                Ok(n) => return Ok(Wrote::Some(n)),
                Err(error) if is_slice_end(&error) => {
                    call.check()?;
                    if !becomes_writable(&self.stream, SLICE) && self.idle() == Idle::Readable {
                        return Ok(Wrote::ResponseWaiting);
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                        return Ok(Wrote::Broken);
                    }
                    _ => return Err(Cause::Lost(describe_io(&error))),
                },
            }
        }
    }

    /// Checks without waiting and without consuming anything.
    pub(crate) fn idle(&self) -> Idle {
        match receive_at_once(&self.stream, &mut [0; 1], RecvFlags::PEEK) {
            Ok(0) => Idle::Gone,
            Ok(_) => Idle::Readable,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Idle::Quiet,
            Err(_) => Idle::Gone,
        }
    }

    /// Reads what has arrived, without waiting.
    pub(crate) fn read_at_once(&self, buf: &mut [u8]) -> Option<usize> {
        receive_at_once(&self.stream, buf, RecvFlags::empty()).ok()
    }
}

/// A client's socket, and its service's.
#[cfg(test)]
pub(crate) fn pair() -> (TcpStream, TcpStream) {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

/// The slice ended or a signal came: neither is an error of the connection.
fn is_slice_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::call::control::CancelToken;

    #[test]
    fn a_reset_is_not_the_end_of_a_response() {
        for resets in [false, true] {
            let (client, service) = pair();
            if resets {
                rustix::net::sockopt::set_socket_linger(&service, Some(Duration::ZERO)).unwrap();
            }
            drop(service);
            let read = Socket::new(client).unwrap().read(&CallInFlight::for_test(), &mut [0; 8]);
            match resets {
                false => assert_eq!(read, Ok(0)),
                true => assert!(matches!(read, Err(Cause::Lost(_))), "{read:?}"),
            }
        }
    }

    #[test]
    fn a_peer_that_resets_accepts_no_more() {
        let (client, service) = pair();
        rustix::net::sockopt::set_socket_linger(&service, Some(Duration::ZERO)).unwrap();
        drop(service);
        let (socket, call) = (Socket::new(client).unwrap(), CallInFlight::for_test());
        while let Wrote::Some(_) = socket.write(&call, b"request").unwrap() {}
        assert_eq!(socket.write(&call, b"request"), Ok(Wrote::Broken));
    }

    #[test]
    fn a_write_that_finds_no_room_ends_with_the_call_unless_there_is_something_to_read() {
        for responds in [false, true] {
            let (client, mut service) = pair();
            if responds {
                service.write_all(b"response").unwrap();
            }
            let socket = Socket::new(client).unwrap();
            let call = CallInFlight::for_test_with(&CancelToken::new(), Duration::from_millis(500));
            call.note_sent_some();
            let ended = loop {
                match socket.write(&call, &[0; 64 << 10]) {
                    Ok(Wrote::Some(_)) => {}
                    ended => break ended,
                }
            };
            assert_eq!(ended, if responds { Ok(Wrote::ResponseWaiting) } else { Err(Cause::Timeout) });
        }
    }
}
