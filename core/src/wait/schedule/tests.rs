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
            assert_eq!(state.observe(now, Seen::Job(&job("active"), "active"), draw), Progress::Pending);
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
        assert_eq!(state.observe(Duration::ZERO, Seen::Job(&job(status), status), 0.5), Progress::Done, "{status}");
    }
    for status in ["active", "queued"] {
        let mut state = PollState::new("j", SCHEDULE, None);
        assert_eq!(state.observe(Duration::ZERO, Seen::Job(&job(status), status), 0.5), Progress::Pending, "{status}");
    }
}

#[test]
fn after_a_message_the_previous_result_is_not_mistaken_for_the_new_one() {
    let (mut state, progress) = PollState::after_message("j", SCHEDULE, (&job("completed"), "completed"), 0.5);
    assert_eq!(progress, Progress::Pending);
    for n in [2.0, 4.0, 6.0, 9.999] {
        assert_eq!(state.observe(seconds(n), Seen::Job(&job("completed"), "completed"), 0.5), Progress::Pending, "{n}");
        assert!(state.due() <= DEFAULT_SETTLE.max(seconds(n + 2.0)));
    }
    assert_eq!(state.due(), DEFAULT_SETTLE, "it polls right when the settle time ends");
    assert_eq!(state.observe(DEFAULT_SETTLE, Seen::Job(&job("completed"), "completed"), 0.5), Progress::Done);
}

#[test]
fn after_a_message_a_result_counts_once_the_job_was_seen_active() {
    let (mut state, _) = PollState::after_message("j", SCHEDULE, (&job("active"), "active"), 0.5);
    assert_eq!(state.observe(seconds(2.0), Seen::Job(&job("completed"), "completed"), 0.5), Progress::Done);

    let (mut state, _) = PollState::after_message("j", SCHEDULE, (&job("completed"), "completed"), 0.5);
    assert_eq!(state.observe(seconds(2.0), Seen::Job(&job("active"), "active"), 0.5), Progress::Pending);
    assert_eq!(state.observe(seconds(4.0), Seen::Job(&job("failed"), "failed"), 0.5), Progress::Done);
}

#[test]
fn without_settle_time_the_response_to_the_message_counts() {
    let schedule = Schedule { settle: Duration::ZERO, ..SCHEDULE };
    let (_, progress) = PollState::after_message("j", schedule, (&job("completed"), "completed"), 0.5);
    assert_eq!(progress, Progress::Done);
}

#[test]
fn a_wait_begun_after_a_message_keeps_what_is_left_of_settle_and_grace() {
    let accepted = |ago, active| Some(Accepted { ago: seconds(ago), active });
    let mut state = PollState::new("j", SCHEDULE, accepted(4.0, false));
    assert_eq!(state.due(), Duration::ZERO);
    assert_eq!(state.observe(seconds(5.9), Seen::Job(&job("completed"), "completed"), 0.5), Progress::Pending);
    assert_eq!(state.observe(seconds(6.0), Seen::Job(&job("completed"), "completed"), 0.5), Progress::Done);
    assert!(state.forgives_not_found(seconds(25.9)));
    assert!(!state.forgives_not_found(seconds(26.0)));

    let mut state = PollState::new("j", SCHEDULE, accepted(0.5, true));
    assert_eq!(state.due(), seconds(1.5), "the response to the message was the first record");
    assert_eq!(state.observe(Duration::ZERO, Seen::Job(&job("completed"), "completed"), 0.5), Progress::Done);
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
    assert_eq!(state.observe(seconds(138.0), Seen::Job(&job("active"), "active"), 0.5), Progress::Pending);
    assert_eq!(state.summary(), "3 polls: 1 active, 2 rate_limit (429)");
    assert_eq!(state.last_status(), Some("active"));
}

#[test]
fn a_wait_polls_once_more_shortly_before_its_deadline() {
    let schedule = Schedule { timeout: Some(seconds(100.0)), ..SCHEDULE };
    let mut state = PollState::new("j", schedule, None);
    state.observe(seconds(95.0), Seen::Job(&job("active"), "active"), 0.5);
    assert_eq!(state.due(), seconds(99.0));
    state.observe(seconds(99.0), Seen::Job(&job("active"), "active"), 0.5);
    assert_eq!(state.due(), seconds(100.0), "once");

    let short = Schedule { timeout: Some(seconds(0.25)), ..SCHEDULE };
    let (state, _) = PollState::after_message("j", short, (&job("active"), "active"), 0.5);
    assert_eq!(state.due(), seconds(0.225), "a short wait polls at all");
    let mut state = PollState::new("j", short, None);
    state.observe(seconds(0.0), Seen::Failed { why: "429", retry_after: Some(seconds(5.0)) }, 0.5);
    assert_eq!(state.due(), seconds(5.0), "but not earlier than the service asked");
}

#[test]
fn undocumented_statuses_are_counted_escaped_and_limited() {
    let mut state = PollState::new("j", SCHEDULE, None);
    state.observe(seconds(1.0), Seen::Job(&job("\\u001b[2J"), "\u{1b}[2J"), 0.5);
    assert_eq!(state.summary(), "1 poll: 1 \\u{1b}[2J");
    assert_eq!(state.last_status(), Some("\\u{1b}[2J"));
    for n in 0..1000 {
        state.observe(seconds(1.0), Seen::Job(&job(&format!("word{n}")), &format!("word{n}")), 0.5);
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
    SCHEDULE.check().unwrap();
    Schedule { timeout: None, settle: Duration::ZERO, ..SCHEDULE }.check().unwrap();
}
