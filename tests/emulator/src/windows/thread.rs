//! The emulator's threads.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread.
///
/// # Errors
/// The system has no thread left.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.into()).spawn(work)
}
