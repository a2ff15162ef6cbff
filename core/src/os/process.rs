//! State that a forked child must not share with its parent: sockets, and locks that a thread of the parent may hold.

use std::sync::OnceLock;

/// One value for each process that uses it. After a fork the child's first use makes a new one; what belongs to the
/// parent is not used there, so its answers are not taken and its locks are never waited for; if it is dropped with the
/// client, its sockets are closed without a word, which the parent does not notice.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    pid: u32,
    value: T,
    /// The child's, whose own child's hangs below it.
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    pub(crate) fn new(value: T) -> PerProcess<T> {
        PerProcess { pid: std::process::id(), value, child: OnceLock::new() }
    }

    /// The value of the process `pid`, which the caller is in: it is asked for once a call, for it is a system call. Made by
    /// `make` if this is a new process.
    pub(crate) fn get(&self, pid: u32, make: impl Fn() -> T) -> &T {
        let mut at = self;
        while at.pid != pid {
            at = at.child.get_or_init(|| Box::new(PerProcess::new(make())));
        }
        &at.value
    }
}
