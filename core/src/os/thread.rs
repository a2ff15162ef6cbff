//! Our own threads, on which no signal handler of the program runs. The C library and the Python module use this, too.

use std::cell::Cell;
use std::io::{self, Write};
use std::process;
use std::thread::{Builder, JoinHandle};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, raise};

/// Signals that a fault of the thread itself raises: if they were blocked, the process would end before a handler could report it.
const FAULTS: [Signal; 7] =
    [Signal::SIGABRT, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGSEGV, Signal::SIGSYS, Signal::SIGTRAP];

const FORKED: &str = "agentjob: this forked child ends: a function that agentjob called on a thread of its own has forked, and must not return \
     in the child";

thread_local! {
    /// On a thread of ours, the process that started it.
    static STARTED_BY: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Starts a thread that blocks every signal but its own faults, so that a signal to the process always goes to a thread of the program,
/// and its `sigwait` works. The new thread inherits the mask, so it never runs without it.
///
/// # Errors
/// The system cannot start another thread.
pub fn spawn<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let before = all_but_faults().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let pid = process::id();
    let spawned = builder.spawn(move || {
        STARTED_BY.set(Some(pid));
        work()
    });
    // This fails only for an invalid mask.
    before.thread_set_mask()?;
    spawned
}

/// Called after a function of the program. Ends this process if it is a forked child of one of our threads: the thread's work is the
/// parent's. Nothing else may run in the child: not what would unlock the parent's journal, nor what the parent wants done at its exit.
pub(crate) fn end_if_forked() {
    if STARTED_BY.get().is_some_and(|pid| pid != process::id()) {
        let _ = writeln!(io::stderr(), "{FORKED}");
        // It can't fail.
        let _ = raise(Signal::SIGKILL);
    }
}

/// Blocks the same signals on the calling thread: for threads of ours that something else started.
pub fn block_signals() {
    // This fails only for an invalid mask.
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
    fn our_threads_block_every_signal_and_the_starting_thread_keeps_its_mask() {
        let before = SigSet::thread_get_mask().unwrap();
        let inside = spawn(Builder::new(), || SigSet::thread_get_mask().unwrap()).unwrap().join().unwrap();
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
        let by_itself = std::thread::spawn(|| {
            block_signals();
            SigSet::thread_get_mask().unwrap()
        });
        assert_eq!(by_itself.join().unwrap(), inside);
        // Except for the two that no program can block, and a thread's own faults.
        let never = [Signal::SIGKILL, Signal::SIGSTOP];
        for signal in Signal::iterator().filter(|signal| !never.contains(signal)) {
            assert_eq!(inside.contains(signal), !FAULTS.contains(&signal), "{signal}");
        }
    }
}
