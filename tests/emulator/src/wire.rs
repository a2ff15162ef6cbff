//! One connection's bytes, in plain text or over TLS, and the ways in which it can end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

/// What a TLS server needs; a type without values where the feature is off.
#[cfg(feature = "tls")]
pub(crate) type Tls = Arc<rustls::ServerConfig>;
#[cfg(not(feature = "tls"))]
pub(crate) type Tls = std::convert::Infallible;

/// The peer's FIN, also behind bytes that were not read. Where poll cannot say it, a stall ends by its time or by the stop.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PEER_CLOSED: PollFlags = PollFlags::RDHUP;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const PEER_CLOSED: PollFlags = PollFlags::empty();

/// The most that is read away so that a close is a FIN and no reset.
const MAX_DRAIN: usize = 16 * 1024 * 1024;

pub(crate) struct Wire {
    /// Shared with the emulator, which shuts it down to end what blocks on it.
    tcp: Arc<TcpStream>,
    #[cfg(feature = "tls")]
    session: Option<Box<rustls::ServerConnection>>,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As it should: `close_notify` over TLS, then a FIN.
    Orderly,
    /// A FIN and nothing else.
    Cut,
    /// A reset.
    Reset,
}

impl Wire {
    pub(crate) fn new(tcp: Arc<TcpStream>, tls: Option<&Tls>) -> io::Result<Self> {
        #[cfg(feature = "tls")]
        {
            let session = match tls {
                Some(config) => {
                    Some(Box::new(rustls::ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?))
                }
                None => None,
            };
            Ok(Self { tcp, session })
        }
        #[cfg(not(feature = "tls"))]
        match tls {
            Some(never) => match *never {},
            None => Ok(Self { tcp }),
        }
    }

    /// Reads what is there, or waits for it. 0 means that the client is gone, whether it closed, reset or cut its TLS short.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let result = self.read_once(buffer);
            match result.as_ref().map_err(io::Error::kind) {
                Err(io::ErrorKind::Interrupted) => {}
                Err(io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => return Ok(0),
                _ => return result,
            }
        }
    }

    fn read_once(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut tcp: &TcpStream = &self.tcp;
        #[cfg(feature = "tls")]
        if let Some(session) = &mut self.session {
            return rustls::Stream::new(session.as_mut(), &mut tcp).read(buffer);
        }
        tcp.read(buffer)
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut tcp: &TcpStream = &self.tcp;
        #[cfg(feature = "tls")]
        if let Some(session) = &mut self.session {
            let mut stream = rustls::Stream::new(session.as_mut(), &mut tcp);
            stream.write_all(bytes)?;
            return stream.flush();
        }
        tcp.write_all(bytes)
    }

    /// Waits before it continues. An error means that the connection is gone, or that the emulator stops.
    pub(crate) fn pause(&self, length: Duration) -> io::Result<()> {
        // No interest in the peer's FIN: a client may close its half and still wait for the response.
        match self.ended_within(length, PollFlags::empty()) {
            true => Err(io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }

    /// Keeps silent, until the client closes at the latest.
    pub(crate) fn stall(&self, length: Duration) {
        self.ended_within(length, PEER_CLOSED);
    }

    /// Whether the connection ended within `length`: both directions (which is how a stop shows), or what `interest` says.
    fn ended_within(&self, length: Duration, interest: PollFlags) -> bool {
        let deadline = Instant::now() + length;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let timeout = Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i32::MAX.into(), tv_nsec: 0 });
            let mut polled = [PollFd::new(&*self.tcp, interest)];
            match rustix::event::poll(&mut polled, Some(&timeout)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Says that no more will be written, and leaves the other direction open: `close_notify` over TLS, else a half-close.
    pub(crate) fn close_notify(&mut self) -> io::Result<()> {
        #[cfg(feature = "tls")]
        if let Some(session) = &mut self.session {
            session.send_close_notify();
            return write_tls(session, &self.tcp);
        }
        self.tcp.shutdown(Shutdown::Write)
    }

    /// Reads and discards until the client closes, for `length` at most.
    pub(crate) fn discard_for(&mut self, length: Duration) -> io::Result<()> {
        let deadline = Instant::now() + length;
        let mut scratch = [0; 16 * 1024];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            self.tcp.set_read_timeout(Some(left))?;
            match self.read(&mut scratch) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the connection. Failures are of no interest: whatever is left of it goes with the socket.
    pub(crate) fn end(mut self, ending: Ending) {
        match ending {
            Ending::Reset => {
                let _ = rustix::net::sockopt::set_socket_linger(&*self.tcp, Some(Duration::ZERO));
                return;
            }
            Ending::Orderly => {
                let _ = self.close_notify();
            }
            Ending::Cut => {}
        }
        self.drain();
        let _ = self.tcp.shutdown(Shutdown::Write);
    }

    /// Reads away what the kernel holds: a close with unread bytes would send a reset.
    fn drain(&self) {
        if self.tcp.set_nonblocking(true).is_err() {
            return;
        }
        let mut scratch = [0; 16 * 1024];
        let mut drained = 0;
        while drained < MAX_DRAIN {
            match (&*self.tcp).read(&mut scratch) {
                Ok(0) | Err(_) => return,
                Ok(count) => drained += count,
            }
        }
    }
}

/// Sends what the session has ready.
#[cfg(feature = "tls")]
fn write_tls(session: &mut rustls::ServerConnection, mut tcp: &TcpStream) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(&mut tcp)?;
    }
    Ok(())
}
