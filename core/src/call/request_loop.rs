//! One call's requests, made until one of them settles it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::call::event::Event;
use crate::call::meta::ResponseMeta;
use crate::call::options::CallOptions;
use crate::call::recent_deliveries::Sending;
use crate::call::response::{self, Failure};
use crate::call::response_text::no_other_key;
use crate::call::retry::{Decision, Failed, Limits, decide};
use crate::call::secrets::CallSecrets;
use crate::config::api_keys::{KeyRing, Renewed};
use crate::config::request_head::RequestHead;
use crate::delivery::{Delivery, Situation};
use crate::duration::check_time;
use crate::error::Error;
use crate::error::sentence::Subject;
use crate::http::cause::Cause;
use crate::http::exchange::{Exchange, Reply};
use crate::http::header_fields::header_fields;
use crate::jitter;
use crate::job::Job;
use crate::operation::Operation;
use crate::redact::Redactor;
use crate::shared::Shared;
use crate::text::describe;

/// Checks the arguments, then makes the call's requests until one settles it. `max_retries` overrides the client's.
pub(crate) fn execute(
    shared: &Shared,
    operation: &Operation<'_>,
    call: &CallOptions,
    max_retries: Option<u32>,
) -> Result<Job, Error> {
    let not_sent = |error: Error| error.with_delivery(operation.delivers().then_some(Delivery::NotSent));
    operation.check(shared.config.max_prompt_bytes).map_err(not_sent)?;
    let timeout = call.timeout.map_or(Ok(shared.config.timeout), |t| check_time("timeout", t)).map_err(not_sent)?;
    let max_retries = max_retries.unwrap_or(shared.config.limits.max_retries);
    let limits = Limits { max_retries, ..shared.config.limits };
    let head = match &call.headers {
        None => shared.config.request_head.clone(),
        Some(headers) => Arc::new(shared.config.request_head.with_headers(headers).map_err(not_sent)?),
    };
    RequestLoop::new(shared, operation, call, head, limits, timeout).run()
}

/// A call in progress.
pub(crate) struct RequestLoop<'a> {
    shared: &'a Shared,
    operation: &'a Operation<'a>,
    call: &'a CallOptions,
    head: Arc<RequestHead>,
    limits: Limits,
    body: Option<Cow<'a, [u8]>>,
    began: Instant,
    deadline: Instant,
    /// The process that began the call.
    pid: u32,
    /// Requests made.
    made: u32,
    /// When the last one had its response; before the first one, when the call began.
    ended: Instant,
    failed: Counts,
    /// The key of the last request.
    key: Option<Arc<KeyRing>>,
    /// The next request uses no kept connection.
    fresh: bool,
    /// The verdict of the requests so far: no earlier one was delivered, or there would be no next one.
    verdict: Option<Delivery>,
    /// While a request with a message to a job is in flight: what a wait reads meanwhile may be the result from before the message.
    sending: Option<Sending<'a>>,
}

/// The counts that the retry table needs.
#[derive(Default)]
struct Counts {
    earlier: u32,
    once_used: bool,
    key_refused: bool,
}

