//! The client: a thin front that turns arguments into operations.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::handle::{BatchHandle, Batches};
use crate::call::options::CallOptions;
use crate::call::prompt::Prompt;
use crate::call::request_loop::execute;
use crate::config::builder::ClientBuilder;
use crate::config::client_options::ClientOptions;
use crate::config::secret::{KeySource, Secret};
use crate::config::settings::Config;
use crate::error::Error;
use crate::job::Job;
use crate::operation::Operation;
use crate::redact::Redactor;
use crate::shared::Shared;
use crate::text::describe;

/// A client for one project of one service. Cloning is cheap; clones share connections.
///
/// Any number of threads may use it at the same time. It starts no thread and opens no connection before the first call.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Shared,
    pub(crate) batches: Arc<Batches>,
}

impl Client {
    /// Returns a builder, which collects the settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn new(config: Config) -> Client {
        Client { shared: Shared::new(config), batches: Arc::default() }
    }

    /// Sends a follow-up instruction to a job, and returns the job's record (docs/contract.md, "Operations").
    ///
    /// The record may still show the previous result, because a job accepts a message asynchronously.
    ///
    /// # Errors
    /// Every kind but `WaitTimeout` and `Cancelled`; [`Error::delivery`] says what happened to the message.
    pub fn send_message<'a>(&self, job_id: &str, prompt: impl Into<Prompt<'a>>) -> Result<Job, Error> {
        self.send_message_with(job_id, prompt, &CallOptions::default())
    }

    /// [`send_message`](Client::send_message) with settings for this call.
    ///
    /// # Errors
    /// Those of `send_message`, and `Cancelled`.
    pub fn send_message_with<'a>(
        &self,
        job_id: &str,
        prompt: impl Into<Prompt<'a>>,
        call: &CallOptions,
    ) -> Result<Job, Error> {
        execute(&self.shared, &Operation::SendMessage { job_id, prompt: prompt.into() }, call, None)
    }

    /// Returns a job's current record (docs/contract.md, "Operations").
    ///
    /// # Errors
    /// Every kind but `WaitTimeout` and `Cancelled`.
    pub fn get_job(&self, job_id: &str) -> Result<Job, Error> {
        self.get_job_with(job_id, &CallOptions::default())
    }

    /// [`get_job`](Client::get_job) with settings for this call.
    ///
    /// # Errors
    /// Those of `get_job`, and `Cancelled`.
    pub fn get_job_with(&self, job_id: &str, call: &CallOptions) -> Result<Job, Error> {
        execute(&self.shared, &Operation::GetJob { job_id }, call, None)
    }

    /// Creates a job with its first instruction, and returns its record (docs/contract.md, "Operations").
    ///
    /// # Errors
    /// Those of [`send_message`](Client::send_message).
    pub fn create_job<'a>(&self, prompt: impl Into<Prompt<'a>>) -> Result<Job, Error> {
        self.create_job_with(prompt, &CallOptions::default())
    }

    /// [`create_job`](Client::create_job) with settings for this call.
    ///
    /// # Errors
    /// Those of `create_job`, and `Cancelled`. If that or `Closed` comes when the response is there, [`job`](Error::job) is the new
    /// job's record.
    pub fn create_job_with<'a>(&self, prompt: impl Into<Prompt<'a>>, call: &CallOptions) -> Result<Job, Error> {
        execute(&self.shared, &Operation::CreateJob { prompt: prompt.into() }, call, None)
    }

    /// A text of the service as errors quote it: without secrets, escaped and shortened.
    #[doc(hidden)]
    pub fn redact(&self, text: &str, call: &CallOptions) -> String {
        describe(&Redactor::new(&self.shared.secrets(call)).redact(text))
    }

    /// Returns a client with the same connections and other settings. Closing one of the two closes both.
    ///
    /// # Errors
    /// `InvalidArgument`; the message names the setting.
    pub fn with_options(&self, options: ClientOptions) -> Result<Client, Error> {
        let mut config = (*self.shared.config).clone();
        options.apply(&mut config)?;
        Ok(Client { shared: self.shared.with_config(config), batches: self.batches.clone() })
    }

    /// Sends this API key from now on, in every thread, and in the clients that share these connections; an `api_key_file` is no longer
    /// read. Requests in flight keep theirs. If the service refuses theirs (401), they are made once more with this one. The former keys
    /// are still removed from every text, the last eight of them.
    ///
    /// # Errors
    /// `InvalidArgument`: it is no key.
    pub fn set_api_key(&self, key: &str) -> Result<(), Error> {
        self.shared.config.keys.replace(std::process::id(), Secret::new("api_key", key)?);
        Ok(())
    }

    /// Ends every call of this client and its clones, in every thread, with `Closed`, refuses new ones, and closes the kept
    /// connections. It does not block.
    ///
    /// Batches send nothing more and end with `Closed`, but their messages in flight still get their responses, for at most the
    /// batch's [`grace`](crate::BatchOptions::grace). To wait for them use the batch's iterator, drop it, or use
    /// [`batches`](Client::batches).
    pub fn close(&self) {
        self.shared.connections.close(&self.shared.config);
        self.batches.close();
    }

    /// The batches of this client, its clones, and those made by [`with_options`](Client::with_options) that still exist: to wait for
    /// their responses after [`close`](Client::close).
    pub fn batches(&self) -> Vec<BatchHandle> {
        self.batches.list()
    }

    /// Whether [`close`](Client::close) was called.
    pub fn is_closed(&self) -> bool {
        self.shared.connections.is_closed()
    }

    /// The base URL, without a slash at its end.
    pub fn base_url(&self) -> &str {
        &self.shared.config.endpoint.url
    }

    /// The project's id.
    pub fn project_id(&self) -> &str {
        &self.shared.config.project_id
    }

    /// The deadline of one call, retries and pauses included.
    pub fn timeout(&self) -> Duration {
        self.shared.config.timeout
    }

    /// How many times one call retries a failed request.
    pub fn max_retries(&self) -> u32 {
        self.shared.config.limits.max_retries
    }

    /// Where the key came from.
    pub fn key_source(&self) -> &KeySource {
        &self.shared.config.key_source
    }
}

impl ClientBuilder {
    /// Checks every setting and makes the client. It sends nothing, and does not read a certificate store yet.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument): a setting is missing or wrong, and the message names the first one;
    /// [`Cancelled`](crate::ErrorKind::Cancelled): the `control` ended it.
    pub fn build(self) -> Result<Client, Error> {
        Ok(Client::new(self.resolve()?))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base_url", &self.base_url())
            .field("project_id", &self.project_id())
            .field("key_source", self.key_source())
            .finish_non_exhaustive()
    }
}
