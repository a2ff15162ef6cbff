//! Keeps descriptors 0, 1 and 2 for the standard streams: a program may run with one of them closed, and the system gives the lowest
//! free number to whatever is opened next. A log line could then end up in a socket or a journal.

use std::fs::{File, Metadata};
use std::io::{stderr, stdin, stdout};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use rustix::io::fcntl_getfd;

use crate::os::process::PerProcess;

/// The placeholders for closed standard streams. A forked child has its own, because a thread of the parent may have held the lock.
static PLACEHOLDERS: LazyLock<PerProcess<Mutex<Placeholders>>> = LazyLock::new(|| PerProcess::new(Mutex::default()));

#[derive(Debug, Default)]
struct Placeholders {
    /// How many threads are inside [`above_standard`].
    users: usize,
    open: Vec<File>,
}

/// Runs `open`, so that whatever it opens gets a descriptor of 3 or more: meanwhile the numbers of closed standard streams are taken by
/// something that cannot be written to. If none is closed, this costs three fast system calls and nothing else.
pub(crate) fn above_standard<T>(open: impl FnOnce() -> T) -> T {
    let placeholders = PLACEHOLDERS.get(std::process::id(), Mutex::default);
    let mut taken = lock(placeholders);
    // Also while another thread is inside: the program may have closed a stream meanwhile, and a name lookup may take long.
    if ![fcntl_getfd(stdin()), fcntl_getfd(stdout()), fcntl_getfd(stderr())].iter().all(Result::is_ok) {
        // Every system has the root folder, and it can only be opened for reading.
        let folders = std::iter::from_fn(|| File::open("/").ok());
        taken.open.extend(folders.take_while(|folder| folder.as_raw_fd() <= 2));
    }
    taken.users += 1;
    drop(taken);
    let _leaving = Leaving(placeholders);
    open()
}

struct Leaving<'a>(&'a Mutex<Placeholders>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut placeholders = lock(self.0);
        placeholders.users -= 1;
        if placeholders.users == 0 {
            placeholders.open.drain(..).for_each(close_placeholder);
        }
    }
}

/// Closes a placeholder, unless the program has meanwhile replaced it by a stream of its own.
fn close_placeholder(file: File) {
    let inode = |metadata: std::io::Result<Metadata>| metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok();
    if inode(file.metadata()) != inode(std::fs::metadata("/")) {
        let _stays_open = file.into_raw_fd();
    }
}

fn lock(placeholders: &Mutex<Placeholders>) -> MutexGuard<'_, Placeholders> {
    placeholders.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::close;

    const CHILD: &str = "AGENTJOB_TEST_DESCRIPTORS";

    /// In a separate process, because standard streams are global.
    #[test]
    fn standard_streams_that_the_program_closes_or_opens_meanwhile_are_left_alone() {
        if std::env::var_os(CHILD).is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "--test-threads=1", "--nocapture"]);
            child.arg(concat!(
                "os::descriptor::tests::",
                "standard_streams_that_the_program_closes_or_opens_meanwhile_are_left_alone"
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
        assert!(fcntl_getfd(stdin()).is_err(), "it is still closed");
        above_standard(|| {
            close(0).unwrap();
            assert_eq!(File::open("/dev/null").unwrap().into_raw_fd(), 0);
        });
        assert!(fcntl_getfd(stdin()).is_ok(), "the program's own stream stays open");
    }
}
