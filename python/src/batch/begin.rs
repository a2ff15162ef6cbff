//! Starts a batch, and reads the status of one from its journal.

use std::path::{Path, PathBuf};

use agentjob_core as core;
use agentjob_core::{BatchHandle, BatchItem, BatchOptions, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{
    Flag, Integer, Number, Refused, callback, cancel_token, headers as read_headers, path, strings, text,
};
use crate::batch::iterator::Batch;
use crate::batch::{closing, items, records};
use crate::caller::Caller;
use crate::logging;
use crate::options::WaitSchedule;
use crate::panic::guarded;
use crate::signals::blocking;
use crate::watcher::{Callbacks, Watcher};

/// What `Client.send_all` takes besides its items and its callback.
pub(crate) struct BatchSettings<'py> {
    pub(crate) journal: Bound<'py, PyAny>,
    pub(crate) concurrency: Integer,
    pub(crate) rate: Option<Bound<'py, PyAny>>,
    pub(crate) wait: Flag,
    pub(crate) schedule: WaitSchedule,
    pub(crate) resend_unknown: Flag,
    pub(crate) retry_prompts: Option<Bound<'py, PyAny>>,
    pub(crate) max_outage: Number,
    pub(crate) max_busy: Number,
    pub(crate) grace: Number,
    pub(crate) cancel: Option<Bound<'py, PyAny>>,
    pub(crate) headers: Option<Bound<'py, PyAny>>,
}

impl BatchSettings<'_> {
    fn options(&self, journal: &Path) -> Result<BatchOptions, Refused> {
        let rate = self.rate.as_ref().map(|rate| Ok::<Rate, Refused>(text("rate", rate)?.parse()?)).transpose()?;
        // Check it even if it is not used: a mistake shows at once.
        let schedule = self.schedule.options()?;
        let mut options = BatchOptions::new(journal)
            .concurrency(self.concurrency.integer("concurrency")?)
            .rate(rate)
            .wait(self.wait.flag("wait")?.then_some(schedule))
            .resend_unknown(self.resend_unknown.flag("resend_unknown")?)
            .max_outage(self.max_outage.seconds("max_outage")?)
            .max_busy(self.max_busy.seconds_or_zero("max_busy")?)
            .grace(self.grace.seconds_or_zero("grace")?);
        if let Some(prompts) = &self.retry_prompts {
            for prompt in strings("retry_prompts", prompts)? {
                options = options.retry_prompt(prompt);
            }
        }
        if let Some(cancel) = &self.cancel {
            options = options.cancel(cancel_token("cancel", cancel)?.core());
        }
        if let Some(headers) = &self.headers {
            options = options.headers(read_headers(headers)?);
        }
        Ok(options)
    }
}

/// Checks the items, opens the journal and starts to send.
pub(crate) fn begin(
    caller: &Caller,
    items: &Bound<'_, PyAny>,
    settings: BatchSettings<'_>,
    on_update: Option<Bound<'_, PyAny>>,
) -> PyResult<Batch> {
    let py = items.py();
    let read = || -> Result<_, Refused> {
        let journal = path("journal", &settings.journal)?;
        Ok((settings.options(&journal)?, journal, callback("on_update", on_update)?))
    };
    let (options, journal, on_update) = read().map_err(|refused| refused.raised(py, false))?;
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

/// The status of a batch (types.BatchStatus), from its journal, whether a run is active or not: its progress, and the messages that
/// were rejected or may have arrived. It sends nothing and writes nothing.
///
/// Raises JournalError: the file cannot be read, is damaged, or is not a journal.
#[pyfunction]
pub(crate) fn batch_status<'py>(py: Python<'py>, journal: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    guarded(py, || {
        let journal: PathBuf = path("journal", journal).map_err(|refused| refused.raised(py, false))?;
        let status = blocking(py, &Watcher::default(), false, || core::batch_status(&journal))?;
        records::status(py, &status)
    })
}
