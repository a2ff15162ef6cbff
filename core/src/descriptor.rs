//! Keeps the standard streams' numbers free: a program may run with descriptor 0, 1 or 2 closed, and the system gives the
//! lowest free number to whatever is opened next. A log line would then be written into a socket or a journal.

use std::fs::File;
use std::io::{stderr, stdin, stdout};
use std::os::fd::AsRawFd;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::io::fcntl_getfd;

use crate::process::PerProcess;

/// What stands in for closed standard streams, and for how many it stands there right now. A forked child has its own, for a
/// thread of the parent's may have held the lock.
static PLUGS: LazyLock<PerProcess<Mutex<Plugs>>> = LazyLock::new(|| PerProcess::new(Mutex::default()));

#[derive(Debug, Default)]
struct Plugs {
    users: usize,
    open: Vec<File>,
}

/// Opens something under a number of 3 or more, at every moment: while `open` runs, the numbers of closed standard streams are
/// taken by something that cannot be written to. Where none is closed, which costs three quick system calls, nothing else happens.
pub(crate) fn above_standard<T>(open: impl FnOnce() -> T) -> T {
    let plugs = PLUGS.get(std::process::id(), Mutex::default);
    let mut mine = guard(plugs);
    if mine.users == 0
        && ![fcntl_getfd(stdin()), fcntl_getfd(stdout()), fcntl_getfd(stderr())].iter().all(Result::is_ok)
    {
        // The root folder is everywhere, and it is open for reading only.
        let folders = std::iter::from_fn(|| File::open("/").ok());
        mine.open = folders.take_while(|folder| folder.as_raw_fd() <= 2).collect();
    }
    mine.users += 1;
    drop(mine);
    let _leaving = Leaving(plugs);
    open()
}

struct Leaving<'a>(&'a Mutex<Plugs>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut plugs = guard(self.0);
        plugs.users -= 1;
        if plugs.users == 0 {
            plugs.open.clear();
        }
    }
}

fn guard(plugs: &Mutex<Plugs>) -> MutexGuard<'_, Plugs> {
    plugs.lock().unwrap_or_else(PoisonError::into_inner)
}
