//! A thread that sends messages, one after the other.
//!
//! Every message takes the same way: its line `sending` is on the disk before its first byte can leave, and its outcome is on the
//! disk before the thread takes another message.

use std::sync::Arc;
use std::time::Instant;

use crate::batch::events::{BatchEvent, BatchUpdate};
use crate::batch::journal::item_lines;
use crate::batch::journal::line::LineSpan;
use crate::batch::journal::reason::refused_again;
use crate::batch::pace::failure_scope::{FailureScope, failure_scope, recorded_delivery};
use crate::batch::run::engine::Engine;
use crate::batch::run::job_waiters::{self, begin_wait};
use crate::batch::run::state::{Role, SendTask};
use crate::batch::run::stop_errors::no_thread;
use crate::call::request_loop::execute;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;
use crate::operation::Operation;
use crate::wait::poller::Poller;

/// Sends one message after the other until none is left.
pub(crate) fn run(engine: &Arc<Engine>) {
    let mut state = engine.lock();
    loop {
        if engine.is_cancelled() {
            state.stopping.get_or_insert_with(Instant::now);
        }
        match state.next_send(engine.now()) {
            SendTask::Done => break,
            SendTask::WaitUntil(time) => state = engine.sleep(&engine.for_senders, state, time),
            SendTask::Send { at, poll_first } => {
                drop(state);
                engine.deliver(at, poll_first);
                state = engine.lock();
                // Other senders may have waited for this: the job's next message is ready, a probe or the batch has ended.
                engine.for_senders.notify_all();
            }
        }
    }
    drop(state);
    engine.for_senders.notify_all();
    engine.for_job_waiters.notify_all();
}

/// How the sending of a message ended.
struct SendResult {
    delivery: Delivery,
    /// Whether the service said whether it accepted the message.
    responded: bool,
    /// Whether it was a probe, sent after a poll of its job had succeeded.
    was_probe: bool,
    job: Option<Job>,
    error: Option<Error>,
    poller: Option<Poller>,
}

impl Engine {
    fn deliver(self: &Arc<Engine>, at: u32, poll_first: bool) {
        let (place, item) = (at as usize, &self.items[at as usize]);
        let put_back = || {
            let mut state = self.lock();
            state.window.cancel();
            state.put_back(at, false);
        };
        if poll_first {
            // A poll delivers nothing, so no failure of it leaves a message's delivery unknown.
            let polled =
                execute(&self.shared, &Operation::GetJob { job_id: item.job_id() }, &self.call_options(), Some(0));
            if let Err(error) = polled
                && failure_scope(&error) != FailureScope::Item
            {
                // The pause has to begin before another sender can take the message.
                self.handle_failure(&error);
                return put_back();
            }
            if self.is_stopping() {
                return put_back();
            }
        }
        let written = self.journal.append_sending(item_lines::sending(place, item, self.clock.stamp()));
        if let Err(error) = written.and_then(|span| self.sync(span, ["sending_written", "sending_synced"])) {
            // The batch has to stop before another sender can take the message.
            self.stop(Some(error));
            return put_back();
        }
        let sent = self.send(at, poll_first);
        self.checkpoint("answered");
        self.record(at, &sent);
        if let Some(error) = &sent.error {
            // The pause has to begin before another sender can take the message.
            self.handle_failure(error);
        }
        self.settle(at, sent);
    }

