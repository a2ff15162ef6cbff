//! A thread that sends messages, one after the other.
//!
//! Every message takes the same way: its line `sending` is on the disk before its first byte can leave, and its outcome is on the
//! disk before the thread takes another message.

use std::sync::Arc;

use crate::batch::events::BatchUpdate;
use crate::batch::journal::item_lines;
use crate::batch::journal::line::LineSpan;
use crate::batch::journal::reason::refused_again;
use crate::batch::pace::failure_scope::{FailureScope, failure_scope, recorded_delivery};
use crate::batch::pace::sequence::{Next, Recheck};
use crate::batch::run::engine::Engine;
use crate::batch::run::job_waiters::begin_wait;
use crate::batch::run::state::SendTask;
use crate::call::request_loop::execute;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;
use crate::operation::Operation;
use crate::redact::Redactor;
use crate::wait::poller::Poller;

/// Sends one message after the other until none is left.
pub(crate) fn run(engine: &Arc<Engine>) {
    let mut state = engine.lock();
    loop {
        if engine.is_cancelled() {
            drop(state);
            engine.check_end();
            state = engine.lock();
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
    /// Its job is busy: when that is checked.
    busy: Option<Recheck>,
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
                execute(&self.shared, &Operation::GetJob { job_id: item.job_id() }, &self.call_options(at), Some(0));
            if let Err(error) = polled
                && !matches!(failure_scope(&error), FailureScope::Item | FailureScope::Job)
            {
                // The pause has to begin before another sender can take the message.
                self.handle_failure(&error);
                return put_back();
            }
            if self.is_stopping() {
                return put_back();
            }
        }
        let now = self.clock.stamp();
        let line = match item.own_key() {
            None => item_lines::sending(place, item, None, now),
            key => self.with_record_filter(|filter| item_lines::sending(place, item, filter.name(key), now)),
        };
        let written = self.journal.append_sending(line);
        if let Err(error) = written.and_then(|span| self.sync(span, ["sending_written", "sending_synced"])) {
            // The batch has to stop before another sender can take the message.
            self.stop(Some(error));
            return put_back();
        }
        let sent = self.send(at, poll_first);
        self.checkpoint("responded");
        self.record(at, &sent);
        if let Some(error) = &sent.error {
            // The pause has to begin before another sender can take the message.
            self.handle_failure(error);
        }
        self.settle(at, sent);
    }

    fn send(self: &Arc<Engine>, at: u32, was_probe: bool) -> SendResult {
        let (place, item) = (at as usize, &self.items[at as usize]);
        let message = Operation::SendMessage { job_id: item.job_id(), prompt: item.prompt().into() };
        let (delivery, job, error) = match execute(&self.shared, &message, &self.call_options(at), Some(0)) {
            Ok(job) => (Delivery::Accepted, Some(job), None),
            Err(error) => (recorded_delivery(&error), None, Some(error)),
        };
        let busy = error.as_ref().and_then(|error| self.recheck_if_busy(item, error));
        let (delivery, error) = match error {
            Some(error) if busy.is_none() && failure_scope(&error) == FailureScope::Job => {
                (Delivery::Rejected, Some(self.too_busy(error)))
            }
            error => (delivery, error),
        };
        let responded = busy.is_some() || !matches!(delivery, Delivery::Unknown | Delivery::NotSent);
        // A rejection of the second send says nothing about the first.
        let is_still_unknown = delivery == Delivery::Rejected && self.lock().earlier_send_unknown[place];
        let (delivery, error) = match error {
            Some(error) if is_still_unknown => (Delivery::Unknown, Some(refused_again(item.job_id(), &error))),
            error => (delivery, error),
        };
        let poller = match (&self.options.wait, delivery) {
            (Some(wait), Delivery::Accepted) => {
                let call = self.options.call();
                let secrets = self.shared.secrets(&call);
                Some(begin_wait(
                    item.job_id(),
                    wait.schedule.over(&self.shared.config.waits),
                    job.clone(),
                    &Redactor::new(&secrets),
                ))
            }
            _ => None,
        };
        SendResult { delivery, responded, was_probe, job, error, poller, busy }
    }

    /// Writes the outcome to the journal. A failure stops the batch before the message can be sent again: the journal must not have
    /// a second send before the end of the first.
    fn record(&self, at: u32, sent: &SendResult) {
        let (place, item, now) = (at as usize, &self.items[at as usize], self.clock.stamp());
        let (job, error, poller) = (sent.job.as_ref(), sent.error.as_ref(), sent.poller.as_ref());
        let outcome = item_lines::Outcome { delivery: sent.delivery, job, error, poller };
        let line = self.with_record_filter(|filter| item_lines::outcome(place, item, &outcome, filter, now));
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
        let SendResult { delivery, responded, was_probe, job, error, poller, busy } = sent;
        let is_done = poller.as_ref().is_some_and(Poller::is_done);
        if let (true, Some(job)) = (is_done, &job) {
            // Before another message of the job can leave.
            self.record_finished(at, Some(job));
        }
        if responded {
            self.record_response();
        }
        let now = self.now();
        let mut state = self.lock();
        // A message that the service responded to counts for the rate, even if it was not accepted.
        match delivery == Delivery::NotSent && error.as_ref().is_none_or(|error| error.http_status().is_none()) {
            true => state.window.cancel(),
            false => state.window.ended(now),
        }
        if let (Some(recheck), Some(error)) = (busy, &error) {
            state.in_flight -= 1;
            return self.wait_while_busy(state, at, recheck, error);
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
        let is_refusal = error.as_ref().is_some_and(|error| failure_scope(error) == FailureScope::Job);
        if !is_refusal {
            state.sequence.not_busy(self.items[at as usize].first_for_job);
        }
        let then = match delivery {
            Delivery::Unknown => Next::Hold,
            _ if poller.is_some() && !is_done => Next::AfterResult,
            _ => Next::Send,
        };
        match poller.filter(|_| !is_done) {
            Some(poller) => {
                let job_id = self.items[at as usize].job_id().into();
                let update = BatchUpdate::Accepted { number: u64::from(at) + 1, job_id, job };
                state.events.update(update);
                state.settle(at, &self.items, then);
                state.wait_for_job(at, Box::new(poller), now);
                self.start_polling(state);
            }
            None => {
                self.push_outcome(&mut state, at, delivery, job, error.filter(|_| !is_done));
                state.settle(at, &self.items, then);
                drop(state);
                self.notify_owner();
            }
        }
    }
}
