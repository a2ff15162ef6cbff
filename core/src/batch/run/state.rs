//! Where a running batch stands: what its threads share under one lock. Pure: its callers own the clock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::batch::events::{BatchEvent, BatchProgress};
use crate::batch::item::{Planned, chain};
use crate::batch::pace::circuit_breaker::{CircuitBreaker, Permit};
use crate::batch::pace::moment::{Moment, moment};
use crate::batch::pace::rate::RateWindow;
use crate::batch::pace::sequence::{Next, Sequence};
use crate::batch::run::event_queue::EventQueue;
use crate::batch::run::held::{HeldBehind, held_outcome};
use crate::batch::run::polls::{NextPoll, Polls};
use crate::delivery::Delivery;
use crate::error::Error;
use crate::wait::poller::Poller;

/// What a thread of a batch does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Sender,
    JobWaiter,
}

/// What a sender does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SendTask {
    /// Send this item. With `poll_first` it is a probe after a service failure: poll its job before, to see whether that succeeds.
    Send { at: u32, poll_first: bool },
    /// Wait for this time or for a change.
    WaitUntil(Moment),
    /// Nothing is left to send.
    Done,
}

/// What a job waiter does next.
#[derive(Debug)]
pub(crate) enum PollTask {
    /// Poll this item's job; `missed` is that of [`NextPoll`]. `is_parked`: the item was not sent yet, because its job is busy.
    Poll { at: u32, poller: Box<Poller>, missed: Option<Duration>, is_parked: bool },
    /// Wait for this time or for a change.
    WaitUntil(Moment),
    /// No job is left to wait for.
    Done,
}

#[derive(Debug)]
pub(crate) struct State {
    /// Items that may be sent, in their order; at most one of each job.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// How many items were put behind the others.
    put_behind: u64,
    /// Items that have not ended: ready, in flight, or behind another one for the same job.
    pub(crate) unsettled: Vec<bool>,
    /// Items that an earlier run may have delivered, and that the caller wants sent again.
    pub(crate) earlier_send_unknown: Vec<bool>,
    pub(crate) in_flight: usize,
    /// Which jobs' messages have to wait, and how many items wait for a busy job.
    pub(crate) sequence: Sequence,
    parked: usize,
    /// How many items stay behind an unknown one, or behind one whose wait has ended without a result.
    held: u64,
    pub(crate) window: RateWindow,
    pub(crate) breaker: CircuitBreaker,
    /// The jobs that are waited for.
    pub(crate) polls: Polls,
    /// What the owner has not taken yet.
    pub(crate) events: EventQueue,
    pub(crate) progress: BatchProgress,
    /// When this run began, and how many items it has ended since.
    pub(crate) began: Moment,
    pub(crate) ended: u64,
    /// When the batch began to stop, and when its calls in flight were cancelled.
    pub(crate) stopping: Option<Instant>,
    pub(crate) aborted: Option<Instant>,
    /// Why the batch stopped before its end.
    pub(crate) failure: Option<Error>,
    /// How many threads are running, and how many of them wait for jobs.
    threads: usize,
    pub(crate) job_waiters: usize,
    /// The last thread has ended, and has closed the journal.
    pub(crate) is_closed: bool,
}

impl State {
    pub(crate) fn new(items: usize, window: RateWindow, began: Moment) -> State {
        State {
            ready: BinaryHeap::new(),
            put_behind: 0,
            unsettled: vec![false; items],
            earlier_send_unknown: vec![false; items],
            in_flight: 0,
            sequence: Sequence::default(),
            parked: 0,
            held: 0,
            window,
            breaker: CircuitBreaker::default(),
            polls: Polls::default(),
            events: EventQueue::default(),
            progress: BatchProgress { items: items as u64, ..BatchProgress::default() },
            began,
            ended: 0,
            stopping: None,
            aborted: None,
            failure: None,
            threads: 0,
            job_waiters: 0,
            is_closed: false,
        }
    }

