//! Our own threads. Windows has no signals that could run on them, and no fork.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread.
///
/// # Errors
/// The system cannot start another thread.
pub fn spawn<T: Send + 'static>(
    builder: Builder,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    builder.spawn(work)
}

/// Nothing: there are no forks.
pub(crate) fn end_if_forked() {}

/// Nothing: there are no signals.
pub fn block_signals() {}
