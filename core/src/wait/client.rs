//! The client's waits: they drive a [`Poller`] and pause between its polls.

use crate::call::options::CallOptions;
use crate::call::prompt::Prompt;
use crate::client::Client;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::http::cause::Cause;
use crate::job::Job;
use crate::redact::Redactor;
use crate::wait::options::WaitOptions;
use crate::wait::poller::Poller;

impl Client {
    /// Waits until a job is `completed`, `archived` or `failed`, and returns its last record.
    ///
    /// A poll that fails for a passing reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) does not end
    /// the wait. If the deadline passes although a poll was due before, or a poll ends more than a second after it (the process was
    /// stopped), one more poll is made, with the call's `timeout`. After a message of this client, also one that is sent during the
    /// wait, a finished record counts only once a poll that began after it saw the job active (any status that is not terminal) or
    /// `settle` has passed.
    ///
    /// # Errors
    /// `WaitTimeout` at the deadline, with the last record unless that may be the previous result, and with why the last poll failed, if
    /// it did; `Authentication`, `PermissionDenied`, `NotFound`, `BadRequest`, `Tls`, `Redirect`, `Cancelled`, `Closed`,
    /// `InvalidArgument`.
    pub fn wait(&self, job_id: &str, options: &WaitOptions) -> Result<Job, Error> {
        let mut poller = self.poller(job_id, options)?;
        self.follow(&mut poller, options)
    }

    /// Sends a message and waits for its result: [`send_message`](Client::send_message), then [`wait`](Client::wait).
    ///
    /// # Errors
    /// Those of both. Once the message was accepted, every error says so: [`Delivery::Accepted`].
    pub fn send_and_wait<'a>(
        &self,
        job_id: &str,
        prompt: impl Into<Prompt<'a>>,
        options: &WaitOptions,
    ) -> Result<Job, Error> {
        let mut poller = self.send_and_poll(job_id, prompt, options)?;
        self.follow(&mut poller, options).map_err(|error| error.with_delivery(Some(Delivery::Accepted)))
    }

    /// Sends a message, and returns a poller for its result, for programs with a loop of their own. The response to the message is
    /// the poller's first record.
    ///
    /// # Errors
    /// Those of [`send_message`](Client::send_message), and `Cancelled`.
    pub fn send_and_poll<'a>(
        &self,
        job_id: &str,
        prompt: impl Into<Prompt<'a>>,
        options: &WaitOptions,
    ) -> Result<Poller, Error> {
        let schedule = options.resolve(&self.shared.config.waits);
        let schedule = schedule.map_err(|error| error.with_delivery(Some(Delivery::NotSent)))?;
        let response = self.send_message_with(job_id, prompt, &options.call)?;
        Ok(Poller::after_message(job_id, schedule, response, &Redactor::new(&self.shared.secrets(&options.call))))
    }

    /// An iterator over the records of a job as they change; the last one is terminal.
    ///
    /// `next` blocks until there is a record. After an error or the last record the iterator ends.
    ///
    /// # Errors
    /// `InvalidArgument`. The items have the errors of [`wait`](Client::wait).
    pub fn watch(&self, job_id: &str, options: &WaitOptions) -> Result<Watch, Error> {
        Ok(Watch {
            client: self.clone(),
            poller: self.poller(job_id, options)?,
            options: options.clone(),
            ended: false,
        })
    }

    /// A wait that the program polls itself, for programs with a loop of their own.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub fn poller(&self, job_id: &str, options: &WaitOptions) -> Result<Poller, Error> {
        Poller::new(job_id, options.resolve(&self.shared.config.waits)?, self.shared.recent_deliveries.of(job_id))
    }

    /// Continues a wait to its end.
    #[doc(hidden)]
    pub fn follow(&self, poller: &mut Poller, options: &WaitOptions) -> Result<Job, Error> {
        self.report_update(poller, options)?;
        while !poller.is_done() {
            self.poll_when_due(poller, options)?;
            self.report_update(poller, options)?;
        }
        Ok(poller.job().expect("a wait that is done has a record").clone())
    }

    fn poll_when_due(&self, poller: &mut Poller, options: &WaitOptions) -> Result<(), Error> {
        let paused = self.shared.connections.pause(poller.due_in(), &options.call);
        paused.map_err(|cause| self.interrupted(poller, options, cause))?;
        poller.poll_with(&self.shared, &options.call).map(|_| ())
    }

    /// Passes a record that differs from the one before to the call's control.
    fn report_update(&self, poller: &Poller, options: &WaitOptions) -> Result<(), Error> {
        match (&options.call.control, poller.job()) {
            (Some(control), Some(job)) if poller.changed() => {
                control.update(job).map_err(|_| self.interrupted(poller, options, Cause::Cancelled))
            }
            _ => Ok(()),
        }
    }

    fn interrupted(&self, poller: &Poller, options: &WaitOptions, cause: Cause) -> Error {
        poller.interrupted(cause, &Redactor::new(&self.shared.secrets(&options.call)))
    }
}

impl Poller {
    /// Polls the job once, now. Returns its last record if the job is done.
    ///
    /// A poll that fails for a passing reason (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) is
    /// counted and returns `None`.
    ///
    /// # Errors
    /// [`WaitTimeout`](crate::ErrorKind::WaitTimeout) at the deadline, with the last record unless that may be the previous result (one more
    /// poll is made first if one that was due before it was not made, or one ended more than a second after it);
    /// the errors of `get_job` that another poll would not change (401, 403, 404 and other 4xx); `Cancelled`, `Closed`.
    pub fn poll(&mut self, client: &Client, call: &CallOptions) -> Result<Option<Job>, Error> {
        self.poll_with(&client.shared, call)
    }
}

/// An iterator over the records of a job as they change; see [`Client::watch`].
#[derive(Debug)]
pub struct Watch {
    client: Client,
    poller: Poller,
    options: WaitOptions,
    ended: bool,
}

impl Iterator for Watch {
    type Item = Result<Job, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let polled = self.client.poll_when_due(&mut self.poller, &self.options);
            self.ended = polled.is_err() || self.poller.is_done();
            match polled {
                Err(error) => return Some(Err(error)),
                Ok(()) if self.poller.changed() || self.ended => return self.poller.job().cloned().map(Ok),
                Ok(()) => {}
            }
        }
        None
    }
}
