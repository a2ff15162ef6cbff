//! Where a running batch stands: what its workers share under one lock.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

use crate::batch::events::{BatchOutcome, BatchProgress, BatchUpdate};
use crate::batch::item::Planned;
use crate::batch::pace::circuit_breaker::{Gate, Pass};
use crate::batch::pace::rate::{Moment, Window};
use crate::error::Error;
use crate::wait::poller::Poller;

/// What the batch's owner has not heard yet.
#[derive(Debug)]
pub(crate) enum Told {
    Update(BatchUpdate),
    Outcome(BatchOutcome),
}

/// What a sender is to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Send this item; ask for its job first, if it is to show whether the service is well.
    Send { at: u32, ask_first: bool },
    /// Come back at this time, or when something has changed.
    Until(Moment),
    /// Nothing will ever be to do.
    Over,
}

/// What a watcher is to do.
#[derive(Debug)]
pub(crate) enum Look {
    /// Look at this item's job, which was due so long ago.
    At {
        at: u32,
        poller: Box<Poller>,
        late: Duration,
    },
    Until(Moment),
    Over,
}

#[derive(Debug)]
pub(crate) struct State {
    /// Items that may be sent, the first one first: never two of one job.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
    /// How many items were put behind the others.
    put_behind: u64,
    /// Items that are not ended, ready or behind another one of their job.
    pub(crate) open: Vec<bool>,
    /// Items that may have arrived, and are sent again nevertheless, for the caller said so.
    pub(crate) doubtful: Vec<bool>,
    pub(crate) in_flight: usize,
    pub(crate) window: Window,
    pub(crate) gate: Gate,
    waits: BinaryHeap<Reverse<(Moment, u32)>>,
    pollers: Vec<Option<Box<Poller>>>,
    looking: usize,
    /// The service asked that nobody looks at a job before this time.
    quiet_until: Moment,
    pub(crate) told: VecDeque<Told>,
    pub(crate) progress: BatchProgress,
    /// When this run began, and how many messages it has ended since.
    pub(crate) began: Moment,
    pub(crate) ended: u64,
    /// Nothing more is taken since then.
    pub(crate) stopping: Option<Instant>,
    /// Why the batch did not come to its end.
    pub(crate) failure: Option<Error>,
    /// How many workers there are, and how many of them watch.
    pub(crate) live: usize,
    pub(crate) watchers: usize,
}

impl State {
    pub(crate) fn new(items: usize, window: Window, began: Moment) -> State {
        State {
            ready: BinaryHeap::new(),
            put_behind: 0,
            open: vec![false; items],
            doubtful: vec![false; items],
            in_flight: 0,
            window,
            gate: Gate::default(),
            waits: BinaryHeap::new(),
            pollers: Vec::new(),
            looking: 0,
            quiet_until: Moment::MIN,
            told: VecDeque::new(),
            progress: BatchProgress { items: items as u64, ..BatchProgress::default() },
            began,
            ended: 0,
            stopping: None,
            failure: None,
            live: 0,
            watchers: 0,
        }
    }

    /// Makes the first open item of each job ready.
    pub(crate) fn line_up(&mut self, items: &[Planned]) {
        for (at, item) in items.iter().enumerate() {
            if item.first_for_job as usize == at {
                self.next_of_job(items, Some(item.first_for_job));
            }
        }
    }

    fn next_of_job(&mut self, items: &[Planned], mut from: Option<u32>) {
        while let Some(at) = from {
            if self.open[at as usize] {
                return self.ready.push(Reverse((at.into(), at)));
            }
            from = items[at as usize].next_for_job;
        }
    }

    pub(crate) fn turn(&mut self, now: Moment) -> Turn {
        if self.stopping.is_some() || (self.ready.is_empty() && self.in_flight == 0) {
            return Turn::Over;
        }
        let Some(&Reverse((_, at))) = self.ready.peek() else { return Turn::Until(Moment::MAX) };
        let ask_first = match self.gate.pass(now, self.in_flight) {
            Pass::NotYet => return Turn::Until(Moment::MAX),
            Pass::NotBefore(time) => return Turn::Until(time),
            _ if self.window.next() > now => return Turn::Until(self.window.next()),
            Pass::Go => false,
            Pass::Trial { ask_first } => {
                self.gate.try_one();
                ask_first
            }
        };
        self.ready.pop();
        self.in_flight += 1;
        self.window.take();
        Turn::Send { at, ask_first }
    }

