//! A flag that ends waits: it is set once, from any thread or from a signal handler, and every wait for it wakes at once.
//!
//! Beside the flag there is an eventfd, which a wait polls together with its socket. It is made by the first wait that needs it, so a
//! flag that nothing waits for long has none. Only Linux has eventfd; elsewhere, without a free descriptor, and in a child of the
//! process that made it, a wait checks the flag once per slice instead.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// Not set when it is made, and never cleared.
#[derive(Debug, Default)]
pub(crate) struct Flag {
    is_set: AtomicBool,
    /// The eventfd, and the process that made it: a child shares it, and must not wake its parent.
    event: OnceLock<Option<(OwnedFd, u32)>>,
}

impl Flag {
    /// Sets it. Async-signal-safe: two atomic accesses, then getpid(2) and write(2) if something may wait.
    pub(crate) fn set(&self) {
        self.is_set.store(true, Ordering::Release);
        // With the fence in `descriptor`: either this sees the eventfd, or the wait sees the flag.
        fence(Ordering::SeqCst);
        if let Some(Some((event, pid))) = self.event.get()
            && *pid == std::process::id()
        {
            write(event);
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// What becomes readable when the flag is set; check the flag after this, and then wait. `None` if there is no such descriptor.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let (event, pid) = self.event.get_or_init(open).as_ref()?;
        fence(Ordering::SeqCst);
        (*pid == std::process::id()).then(|| event.as_fd())
    }
}

#[cfg(target_os = "linux")]
fn open() -> Option<(OwnedFd, u32)> {
    use rustix::event::{EventfdFlags, eventfd};
    let event = crate::os::descriptor::above_standard(|| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK));
    Some((event.ok()?, std::process::id()))
}

/// It is never read, so it stays readable. rustix makes the system call itself and leaves errno alone.
#[cfg(target_os = "linux")]
fn write(event: &OwnedFd) {
    let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
}

#[cfg(not(target_os = "linux"))]
fn write(_: &OwnedFd) {}

#[cfg(not(target_os = "linux"))]
fn open() -> Option<(OwnedFd, u32)> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, poll};

    fn is_readable(flag: &Flag) -> bool {
        let event = flag.descriptor().unwrap();
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(&event, PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn its_descriptor_becomes_readable_when_it_is_set_and_stays_so() {
        let flag = Flag::default();
        assert!(!flag.is_set() && !is_readable(&flag));
        flag.set();
        assert!(flag.is_set() && is_readable(&flag) && is_readable(&flag));
    }

    #[test]
    fn without_a_wait_there_is_no_descriptor() {
        let flag = Flag::default();
        flag.set();
        assert!(flag.event.get().is_none());
    }
}
