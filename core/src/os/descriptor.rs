//! Keeps the standard streams' numbers free: a program may run with descriptor 0, 1 or 2 closed, and the system gives the
//! lowest free number to whatever is opened next. A log line would then be written into a socket or a journal.

use std::fs::{File, Metadata};
use std::io::{stderr, stdin, stdout};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::io::fcntl_getfd;

use crate::os::process::PerProcess;

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
    // Also beside another user: the program may have closed one meanwhile, and a name lookup takes its time.
    if ![fcntl_getfd(stdin()), fcntl_getfd(stdout()), fcntl_getfd(stderr())].iter().all(Result::is_ok) {
        // The root folder is everywhere, and it is open for reading only.
        let folders = std::iter::from_fn(|| File::open("/").ok());
        mine.open.extend(folders.take_while(|folder| folder.as_raw_fd() <= 2));
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
            plugs.open.drain(..).for_each(unplug);
        }
    }
}

/// Closes what stands in, unless the program has put a stream of its own into that place meanwhile.
fn unplug(plug: File) {
    let place = |about: std::io::Result<Metadata>| about.map(|about| (about.dev(), about.ino())).ok();
    if place(plug.metadata()) != place(std::fs::metadata("/")) {
        let _its_own = plug.into_raw_fd();
    }
}

fn guard(plugs: &Mutex<Plugs>) -> MutexGuard<'_, Plugs> {
    plugs.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::close;

    const CHILD: &str = "AGENTJOB_TEST_DESCRIPTORS";

    /// In a process of its own, for the standard streams are the whole process's.
    #[test]
    fn a_stream_that_the_program_closes_or_opens_while_something_is_opened_stays_the_programs() {
        if std::env::var_os(CHILD).is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "--test-threads=1", "--nocapture"]);
            child.arg(concat!(
                "os::descriptor::tests::",
                "a_stream_that_the_program_closes_or_opens_while_something_is_opened_stays_the_programs"
            ));
            child.env(CHILD, "1");
            let ended = child.output().unwrap();
            assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
            assert!(String::from_utf8_lossy(&ended.stdout).contains("1 passed"));
            return;
        }
        above_standard(|| {
            close(0).unwrap();
            let inner = above_standard(|| File::open("/dev/null").unwrap());
            assert!(inner.as_raw_fd() > 2, "{inner:?}");
        });
        assert!(fcntl_getfd(stdin()).is_err(), "it is closed as before");
        above_standard(|| {
            close(0).unwrap();
            assert_eq!(File::open("/dev/null").unwrap().into_raw_fd(), 0);
        });
        assert!(fcntl_getfd(stdin()).is_ok(), "the program's own stream stays open");
    }
}
