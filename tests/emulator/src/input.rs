//! What was read from a connection and not yet used up.

use std::io;

use crate::wire::Wire;

/// A request of the usual size arrives in one read of this many bytes.
const READ: usize = 16 * 1024;
/// A buffer that grew for a large request is not kept beyond this size.
const KEPT: usize = 1024 * 1024;

/// Bytes from the start of a request on. The unfilled part of the buffer stays initialised, so no read has to clear it.
#[derive(Default)]
pub(crate) struct Input {
    buffer: Vec<u8>,
    filled: usize,
}

impl Input {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Reads once, as much as is there. 0 means that the client closed.
    pub(crate) fn more(&mut self, wire: &mut Wire) -> io::Result<usize> {
        self.more_up_to(wire, usize::MAX)
    }

    /// Reads once, so that no more than `total` bytes are held. Must hold less than that already.
    pub(crate) fn more_up_to(&mut self, wire: &mut Wire, total: usize) -> io::Result<usize> {
        if self.buffer.len() - self.filled < READ / 2 {
            self.buffer.resize(self.filled + READ, 0);
        }
        let end = total.min(self.buffer.len());
        let count = wire.read(&mut self.buffer[self.filled..end])?;
        self.filled += count;
        Ok(count)
    }

    /// Makes room for `total` bytes at once.
    pub(crate) fn reserve(&mut self, total: usize) {
        if self.buffer.len() < total {
            self.buffer.resize(total, 0);
        }
    }

    /// Drops the first `used` bytes: what is left is the start of the next request.
    pub(crate) fn discard(&mut self, used: usize) {
        self.buffer.copy_within(used..self.filled, 0);
        self.filled -= used;
        if self.buffer.len() > KEPT && self.filled < READ {
            self.buffer.truncate(READ);
            self.buffer.shrink_to_fit();
        }
    }
}
