//! Sockets on Unix.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::event::{PollFd, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketType};

/// A TCP socket that child programs do not inherit.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn open(family: AddressFamily) -> Result<OwnedFd, Errno> {
    rustix::net::socket_with(family, SocketType::STREAM, rustix::net::SocketFlags::CLOEXEC, None)
}

/// The same on systems without that flag.
#[cfg(target_vendor = "apple")]
pub(crate) fn open(family: AddressFamily) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC)?;
    // std does this for the sockets that it opens: Apple has no MSG_NOSIGNAL.
    rustix::net::sockopt::set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

/// Whether the process or the system has no room for another socket, so that another address will not help.
pub(crate) fn is_shortage(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
}

/// Whether the kernel continues this connect. It does after a signal, too (POSIX connect).
pub(crate) fn is_in_progress(error: Errno) -> bool {
    matches!(error, Errno::INPROGRESS | Errno::INTR)
}

/// Ends each read and write of a connected socket after this time.
pub(crate) fn set_slice(stream: &TcpStream, slice: Duration) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(slice))?;
    stream.set_write_timeout(Some(slice))
}

/// Passes some bytes to the kernel. std sends with MSG_NOSIGNAL, so a peer that has closed raises no SIGPIPE in the host program.
pub(crate) fn write_some(mut stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    stream.write(bytes)
}

/// After a write that could not begin: whether another one can. The kernel has waited for that until now.
pub(crate) fn becomes_writable(_: &TcpStream, _: Duration) -> bool {
    false
}

/// Receives what has arrived, without waiting; `WOULDBLOCK` if nothing has.
pub(crate) fn receive_at_once(socket: impl AsFd, bytes: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
    rustix::net::recv(socket, bytes, flags | RecvFlags::DONTWAIT).map(|(n, _)| n)
}

/// Waits until one of these is ready, the time has passed or a signal came; returns how many are ready.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], at_most: Duration) -> Result<usize, Errno> {
    let at_most = Timespec::try_from(at_most).expect("it is short");
    match poll(fds, Some(&at_most)) {
        Err(Errno::INTR) => Ok(0),
        ready => ready,
    }
}
