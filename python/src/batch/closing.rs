//! How a batch ends before its list is done, unless the program only drops it: the responses to its messages in flight get their grace.

use std::time::{Duration, Instant};

use agentjob_core::{BatchHandle, CancelToken, Client, Control};
use pyo3::prelude::*;

use crate::signals::{SLICE, blocking};
use crate::watcher::Watcher;

/// How long to wait for the threads of a batch that was aborted. They end far earlier, unless a function that returns the key or the
/// disk keeps one, and that may need what the waiting thread has locked.
const ABORT_TIME: Duration = Duration::from_secs(1);

/// Closes a client, and waits for the responses to its batches' messages in flight.
pub(crate) fn close(py: Python<'_>, client: &Client, token: Option<&CancelToken>) -> PyResult<()> {
    py.detach(|| client.close());
    wait(py, &client.batches(), token)
}

/// Waits until no message of these batches, which were stopped, is in flight. An interruption and the token end their grace.
pub(crate) fn wait(py: Python<'_>, batches: &[BatchHandle], token: Option<&CancelToken>) -> PyResult<()> {
    let watcher = Watcher::default();
    let is_over = || watcher.check().is_err() || token.is_some_and(CancelToken::is_cancelled);
    let mut done = false;
    let ended = blocking(py, &watcher, false, || {
        done = batches.iter().all(|batch| {
            while !is_over() {
                if batch.wait(SLICE) {
                    return true;
                }
            }
            false
        });
        Ok(())
    });
    if !done {
        py.detach(|| abort(batches));
    }
    ended
}

/// Ends their grace, and waits until their threads have ended: usually for less than 100 ms.
fn abort(batches: &[BatchHandle]) {
    batches.iter().for_each(BatchHandle::abort);
    let begun = Instant::now();
    for batch in batches {
        batch.wait(ABORT_TIME.saturating_sub(begun.elapsed()));
    }
}
