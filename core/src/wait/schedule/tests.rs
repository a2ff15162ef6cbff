//! The rules of a wait, with a clock that is a number.

use crate::wait::schedule::*;

pub(crate) const SCHEDULE: Schedule = Schedule {
    timeout: Some(DEFAULT_WAIT_TIMEOUT),
    min_interval: DEFAULT_MIN_INTERVAL,
    max_interval: DEFAULT_MAX_INTERVAL,
    lateness: DEFAULT_LATENESS,
    settle: DEFAULT_SETTLE,
};

fn job(status: &str) -> Job {
    Job::read(format!(r#"{{"id":"j","status":"{status}"}}"#).into()).unwrap()
}

/// What a poll that began after every message makes of a record.
fn show(state: &mut PollState, now: Duration, status: &str, draw: f64) -> Progress {
    state.observe(now, Seen::Job { job: &job(status), status, is_current: true }, draw)
}

fn seconds(n: f64) -> Duration {
    Duration::from_secs_f64(n)
}

#[test]
fn the_pause_is_fifteen_percent_of_the_time_waited_within_its_bounds() {
    for (elapsed, pause) in [(0.0, 2.0), (10.0, 2.0), (20.0, 3.0), (100.0, 15.0), (400.0, 60.0), (100_000.0, 60.0)] {
        assert_eq!(SCHEDULE.pause(seconds(elapsed), 0.5), seconds(pause), "{elapsed}");
        assert_eq!(SCHEDULE.pause(seconds(elapsed), 0.0), seconds(pause * 0.9), "{elapsed}");
        assert_eq!(SCHEDULE.pause(seconds(elapsed), 1.0), seconds(pause * 1.1), "{elapsed}");
    }
}

#[test]
fn the_first_hour_takes_fewer_than_a_hundred_polls_whatever_the_jitter() {
    for draw in [0.0, 0.5, 1.0] {
        let mut state = PollState::new("j", Schedule { timeout: None, ..SCHEDULE }, None);
        while state.due() < Duration::from_secs(3600) {
            let now = state.due();
            assert_eq!(show(&mut state, now, "active", draw), Progress::Pending);
            let late = (state.due() - now).as_secs_f64();
            assert!(late <= 2.2 || late <= now.as_secs_f64() * 0.1651, "{late} s late at {now:?}");
        }
        assert!(state.polls < 100, "{} polls with draw {draw}", state.polls);
    }
}

#[test]
fn a_wait_without_a_message_ends_with_the_first_terminal_status() {
    for status in ["completed", "archived", "failed"] {
        let mut state = PollState::new("j", SCHEDULE, None);
        assert_eq!(state.due(), Duration::ZERO);
        assert_eq!(show(&mut state, Duration::ZERO, status, 0.5), Progress::Done, "{status}");
    }
    for status in ["active", "queued"] {
        let mut state = PollState::new("j", SCHEDULE, None);
        assert_eq!(show(&mut state, Duration::ZERO, status, 0.5), Progress::Pending, "{status}");
    }
}

/// A wait that begins with this response to its message.
fn after_message(schedule: Schedule, response: &str) -> (PollState, Progress) {
    PollState::after_message("j", schedule, (&job(response), response), 0.5)
}

#[test]
fn after_a_message_a_result_counts_once_a_poll_saw_the_job_active_or_settle_has_passed() {
    use Progress::{Done, Pending};
    // The status in the response to the message, then what the polls show and when.
    type Polls = [(f64, &'static str, Progress)];
    let rows: [(&str, &Polls); 6] = [
        ("completed", &[(0.25, "completed", Pending), (9.999, "completed", Pending), (10.0, "completed", Done)]),
        ("active", &[(0.25, "completed", Pending), (9.999, "failed", Pending), (10.0, "failed", Done)]),
        ("active", &[(0.25, "active", Pending), (0.5, "completed", Done)]),
        ("completed", &[(0.25, "active", Pending), (0.5, "failed", Done)]),
        ("active", &[(0.25, "completed", Pending), (0.5, "queued", Pending), (1.0, "archived", Done)]),
        ("queued", &[(0.25, "archived", Pending), (10.5, "archived", Done)]),
    ];
    for (response, polls) in rows {
        let (mut state, progress) = after_message(SCHEDULE, response);
        assert_eq!(progress, Pending, "{response}");
        for (at, status, expected) in polls {
            assert_eq!(show(&mut state, seconds(*at), status, 0.5), *expected, "{response}, then {polls:?}: {at}");
        }
    }
}

/// When the polls are due that are made on time and show this, until `end`.
fn polls_until(end: f64, mut state: PollState, shows: impl Fn(f64) -> &'static str) -> Vec<f64> {
    let mut times = Vec::new();
    while state.due() <= seconds(end) {
        let now = state.due();
        times.push(now.as_secs_f64());
        if show(&mut state, now, shows(now.as_secs_f64()), 0.5) == Progress::Done {
            break;
        }
    }
    times
}

#[test]
fn after_a_message_polls_come_early_and_then_by_the_schedule() {
    let with = |min: f64, max: f64, settle: f64| Schedule {
        min_interval: seconds(min),
        max_interval: seconds(max),
        settle: seconds(settle),
        ..SCHEDULE
    };
    let rows: [(Schedule, &'static str, &[f64]); 6] = [
        (SCHEDULE, "active", &[0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]),
        (SCHEDULE, "completed", &[0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
        // The job's end is noticed right when settle has passed.
        (with(2.0, 60.0, 0.7), "completed", &[0.25, 0.5, 0.7]),
        // A longer min_interval does not delay them, a shorter one makes them closer.
        (with(5.0, 60.0, 10.0), "active", &[0.25, 0.5, 1.0, 2.0, 7.0, 12.0]),
        (with(0.4, 0.4, 10.0), "active", &[0.25, 0.5, 0.9, 1.0, 1.4, 1.8, 2.0, 2.4]),
        (with(0.1, 0.1, 0.3), "completed", &[0.1, 0.2, 0.25, 0.3]),
    ];
    for (schedule, status, expected) in rows {
        let end = expected.last().unwrap();
        let (state, _) = after_message(schedule, status);
        let times = polls_until(*end, state, |_| status);
        let same = times.len() == expected.len() && times.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6);
        assert!(same, "{schedule:?}: {times:?}");
    }
    // A wait that begins later makes those that are left; one that knows that the message took effect needs none.
    let begun = |ago, took_effect| PollState::new("j", SCHEDULE, Some(Accepted { ago: seconds(ago), took_effect }));
    assert_eq!(polls_until(4.0, begun(0.4, false), |_| "active"), [0.1, 0.6, 1.6, 3.6]);
    assert_eq!(polls_until(4.0, begun(3.0, false), |_| "active"), [0.0, 2.0, 4.0]);
    assert_eq!(polls_until(4.0, begun(0.5, true), |_| "active"), [1.5, 3.5]);
}

#[test]
fn after_a_message_too_the_first_hour_takes_fewer_than_a_hundred_polls() {
    for draw in [0.0, 0.5, 1.0] {
        let schedule = Schedule { timeout: None, ..SCHEDULE };
        let (mut state, _) = PollState::after_message("j", schedule, (&job("active"), "active"), draw);
        while state.due() < Duration::from_secs(3600) {
            let now = state.due();
            show(&mut state, now, "active", draw);
        }
        assert!(state.polls < 100, "{} polls with draw {draw}", state.polls);
    }
}

#[test]
fn a_message_that_is_sent_during_a_wait_starts_the_settle_time_again() {
    let mut state = PollState::new("j", SCHEDULE, None);
    assert_eq!(show(&mut state, seconds(0.0), "active", 0.5), Progress::Pending);
    // The poll was in flight together with the message: what it showed may be older.
    let before = Seen::Job { job: &job("completed"), status: "completed", is_current: false };
    assert_eq!(state.observe(seconds(100.0), before, 0.5), Progress::Pending);
    state.accept(seconds(100.0), Accepted { ago: seconds(1.0), took_effect: false });
    let before = Seen::Job { job: &job("active"), status: "active", is_current: false };
    assert_eq!(state.observe(seconds(100.1), before, 0.5), Progress::Pending);
    assert_eq!(state.due(), seconds(101.0), "2 s after the message");
    assert_eq!(
        show(&mut state, seconds(101.0), "completed", 0.5),
        Progress::Pending,
        "active was older than the message"
    );
    assert!(state.forgives_not_found(seconds(128.9)) && !state.forgives_not_found(seconds(129.0)));
    let mut seen = state.clone();
    assert_eq!(show(&mut seen, seconds(102.0), "active", 0.5), Progress::Pending);
    assert_eq!(show(&mut seen, seconds(104.0), "completed", 0.5), Progress::Done);
    assert_eq!(show(&mut state, seconds(109.0), "completed", 0.5), Progress::Done, "settle has passed");
}

#[test]
fn another_settle_time_counts_from_when_the_message_was_accepted_unless_the_job_was_seen_active() {
    let with_settle = |settle: f64| Schedule { settle: seconds(settle), ..SCHEDULE };
    for (settle, before, after) in [(2.0, 1.9, 2.0), (30.0, 29.9, 30.0), (0.0, 0.0, 0.0)] {
        let mut state =
            PollState::new("j", with_settle(10.0), Some(Accepted { ago: seconds(0.0), took_effect: false }));
        state.reschedule(with_settle(settle));
        assert_eq!(
            (state.has_settled(seconds(before)), state.has_settled(seconds(after))),
            (settle == 0.0, true),
            "{settle}"
        );
        show(&mut state, seconds(0.0), "active", 0.5);
        state.reschedule(with_settle(600.0));
        assert!(state.has_settled(seconds(0.0)));
    }
}

#[test]
fn a_wait_that_began_without_settle_time_gets_one_if_no_poll_was_made() {
    let (mut state, _) =
        PollState::after_message("j", Schedule { settle: Duration::ZERO, ..SCHEDULE }, (&job("active"), "active"), 0.5);
    state.reschedule(SCHEDULE);
    assert_eq!((state.has_settled(seconds(9.9)), state.has_settled(seconds(10.0))), (false, true));
}

#[test]
fn a_wait_without_a_message_gets_no_settle_time_from_another_schedule() {
    for settle in [0.0, 10.0] {
        let mut state = PollState::new("j", Schedule { settle: seconds(settle), ..SCHEDULE }, None);
        state.reschedule(SCHEDULE);
        assert!(state.has_settled(seconds(0.0)), "{settle}");
    }
}

#[test]
fn without_settle_time_the_response_to_the_message_counts() {
    let schedule = Schedule { settle: Duration::ZERO, ..SCHEDULE };
    let (_, progress) = PollState::after_message("j", schedule, (&job("completed"), "completed"), 0.5);
    assert_eq!(progress, Progress::Done);
}

#[test]
fn a_wait_begun_after_a_message_keeps_what_is_left_of_settle_and_grace() {
    let accepted = |ago, took_effect| Some(Accepted { ago: seconds(ago), took_effect });
    let mut state = PollState::new("j", SCHEDULE, accepted(4.0, false));
    assert_eq!(state.due(), Duration::ZERO);
    assert_eq!(show(&mut state, seconds(5.9), "completed", 0.5), Progress::Pending);
    assert_eq!(show(&mut state, seconds(6.0), "completed", 0.5), Progress::Done);
    assert!(state.forgives_not_found(seconds(25.9)));
    assert!(!state.forgives_not_found(seconds(26.0)));

    let mut state = PollState::new("j", SCHEDULE, accepted(0.5, true));
    assert_eq!(state.due(), seconds(1.5), "a poll or the response was the first record");
    assert_eq!(show(&mut state, Duration::ZERO, "completed", 0.5), Progress::Done);
    assert!(state.forgives_not_found(seconds(29.4)), "a new job may still be unknown");

    assert!(!PollState::new("j", SCHEDULE, None).forgives_not_found(Duration::ZERO));
}

#[test]
fn a_failed_poll_does_not_end_the_wait_is_counted_and_its_retry_after_is_kept() {
    let mut state = PollState::new("j", SCHEDULE, None);
    let failed = |retry_after| Seen::Failed { why: "rate_limit (429)", retry_after };
    assert_eq!(state.observe(seconds(0.0), failed(Some(seconds(120.0))), 0.0), Progress::Pending);
    assert_eq!(state.due(), seconds(120.0), "not a millisecond earlier than the service asked");
    assert_eq!(state.observe(seconds(120.0), failed(None), 0.5), Progress::Pending);
    assert_eq!(state.due(), seconds(138.0));
    assert_eq!(show(&mut state, seconds(138.0), "active", 0.5), Progress::Pending);
    assert_eq!(state.summary(), "3 polls: 1 active, 2 rate_limit (429)");
    assert_eq!(state.last_status(), Some("active"));
}

#[test]
fn a_wait_polls_once_more_shortly_before_its_deadline() {
    let schedule = Schedule { timeout: Some(seconds(100.0)), ..SCHEDULE };
    let mut state = PollState::new("j", schedule, None);
    show(&mut state, seconds(95.0), "active", 0.5);
    assert_eq!(state.due(), seconds(99.0));
    show(&mut state, seconds(99.0), "active", 0.5);
    assert_eq!(state.due(), seconds(100.0), "once");

    let short = Schedule { timeout: Some(seconds(0.25)), ..SCHEDULE };
    let (state, _) = PollState::after_message("j", short, (&job("active"), "active"), 0.5);
    assert_eq!(state.due(), seconds(0.225), "a short wait polls at all");
    let mut state = PollState::new("j", short, None);
    state.observe(seconds(0.0), Seen::Failed { why: "429", retry_after: Some(seconds(5.0)) }, 0.5);
    assert_eq!(state.due(), seconds(5.0), "but not earlier than the service asked");
}

#[test]
fn a_wait_lacks_a_poll_until_it_has_made_the_last_one_that_was_due_before_its_deadline() {
    let schedule = Schedule { timeout: Some(seconds(100.0)), ..SCHEDULE };
    let mut state = PollState::new("j", schedule, None);
    assert!(state.lacks_a_poll(), "the first is due at once");
    show(&mut state, seconds(95.0), "active", 0.5);
    assert!(state.lacks_a_poll(), "the last is due at 99 s");
    show(&mut state, seconds(130.0), "active", 0.5);
    assert!(!state.lacks_a_poll(), "it came late, and there is no other");
    assert!(!PollState::new("j", Schedule { timeout: None, ..SCHEDULE }, None).lacks_a_poll());

    let mut state = PollState::new("j", schedule, None);
    state.observe(seconds(90.0), Seen::Failed { why: "429", retry_after: Some(seconds(20.0)) }, 0.5);
    assert!(!state.lacks_a_poll(), "the service wants none before the deadline");
}

#[test]
fn undocumented_statuses_are_counted_escaped_and_limited() {
    let mut state = PollState::new("j", SCHEDULE, None);
    state.observe(seconds(1.0), Seen::Job { job: &job("\\u001b[2J"), status: "\u{1b}[2J", is_current: true }, 0.5);
    assert_eq!(state.summary(), "1 poll: 1 \\u{1b}[2J");
    assert_eq!(state.last_status(), Some("\\u{1b}[2J"));
    for n in 0..1000 {
        state.observe(
            seconds(1.0),
            Seen::Job { job: &job(&format!("word{n}")), status: &format!("word{n}"), is_current: true },
            0.5,
        );
    }
    assert!(state.summary().len() < 500, "{}", state.summary());
}

#[test]
fn the_error_names_a_wrong_setting() {
    let nan = Schedule { lateness: f64::NAN, ..SCHEDULE };
    let rows = [
        (Schedule { timeout: Some(Duration::ZERO), ..SCHEDULE }, "the wait's timeout is 0"),
        (Schedule { min_interval: Duration::ZERO, ..SCHEDULE }, "min_interval is 0"),
        (
            Schedule { min_interval: Duration::from_micros(999), ..SCHEDULE },
            "min_interval is shorter than a millisecond",
        ),
        (Schedule { max_interval: seconds(1.0), ..SCHEDULE }, "min_interval is longer"),
        (Schedule { lateness: 0.0, ..SCHEDULE }, "lateness is 0"),
        (Schedule { lateness: 1.5, ..SCHEDULE }, "lateness is 1.5"),
        (nan, "lateness is NaN"),
        (Schedule { settle: seconds(700_000.0), ..SCHEDULE }, "settle is longer"),
    ];
    for (schedule, start) in rows {
        let error = schedule.check().unwrap_err();
        assert!(error.message().starts_with(start), "{error}");
    }
    let shortest = Duration::from_millis(1);
    let equal = Schedule { min_interval: shortest, max_interval: shortest, timeout: Some(shortest), ..SCHEDULE };
    for schedule in [SCHEDULE, equal, Schedule { lateness: 1.0, settle: MAX_TIMEOUT, ..SCHEDULE }] {
        schedule.check().unwrap();
    }
    Schedule { timeout: None, settle: Duration::ZERO, ..SCHEDULE }.check().unwrap();
}

#[test]
fn the_message_that_a_wait_began_with_is_one_of_its_requests() {
    let mut state = PollState::new("j", SCHEDULE, None);
    assert_eq!(state.requests(), 0);
    let (mut after, _) = PollState::after_message("j", SCHEDULE, (&job("active"), "active"), 0.5);
    assert_eq!(after.requests(), 1);
    for polls in 1..=3 {
        show(&mut state, seconds(1.0), "active", 0.5);
        show(&mut after, seconds(1.0), "active", 0.5);
        assert_eq!((state.requests(), after.requests()), (polls, polls + 1));
    }
}
