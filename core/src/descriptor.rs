//! Keeps the standard streams' numbers free: a program may run with descriptor 0, 1 or 2 closed, and the system gives the
//! lowest free number to whatever is opened next. A log line would then be written into a socket or a journal.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// The first number that is no standard stream's.
const FIRST: i32 = 3;

/// The same open file under a number of 3 or more; what has one already is handed back as it is.
///
/// # Errors
/// There is no free number.
pub(crate) fn above_standard<T: From<OwnedFd> + Into<OwnedFd> + AsRawFd>(opened: T) -> io::Result<T> {
    if opened.as_raw_fd() >= FIRST {
        return Ok(opened);
    }
    let low: OwnedFd = opened.into();
    Ok(rustix::io::fcntl_dupfd_cloexec(&low, FIRST)?.into())
}

/// Takes the free numbers below 3 while others open files that this crate cannot move: the system's resolver its sockets.
#[derive(Debug)]
pub(crate) struct Plugs(#[expect(dead_code, reason = "held open, never used")] Vec<File>);

impl Plugs {
    /// None, where all three are open or nothing can be opened.
    pub(crate) fn new() -> Plugs {
        let opened = std::iter::from_fn(|| File::open("/dev/null").ok());
        Plugs(opened.take_while(|file| file.as_raw_fd() < FIRST).collect())
    }
}
