//! A descriptor that a program's event loop can poll: it is readable from `ring` to `hush`.

use std::io::{self, PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};

use crate::os::descriptor::above_standard;

/// A pipe, because every system has one, and every event loop takes it.
#[derive(Debug)]
pub(crate) struct Bell {
    reader: PipeReader,
    writer: PipeWriter,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        let (reader, writer) = above_standard(pipe)?;
        // A full pipe is readable anyway, and an empty one is silent.
        rustix::io::ioctl_fionbio(&reader, true)?;
        rustix::io::ioctl_fionbio(&writer, true)?;
        Ok(Bell { reader, writer })
    }

    pub(crate) fn ring(&self) {
        let _ = (&self.writer).write(&[1]);
    }

    pub(crate) fn hush(&self) {
        while (&self.reader).read(&mut [0; 64]).is_ok_and(|read| read == 64) {}
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn is_readable(bell: &Bell) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::from_borrowed_fd(bell.descriptor(), PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn it_is_readable_from_ring_to_hush_however_often_it_rang() {
        let bell = Bell::new().unwrap();
        assert!(!is_readable(&bell));
        for _ in 0..100_000 {
            bell.ring();
        }
        assert!(is_readable(&bell));
        bell.hush();
        assert!(!is_readable(&bell));
        bell.hush();
        bell.ring();
        assert!(is_readable(&bell));
    }
}
