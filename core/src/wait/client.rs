//! The client's waits: all of them drive a [`Poller`] and pause between its looks.

use std::time::Duration;

use crate::call::prompt::Prompt;
use crate::client::Client;
use crate::delivery::Delivery;
use crate::duration::check_time;
use crate::error::Error;
use crate::http::failure::Cause;
use crate::job::Job;
use crate::wait::options::WaitOptions;
use crate::wait::poller::Poller;

impl Client {
    /// Waits until a job is `completed`, `archived` or `failed`, and answers its last record.
    ///
    /// A failed poll (connection, timeout, 408, 429, 5xx, a 2xx that is not this job's record) never ends a wait before its
    /// time is over. Right after a message of this client, a finished record counts only once the job was seen active (any
    /// status that is not terminal) or `settle` has passed.
    ///
    /// # Errors
    /// `WaitTimeout` with the last record; `Authentication`, `PermissionDenied`, `NotFound`, `BadRequest`, `Tls`, `Redirect`,
    /// `Cancelled`, `Closed`, `InvalidArgument`.
    pub fn wait(&self, job_id: &str, options: &WaitOptions) -> Result<Job, Error> {
        let mut poller = self.poller(job_id, options)?;
        self.run(&mut poller, options)
    }

    /// Sends a message and waits for its result: [`send_message`](Client::send_message), then [`wait`](Client::wait).
    ///
    /// # Errors
    /// As both. Once the message was accepted every error says so: [`Delivery::Accepted`].
    pub fn send_and_wait<'a>(
        &self,
        job_id: &str,
        prompt: impl Into<Prompt<'a>>,
        options: &WaitOptions,
    ) -> Result<Job, Error> {
        let mut poller = self.send_and_poll(job_id, prompt, options)?;
        self.run(&mut poller, options).map_err(|error| error.with_delivery(Some(Delivery::Accepted)))
    }

    /// Sends a message, and answers the wait for its result in steps, for programs that own their loop. The message's own
    /// answer is the poller's first record.
    ///
    /// # Errors
    /// As [`send_message`](Client::send_message), and `Cancelled`.
    pub fn send_and_poll<'a>(
        &self,
        job_id: &str,
        prompt: impl Into<Prompt<'a>>,
        options: &WaitOptions,
    ) -> Result<Poller, Error> {
        options.schedule.check().map_err(|error| error.with_delivery(Some(Delivery::NotSent)))?;
        let answer = self.send_message_with(job_id, prompt, &options.call)?;
        Ok(Poller::after_message(job_id, options.schedule, answer, &self.shared.config.redactor()))
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
        options.call.timeout.map_or(Ok(Duration::ZERO), |timeout| check_time("timeout", timeout))?;
        Poller::new(job_id, options.schedule, self.shared.recent_deliveries.of(job_id))
    }

    fn run(&self, poller: &mut Poller, options: &WaitOptions) -> Result<Job, Error> {
        updated(poller, options)?;
        while !poller.is_done() {
            self.step(poller, options)?;
            updated(poller, options)?;
        }
        Ok(poller.job().expect("a wait that is done has seen its job").clone())
    }

    fn step(&self, poller: &mut Poller, options: &WaitOptions) -> Result<(), Error> {
        self.shared.connections.pause(poller.due_in(), &options.call).map_err(|cause| poller.interrupted(cause))?;
        poller.poll_with(&self.shared, &options.call).map(|_| ())
    }
}

/// Tells the call's control of a record that differs from the one before it.
fn updated(poller: &Poller, options: &WaitOptions) -> Result<(), Error> {
    match (&options.call.control, poller.job()) {
        (Some(control), Some(job)) if poller.changed() => {
            control.update(job).map_err(|_| poller.interrupted(Cause::Cancelled))
        }
        _ => Ok(()),
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
