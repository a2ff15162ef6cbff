//! How a client starts a batch.

use crate::batch::item::{self, BatchItem};
use crate::batch::iterator::Batch;
use crate::batch::options::BatchOptions;
use crate::batch::run::resume;
use crate::client::Client;
use crate::error::Error;

impl Client {
    /// Sends many messages, each at most once, and answers their outcomes as they come.
    ///
    /// Every item is checked before the first is sent. The place is kept in `options`' journal: run it again with the same items
    /// and the same journal, and the batch goes on where it was. Accepted and rejected messages are not sent again; one of
    /// which the earlier run does not know whether it arrived is reported as unknown, and is not sent again either, unless
    /// [`resend_unknown`](BatchOptions::resend_unknown) is on.
    ///
    /// A 429 holds the whole batch back until the service allows more. Trouble on the way (no connection, timeouts, 5xx) holds it
    /// back, too, longer each time; then the next job is asked for before one message alone goes. 401, 403, 3xx and a TLS failure
    /// stop the batch, for every other message would fail alike.
    ///
    /// Messages to one job are sent one after the other, in the order of the list. [`CallOptions`](crate::CallOptions) do not
    /// apply: a message's time is the client's `timeout`, and retries are the batch's own.
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
    /// `InvalidArgument`, which names the item by its line or number: a bad id or prompt, two items with one key, or an item that
    /// is not the one that the journal has; `Journal`: it cannot be opened or written, is damaged (with the line's number), or
    /// another run has it. The iterator's own error is what stopped the batch, and comes last.
    pub fn send_all(&self, items: impl IntoIterator<Item = BatchItem>, options: &BatchOptions) -> Result<Batch, Error> {
        options.check()?;
        let items = item::plan(items, self.shared.config.max_prompt_bytes)?;
        resume::begin(&self.shared, &self.batches, items, options.clone())
    }
}
