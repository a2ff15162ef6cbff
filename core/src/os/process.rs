//! State that a forked child must not share with its parent: sockets, and locks that a thread of the parent may hold.

use std::sync::OnceLock;

/// One value for each process that uses it. After a fork, the child's first use makes a new one. The child never uses the parent's
/// value, so it cannot read the parent's responses or wait for its locks. If the child drops the client, it closes its copies of the
/// parent's sockets silently, which the parent does not notice.
#[derive(Debug)]
pub(crate) struct PerProcess<T> {
    pid: u32,
    value: T,
    /// The value of a forked child, which in turn has its own child's.
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    pub(crate) fn new(value: T) -> PerProcess<T> {
        PerProcess { pid: std::process::id(), value, child: OnceLock::new() }
    }

    /// The value of the current process, made by `make` on its first use. The caller passes the current process id, because asking for
    /// it is a system call.
    pub(crate) fn get(&self, pid: u32, make: impl Fn() -> T) -> &T {
        self.get_from(pid, |_| make())
    }

    /// The same, made from the parent's value. A thread of the parent may hold its locks, and nothing will ever release them here.
    pub(crate) fn get_from(&self, pid: u32, make: impl Fn(&T) -> T) -> &T {
        let mut at = self;
        while at.pid != pid {
            at = at.child.get_or_init(|| Box::new(PerProcess::new(make(&at.value))));
        }
        &at.value
    }
}