    /// Makes the first unsettled item of each job ready, unless it has to wait for another message of the job. `unknown`: items of
    /// which it isn't known whether they arrived.
    pub(crate) fn make_ready(&mut self, items: &[Planned], unknown: &[u32]) {
        let blockers: HashMap<u32, u32> =
            unknown.iter().rev().map(|at| (items[*at as usize].first_for_job, *at)).collect();
        for (at, item) in items.iter().enumerate() {
            let job = item.first_for_job;
            let Some(next) = (job as usize == at).then(|| self.unsettled_from(items, Some(job))).flatten() else {
                continue;
            };
            let waits = chain(items, job).filter(|at| self.polls.is_waiting(*at));
            match (blockers.get(&job), waits.count()) {
                (Some(blocker), _) => self.hold(items, next, *blocker, HeldBehind::Unknown),
                (None, 0) => self.ready.push(Reverse((next.into(), next))),
                (None, waits) => self.sequence.work_began(job, u32::try_from(waits).unwrap_or(u32::MAX), next),
            }
        }
    }

    /// The first item of the job that has not ended, from this one on.
    fn unsettled_from(&self, items: &[Planned], from: Option<u32>) -> Option<u32> {
        chain(items, from?).find(|at| self.unsettled[*at as usize])
    }

    /// The job's messages from `next` on are not sent by this run, because of the one at `behind`.
    fn hold(&mut self, items: &[Planned], next: u32, behind: u32, why: HeldBehind) {
        for at in chain(items, next).filter(|at| self.unsettled[*at as usize]) {
            self.held += 1;
            // One that was to be sent again may have arrived before.
            let is_unknown = self.earlier_send_unknown[at as usize];
            let delivery = if is_unknown { Delivery::Unknown } else { Delivery::NotSent };
            self.events.push(BatchEvent::Outcome(held_outcome(items, at, delivery, behind, why)));
        }
    }

    /// Whether anything is ready, or will be unless what it waits for ends badly.
    pub(crate) fn has_more_to_send(&self) -> bool {
        !self.ready.is_empty() || self.in_flight > 0 || self.parked > 0 || self.sequence.has_working()
    }

    /// What a sender does next. An item that it is to send is in flight from now on.
    pub(crate) fn next_send(&mut self, now: Moment) -> SendTask {
        if self.stopping.is_some() || !self.has_more_to_send() {
            return SendTask::Done;
        }
        let Some(&Reverse((_, at))) = self.ready.peek() else { return SendTask::WaitUntil(Moment::MAX) };
        let poll_first = match self.breaker.admit(now, self.in_flight) {
            Permit::AfterInFlight => return SendTask::WaitUntil(Moment::MAX),
            Permit::NotBefore(time) => return SendTask::WaitUntil(time),
            _ if self.window.next_send_at() > now => return SendTask::WaitUntil(self.window.next_send_at()),
            Permit::Send => false,
            Permit::Probe { poll_first } => {
                self.breaker.begin_probe();
                poll_first
            }
        };
        self.ready.pop();
        self.in_flight += 1;
        self.window.begin();
        SendTask::Send { at, poll_first }
    }

    /// An item in flight was not sent. With `behind` it goes behind all others: if its failure is its own, it must not be every
    /// probe.
    pub(crate) fn put_back(&mut self, at: u32, behind: bool) {
        self.in_flight -= 1;
        self.put_behind += u64::from(behind);
        let order = if behind { self.unsettled.len() as u64 + self.put_behind } else { at.into() };
        self.ready.push(Reverse((order, at)));
    }

    /// An item in flight has ended; `then` is what to do with the job's next one.
    pub(crate) fn settle(&mut self, at: u32, items: &[Planned], then: Next) {
        self.in_flight -= 1;
        self.ended += 1;
        self.unsettled[at as usize] = false;
        let Some(next) = self.unsettled_from(items, items[at as usize].next_for_job) else { return };
        match then {
            Next::Send => self.ready.push(Reverse((next.into(), next))),
            Next::AfterResult => self.sequence.work_began(items[at as usize].first_for_job, 1, next),
            Next::Hold => self.hold(items, next, at, HeldBehind::Unknown),
        }
    }

    /// Waits for the job of an accepted message from now on.
    pub(crate) fn wait_for_job(&mut self, at: u32, poller: Box<Poller>, now: Moment) {
        self.progress.waiting += 1;
        let due = now.saturating_add(moment(poller.due_in()));
        self.polls.add(at, poller, due, now);
    }

    /// An item's job is busy: it is polled, and the item sent when that is over.
    pub(crate) fn park(&mut self, at: u32, poller: Box<Poller>, first_poll: Moment, now: Moment) {
        self.parked += 1;
        self.progress.busy += 1;
        self.polls.add(at, poller, first_poll, now);
    }

