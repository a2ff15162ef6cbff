//! A connected TCP socket whose every operation can be interrupted, bounded and counted.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustix::net::RecvFlags;

use crate::call::control::SLICE;
use crate::http::failure::{Cause, words};
use crate::http::interrupt::Call;

/// Blocks in slices: the kernel wakes each read and write after [`SLICE`], which costs no system call while answers
/// are quick, and then the call is asked whether it goes on.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
}

/// What a look at an idle socket shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// Nothing waits to be read, and the peer has not gone.
    Quiet,
    /// Bytes wait to be read.
    Readable,
    /// The peer closed or reset the connection.
    Gone,
}

/// How a write ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// The kernel took this many bytes.
    Some(usize),
    /// The peer takes no more; it may have said why before.
    Broken,
    /// Nothing could be written for a while, and something waits to be read: perhaps an answer to a request that the peer
    /// does not care to read.
    Answering,
}

impl Socket {
    /// Takes over a connected stream and sets its options, once.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Socket> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
        stream.set_read_timeout(Some(SLICE))?;
        stream.set_write_timeout(Some(SLICE))?;
        Ok(Socket { stream })
    }

    /// Reads some bytes; 0 is the peer's end.
    pub(crate) fn read(&self, call: &Call, buf: &mut [u8]) -> Result<usize, Cause> {
        loop {
            call.glance()?;
            match (&self.stream).read(buf) {
                Ok(n) => return Ok(n),
                Err(error) if is_pause(&error) => call.check()?,
                Err(error) => return Err(Cause::Lost(words(&error))),
            }
        }
    }

    /// Hands some bytes to the kernel.
    pub(crate) fn write(&self, call: &Call, bytes: &[u8]) -> Result<Wrote, Cause> {
        loop {
            call.glance()?;
            // std sends with MSG_NOSIGNAL, so a peer that went away raises no SIGPIPE in the host program.
            match (&self.stream).write(bytes) {
                Ok(n) => return Ok(Wrote::Some(n)),
                Err(error) if is_pause(&error) => {
                    call.check()?;
                    if self.idle() == Idle::Readable {
                        return Ok(Wrote::Answering);
                    }
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
                        return Ok(Wrote::Broken);
                    }
                    _ => return Err(Cause::Lost(words(&error))),
                },
            }
        }
    }

    /// Looks without waiting and without taking anything.
    pub(crate) fn idle(&self) -> Idle {
        match self.receive_at_once(&mut [0; 1], RecvFlags::PEEK) {
            Ok(0) => Idle::Gone,
            Ok(_) => Idle::Readable,
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Idle::Quiet,
            Err(_) => Idle::Gone,
        }
    }

    /// Reads what is there, without waiting.
    pub(crate) fn read_at_once(&self, buf: &mut [u8]) -> Option<usize> {
        self.receive_at_once(buf, RecvFlags::empty()).ok()
    }

    fn receive_at_once(&self, buf: &mut [u8], flags: RecvFlags) -> rustix::io::Result<usize> {
        rustix::net::recv(&self.stream, buf, flags | RecvFlags::DONTWAIT).map(|(n, _)| n)
    }
}

/// The slice is over, or a signal came: neither is an error of the connection.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
