//! The emulator's threads. It also runs inside other programs, whose signal handlers and `sigwait` must get every signal.

use std::io;
use std::thread::{Builder, JoinHandle};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

/// What a fault of the thread itself raises. Blocked, it would end the process before a handler could report it.
const FAULTS: [Signal; 7] =
    [Signal::SIGABRT, Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGSEGV, Signal::SIGSYS, Signal::SIGTRAP];

/// Starts a thread that blocks every signal except its own faults. A thread inherits the mask of the one that starts it, so there is
/// no moment without it, and the threads that this one starts have it, too.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let mut blocked = SigSet::all();
    FAULTS.into_iter().for_each(|fault| blocked.remove(fault));
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let spawned = Builder::new().name(name.into()).spawn(work);
    // Cannot fail: the mask is one that the system gave.
    before.thread_set_mask()?;
    spawned
}
