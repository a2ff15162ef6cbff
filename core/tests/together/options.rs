//! Clients with the same connections and other settings.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{JOB, builder, client, emulator, given_time, ms, quick, timed, tried};
use agentjob_core::{CallOptions, Client, ClientOptions, Delivery, ErrorKind, Event, WaitOptions};
use agentjob_emulator::Emulator;
use serde_json::Value;

#[test]
fn a_client_with_other_options_shares_the_connections() {
    let emulator = emulator("{}");
    let client = client(&emulator);
    client.get_job(JOB).unwrap();
    let changed = client.with_options(ClientOptions::new().timeout(ms(1_500)).max_retries(7)).unwrap();
    changed.get_job(JOB).unwrap();
    changed.with_options(ClientOptions::new()).unwrap().get_job(JOB).unwrap();
    assert_eq!(emulator.requests().connections, 1);
    assert_eq!((changed.timeout(), changed.max_retries()), (ms(1_500), 7));
    assert_eq!((client.timeout(), client.max_retries()), (Duration::from_secs(20), 2), "the first one is unchanged");
    changed.close();
    assert_eq!(client.get_job(JOB).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn each_option_has_its_effect() {
    let emulator =
        emulator(r#"{"rules": [{"method": "GET", "status": 503}, {"fault": {"do": "stall", "at": "request"}}]}"#);
    given_time(ms(300), |timeout| has_its_effect(&emulator, timeout).then_some(()));
}

/// Whether the service's 503 came within the timeout.
fn has_its_effect(emulator: &Emulator, timeout: Duration) -> bool {
    let events = Arc::new(Mutex::new(Vec::new()));
    let client = builder(emulator).max_retries(2).build().unwrap();
    let handler = {
        let events = events.clone();
        Arc::new(move |event: &Event<'_>| events.lock().unwrap().push(event.name()))
    };
    let options = ClientOptions::new().max_retries(0).timeout(timeout).max_prompt_bytes(3).on_event(handler);
    let changed = client.with_options(options).unwrap();
    let error = changed.get_job(JOB).unwrap_err();
    assert_eq!(error.attempts(), 1);
    if error.kind() == ErrorKind::Timeout {
        return false;
    }
    let (took, error) = timed(|| changed.send_message(JOB, "p").unwrap_err());
    assert!(error.kind() == ErrorKind::Timeout && took < 50 * timeout, "{took:?} {error}");
    assert!(changed.send_message(JOB, "four").unwrap_err().message().contains("At most 3 bytes"));
    assert_eq!(*events.lock().unwrap(), ["attempt", "response", "attempt"]);
    true
}

#[test]
fn a_message_that_was_refused_as_408_421_or_425_is_sent_once_more_however_many_retries_there_are() {
    for status in [408, 421, 425] {
        let emulator =
            emulator(&format!(r#"{{"rules": [{{"status": {status}, "headers": {{"Retry-After": "0"}}}}]}}"#));
        let error = builder(&emulator).max_retries(5).build().unwrap().send_message(JOB, "p").unwrap_err();
        assert_eq!((error.http_status(), error.attempts()), (Some(status), 2));
        assert_eq!(emulator.requests().total, 2, "{status}");
    }
}

#[test]
fn a_message_that_is_late_by_the_time_since_the_machine_started_does_not_leave() {
    let emulator = emulator("{}");
    let client = client(&emulator);
    let Some(now) = agentjob_core::uptime::since_boot() else { return };
    // As after a sleep of the machine: the time left by the other clock is the whole timeout.
    for kept_connection in [false, true] {
        let error = client.send_message_with(JOB, "late", &CallOptions::new().of_step(Some(now))).unwrap_err();
        assert_eq!(
            (error.kind(), error.delivery()),
            (ErrorKind::Timeout, Some(Delivery::NotSent)),
            "{kept_connection}"
        );
        client.send_message_with(JOB, "p", &CallOptions::new().of_step(Some(now + ms(60_000)))).unwrap();
    }
    client.get_job_with(JOB, &CallOptions::new().of_step(Some(now))).unwrap();
    assert!(emulator.ledger().iter().all(|message| message.prompt == "p"));
}

#[test]
fn the_time_that_a_call_queued_counts_towards_its_timeout() {
    let emulator = emulator(r#"{"rules": [{"fault": {"do": "stall", "at": "request"}}]}"#);
    let events = Arc::new(Mutex::new(0));
    let counter = events.clone();
    let handler = Arc::new(move |_: &Event<'_>| *counter.lock().unwrap() += 1);
    let client = builder(&emulator).on_event(handler).build().unwrap();
    let queued = |timeout: u64| {
        let started = Instant::now().checked_sub(ms(400)).unwrap();
        CallOptions::new().timeout(ms(timeout)).started_at(started)
    };
    // It timed out in the queue: no request, no event.
    let error = client.send_message_with(JOB, "p", &queued(300)).unwrap_err();
    assert_eq!((error.kind(), error.delivery(), error.attempts()), (ErrorKind::Timeout, Some(Delivery::NotSent), 0));
    assert!(error.elapsed() >= ms(400) && error.message().contains("timed out (timeout)"), "{error:?}");
    let error = client.get_job_with(JOB, &queued(300)).unwrap_err();
    assert_eq!((error.kind(), error.delivery(), error.attempts()), (ErrorKind::Timeout, None, 0));
    assert_eq!((*events.lock().unwrap(), emulator.requests().total), (0, 0));
    // The request gets the rest of the time: 1.6 s of 2 s.
    tried(5, || {
        let (took, error) = timed(|| client.send_message_with(JOB, "p", &queued(2000)).unwrap_err());
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Some(Delivery::Unknown)));
        assert_eq!(error.attempts(), 1);
        assert!(took < ms(1950) && error.elapsed() >= ms(2000), "{took:?} {error:?}");
    });
    client.close();
    assert_eq!(client.send_message_with(JOB, "p", &queued(300)).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn the_time_that_a_poll_queued_counts_and_the_waits_deadline_stays() {
    let emulator = emulator(r#"{"rules": [{"fault": {"do": "stall", "at": "request"}}]}"#);
    let client = client(&emulator);
    let queued = || CallOptions::new().started_at(Instant::now().checked_sub(ms(4000)).unwrap());
    let began = Instant::now();
    let mut poller = client.poller(JOB, &WaitOptions::new().timeout(ms(3000))).unwrap();
    assert!(poller.time_left().unwrap() > Duration::ZERO);
    // A poll that timed out in the queue is a failed poll, and the wait continues.
    assert_eq!(poller.poll(&client, &queued().timeout(ms(3000))).unwrap(), None);
    assert_eq!((poller.polls(), emulator.requests().total), (1, 0));
    // The next poll may take all the time left in the wait, however long it queued: longer than the wait.
    let error = poller.poll(&client, &queued()).unwrap_err();
    assert_eq!((error.kind(), emulator.requests().total), (ErrorKind::WaitTimeout, 1));
    assert!(began.elapsed() >= ms(3000) && error.elapsed() >= ms(3000), "{error:?}");
    // Without its own deadline it would have had the client's timeout.
    assert!(began.elapsed() < ms(15_000), "{:?}", began.elapsed());
}

#[test]
fn a_wrong_option_is_named() {
    let emulator = emulator("{}");
    let client = client(&emulator);
    for (options, start) in [
        (ClientOptions::new().timeout(Duration::ZERO), "timeout is 0"),
        (ClientOptions::new().connect_timeout(Duration::MAX), "connect_timeout is "),
        (ClientOptions::new().max_retries(101), "max_retries is 101"),
        (ClientOptions::new().max_retry_after(Duration::MAX), "max_retry_after is longer"),
        (ClientOptions::new().max_prompt_bytes(0), "max_prompt_bytes is 0"),
        (ClientOptions::new().max_response_bytes(usize::MAX), "max_response_bytes is more"),
    ] {
        let error = client.with_options(options).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.message().starts_with(start), "{error}");
    }
}

#[test]
fn a_message_can_be_sent_and_polled_one_poll_at_a_time() {
    let emulator = emulator(r#"{"work_ms": 100}"#);
    let client = client(&emulator);
    let mut poller = client.send_and_poll(JOB, "p", &quick()).unwrap();
    assert_eq!(
        poller.job().map(|job| job.status().as_str()),
        Some("active"),
        "the response to the message is the first record"
    );
    let done = loop {
        std::thread::sleep(poller.due_in());
        if let Some(job) = poller.poll(&client, &Default::default()).unwrap() {
            break job;
        }
    };
    assert!(done.is_terminal() && emulator.ledger().len() == 1);
}

#[test]
fn a_wait_takes_what_it_is_not_given_from_its_client() {
    let emulator = emulator(r#"{"work_ms": 100}"#);
    let quick = ClientOptions::new().min_interval(ms(10)).max_interval(ms(20)).lateness(0.5).settle(ms(200));
    let quick = client(&emulator).with_options(quick.wait_timeout(ms(20_000))).unwrap();
    assert!(quick.send_and_wait(JOB, "p", &WaitOptions::new()).unwrap().is_terminal());
    // A poller's text has its schedule.
    let schedule = |client: &Client, options: &WaitOptions| {
        let text: Value = serde_json::from_str(&client.poller(JOB, options).unwrap().to_string()).unwrap();
        ["timeout_ms", "min_interval_ms", "max_interval_ms", "lateness_millionths", "settle_ms"]
            .map(|name| text["state"][name].as_u64())
    };
    assert_eq!(schedule(&quick, &WaitOptions::new()), [20_000, 10, 20, 500_000, 200].map(Some));
    let own = WaitOptions::new().timeout(None).min_interval(ms(15)).max_interval(ms(16)).lateness(0.1).settle(ms(0));
    assert_eq!(schedule(&quick, &own), [None, Some(15), Some(16), Some(100_000), Some(0)]);
    let patient = quick.with_options(ClientOptions::new().wait_timeout(None).max_interval(ms(70_000))).unwrap();
    assert_eq!(schedule(&patient, &WaitOptions::new()), [None, Some(10), Some(70_000), Some(500_000), Some(200)]);
    // One of the two intervals alone is checked against the client's other one.
    let error = quick.wait(JOB, &WaitOptions::new().min_interval(ms(30))).unwrap_err();
    assert!(error.message().starts_with("min_interval is longer than max_interval"), "{error}");
}
