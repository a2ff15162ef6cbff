//! The state of a wait between its polls, without a service.

use crate::wait::poller::*;
use crate::wait::schedule::tests::SCHEDULE;

const HOUR: Duration = Duration::from_secs(3600);

const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn poller(schedule: Schedule) -> Poller {
    Poller::new("job_1", schedule, None).unwrap()
}

/// A client that delivered this message.
fn delivered(number: u64, at: Instant) -> Recent {
    Recent { sending: false, delivered: Some(Delivered { number, at, took_effect: false }) }
}

#[test]
fn a_poll_shows_the_job_as_it_is_unless_a_message_is_in_flight_or_came_later() {
    let mut poller = poller(SCHEDULE);
    let now = Instant::now();
    assert!(poller.take_in(None, now));
    assert!(poller.take_in(Some(delivered(7, now)), now));
    assert!(poller.take_in(Some(delivered(7, now)), now + seconds(1)));
    assert!(!poller.take_in(Some(delivered(7, now + seconds(1))), now));
    assert!(!poller.take_in(Some(Recent { sending: true, ..delivered(7, now) }), now));
    assert!(!poller.take_in(Some(Recent { sending: true, delivered: None }), now));
}

#[test]
fn each_later_message_begins_a_settle_time_and_one_that_is_known_does_not() {
    let mut poller = poller(Schedule { settle: HOUR, ..SCHEDULE });
    let now = Instant::now();
    let mut settled_after = |recent: Recent| {
        poller.state.settle_until = Duration::ZERO;
        poller.take_in(Some(recent), now);
        poller.has_settled()
    };
    assert!(!settled_after(delivered(7, now)));
    assert!(settled_after(delivered(7, now)), "the same one");
    assert!(settled_after(delivered(6, now)), "an earlier one");
    assert!(!settled_after(delivered(8, now)));
}

#[test]
fn what_is_known_of_a_wait_is_what_the_polls_left() {
    let mut wait = poller(SCHEDULE);
    assert_eq!((wait.job_id(), wait.polls(), wait.retry_after()), ("job_1", 0, None));
    assert!(wait.job().is_none() && !wait.changed() && !wait.is_done());
    wait.state.polls = 3;
    wait.retry_after = Some(seconds(5));
    assert_eq!((wait.polls(), wait.retry_after()), (3, Some(seconds(5))));
    let response = Job::read(r#"{"id":"job_1","status":"active"}"#.to_owned().into()).unwrap();
    let redactor = Redactor::new(&[]);
    let wait = Poller::after_message("job_1", SCHEDULE, response.clone(), &redactor);
    assert!(wait.job() == Some(&response) && wait.changed() && !wait.is_done());
    // Without a settle time the response may be the result.
    let response = Job::read(r#"{"id":"job_1","status":"completed"}"#.to_owned().into()).unwrap();
    let done = Poller::after_message("job_1", Schedule { settle: Duration::ZERO, ..SCHEDULE }, response, &redactor);
    assert!(done.is_done());
    assert_eq!(done.due_in(), Duration::ZERO);
}

#[test]
fn a_poll_is_due_when_its_time_comes_and_at_the_deadline_at_the_latest() {
    let mut wait = poller(Schedule { timeout: None, ..SCHEDULE });
    assert_eq!(wait.due_in(), Duration::ZERO);
    wait.put_off(2 * HOUR);
    assert!(HOUR < wait.due_in() && wait.due_in() <= 2 * HOUR);
    wait.put_off(seconds(1));
    assert!(HOUR < wait.due_in(), "a shorter pause changes nothing");
    wait.state.schedule.timeout = Some(HOUR);
    assert!(seconds(60) < wait.due_in() && wait.due_in() <= HOUR);
}

#[test]
fn there_is_no_time_left_to_tell_where_one_more_poll_is_made_regardless_of_the_deadline() {
    let mut wait = poller(Schedule { timeout: Some(HOUR), ..SCHEDULE });
    let left = wait.time_left().unwrap();
    assert!(seconds(60) < left && left <= HOUR);
    // Its deadline has passed.
    wait.before = HOUR;
    assert_eq!(wait.time_left(), None, "a poll was due before it and was not made");
    wait.put_off(HOUR);
    assert_eq!(wait.time_left(), Some(Duration::ZERO));
    wait.must_poll = true;
    assert_eq!(wait.time_left(), None);
    assert_eq!(poller(Schedule { timeout: None, ..SCHEDULE }).time_left(), None);
}

#[test]
fn a_resumed_wait_has_lasted_as_long_as_both_processes_waited() {
    let mut first = poller(Schedule { timeout: Some(2 * HOUR), ..SCHEDULE });
    first.before = HOUR;
    let resumed: Poller = first.to_string().parse().unwrap();
    assert!(HOUR <= resumed.elapsed() && resumed.elapsed() < 2 * HOUR);
    assert!(first.elapsed() >= HOUR);
    assert_eq!((resumed.job_id(), resumed.must_poll), ("job_1", true));
    // In a batch another timeout counts from now.
    let ago = |_| HOUR;
    let resumed = Poller::resume(&first.journal_text(), ago, Schedule { timeout: Some(HOUR), ..SCHEDULE }).unwrap();
    assert!(resumed.elapsed() >= 2 * HOUR);
    assert_eq!(resumed.state.deadline(), Some(resumed.before + HOUR));
}

#[test]
fn the_time_since_a_text_was_written_is_the_calendars() {
    let before_now = by_the_calendar(now_unix_ms() - 3_600_000);
    assert!(HOUR <= before_now && before_now < 2 * HOUR);
    assert_eq!(by_the_calendar(u64::MAX), Duration::ZERO, "the clock was set back");
}

#[test]
fn a_journals_text_counts_polls_without_the_services_own_words() {
    let mut first = poller(SCHEDULE);
    first
        .state
        .tally
        .extend([("odd", 1), ("active", 2), ("other", 3), ("server (503)", 4)].map(|(what, n)| (what.to_owned(), n)));
    assert!(first.to_string().contains("odd") && !first.journal_text().contains("odd"));
    assert!(first.journal_text().contains(r#""tally":{"active":2,"other":4,"server (503)":4}"#));
}
