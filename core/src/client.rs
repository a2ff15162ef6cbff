//! The client: arguments become an operation, the operation an exchange, the exchange a job or an error with its verdict.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::batch::handle::{BatchHandle, Batches};
use crate::call::options::CallOptions;
use crate::call::prompt::Prompt;
use crate::call::request_loop::execute;
use crate::config::builder::ClientBuilder;
use crate::config::client_options::ClientOptions;
use crate::config::secret::KeySource;
use crate::config::settings::Config;
use crate::error::Error;
use crate::job::Job;
use crate::operation::Operation;
use crate::shared::Shared;

/// A client of one project of one service. Cloning is cheap, and clones share connections.
///
/// It may be used from any number of threads at once. No thread runs and no connection is made before the first call.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Shared,
    pub(crate) batches: Arc<Batches>,
}

impl Client {
    /// Gathers the settings; see [`ClientBuilder`].
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn new(config: Config) -> Client {
        Client { shared: Shared::new(config), batches: Arc::default() }
    }

    /// Sends a follow-up instruction to a job, and answers the job's record (CONTRACT "send message").
    ///
    /// The record may still be the previous one: a job takes a message asynchronously.
    ///
    /// # Errors
    /// Every kind but `WaitTimeout` and `Cancelled`; each says with [`Error::delivery`] what became of the message.
    pub fn send_message<'a>(&self, job_id: &str, prompt: impl Into<Prompt<'a>>) -> Result<Job, Error> {
        self.send_message_with(job_id, prompt, &CallOptions::default())
    }

    /// [`send_message`](Client::send_message) with settings of its own.
    ///
    /// # Errors
    /// As `send_message`, and `Cancelled`.
    pub fn send_message_with<'a>(
        &self,
        job_id: &str,
        prompt: impl Into<Prompt<'a>>,
        call: &CallOptions,
    ) -> Result<Job, Error> {
        execute(&self.shared, &Operation::SendMessage { job_id, prompt: prompt.into() }, call, None)
    }

    /// Asks for a job's record (CONTRACT "get job").
    ///
    /// # Errors
    /// Every kind but `WaitTimeout` and `Cancelled`.
    pub fn get_job(&self, job_id: &str) -> Result<Job, Error> {
        self.get_job_with(job_id, &CallOptions::default())
    }

    /// [`get_job`](Client::get_job) with settings of its own.
    ///
    /// # Errors
    /// As `get_job`, and `Cancelled`.
    pub fn get_job_with(&self, job_id: &str, call: &CallOptions) -> Result<Job, Error> {
        execute(&self.shared, &Operation::GetJob { job_id }, call, None)
    }

    /// Creates a job, and answers its record (CONTRACT "create job").
    ///
    /// # Errors
    /// As [`send_message`](Client::send_message).
    pub fn create_job<'a>(&self, prompt: impl Into<Prompt<'a>>) -> Result<Job, Error> {
        self.create_job_with(prompt, &CallOptions::default())
    }

    /// [`create_job`](Client::create_job) with settings of its own.
    ///
    /// # Errors
    /// As `create_job`, and `Cancelled`.
    pub fn create_job_with<'a>(&self, prompt: impl Into<Prompt<'a>>, call: &CallOptions) -> Result<Job, Error> {
        execute(&self.shared, &Operation::CreateJob { prompt: prompt.into() }, call, None)
    }

    /// A client with the same connections and other settings. To close one of the two closes both.
    ///
    /// # Errors
    /// `InvalidArgument`, which names the setting.
    pub fn with_options(&self, options: ClientOptions) -> Result<Client, Error> {
        let mut config = (*self.shared.config).clone();
        options.apply(&mut config)?;
        Ok(Client { shared: self.shared.with_config(config), batches: self.batches.clone() })
    }

    /// Ends every call of this client and its clones, in every thread, with `Closed`, refuses new ones, and closes the
    /// connections that are kept. It does not block.
    ///
    /// A batch sends nothing more, and ends with `Closed`, but its messages in flight have their answers, for at most its
    /// [`grace`](crate::BatchOptions::grace): its own iterator or drop waits for them, or [`batches`](Client::batches).
    pub fn close(&self) {
        self.shared.connections.close(&self.shared.config);
        self.batches.close();
    }

    /// The batches of this client, its clones and those made by [`with_options`](Client::with_options) that are not gone, to wait for
    /// their answers after [`close`](Client::close).
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

    /// The project.
    pub fn project_id(&self) -> &str {
        &self.shared.config.project_id
    }

    /// The total time of one call.
    pub fn timeout(&self) -> Duration {
        self.shared.config.timeout
    }

    /// How often one call makes a failed request again.
    pub fn max_retries(&self) -> u32 {
        self.shared.config.limits.max_retries
    }

    /// Where the key came from.
    pub fn key_source(&self) -> &KeySource {
        &self.shared.config.key_source
    }
}

impl ClientBuilder {
    /// Checks every setting and makes the client. Nothing is sent, and no certificate store is read.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) names the first setting that is missing or wrong;
    /// [`Cancelled`](crate::ErrorKind::Cancelled) if the `control` ended it.
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