    fn send(&self, at: u32, was_probe: bool) -> SendResult {
        let (place, item) = (at as usize, &self.items[at as usize]);
        let message = Operation::SendMessage { job_id: item.job_id(), prompt: item.prompt().into() };
        let (delivery, job, error) = match execute(&self.shared, &message, &self.call_options(), Some(0)) {
            Ok(job) => (Delivery::Accepted, Some(job), None),
            Err(error) => (recorded_delivery(&error), None, Some(error)),
        };
        let responded = !matches!(delivery, Delivery::Unknown | Delivery::NotSent);
        // A rejection of the second send says nothing about the first.
        let is_still_unknown = delivery == Delivery::Rejected && self.lock().earlier_send_unknown[place];
        let (delivery, error) = match error {
            Some(error) if is_still_unknown => (Delivery::Unknown, Some(refused_again(item.job_id(), &error))),
            error => (delivery, error),
        };
        let poller = match (&self.options.wait, delivery) {
            (Some(wait), Delivery::Accepted) => Some(begin_wait(&self.shared, item.job_id(), wait, job.clone())),
            _ => None,
        };
        SendResult { delivery, responded, was_probe, job, error, poller }
    }

    /// Writes the outcome to the journal. A failure stops the batch before the message can be sent again: the journal must not have
    /// a second send before the end of the first.
    fn record(&self, at: u32, sent: &SendResult) {
        let (place, item, now) = (at as usize, &self.items[at as usize], self.clock.stamp());
        let (job, error, poller) = (sent.job.as_ref(), sent.error.as_ref(), sent.poller.as_ref());
        let outcome = item_lines::Outcome { delivery: sent.delivery, job, error, poller };
        let line = self.with_record_filter(place, |filter| item_lines::outcome(place, item, &outcome, filter, now));
        let written = self.journal.append_outcome(line, || item_lines::short_outcome(place, item, &outcome, now));
        if let Err(error) = written.and_then(|span| self.sync(span, ["ended_written", "ended_synced"])) {
            self.stop(Some(error));
        }
    }

    /// Syncs the journal up to a line that was written.
    fn sync(&self, span: LineSpan, [written, synced]: [&'static str; 2]) -> Result<(), Error> {
        self.checkpoint(written);
        self.journal.sync(span.end())?;
        self.checkpoint(synced);
        Ok(())
    }

    /// Updates the state with the outcome, and reports it.
    fn settle(self: &Arc<Engine>, at: u32, sent: SendResult) {
        let SendResult { delivery, responded, was_probe, job, error, poller } = sent;
        let now = self.now();
        let mut state = self.lock();
        // A message that the service responded to counts for the rate, even if it was not accepted.
        match delivery == Delivery::NotSent && error.as_ref().is_none_or(|error| error.http_status().is_none()) {
            true => state.window.cancel(),
            false => state.window.ended(now),
        }
        match delivery {
            Delivery::NotSent => {
                let service_failed = error.as_ref().is_some_and(|error| failure_scope(error) == FailureScope::Service);
                return state.put_back(at, was_probe && service_failed);
            }
            Delivery::Accepted => state.progress.accepted += 1,
            Delivery::Rejected => state.progress.rejected += 1,
            Delivery::Unknown => state.progress.unknown += 1,
        }
        state.settle(at, &self.items);
        if responded && state.breaker.record_response() {
            state.events.push_back(BatchEvent::Update(BatchUpdate::Resumed));
        }
        match poller {
            Some(poller) if !poller.is_done() => {
                let job_id = self.items[at as usize].job_id().into();
                let update = BatchUpdate::Accepted { number: u64::from(at) + 1, job_id, job };
                state.events.push_back(BatchEvent::Update(update));
                state.wait_for_job(at, Box::new(poller), now);
                let is_first = state.job_waiters == 0 && state.stopping.is_none();
                if is_first {
                    state.thread_started(Role::JobWaiter);
                }
                drop(state);
                match is_first.then(|| self.spawn(Role::JobWaiter, job_waiters::run)) {
                    Some(Err(error)) => self.stop(Some(no_thread(&error))),
                    _ => self.for_job_waiters.notify_one(),
                }
                self.for_owner.notify_all();
            }
            Some(_) => {
                drop(state);
                if let Some(job) = &job {
                    self.record_finished(at, job);
                }
                self.report_outcome(at, delivery, job, None);
            }
            None => {
                drop(state);
                self.report_outcome(at, delivery, job, error);
            }
        }
    }
}
