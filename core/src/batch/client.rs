//! How a client starts a batch.

use crate::batch::item::{self, BatchItem};
use crate::batch::iterator::Batch;
use crate::batch::options::BatchOptions;
use crate::batch::run::resume;
use crate::client::Client;
use crate::error::Error;

impl Client {
    /// Sends many messages, each at most once, and returns their outcomes as they come.
    ///
    /// Every item is checked before the first is sent. The journal in `options` records how far the batch is: run it again with the
    /// same items and the same journal, and it continues where it was. Accepted and rejected messages are not sent again. A message
    /// that may have arrived in an earlier run is reported as unknown, and sent again only if
    /// [`resend_unknown`](BatchOptions::resend_unknown) is on.
    ///
    /// A 429 pauses the whole batch until the service allows more. A service failure (no connection, timeouts, 5xx) pauses it, too,
    /// longer each time; then the batch polls the next job before it sends that message alone, as a probe. 401, 403, 3xx and a TLS
    /// failure stop the batch, for they would make every other message fail, too.
    ///
    /// Messages to one job are sent one after the other, in the order of the list. [`CallOptions`](crate::CallOptions) do not
    /// apply: each message has the client's `timeout`, and the batch does its own retries.
    ///
    /// ```no_run
    /// use agentjob_core::{BatchItem, BatchOptions, Client};
    ///
    /// # fn main() -> Result<(), agentjob_core::Error> {
    /// let client = Client::builder().build()?;
    /// let items = [BatchItem::new("job_1", "Add tests"), BatchItem::new("job_2", "Add tests")];
    /// let options = BatchOptions::new("night.journal").rate("100/h".parse::<agentjob_core::Rate>()?);
    /// for outcome in client.send_all(items, &options)? {
    ///     let outcome = outcome?;
    ///     println!("{}: {}", outcome.job_id(), outcome.delivery());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument`, which names the item by its line or number: a wrong id or prompt, two items with one key, or an item that
    /// differs from the journal's. `Journal`: the journal cannot be opened or written, is damaged (with the line's number), or
    /// another run is using it. `Connect`: the system has no thread left. If something stops the batch, the iterator's last item is that error.
    pub fn send_all(&self, items: impl IntoIterator<Item = BatchItem>, options: &BatchOptions) -> Result<Batch, Error> {
        options.check()?;
        if let Some(headers) = &options.headers {
            self.shared.config.request_head.headers().merged(headers)?;
        }
        options.wait.as_ref().map_or(Ok(()), |wait| wait.resolve(&self.shared.config.waits).map(drop))?;
        let items = item::plan(items, self.shared.config.max_prompt_bytes)?;
        resume::begin(&self.shared, &self.batches, items, options.clone())
    }
}
