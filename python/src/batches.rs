//! How a batch begins: its settings in, a `Batch` out; and what a journal says of one.

use std::path::{Path, PathBuf};

use agentjob_core as core;
use agentjob_core::{BatchOptions, Control, Rate};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Flag, Number, Refused, Whole, callback, cancel_token, path, text};
use crate::batch::Batch;
use crate::client::Client;
use crate::signals::{Watcher, blocking, guarded};
use crate::waits::Schedule;
use crate::{batch_items, batch_records, leftovers};

/// What `Client.send_all` takes besides its items and its callback.
pub(crate) struct BatchSettings<'py> {
    pub(crate) journal: Bound<'py, PyAny>,
    pub(crate) concurrency: Whole,
    pub(crate) rate: Option<Bound<'py, PyAny>>,
    pub(crate) wait: Flag,
    pub(crate) schedule: Schedule,
    pub(crate) resend_unknown: Flag,
    pub(crate) max_outage: Number,
    pub(crate) grace: Number,
    pub(crate) cancel: Option<Bound<'py, PyAny>>,
}

impl BatchSettings<'_> {
    fn options(&self, journal: &Path) -> Result<BatchOptions, Refused> {
        let rate = self.rate.as_ref().map(|rate| Ok::<Rate, Refused>(text("rate", rate)?.parse()?)).transpose()?;
        // Read whether it counts or not: what is wrong today is found today.
        let schedule = self.schedule.options()?;
        let mut options = BatchOptions::new(journal)
            .concurrency(self.concurrency.whole("concurrency")?)
            .rate(rate)
            .wait(self.wait.flag("wait")?.then_some(schedule))
            .resend_unknown(self.resend_unknown.flag("resend_unknown")?)
            .max_outage(self.max_outage.seconds("max_outage")?)
            .grace(self.grace.seconds_or_none("grace")?);
        if let Some(cancel) = &self.cancel {
            options = options.cancel(cancel_token("cancel", cancel)?.core());
        }
        Ok(options)
    }
}

impl Client {
    pub(crate) fn begin_batch(
        &self,
        py: Python<'_>,
        items: &Bound<'_, PyAny>,
        settings: BatchSettings<'_>,
        on_update: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Batch> {
        let read = || -> Result<_, Refused> {
            let journal = path("journal", &settings.journal)?;
            Ok((settings.options(&journal)?, journal, callback("on_update", on_update)?))
        };
        let (options, journal, on_update) = read().map_err(|refused| refused.raised(py, false))?;
        // The way to a program that goes elsewhere meanwhile.
        let journal = std::path::absolute(&journal).unwrap_or(journal);
        let watcher = Watcher::new(py, None, on_update, false)?;
        let items = batch_items::read(items)?;
        leftovers::wait_at_exit(py)?;
        let (mut made, mut left) = (None, leftovers::take(&journal));
        let begun = blocking(py, &watcher, false, || {
            left = leftovers::wait_for(std::mem::take(&mut left), || watcher.check().is_err());
            made = Some(self.core().send_all(items, &options)?);
            Ok(())
        });
        leftovers::put(left);
        match (begun, made) {
            (Ok(()), Some(batch)) => Ok(Batch::new(batch, watcher, journal)),
            (Ok(()), None) => unreachable!("it is made or fails"),
            (Err(raised), made) => {
                // A signal came while it began.
                if let Some(batch) = made {
                    leftovers::leave(batch, &journal);
                }
                Err(raised)
            }
        }
    }
}

/// What a journal says of its batch (types.BatchStatus), whether a run is on or not: how far it is, and which messages were
/// rejected or may have arrived. It sends nothing and writes nothing.
///
/// Raises JournalError: the journal cannot be read, is damaged, or is none.
#[pyfunction]
pub(crate) fn batch_status<'py>(py: Python<'py>, journal: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    guarded(py, || {
        let journal: PathBuf = path("journal", journal).map_err(|refused| refused.raised(py, false))?;
        let status = blocking(py, &Watcher::default(), false, || core::batch_status(&journal))?;
        batch_records::status(py, &status)
    })
}
