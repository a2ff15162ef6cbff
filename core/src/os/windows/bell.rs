//! A socket that a program's event loop can poll: it is readable from `ring` to `hush`.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use rustix::fd::{AsFd, BorrowedFd};

/// A socket that is connected to itself, because Windows can poll no pipe. No other program's datagram gets in.
#[derive(Debug)]
pub(crate) struct Bell {
    socket: UdpSocket,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Bell { socket })
    }

    pub(crate) fn ring(&self) {
        let _ = self.socket.send(&[1]);
    }

    pub(crate) fn hush(&self) {
        while self.socket.recv(&mut [0; 1]).is_ok() {}
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