    /// Takes those of these items that are ready.
    pub(crate) fn take_ready(&mut self, items: &HashSet<u32>) -> Vec<u32> {
        let (taken, ready) = self.ready.drain().partition(|Reverse((_, at))| items.contains(at));
        self.ready = ready;
        BinaryHeap::into_vec(taken).into_iter().map(|Reverse((_, at))| at).collect()
    }

    /// A poll has ended, and the item's job is no longer busy, or has been for too long.
    pub(crate) fn unpark(&mut self, at: u32, now: Moment) {
        self.polls.ended(now);
        self.parked -= 1;
        self.progress.busy -= 1;
        self.ready.push(Reverse((at.into(), at)));
    }

    /// What a job waiter does next. A poll that it is to make is in flight from now on.
    pub(crate) fn next_poll(&mut self, now: Moment) -> PollTask {
        // What waits for a busy job or for a result is among the jobs waited for.
        let nothing_to_send = self.ready.is_empty() && self.in_flight == 0;
        if self.stopping.is_some() || (self.jobs_waited_for() == 0 && nothing_to_send) {
            return PollTask::Done;
        }
        match self.polls.next(now) {
            NextPoll::Poll { at, poller, missed } => {
                PollTask::Poll { at, poller, missed, is_parked: self.unsettled[at as usize] }
            }
            NextPoll::NotBefore(time) => PollTask::WaitUntil(time),
        }
    }

    /// Whether another thread has to wait for jobs, because each one is polling.
    pub(crate) fn needs_job_waiter(&self) -> bool {
        let has_others = self.jobs_waited_for() > 1 || !self.ready.is_empty() || self.in_flight > 0;
        has_others && self.polls.need_another_thread(self.job_waiters)
    }

    /// A poll has ended, and its wait continues.
    pub(crate) fn poll_again(&mut self, at: u32, poller: Box<Poller>, now: Moment) {
        self.polls.ended(now);
        let due = now.saturating_add(moment(poller.due_in()));
        self.polls.add(at, poller, due, now);
    }

    /// A poll has ended, and with it its wait.
    pub(crate) fn done_waiting(&mut self, at: u32, items: &[Planned], has_result: bool, now: Moment) {
        self.progress.waiting -= 1;
        self.polls.ended(now);
        match self.sequence.work_ended(items[at as usize].first_for_job, has_result) {
            Some((next, Next::Send)) => self.ready.push(Reverse((next.into(), next))),
            Some((next, _)) => self.hold(items, next, at, HeldBehind::NoResult),
            None => {}
        }
    }

    /// How many jobs are waited for.
    pub(crate) fn jobs_waited_for(&self) -> usize {
        self.polls.len()
    }

    /// Counts a thread.
    pub(crate) fn thread_started(&mut self, role: Role) {
        self.threads += 1;
        self.job_waiters += usize::from(role == Role::JobWaiter);
    }

    /// Uncounts a thread, and returns how many are left. Only a counted thread starts another one, so none begins after the last.
    pub(crate) fn thread_ended(&mut self, role: Role) -> usize {
        self.job_waiters -= usize::from(role == Role::JobWaiter);
        self.threads -= 1;
        self.threads
    }

    /// How far the batch is.
    pub(crate) fn progress(&self, now: Moment) -> BatchProgress {
        let ms = |moment: Moment| Duration::from_millis(u64::try_from(moment).unwrap_or(0));
        let mut progress = self.progress;
        progress.left = progress.items - progress.accepted - progress.rejected - progress.unknown - progress.dropped;
        progress.sending = self.in_flight as u64;
        progress.pause = self.breaker.open_until(now).map(|(reason, until)| (reason, ms(until - now)));
        let left = progress.left.saturating_sub(self.held);
        let to_send = usize::try_from(left).unwrap_or(usize::MAX).saturating_sub(self.in_flight);
        let by_rate = ms(self.window.last_send_at(to_send, now) - now);
        let by_pace = (self.ended > 0).then(|| {
            let each = (now - self.began) as f64 / self.ended as f64;
            ms((each * left as f64) as Moment)
        });
        progress.finishes_in = match (left, by_pace) {
            (0, _) => Some(Duration::ZERO),
            (_, None) if by_rate.is_zero() => None,
            (_, by_pace) => {
                Some(by_rate.max(by_pace.unwrap_or_default()).max(progress.pause.map_or(Duration::ZERO, |p| p.1)))
            }
        };
        progress
    }
}

#[cfg(test)]
mod tests;
