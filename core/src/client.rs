//! The client: arguments become an operation, the operation an exchange, the exchange a job or an error with its verdict.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config::{ClientBuilder, Config, KeySource, LogLevel, check_time};
use crate::control::{CallOptions, Event};
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::job::Job;
use crate::net::{Exchange, Net};
use crate::operation::Operation;
use crate::outcome::{self, Failure};
use crate::poller::{Poller, WaitOptions};
use crate::recent::Recent;
use crate::retry::{Decision, Failed, decide};

/// A client of one project of one service. Cloning is cheap, and clones share connections.
///
/// It may be used from any number of threads at once. No thread runs and no connection is made before the first call.
#[derive(Clone)]
pub struct Client {
    config: Arc<Config>,
    net: Arc<Net>,
    recent: Arc<Recent>,
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
    /// Every kind but `WaitTimeout`; each says with [`Error::delivery`] what became of the message.
    pub fn send_message(&self, job_id: &str, prompt: &str) -> Result<Job, Error> {
        self.send_message_with(job_id, prompt, &CallOptions::default())
    }

    /// [`send_message`](Client::send_message) with settings of its own.
    ///
    /// # Errors
    /// As `send_message`, and `Cancelled`.
    pub fn send_message_with(&self, job_id: &str, prompt: &str, call: &CallOptions) -> Result<Job, Error> {
        self.execute(&Operation::SendMessage { job_id, prompt }, call, None)
    }

    /// Asks for a job's record (CONTRACT "get job").
    ///
    /// # Errors
    /// Every kind but `WaitTimeout`.
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
    pub fn create_job(&self, prompt: &str) -> Result<Job, Error> {
        self.create_job_with(prompt, &CallOptions::default())
    }

    /// [`create_job`](Client::create_job) with settings of its own.
    ///
    /// # Errors
    /// As `create_job`, and `Cancelled`.
    pub fn create_job_with(&self, prompt: &str, call: &CallOptions) -> Result<Job, Error> {
        self.execute(&Operation::CreateJob { prompt }, call, None)
    }

    /// Waits until a job is `completed`, `archived` or `failed`, and answers its last record.
    ///
    /// A failed look (connection, timeout, 408, 429, 5xx) never ends a wait before its time is over. Right after a message
    /// of this client, a finished record counts only once the job was seen at work or `settle` has passed.
    ///
    /// # Errors
    /// `WaitTimeout` with the last record; `Unauthorized`, `Forbidden`, `NotFound`, `BadRequest`, `InvalidResponse`, `Tls`,
    /// `Cancelled`, `Closed`, `InvalidArgument`.
    pub fn wait(&self, job_id: &str, options: &WaitOptions) -> Result<Job, Error> {
        let mut poller = self.poller(job_id, options)?;
        self.run(&mut poller, options)
    }

    /// Sends a message and waits for its result: [`send_message`](Client::send_message), then [`wait`](Client::wait).
    ///
    /// # Errors
    /// As both. Once the message was accepted every error says so: [`Delivery::Accepted`].
    pub fn send_and_wait(&self, job_id: &str, prompt: &str, options: &WaitOptions) -> Result<Job, Error> {
        options.schedule.check().map_err(|error| error.with_delivery(Some(Delivery::NotSent)))?;
        let answer = self.send_message_with(job_id, prompt, &options.call)?;
        let mut poller = Poller::after_message(job_id, options.schedule, answer);
        self.run(&mut poller, options).map_err(|error| error.with_delivery(Some(Delivery::Accepted)))
    }

    /// The records of a job as they change, the last one terminal.
    ///
    /// Each item blocks until there is one. After an error, and after the last record, there are no more.
    ///
    /// # Errors
    /// The items' are those of [`wait`](Client::wait); this call's own is `InvalidArgument`.
    pub fn watch(&self, job_id: &str, options: &WaitOptions) -> Result<Watch, Error> {
        Ok(Watch { client: self.clone(), poller: self.poller(job_id, options)?, options: options.clone(), over: false })
    }

