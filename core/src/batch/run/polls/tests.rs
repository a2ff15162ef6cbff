//! Which poll a thread makes next, with no thread and no service.

use super::*;
use crate::wait::schedule::Schedule;
use crate::wait::schedule::tests::SCHEDULE;

/// A wait that ends after so many seconds.
fn poller(seconds: Option<u64>) -> Box<Poller> {
    let schedule = Schedule { timeout: seconds.map(Duration::from_secs), ..SCHEDULE };
    Box::new(Poller::new("j", schedule, None).unwrap())
}

fn next(polls: &mut Polls, now: Moment) -> Result<u32, Moment> {
    match polls.next(now) {
        NextPoll::Poll { at, missed: None, .. } => Ok(at),
        NextPoll::Poll { missed, .. } => panic!("its deadline has passed: {missed:?}"),
        NextPoll::NotBefore(time) => Err(time),
    }
}

#[test]
fn polls_that_are_due_are_made_one_after_the_other() {
    let mut polls = Polls::default();
    for (at, due) in [(0, 30), (1, 10), (2, 20)] {
        polls.add(at, poller(None), due, 0);
    }
    assert_eq!(next(&mut polls, 5), Err(10));
    for at in [1, 2, 0] {
        assert_eq!(next(&mut polls, 30), Ok(at));
        polls.ended(30);
    }
    assert_eq!((next(&mut polls, 30), polls.len()), (Err(Moment::MAX), 0));
}

#[test]
fn a_poll_that_is_late_is_made_beside_one_that_takes_long_and_there_is_a_thread_for_it() {
    let mut polls = Polls::default();
    for at in 0..3 {
        polls.add(at, poller(None), 10 * Moment::from(at), 0);
    }
    assert!(!polls.need_another_thread(1), "it makes no poll yet");
    assert_eq!(next(&mut polls, 20), Ok(0));
    assert!(polls.need_another_thread(1) && !polls.need_another_thread(2));
    assert_eq!((next(&mut polls, 20), next(&mut polls, 259)), (Err(260), Err(260)));
    assert_eq!(next(&mut polls, 260), Ok(1));
    assert!(polls.need_another_thread(2));
    assert_eq!(next(&mut polls, 260), Err(270));
    (0..2).for_each(|_| polls.ended(260));
    assert_eq!(next(&mut polls, 260), Ok(2), "no other one is in flight any more");
}

#[test]
fn a_wait_that_is_about_to_end_has_its_last_poll_also_beside_one_that_takes_long() {
    let mut polls = Polls::default();
    polls.add(0, poller(None), 0, 0);
    polls.add(1, poller(None), 1_999_800, 0);
    // Its wait ends at 2,000,000, or earlier by what its first steps took here.
    polls.add(2, poller(Some(2000)), 1_999_900, 0);
    assert_eq!(next(&mut polls, 0), Ok(0));
    assert_eq!(next(&mut polls, 1_999_899), Err(1_999_900));
    assert_eq!(next(&mut polls, 1_999_900), Ok(2));
}

#[test]
fn with_as_many_polls_in_flight_as_may_be_a_wait_ends_at_its_deadline_without_another_one() {
    let mut polls = Polls::default();
    let many = MAX_POLLS as u32;
    for at in 0..many {
        polls.add(at, poller(None), 0, 0);
        assert_eq!(next(&mut polls, 10_000), Ok(at));
    }
    polls.add(many, poller(None), 0, 0);
    polls.add(many + 1, poller(Some(3000)), 0, 0);
    polls.add(many + 2, poller(Some(2000)), 0, 0);
    polls.add(many + 3, poller(Some(3000)), 3_500_000, 0);
    assert!(polls.need_another_thread(MAX_POLLS) && !polls.need_another_thread(MAX_POLLS + 1));
    let Err(end) = next(&mut polls, 10_000) else { panic!("it has to wait for a thread") };
    // Less than its time may be left, as it began a moment ago.
    assert!((10_000..=2_000_001).contains(&end), "{end}");
    let missed = |polls: &mut Polls, now: Moment| match polls.next(now) {
        NextPoll::Poll { at, missed, .. } => (at, missed.map(moment)),
        NextPoll::NotBefore(time) => panic!("nothing is due before {time}"),
    };
    assert_eq!(missed(&mut polls, end), (many + 2, Some(end)));
    // All polls end, and a moment later the other wait is over, too. The last one's poll was not due while all were in flight.
    (0..=MAX_POLLS).for_each(|_| polls.ended(end));
    assert_eq!(missed(&mut polls, 4_000_000), (many, None), "its wait has no deadline");
    polls.ended(4_000_000);
    assert_eq!(missed(&mut polls, 4_000_000), (many + 1, Some(4_000_000)));
    polls.ended(4_000_000);
    assert_eq!(missed(&mut polls, 4_000_000), (many + 3, None));
}

#[test]
fn a_pause_puts_polls_off_but_not_the_end_of_a_wait() {
    let mut polls = Polls::default();
    polls.add(0, poller(None), 10, 0);
    polls.add(1, poller(Some(50)), 10, 0);
    polls.pause_until(60_000);
    polls.pause_until(5_000);
    let Err(end) = next(&mut polls, 10) else { panic!("the service wants none") };
    assert!((10..=50_001).contains(&end), "{end}");
    let NextPoll::Poll { at: 1, poller, missed: None } = polls.next(end) else { panic!("its deadline has passed") };
    assert!(poller.due_in() <= Duration::from_secs(50), "it ends then");
    polls.ended(end);
    assert_eq!((next(&mut polls, 59_999), next(&mut polls, 60_000)), (Err(60_000), Ok(0)));
}
