//! Which messages of a job wait for an earlier one or for the job itself. Its callers own the clock. A job is known by its first
//! item; one with a single message is in here only while it is busy.
//!
//! | a message of the job | the job's next message |
//! | --- | --- |
//! | was accepted, without a wait | is sent |
//! | was accepted, with a wait | is sent when the job is done: completed, archived or failed |
//! | was accepted, but its wait ended without a result | is held |
//! | was rejected | is sent |
//! | was refused because the job is busy (409) | waits behind it; it is sent again when the job isn't active |
//! | was refused so for `max_busy` | the message is rejected, and each next one is sent once |
//! | is unknown | is held |

use std::collections::HashMap;
use std::time::Duration;

use crate::batch::pace::moment::{Moment, moment};

/// The longest pause between a message that was refused and the next poll of its job.
const MAX_PAUSE: Duration = Duration::from_secs(5 * 60);

/// How a message ended, for the next one of its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next one may be sent.
    Send,
    /// The job works on the message: the next one waits for its result.
    AfterResult,
    /// When the job is done with the message isn't known: the others are held.
    Hold,
}

/// When the job of a refused message is polled first, and until when it may stay busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Recheck {
    pub(crate) first: Moment,
    pub(crate) until: Moment,
}

/// The jobs whose messages have to wait.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    /// Jobs with messages behind one whose result is awaited.
    working: HashMap<u32, Working>,
    busy: HashMap<u32, Busy>,
}

#[derive(Debug)]
struct Working {
    /// How many of its messages are waited for: more than one only if an earlier run did not wait.
    waits: u32,
    /// The item that comes next.
    next: u32,
}

/// A job that refused its last message.
#[derive(Debug)]
struct Busy {
    since: Moment,
    refusals: u32,
    /// It was active until `max_busy` was over.
    is_over: bool,
}

impl Sequence {
    /// The job works on this many messages; `next` is the item to send after that.
    pub(crate) fn work_began(&mut self, job: u32, waits: u32, next: u32) {
        self.working.insert(job, Working { waits, next });
    }

    /// The wait for a message has ended. Returns the item that comes next, if there is one, and what to do about it.
    pub(crate) fn work_ended(&mut self, job: u32, has_result: bool) -> Option<(u32, Next)> {
        let working = self.working.get_mut(&job)?;
        working.waits -= 1;
        let end = match (has_result, working.waits) {
            (false, _) => Next::Hold,
            (true, 0) => Next::Send,
            (true, _) => return None,
        };
        self.working.remove(&job).map(|working| (working.next, end))
    }

    /// Whether messages wait for the result of another.
    pub(crate) fn has_working(&self) -> bool {
        !self.working.is_empty()
    }

    /// Whether it never had an entry.
    #[cfg(test)]
    pub(crate) fn is_unused(&self) -> bool {
        self.working.capacity() == 0 && self.busy.capacity() == 0
    }

    /// The service refused a message because its job is busy. `pause`: the shortest until the next poll; it doubles with each refusal,
    /// because a 409 may have another cause. None: the job has been busy for `max_busy`, and the message is rejected.
    pub(crate) fn refused(
        &mut self,
        job: u32,
        now: Moment,
        max_busy: Duration,
        pause: Duration,
        retry_after: Option<Duration>,
    ) -> Option<Recheck> {
        if max_busy.is_zero() {
            return None;
        }
        let busy = self.busy.entry(job).or_insert(Busy { since: now, refusals: 0, is_over: false });
        let until = busy.since.saturating_add(moment(max_busy));
        if busy.is_over || now >= until {
            busy.is_over = true;
            return None;
        }
        let pause = pause.saturating_mul(1 << busy.refusals.min(16)).min(MAX_PAUSE.max(pause));
        busy.refusals += 1;
        let first = now.saturating_add(moment(pause.max(retry_after.unwrap_or_default())));
        Some(Recheck { first: first.min(until), until })
    }

    /// An earlier run left a message that was refused: its job is polled at once.
    pub(crate) fn still_busy(&mut self, job: u32, now: Moment, max_busy: Duration) -> Recheck {
        self.busy.insert(job, Busy { since: now, refusals: 1, is_over: false });
        Recheck { first: now, until: now.saturating_add(moment(max_busy)) }
    }

    /// The job was active until `max_busy` was over.
    pub(crate) fn stayed_busy(&mut self, job: u32) {
        if let Some(busy) = self.busy.get_mut(&job) {
            busy.is_over = true;
        }
    }

    /// The service did something else with a message than to say that its job is busy.
    pub(crate) fn not_busy(&mut self, job: u32) {
        if !self.busy.is_empty() {
            self.busy.remove(&job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_next_message_of_a_job_waits_for_every_result_before_it() {
        let mut sequence = Sequence::default();
        sequence.work_began(0, 2, 5);
        assert!(sequence.has_working());
        assert_eq!(sequence.work_ended(0, true), None);
        assert_eq!(sequence.work_ended(0, true), Some((5, Next::Send)));
        assert!(!sequence.has_working());
        assert_eq!(sequence.work_ended(0, true), None, "a job without further messages");
    }

    #[test]
    fn a_wait_without_a_result_holds_the_messages_behind_it() {
        let mut sequence = Sequence::default();
        sequence.work_began(0, 2, 5);
        assert_eq!(sequence.work_ended(0, false), Some((5, Next::Hold)));
        assert_eq!(sequence.work_ended(0, true), None, "they stay held");
    }

    #[test]
    fn each_refusal_doubles_the_pause_up_to_five_minutes() {
        let mut sequence = Sequence::default();
        let mut pauses = Vec::new();
        for _ in 0..10 {
            pauses.push(sequence.refused(3, 0, 10 * HOUR, 2 * SECOND, None).unwrap().first / 1000);
        }
        assert_eq!(pauses, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        sequence.not_busy(3);
        let asked = sequence.refused(3, 0, HOUR, 2 * SECOND, Some(60 * SECOND)).unwrap();
        assert_eq!((asked.first, asked.until), (60_000, 3_600_000), "and a Retry-After is kept");
        let late = sequence.refused(3, 3_599_000, HOUR, 2 * SECOND, Some(60 * SECOND)).unwrap();
        assert_eq!(late.first, 3_600_000, "but not beyond max_busy");
    }

    #[test]
    fn after_max_busy_a_message_is_rejected_and_so_is_the_next_one_that_the_job_refuses() {
        let mut sequence = Sequence::default();
        assert!(sequence.refused(0, 0, HOUR, SECOND, None).is_some());
        assert!(sequence.refused(0, 3_599_999, HOUR, SECOND, None).is_some());
        assert_eq!(sequence.refused(0, 3_600_000, HOUR, SECOND, None), None);
        assert_eq!(sequence.refused(0, 3_600_001, HOUR, SECOND, None), None);
        assert!(sequence.refused(1, 3_600_001, HOUR, SECOND, None).is_some(), "another job has its own time");
        sequence.not_busy(0);
        assert!(sequence.refused(0, 3_600_002, HOUR, SECOND, None).is_some(), "and so has the job after it took one");
        sequence.stayed_busy(0);
        assert_eq!(sequence.refused(0, 3_600_003, HOUR, SECOND, None), None);
        assert_eq!(Sequence::default().refused(0, 0, Duration::ZERO, SECOND, None), None, "max_busy = 0");
    }

    #[test]
    fn a_run_that_resumes_gives_a_busy_job_its_full_time() {
        let mut sequence = Sequence::default();
        assert_eq!(sequence.still_busy(0, 50, HOUR), Recheck { first: 50, until: 3_600_050 });
    }
}