    /// A wait in steps, for programs that own their loop.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn poller(&self, job_id: &str, options: &WaitOptions) -> Result<Poller, Error> {
        Poller::new(job_id, options.schedule, self.recent.of(job_id))
    }

    /// Ends every call of this client and its clones, in every thread, with `Closed`, and refuses new ones.
    pub fn close(&self) {
        self.net.close();
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

    /// One poll: one request, within what is left of the wait.
    pub(crate) fn look(&self, job_id: &str, call: &CallOptions, left: Option<Duration>) -> Result<Job, Error> {
        let timeout = call.timeout.unwrap_or(self.config.timeout);
        let call = CallOptions { timeout: Some(left.map_or(timeout, |left| timeout.min(left))), ..call.clone() };
        self.execute(&Operation::GetJob { job_id }, &call, Some(0))
    }

    /// A wait of this client saw its job done.
    pub(crate) fn settled(&self, job_id: &str) {
        self.recent.settled(job_id);
    }

    fn run(&self, poller: &mut Poller, options: &WaitOptions) -> Result<Job, Error> {
        if poller.changed() {
            self.updated(poller, options)?;
        }
        while !poller.is_done() {
            self.step(poller, options)?;
            if poller.changed() {
                self.updated(poller, options)?;
            }
        }
        Ok(poller.job().expect("a wait that is done has seen its job").clone())
    }

    fn step(&self, poller: &mut Poller, options: &WaitOptions) -> Result<(), Error> {
        let subject = Operation::GetJob { job_id: poller.job_id() }.subject();
        self.net.pause(poller.due_in(), &options.call).map_err(|cause| {
            outcome::interrupted(&subject, cause, None)
                .with_effort(poller.polls(), poller.elapsed())
                .with_job(poller.job().cloned())
        })?;
        poller.poll(self, &options.call).map(|_| ())
    }

    fn updated(&self, poller: &Poller, options: &WaitOptions) -> Result<(), Error> {
        let (Some(control), Some(job)) = (&options.call.control, poller.job()) else { return Ok(()) };
        control.update(job).map_err(|_| {
            let subject = format!("wait for job {}", poller.job_id());
            outcome::interrupted(&subject, crate::net::Cause::Cancelled, None).with_job(Some(job.clone()))
        })
    }

    /// Tells the client's handler, the call's control and the log.
    pub(crate) fn tell(&self, call: &CallOptions, event: &Event<'_>) -> Result<(), Error> {
        if let Some(handler) = &self.config.on_event {
            handler(event);
        }
        let level = if matches!(event, Event::Attempt { .. }) { LogLevel::Debug } else { LogLevel::Info };
        if self.config.log >= level {
            eprintln!("agentjob: {event}");
        }
        match &call.control {
            Some(control) => control.event(event).map_err(|_| Error::new(ErrorKind::Cancelled, "ended by its caller")),
            None => Ok(()),
        }
    }

    /// Makes a call's requests until one settles it. `max_retries` overrides the client's.
    fn execute(&self, operation: &Operation<'_>, call: &CallOptions, max_retries: Option<u32>) -> Result<Job, Error> {
        let not_sent = |error: Error| error.with_delivery(operation.delivers().then_some(Delivery::NotSent));
        operation.check(self.config.max_prompt_bytes).map_err(not_sent)?;
        let timeout = call.timeout.map_or(Ok(self.config.timeout), |t| check_time("timeout", t)).map_err(not_sent)?;

        let began = Instant::now();
        let deadline = began + timeout;
        let mut limits = self.config.limits;
        limits.max_retries = max_retries.unwrap_or(limits.max_retries);
        let pid = std::process::id();
        let (path, body) = (operation.path(&self.config.project_id), operation.body());
        let (mut attempt, mut earlier, mut earlier_stale, mut fresh) = (0, 0, 0, false);
        loop {
            attempt += 1;
            let event = Event::Attempt { operation: operation.name(), job_id: operation.job_id(), attempt };
            self.tell(call, &event)
                .map_err(|error| not_sent(self.ended_by_caller(operation, error, attempt - 1, began)))?;
            let exchange = Exchange { path: &path, body: body.as_deref(), deadline, fresh, pid, call };
            let failure = match outcome::read(operation, self.net.exchange(&self.config, &exchange)) {
                Ok(job) => {
                    if operation.delivers() {
                        let asked = operation.job_id();
                        self.recent.note(pid, if asked.is_empty() { job.id() } else { asked }, &job);
                    }
                    return Ok(job);
                }
                Err(failure) => failure,
            };
            let failed = Failed {
                delivers: operation.delivers(),
                situation: failure.situation,
                retry_after: failure.error.retry_after(),
                earlier,
                earlier_stale,
                remaining: deadline.saturating_duration_since(Instant::now()),
            };
            let Decision::Retry { after, on_new_connection } = decide(&failed, &limits, fastrand::f64()) else {
                return Err(failure.error.with_effort(attempt, began.elapsed()));
            };
            let stale = failed.situation == crate::delivery::Situation::StaleConnection;
            (earlier, earlier_stale) = if stale { (earlier, earlier_stale + 1) } else { (earlier + 1, earlier_stale) };
            fresh = on_new_connection;
            self.pause_before_retry(operation, call, attempt, after, &failure, began)?;
        }
    }

    fn pause_before_retry(
        &self,
        operation: &Operation<'_>,
        call: &CallOptions,
        attempt: u32,
        delay: Duration,
        failure: &Failure,
        began: Instant,
    ) -> Result<(), Error> {
        let event = Event::Retry {
            operation: operation.name(),
            job_id: operation.job_id(),
            attempt,
            delay,
            reason: failure.error.message(),
        };
        // Whatever ends the pause, the verdict is that of the request before it.
        let verdict = failure.error.delivery();
        self.tell(call, &event)
            .map_err(|error| self.ended_by_caller(operation, error, attempt, began).with_delivery(verdict))?;
        self.net.pause(delay, call).map_err(|cause| {
            outcome::interrupted(&operation.subject(), cause, verdict).with_effort(attempt, began.elapsed())
        })
    }

    fn ended_by_caller(&self, operation: &Operation<'_>, error: Error, attempts: u32, began: Instant) -> Error {
        debug_assert_eq!(error.kind(), ErrorKind::Cancelled);
        outcome::interrupted(&operation.subject(), crate::net::Cause::Cancelled, None)
            .with_effort(attempts, began.elapsed())
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

/// The records of a job as they change; see [`Client::watch`].
#[derive(Debug)]
pub struct Watch {
    client: Client,
    poller: Poller,
    options: WaitOptions,
    over: bool,
}

impl Iterator for Watch {
    type Item = Result<Job, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            let stepped = self.client.step(&mut self.poller, &self.options);
            self.over = stepped.is_err() || self.poller.is_done();
            match stepped {
                Err(error) => return Some(Err(error)),
                Ok(()) if self.poller.changed() || self.over => return self.poller.job().cloned().map(Ok),
                Ok(()) => {}
            }
        }
        None
    }
}
