//! The jobs that a batch waits for: which one is polled next, and by which of its threads. Pure: its callers own the clock.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::batch::pace::moment::{Moment, moment};
use crate::wait::poller::Poller;

/// How many polls are in flight at most.
pub(crate) const MAX_POLLS: usize = 8;
/// A poll that is due while another one is in flight is made after it, or beside it when this has passed, in milliseconds: usually a poll
/// takes less.
const LATE: Moment = 250;

/// What is done next.
#[derive(Debug)]
pub(crate) enum NextPoll {
    /// This item's job is polled. With `missed` the poll was due so long ago, [`MAX_POLLS`] others were in flight then, and meanwhile the
    /// deadline of its wait has passed: the wait ends without it.
    Poll { at: u32, poller: Box<Poller>, missed: Option<Duration> },
    /// Nothing before this time.
    NotBefore(Moment),
}

#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// By item.
    waiting: Vec<Option<Waiting>>,
    /// Each of these with its item, sorted: when a poll is due, when it is late, and when its wait ends.
    due: BTreeSet<(Moment, u32)>,
    late: BTreeSet<(Moment, u32)>,
    ends: BTreeSet<(Moment, u32)>,
    in_flight: usize,
    /// When [`MAX_POLLS`] were in flight last.
    full_at: Option<Moment>,
    /// The service asked for no polls before this time.
    paused_until: Moment,
}

#[derive(Debug)]
struct Waiting {
    poller: Box<Poller>,
    due: Moment,
    late: Moment,
    end: Moment,
}

impl Polls {
    /// Waits for the job of an item, which has no poll in flight.
    pub(crate) fn add(&mut self, at: u32, poller: Box<Poller>, due: Moment, now: Moment) {
        let end = end(&poller, now);
        self.insert(at, poller, due, end);
    }

    fn insert(&mut self, at: u32, poller: Box<Poller>, due: Moment, end: Moment) {
        // A wait that is about to end has its last poll before.
        let late = if end <= due.saturating_add(LATE) { due } else { due.saturating_add(LATE) };
        let place = at as usize;
        if self.waiting.len() <= place {
            self.waiting.resize_with(place + 1, || None);
        }
        self.due.insert((due, at));
        self.late.insert((late, at));
        self.ends.insert((end, at));
        self.waiting[place] = Some(Waiting { poller, due, late, end });
    }

    /// What a thread does next that makes no poll. A poll that it is to make is in flight from now on.
    pub(crate) fn next(&mut self, now: Moment) -> NextPoll {
        loop {
            let order = match self.in_flight {
                0 => &self.due,
                n if n < MAX_POLLS => &self.late,
                _ => &self.ends,
            };
            let Some(&(time, at)) = order.first() else { return NextPoll::NotBefore(Moment::MAX) };
            if time > now {
                return NextPoll::NotBefore(time);
            }
            let Waiting { mut poller, due, end, .. } = self.take(at);
            // A poll is put off while the service wants none, but a wait still ends at its deadline.
            if self.paused_until > now {
                let pause = self.paused_until.saturating_sub(now);
                poller.put_off(Duration::from_millis(u64::try_from(pause).unwrap_or(0)));
            }
            if self.paused_until.min(end) > now {
                self.insert(at, poller, self.paused_until.min(end), end);
                continue;
            }
            self.note_full(now);
            self.in_flight += 1;
            let is_missed = end <= now && self.full_at.is_some_and(|full_at| due <= full_at);
            let late = Duration::from_millis(u64::try_from(now.saturating_sub(due)).unwrap_or(0));
            return NextPoll::Poll { at, poller, missed: is_missed.then_some(late) };
        }
    }

    fn take(&mut self, at: u32) -> Waiting {
        let waiting = self.waiting[at as usize].take().expect("each item in the orders is waited for");
        self.due.remove(&(waiting.due, at));
        self.late.remove(&(waiting.late, at));
        self.ends.remove(&(waiting.end, at));
        waiting
    }

    /// A poll has ended.
    pub(crate) fn ended(&mut self, now: Moment) {
        self.note_full(now);
        self.in_flight -= 1;
    }

    fn note_full(&mut self, now: Moment) {
        if self.in_flight >= MAX_POLLS {
            self.full_at = Some(now);
        }
    }

    /// No job is polled before this time.
    pub(crate) fn pause_until(&mut self, until: Moment) {
        self.paused_until = self.paused_until.max(until);
    }

    /// Whether the job of this item is waited for, and no poll of it is in flight.
    pub(crate) fn is_waiting(&self, at: u32) -> bool {
        self.waiting.get(at as usize).is_some_and(Option::is_some)
    }

    /// How many jobs are waited for.
    pub(crate) fn len(&self) -> usize {
        self.due.len() + self.in_flight
    }

    /// Whether one more thread is needed for polls that become late while this many threads are polling. One is for waits that end while
    /// [`MAX_POLLS`] polls are in flight.
    pub(crate) fn need_another_thread(&self, threads: usize) -> bool {
        threads <= self.in_flight && threads <= MAX_POLLS
    }
}

/// When a wait ends without another poll: after the millisecond of its deadline.
fn end(poller: &Poller, now: Moment) -> Moment {
    match poller.time_left() {
        Some(Duration::ZERO) => now,
        Some(left) => now.saturating_add(moment(left)).saturating_add(1),
        None => Moment::MAX,
    }
}

#[cfg(test)]
mod tests;
