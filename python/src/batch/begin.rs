//! Starts a batch, and reads the status of one from its journal.

use std::path::{Path, PathBuf};

use agentjob_core as core;
use agentjob_core::{BatchHandle, BatchItem, BatchOptions, Rate, WaitOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{
    Refused, callback, cancel_token, flag, headers, integer, path, seconds, seconds_or_zero, strings, text,
};
use crate::batch::iterator::Batch;
use crate::batch::{closing, items, records};
use crate::caller::Caller;
use crate::keywords::{Keywords, set};
use crate::logging;
use crate::options::wait_options;
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::{Callbacks, Watcher};

/// What `Client.send_all` takes by keyword, but for its journal and its callback; and the wait's part of it. `Once.send_all` has no journal.
pub(crate) fn batch_options(
    keywords: &mut Keywords<'_>,
    journal: &Path,
) -> Result<(BatchOptions, WaitOptions), Refused> {
    let mut options = BatchOptions::new(journal);
    set! { options, keywords.given:
        concurrency = integer;
        resend_unknown = flag;
        max_outage = seconds;
        max_busy = seconds_or_zero;
        grace = seconds_or_zero;
    }
    set! { options, keywords.optional:
        rate = |name, given| Ok::<Rate, Refused>(text(name, given)?.parse()?);
        headers = headers;
    }
    // Check it even if it is not used: a mistake shows at once.
    let wait = wait_options(keywords)?;
    if keywords.flag("wait")? {
        options = options.wait(wait.clone());
    }
    if let Some(prompts) = keywords.optional("retry_prompts") {
        for prompt in strings("retry_prompts", &prompts)? {
            options = options.retry_prompt(prompt);
        }
    }
    if let Some(cancel) = keywords.optional("cancel") {
        options = options.cancel(cancel_token("cancel", &cancel)?.core());
    }
    Ok((options, wait))
}

/// Checks the items, opens the journal and starts to send.
pub(crate) fn begin(
    caller: &Caller,
    items: &Bound<'_, PyAny>,
    journal: &Bound<'_, PyAny>,
    keywords: Keywords<'_>,
) -> PyResult<Batch> {
    let py = items.py();
    let (options, journal, on_update) = keywords.read(py, false, |keywords| {
        let journal = path("journal", journal)?;
        let on_update = callback("on_update", keywords.optional("on_update"))?;
        Ok((batch_options(keywords, &journal)?.0, journal, on_update))
    })?;
    let watcher = caller.watcher(py, Callbacks::on_update(on_update), false)?;
    let options = options.call_events(watcher.batch_level());
    let items = items::read(items)?;
    note_repeated(py, &items, &watcher)?;
    let journal = std::path::absolute(&journal).unwrap_or(journal);
    let last_runs: Vec<BatchHandle> =
        caller.core().batches().into_iter().filter(|batch| batch.is_stopping_with(&journal)).collect();
    closing::wait(py, &last_runs, None)?;
    let mut made = None;
    let begun = blocking(py, &watcher, false, || {
        made = Some(caller.core().send_all(items, &options)?);
        Ok(())
    });
    let made = made.map(|batch| Batch::new(py, batch, watcher, caller));
    // A signal may have arrived while the batch started.
    begun.map(|()| made.expect("it is made or fails"))
}

/// Reports messages that the list has twice, before anything is sent: as a warning to the logger, and to `on_update`. agentjob.aio has
/// no `on_update` here, and has reported the same update before this.
fn note_repeated(py: Python<'_>, items: &[BatchItem], watcher: &Watcher) -> PyResult<()> {
    let Some((update, progress)) = py.detach(|| items::repeated(items)) else { return Ok(()) };
    logging::warning(py, records::repeated(&update), &records::update(py, &update, &progress)?)?;
    match watcher.batch(&update, &progress) {
        Ok(()) => Ok(()),
        Err(_) => watcher.take_raised().map_or(Ok(()), Err),
    }
}

/// The status of a batch (types.BatchStatus), from its journal, whether a run is active or not.
#[pyfunction]
pub(crate) fn batch_status<'py>(py: Python<'py>, journal: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    guarded(py, || {
        let journal: PathBuf = path("journal", journal).map_err(|refused| refused.raised(py, false))?;
        let status = blocking(py, &Watcher::default(), false, || core::batch_status(&journal))?;
        records::status(py, &status)
    })
}
