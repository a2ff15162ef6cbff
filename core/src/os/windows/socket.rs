//! Sockets on Windows.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketType};

/// A TCP socket that child programs do not inherit: they do not inherit a copy that std makes.
pub(crate) fn open(family: AddressFamily) -> Result<OwnedFd, Errno> {
    // A program must do this before its first socket. std does it only before its own.
    static STARTED: OnceLock<Result<(), Errno>> = OnceLock::new();
    (*STARTED.get_or_init(|| rustix::net::wsa_startup().map(drop)))?;
    let inherited = rustix::net::socket(family, SocketType::STREAM, None)?;
    inherited.try_clone().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NOBUFS))
}

/// Whether the process or the system has no room for another socket, so that another address will not help.
pub(crate) fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NOBUFS)
}

/// Whether the kernel continues this connect.
pub(crate) fn is_in_progress(error: Errno) -> bool {
    matches!(error, Errno::INPROGRESS | Errno::WOULDBLOCK | Errno::INTR)
}

/// Ends each read of a connected socket after this time. A read that waits has a response before a reset can take it away.
pub(crate) fn set_slice(stream: &TcpStream, slice: Duration) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(slice))
}

/// Passes some bytes to the kernel, without waiting: of a write that the kernel ends after a time (SO_SNDTIMEO), Windows doesn't tell which
/// bytes were sent, and sending them again would be another message.
pub(crate) fn write_some(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    stream.set_nonblocking(true)?;
    let written = stream.write(bytes);
    // What was written counts. A socket on which this fails has no other operation that works.
    let _ = stream.set_nonblocking(false);
    written
}

/// After a write that could not begin: whether another one can within this time.
pub(crate) fn becomes_writable(stream: &TcpStream, slice: Duration) -> bool {
    wait_for(&mut [PollFd::new(stream, PollFlags::OUT)], slice).is_ok_and(|ready| ready > 0)
}

/// Receives what has arrived, without waiting; `WOULDBLOCK` if nothing has. There is no flag for that here.
pub(crate) fn receive_at_once(socket: impl AsFd, bytes: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
    let now = Timespec::try_from(Duration::ZERO).expect("it is short");
    if poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&now))? == 0 {
        return Err(Errno::WOULDBLOCK);
    }
    rustix::net::recv(socket, bytes, flags).map(|(n, _)| n)
}

/// Waits until one of these is ready, or the time has passed; returns how many are ready.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], at_most: Duration) -> Result<usize, Errno> {
    // Windows refuses to wait for none.
    if fds.is_empty() {
        std::thread::sleep(at_most);
        return Ok(0);
    }
    poll(fds, Some(&Timespec::try_from(at_most).expect("it is short")))
}