    /// An item that was taken is not sent yet. One that failed where others might not goes behind them: it must not be the one
    /// that is tried for ever.
    pub(crate) fn put_back(&mut self, at: u32, behind: bool) {
        self.in_flight -= 1;
        self.put_behind += u64::from(behind);
        let order = if behind { self.open.len() as u64 + self.put_behind } else { at.into() };
        self.ready.push(Reverse((order, at)));
    }

    /// An item that was taken is ended.
    pub(crate) fn close(&mut self, at: u32, items: &[Planned]) {
        self.in_flight -= 1;
        self.ended += 1;
        self.open[at as usize] = false;
        self.next_of_job(items, items[at as usize].next_for_job);
    }

    /// An accepted message's job is waited for from now on.
    pub(crate) fn wait_for(&mut self, at: u32, poller: Box<Poller>, now: Moment) {
        self.waits.push(Reverse((now.saturating_add(crate::batch::pace::rate::moment(poller.due_in())), at)));
        let place = at as usize;
        if self.pollers.len() <= place {
            self.pollers.resize_with(place + 1, || None);
        }
        self.pollers[place] = Some(poller);
        self.progress.waiting += 1;
    }

    pub(crate) fn look(&mut self, now: Moment) -> Look {
        let sending_is_over = self.ready.is_empty() && self.in_flight == 0;
        if self.stopping.is_some() || (self.waits() == 0 && sending_is_over) {
            return Look::Over;
        }
        loop {
            let Some(&Reverse((due, at))) = self.waits.peek() else { return Look::Until(Moment::MAX) };
            if due > now {
                return Look::Until(due);
            }
            self.waits.pop();
            let poller = self.pollers[at as usize].take().expect("each due look has its poller");
            // Nobody looks while the service wants quiet, but a wait ends when its time is over.
            let ends = match poller.time_left() {
                Some(Duration::ZERO) => now,
                // The millisecond that it is over in has to be over, too.
                Some(left) => now.saturating_add(crate::batch::pace::rate::moment(left) + 1),
                None => Moment::MAX,
            };
            if self.quiet_until.min(ends) > now {
                self.waits.push(Reverse((self.quiet_until.min(ends), at)));
                self.pollers[at as usize] = Some(poller);
                continue;
            }
            self.looking += 1;
            let late = Duration::from_millis(u64::try_from(now - due).unwrap_or(0));
            return Look::At { at, poller, late };
        }
    }

    /// A look is over, and its wait goes on.
    pub(crate) fn looked(&mut self, at: u32, poller: Box<Poller>, now: Moment) {
        self.progress.waiting -= 1;
        self.looking -= 1;
        self.wait_for(at, poller, now);
    }

    /// A look was its wait's last.
    pub(crate) fn done_waiting(&mut self) {
        self.progress.waiting -= 1;
        self.looking -= 1;
    }

    /// Nobody looks before this time.
    pub(crate) fn be_quiet(&mut self, until: Moment) {
        self.quiet_until = self.quiet_until.max(until);
    }

    /// How many jobs' looks are due or will be.
    pub(crate) fn waits(&self) -> usize {
        self.waits.len() + self.looking
    }

    /// A worker more, which watches or sends.
    pub(crate) fn count(&mut self, watches: bool) {
        self.live += 1;
        self.watchers += usize::from(watches);
    }

    /// A worker less.
    pub(crate) fn discount(&mut self, watches: bool) {
        self.live -= 1;
        self.watchers -= usize::from(watches);
    }

    /// How far the batch is.
    pub(crate) fn progress(&self, now: Moment) -> BatchProgress {
        let ms = |moment: Moment| Duration::from_millis(u64::try_from(moment).unwrap_or(0));
        let mut progress = self.progress;
        progress.left = progress.items - progress.accepted - progress.rejected - progress.unknown;
        progress.sending = self.in_flight as u64;
        let shut = self.gate.shut(now);
        progress.pause = shut.map(|(reason, until)| (reason, ms(until - now)));
        let to_take = usize::try_from(progress.left).unwrap_or(usize::MAX).saturating_sub(self.in_flight);
        let by_rate = ms(self.window.last_of(to_take, now) - now);
        let by_pace = (self.ended > 0).then(|| {
            let each = (now - self.began) as f64 / self.ended as f64;
            ms((each * progress.left as f64) as Moment)
        });
        progress.finishes_in = match (progress.left, by_pace) {
            (0, _) => Some(Duration::ZERO),
            (_, None) if by_rate.is_zero() => None,
            (_, by_pace) => {
                Some(by_rate.max(by_pace.unwrap_or_default()).max(progress.pause.map_or(Duration::ZERO, |p| p.1)))
            }
        };
        progress
    }
}