impl<'a> RequestLoop<'a> {
    pub(crate) fn new(
        shared: &'a Shared,
        operation: &'a Operation<'a>,
        call: &'a CallOptions,
        head: Arc<RequestHead>,
        limits: Limits,
        timeout: Duration,
    ) -> RequestLoop<'a> {
        let now = Instant::now();
        let began = call.started_at.unwrap_or(now);
        RequestLoop {
            shared,
            operation,
            call,
            head,
            limits,
            body: operation.body(),
            began,
            deadline: began + timeout,
            pid: std::process::id(),
            made: 0,
            ended: now,
            failed: Counts::default(),
            key: None,
            fresh: false,
            verdict: operation.delivers().then_some(Delivery::NotSent),
            sending: None,
        }
    }

    pub(crate) fn run(mut self) -> Result<Job, Error> {
        // Whatever ends the call in a forked child, nothing but its parent knows what happens to the message.
        self.make_requests().map_err(|error| if std::process::id() == self.pid { error } else { self.left_to_parent() })
    }

    fn make_requests(&mut self) -> Result<Job, Error> {
        self.obtain_key()?;
        loop {
            self.sending = self.sending();
            let failure = match self.attempt()? {
                Ok(job) => {
                    self.remember(Some(&job));
                    return Ok(job);
                }
                Err(failure) => failure,
            };
            match decide(&self.judged(&failure), &self.limits, jitter::draw()) {
                Decision::Stop => {
                    if matches!(failure.error.delivery(), Some(Delivery::Accepted | Delivery::Unknown)) {
                        self.remember(None);
                    }
                    return Err(failure.error.with_effort(self.made, self.began.elapsed()));
                }
                Decision::RetryWithAnotherKey => {
                    self.sending = None;
                    self.renew_key(failure)?;
                }
                Decision::Retry { after, on_new_connection, once } => {
                    self.sending = None;
                    self.count(&failure, once);
                    self.fresh = on_new_connection;
                    self.pause(after, &failure)?;
                }
            }
        }
    }

    /// Makes one request.
    fn attempt(&mut self) -> Result<Result<Job, Failure>, Error> {
        let attempt = self.made + 1;
        let (operation, job_id) = (self.operation.name(), self.operation.job_id().into());
        let event = Event::Attempt { operation, job_id, attempt, item: self.call.item };
        let begun = self.shared.connections.check_flags(self.call).and_then(|()| self.check_time());
        begun.and_then(|()| self.shared.notify(self.call, &event)).map_err(|cause| self.interrupted(cause))?;
        self.made = attempt;
        let (path, body) = (self.operation.path(&self.shared.config.jobs_path), self.body.as_deref());
        let (deadline, new_connection, pid, call) = (self.deadline, self.fresh, self.pid, self.call);
        let began = Instant::now();
        let wants_event = self.shared.wants_responses(call);
        // Asking is a system call, so only where a function of the program, which may fork, has run.
        if (wants_event || attempt > 1 || self.shared.config.keys.has_function()) && std::process::id() != pid {
            return Err(self.left_to_parent());
        }
        let (key, head) = (&*self.key.insert(self.shared.config.keys.current(pid)), &self.head);
        let exchange = Exchange { path, key, head, body, deadline, new_connection, pid, call };
        let ended = self.shared.connections.exchange(&self.shared.config, exchange);
        self.ended = ended.as_ref().map_or_else(|_| Instant::now(), |reply| reply.at);
        let secrets = CallSecrets::new(&self.shared.config, key.clone(), call);
        let redactor = Redactor::new(&secrets);
        let response = ended.as_ref().ok().filter(|_| wants_event).map(|reply| self.response(reply, began, &redactor));
        let meta = ended.as_ref().ok().filter(|_| call.meta.is_some()).map(|reply| self.meta(reply, &redactor));
        let ended_by = ended.as_ref().ok().and_then(|reply| reply.ended_by.clone());
        let read = response::read(self.operation, ended, &redactor);
        // After the verdict: an event handler that ends the call must not change what is known about the message.
        if let Err(cause) = response.map_or(Ok(()), |event| self.shared.notify(call, &event)) {
            return Err(self.interrupted_after(cause, &read, &redactor));
        }
        if let Some(cause @ (Cause::Cancelled | Cause::Closed)) = ended_by {
            return Err(self.interrupted_after(cause, &read, &redactor));
        }
        if let (Ok(job), Some(meta), Some(handler)) = (&read, meta, &call.meta) {
            handler(&meta.of_job(job));
        }
        Ok(read)
    }

    /// The metadata of a response, in case it is a success.
    fn meta(&self, reply: &Reply, redactor: &Redactor<'_>) -> ResponseMeta {
        let (headers, headers_cut) = header_fields(&reply.headers, redactor);
        ResponseMeta {
            operation: self.operation.name(),
            job_id: self.operation.job_id().into(),
            status: reply.status,
            headers,
            headers_cut,
            request_id: reply.headers.request_id(redactor),
            bytes: reply.body.len() as u64,
            attempts: self.made,
            elapsed: reply.at.saturating_duration_since(self.began),
            timings: reply.timings,
        }
    }

    /// The event of a response.
    fn response(&self, reply: &Reply, began: Instant, redactor: &Redactor<'_>) -> Event<'a> {
        Event::Response {
            operation: self.operation.name(),
            job_id: self.operation.job_id().into(),
            attempt: self.made,
            status: reply.status,
            request_id: reply.headers.request_id(redactor).map(Into::into),
            bytes: reply.body.len() as u64,
            elapsed: reply.at.saturating_duration_since(began),
            timings: reply.timings,
            item: self.call.item,
        }
    }

    /// The caller ended the call when it had a response. The record of a new job is the only thing that has its id.
    fn interrupted_after(&mut self, cause: Cause, read: &Result<Job, Failure>, redactor: &Redactor<'_>) -> Error {
        self.verdict = match read {
            Ok(_) => self.operation.delivers().then_some(Delivery::Accepted),
            Err(failure) => failure.error.delivery(),
        };
        if matches!(self.verdict, Some(Delivery::Accepted | Delivery::Unknown)) {
            self.remember(read.as_ref().ok());
        }
        let error = self.interrupted(cause);
        match read {
            Ok(job) if matches!(self.operation, Operation::CreateJob { .. }) => {
                error.about(Subject::NewJob(describe(&redactor.redact_beginning(job.id())))).with_job(Some(job.clone()))
            }
            _ => error,
        }
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// A call may have timed out while it was queued.
    fn check_time(&self) -> Result<(), Cause> {
        if self.time_left().is_zero() { Err(Cause::Timeout) } else { Ok(()) }
    }

    fn judged(&self, failure: &Failure) -> Failed {
        Failed {
            delivers: self.operation.delivers(),
            situation: failure.situation,
            is_step: self.call.is_step,
            retry_after: failure.error.retry_after(),
            earlier: self.failed.earlier,
            once_used: self.failed.once_used,
            key_refused: self.failed.key_refused,
            remaining: self.time_left(),
        }
    }

    fn count(&mut self, failure: &Failure, once: bool) {
        if failure.situation != Situation::StaleConnection {
            self.failed.earlier += 1;
            self.failed.once_used |= once;
        }
        self.verdict = failure.error.delivery();
    }

    /// Before the first request. A function of the program may take its time, which counts.
    fn obtain_key(&mut self) -> Result<(), Error> {
        let keys = &self.shared.config.keys;
        if keys.has_function() {
            self.shared.connections.check_flags(self.call).map_err(|cause| self.interrupted(cause))?;
        }
        keys.refresh(self.pid).map_err(|error| {
            let secrets = self.shared.secrets(self.call);
            let error = error.about(self.operation.subject()).with_delivery(self.verdict);
            error.redacted(&Redactor::new(&secrets)).with_effort(self.made, self.began.elapsed())
        })
    }

    /// After a 401: continues with another key, or ends the call if there is none.
    fn renew_key(&mut self, failure: Failure) -> Result<(), Error> {
        self.failed.key_refused = true;
        let refused = self.key.take().expect("a request was made");
        let error = match self.shared.config.keys.renew(self.pid, &refused) {
            Renewed::Yes => {
                self.verdict = failure.error.delivery();
                return self.pause(Duration::ZERO, &failure);
            }
            Renewed::No => failure.error,
            Renewed::Failed(mut why) => {
                let source = why.take_source();
                let secrets = self.shared.secrets(self.call);
                let why = why.redacted(&Redactor::new(&secrets));
                failure.error.with_hint(no_other_key(&why)).with_source(source)
            }
        };
        Err(error.with_effort(self.made, self.began.elapsed()))
    }

    fn pause(&self, delay: Duration, failure: &Failure) -> Result<(), Error> {
        let event = Event::Retry {
            operation: self.operation.name(),
            job_id: self.operation.job_id().into(),
            attempt: self.made,
            delay,
            reason: failure.error.unquoted_reason().into(),
            item: self.call.item,
        };
        let paused =
            self.shared.notify(self.call, &event).and_then(|()| self.shared.connections.pause(delay, self.call));
        paused.map_err(|cause| self.interrupted(cause))
    }

    /// A function of the program that this call ran has forked, and this is the child: its parent makes the call.
    fn left_to_parent(&self) -> Error {
        let verdict = self.operation.delivers().then_some(Delivery::Unknown);
        let sentence =
            "this call belongs to another process: a function that it called has forked, and this is the child";
        let error = Error::invalid(sentence).about(self.operation.subject()).with_delivery(verdict);
        error.with_effort(self.made, self.began.elapsed())
    }

    fn interrupted(&self, cause: Cause) -> Error {
        response::interrupted(self.operation, &cause, self.verdict).with_effort(self.made, self.began.elapsed())
    }

    /// Notes that a message to the job is in flight.
    fn sending(&self) -> Option<Sending<'a>> {
        let job_id = self.operation.job_id();
        let is_message = self.operation.delivers() && !job_id.is_empty();
        is_message.then(|| self.shared.recent_deliveries.sending(self.pid, job_id))
    }

    /// Notes that the job accepted a message, or may have, so that a wait does not take an older result for its own. `record` is that
    /// of a new job.
    fn remember(&mut self, record: Option<&Job>) {
        match (self.sending.take(), record) {
            (Some(sending), _) => sending.delivered(self.ended),
            (None, Some(job)) if self.operation.delivers() => {
                self.shared.recent_deliveries.created(self.pid, job.id(), self.ended);
            }
            (None, _) => {}
        }
    }
}
