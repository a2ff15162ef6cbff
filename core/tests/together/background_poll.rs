//! A poll on a thread of its own: what a program with an event loop of its own relies on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentjob_core::{
    BackgroundPoll, CallOptions, CancelToken, Client, Control, ErrorKind, Event, Interrupted, Poller, WaitOptions,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::support::{JOB, builder, client, emulator, quick, timed, until};

/// Its polls have no response.
const SILENT: &str = r#"{"rules": [{"method": "GET", "fault": {"do": "stall", "at": "request"}}]}"#;

fn is_readable(background: &BackgroundPoll) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(background.descriptor(), PollFlags::IN)], Some(&at_once)).unwrap() == 1
}

fn begun(client: &Client, call: &CallOptions) -> (BackgroundPoll, Poller) {
    let poller = client.poller(JOB, &quick()).unwrap();
    let mut background = BackgroundPoll::new().unwrap();
    background.begin(&poller, client, call).unwrap();
    (background, poller)
}

#[test]
fn its_descriptor_becomes_readable_and_finish_brings_the_result() {
    let emulator = emulator(r#"{"jobs": [{"id": "job_demo", "status": "completed"}]}"#);
    let client = client(&emulator);
    let mut poller = client.poller(JOB, &quick()).unwrap();
    let mut background = BackgroundPoll::new().unwrap();
    // The descriptor says nothing of an earlier poll when the next one begins.
    for _ in 0..3 {
        assert!(!background.is_running() && !is_readable(&background));
        assert_eq!(format!("{background:?}"), "BackgroundPoll { is_running: false, .. }");
        background.begin(&poller, &client, &CallOptions::new()).unwrap();
        assert!(background.is_running());
        assert_eq!(format!("{background:?}"), "BackgroundPoll { is_running: true, .. }");
        until("the poll has ended", || is_readable(&background));
        let job = background.finish(&mut poller).unwrap().expect("the job is done");
        assert_eq!((job.id(), poller.job().unwrap().id(), poller.is_done()), (JOB, JOB, true));
        assert_eq!(emulator.requests().total, 1, "a wait that is done makes no request");
    }
}

#[test]
fn finish_waits_for_the_response() {
    let rule = r#""rules": [{"status": 200, "delay_ms": 300}]"#;
    let emulator = emulator(&format!(r#"{{"jobs": [{{"id": "job_demo", "status": "completed"}}], {rule}}}"#));
    let (mut background, mut poller) = begun(&client(&emulator), &CallOptions::new());
    assert_eq!(background.finish(&mut poller).unwrap().unwrap().id(), JOB);
}

#[test]
fn polls_are_made_one_after_the_other() {
    let emulator = emulator(SILENT);
    let client = client(&emulator);
    let (mut background, mut poller) = begun(&client, &CallOptions::new());
    let second = background.begin(&poller, &client, &CallOptions::new()).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::InvalidArgument);
    assert!(second.to_string().contains("a poll is in progress"), "{second}");
    let mut idle = BackgroundPoll::new().unwrap();
    let early = idle.finish(&mut poller).unwrap_err();
    assert_eq!(early.kind(), ErrorKind::InvalidArgument);
    assert!(early.to_string().contains("no poll is in progress"), "{early}");
}

#[test]
fn a_poll_that_fails_has_its_error() {
    let emulator = emulator(r#"{"rules": [{"status": 404}]}"#);
    let (mut background, mut poller) = begun(&client(&emulator), &CallOptions::new());
    assert_eq!(background.finish(&mut poller).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!background.is_running());
}

#[test]
fn dropping_it_ends_the_poll() {
    let emulator = emulator(SILENT);
    let client = builder(&emulator).timeout(Duration::from_secs(120)).build().unwrap();
    let wait = WaitOptions::new().timeout(Duration::from_secs(300));
    let (mut background, observer) = (BackgroundPoll::new().unwrap(), Arc::new(Observer::default()));
    let call = CallOptions::new().control(observer.clone());
    background.begin(&client.poller(JOB, &wait).unwrap(), &client, &call).unwrap();
    drop(call);
    until("the request is at the service", || emulator.requests().total == 1);
    let (took, ()) = timed(|| drop(background));
    assert!(took < Duration::from_secs(60), "far sooner than the call's timeout: {took:?}");
    assert_eq!(Arc::strong_count(&observer), 1, "its thread has ended, so that it observes nothing any more");
}

#[test]
fn a_cancelled_token_ends_the_poll() {
    let (emulator, token) = (emulator(SILENT), CancelToken::new());
    let (mut background, mut poller) = begun(&client(&emulator), &CallOptions::new().cancel(&token));
    until("the request is at the service", || emulator.requests().total == 1);
    token.cancel();
    assert_eq!(background.finish(&mut poller).unwrap_err().kind(), ErrorKind::Cancelled);
}

/// Keeps the names of the events; ends the poll at one of them, or at its second check.
#[derive(Default)]
struct Observer {
    events: Mutex<Vec<&'static str>>,
    checks: AtomicU32,
    wants_responses: bool,
    ends_at: &'static str,
}

impl Control for Observer {
    fn check(&self) -> Result<(), Interrupted> {
        let checks = self.checks.fetch_add(1, Ordering::Relaxed) + 1;
        if self.ends_at == "check" && checks > 1 { Err(Interrupted) } else { Ok(()) }
    }

    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        self.events.lock().unwrap().push(event.name());
        if event.name() == self.ends_at { Err(Interrupted) } else { Ok(()) }
    }

    fn wants_responses(&self) -> bool {
        self.wants_responses
    }
}

#[test]
fn the_calls_control_observes_the_poll() {
    for (wants_responses, events) in [(true, &["attempt", "response", "poll"][..]), (false, &["attempt", "poll"])] {
        let observer = Arc::new(Observer { wants_responses, ..Observer::default() });
        let emulator = emulator("{}");
        let (mut background, mut poller) = begun(&client(&emulator), &CallOptions::new().control(observer.clone()));
        background.finish(&mut poller).unwrap();
        assert_eq!(*observer.events.lock().unwrap(), events);
    }
}

#[test]
fn the_calls_control_ends_the_poll() {
    for ends_at in ["attempt", "check"] {
        let observer = Arc::new(Observer { ends_at, ..Observer::default() });
        let emulator = emulator(SILENT);
        let (mut background, mut poller) = begun(&client(&emulator), &CallOptions::new().control(observer));
        assert_eq!(background.finish(&mut poller).unwrap_err().kind(), ErrorKind::Cancelled, "{ends_at}");
    }
}
