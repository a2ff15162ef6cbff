//! The client: arguments become an operation, the operation an exchange, the exchange a job or an error with its verdict.

use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::attempts::Attempts;
use crate::config::{ClientBuilder, ClientOptions, Config, KeySource, LogLevel, check_time};
use crate::control::Event;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;
use crate::net::{Cause, Net};
use crate::operation::Operation;
use crate::options::CallOptions;
use crate::prompt::Prompt;
use crate::recent::Recent;

/// A client of one project of one service. Cloning is cheap, and clones share connections.
///
/// It may be used from any number of threads at once. No thread runs and no connection is made before the first call.
#[derive(Clone)]
pub struct Client {
    pub(crate) config: Arc<Config>,
    pub(crate) net: Arc<Net>,
    pub(crate) recent: Arc<Recent>,
}

impl Client {
    /// Gathers the settings; see [`ClientBuilder`].
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn new(config: Config) -> Client {
        Client { net: Arc::new(Net::new(&config)), recent: Arc::default(), config: Arc::new(config) }
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
        self.execute(&Operation::SendMessage { job_id, prompt: prompt.into() }, call, None)
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
        self.execute(&Operation::GetJob { job_id }, call, None)
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
        self.execute(&Operation::CreateJob { prompt: prompt.into() }, call, None)
    }

    /// A client with the same connections and other settings. To close one of the two closes both.
    ///
    /// # Errors
    /// `InvalidArgument`, which names the setting.
    pub fn with_options(&self, options: ClientOptions) -> Result<Client, Error> {
        let mut config = (*self.config).clone();
        options.apply(&mut config)?;
        Ok(Client { config: Arc::new(config), ..self.clone() })
    }

    /// Ends every call of this client and its clones, in every thread, with `Closed`, refuses new ones, and closes the
    /// connections that are kept.
    pub fn close(&self) {
        self.net.close(&self.config);
    }

    /// Whether [`close`](Client::close) was called.
    pub fn is_closed(&self) -> bool {
        self.net.is_closed()
    }

    /// The base URL, without a slash at its end.
    pub fn base_url(&self) -> &str {
        &self.config.endpoint.url
    }

    /// The project.
    pub fn project_id(&self) -> &str {
        &self.config.project_id
    }

    /// The total time of one call.
    pub fn timeout(&self) -> Duration {
        self.config.timeout
    }

    /// How often one call makes a failed request again.
    pub fn max_retries(&self) -> u32 {
        self.config.limits.max_retries
    }

    /// Where the key came from.
    pub fn key_source(&self) -> &KeySource {
        &self.config.key_source
    }

    /// Tells the client's handler, the log and the call's control, which may end the call.
    pub(crate) fn tell(&self, call: &CallOptions, event: &Event<'_>) -> Result<(), Cause> {
        if let Some(handler) = &self.config.on_event {
            handler(event);
        }
        let level = if matches!(event, Event::Attempt { .. }) { LogLevel::Debug } else { LogLevel::Info };
        if self.config.log >= level {
            // The job's id is the caller's word, which may be anything.
            let line = format!("agentjob: {event}\n");
            // A standard error that nobody reads any more is no reason to fail.
            drop(std::io::stderr().write_all(self.config.redactor().redact(&line).as_bytes()));
        }
        match &call.control {
            Some(control) => control.event(event).map_err(|_| Cause::Cancelled),
            None => Ok(()),
        }
    }

    /// Whether anybody listens to events.
    pub(crate) fn is_heard(&self, call: &CallOptions) -> bool {
        self.config.on_event.is_some() || self.config.log > LogLevel::Off || call.control.is_some()
    }

    /// Checks the arguments, then makes the call's requests until one settles it. `max_retries` overrides the client's.
    pub(crate) fn execute(
        &self,
        operation: &Operation<'_>,
        call: &CallOptions,
        max_retries: Option<u32>,
    ) -> Result<Job, Error> {
        let not_sent = |error: Error| error.with_delivery(operation.delivers().then_some(Delivery::NotSent));
        operation.check(self.config.max_prompt_bytes).map_err(not_sent)?;
        let timeout = call.timeout.map_or(Ok(self.config.timeout), |t| check_time("timeout", t)).map_err(not_sent)?;
        let mut limits = self.config.limits;
        limits.max_retries = max_retries.unwrap_or(limits.max_retries);
        Attempts::new(self, operation, call, limits, timeout).run()
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
