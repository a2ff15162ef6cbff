//! Threads of our own, on which no signal handler of the program runs.

use std::io;
use std::thread::{Builder, JoinHandle};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// What a fault of the thread itself raises: blocked, it would end the process before a handler could report it.
const FAULTS: [Signal; 7] =
    [Signal::SIGABRT, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGSEGV, Signal::SIGSYS, Signal::SIGTRAP];

/// Starts a thread that blocks every signal but its own faults, so that a signal sent to the process always meets a thread of
/// the program's, and its `sigwait` gets what it waits for. A thread inherits its mask: there is no moment without it.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn spawn<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let mut blocked = SigSet::all();
    FAULTS.into_iter().for_each(|fault| blocked.remove(fault));
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let spawned = builder.spawn(work);
    // Only a mask that is no mask could be refused.
    before.thread_set_mask()?;
    spawned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_ours_blocks_every_signal_and_its_starter_keeps_its_mask() {
        let before = SigSet::thread_get_mask().unwrap();
        let inside = spawn(Builder::new(), || SigSet::thread_get_mask().unwrap()).unwrap().join().unwrap();
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
        // The two that no program can block are left out, and so are a thread's own faults.
        let never = [Signal::SIGKILL, Signal::SIGSTOP];
        for signal in Signal::iterator().filter(|signal| !never.contains(signal)) {
            assert_eq!(inside.contains(signal), !FAULTS.contains(&signal), "{signal}");
        }
    }
}
