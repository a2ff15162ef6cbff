//! Threads of our own, on which no signal handler of the program runs. The faces start theirs here, too.

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
pub fn spawn<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let before = all_but_faults().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let spawned = builder.spawn(work);
    // Only a mask that is no mask could be refused.
    before.thread_set_mask()?;
    spawned
}

/// Blocks the same signals on the thread that calls it: for a thread of ours that was started by other means.
pub fn block_signals() {
    // Only a mask that is no mask could be refused.
    let _ = all_but_faults().thread_block();
}

fn all_but_faults() -> SigSet {
    let mut signals = SigSet::all();
    FAULTS.into_iter().for_each(|fault| signals.remove(fault));
    signals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_ours_blocks_every_signal_and_its_starter_keeps_its_mask() {
        let before = SigSet::thread_get_mask().unwrap();
        let inside = spawn(Builder::new(), || SigSet::thread_get_mask().unwrap()).unwrap().join().unwrap();
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
        let by_itself = std::thread::spawn(|| {
            block_signals();
            SigSet::thread_get_mask().unwrap()
        });
        assert_eq!(by_itself.join().unwrap(), inside);
        // The two that no program can block are left out, and so are a thread's own faults.
        let never = [Signal::SIGKILL, Signal::SIGSTOP];
        for signal in Signal::iterator().filter(|signal| !never.contains(signal)) {
            assert_eq!(inside.contains(signal), !FAULTS.contains(&signal), "{signal}");
        }
    }
}
