//! How a batch ends before its list is done, unless the program only drops it: the responses to its messages in flight get their grace.

use std::time::Duration;

use agentjob_core::{BatchHandle, CancelToken, Client, Control};
use pyo3::prelude::*;

use crate::signals::{SLICE, blocking};
use crate::watcher::Watcher;

/// Closes a client, and waits for the responses to its batches' messages in flight.
pub(crate) fn close(py: Python<'_>, client: &Client, token: Option<&CancelToken>) -> PyResult<()> {
    py.detach(|| client.close());
    wait(py, &client.batches(), token)
}

/// Waits until no message of these batches, which were stopped, is in flight. An interruption and the token end their grace.
pub(crate) fn wait(py: Python<'_>, batches: &[BatchHandle], token: Option<&CancelToken>) -> PyResult<()> {
    let watcher = Watcher::default();
    let is_over = || watcher.check().is_err() || token.is_some_and(CancelToken::is_cancelled);
    // Signals run their handlers between two slices, and a token notifies no batch but its own.
    let slice = if watcher.wants_checks() || token.is_some() { SLICE } else { Duration::MAX };
    let mut done = false;
    let ended = blocking(py, &watcher, false, || {
        done = batches.iter().all(|batch| {
            while !is_over() {
                if batch.wait(slice) {
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

/// Ends their grace, and waits until they have ended: usually for less than 100 ms.
fn abort(batches: &[BatchHandle]) {
    batches.iter().for_each(BatchHandle::abort);
    for batch in batches {
        batch.wait(Duration::MAX);
    }
}
