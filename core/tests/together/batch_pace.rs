//! When a batch sends: its rate, and the pauses after a rate limit and after a service failure.

use std::time::Duration;

use crate::batches::{Folder, items, lines, run, run_until_stopped, service};
use crate::support::{client, emulator_on_its_own_port, ms, quick, timed, tried};
use agentjob_core::{
    BatchEvent, BatchOptions, BatchOutcome, BatchUpdate, Delivery, ErrorKind, PauseReason, batch_status,
};
use agentjob_emulator::{Config, Emulator};

#[test]
fn a_429_pauses_every_message_until_the_service_allows_it() {
    // What the batch says during the pause is compared while it lasts.
    let rule = r#","rules":[{"method":"POST","nth":3,"status":429,"headers":{"Retry-After":"3"}}]"#;
    let (service, folder) = (service(8, rule), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()).concurrency(1));
    let (mut updates, mut accepted) = (Vec::new(), 0);
    let (took, ()) = timed(|| {
        let mut batch = client.send_all(items(8), &options).unwrap();
        loop {
            match batch.next_event(Duration::MAX).unwrap() {
                BatchEvent::Outcome(outcome) => accepted += u32::from(outcome.delivery() == Delivery::Accepted),
                BatchEvent::Update(BatchUpdate::Paused { reason, pause, error }) => {
                    assert_eq!((accepted, reason), (2, PauseReason::RateLimit));
                    assert!(!pause.is_zero() && pause <= ms(3000), "{pause:?}");
                    assert_eq!(error.unwrap().http_status(), Some(429));
                    let progress = batch.progress();
                    assert_eq!((progress.accepted, progress.left), (2, 6));
                    assert_eq!(progress.pause.unwrap().0, PauseReason::RateLimit);
                    assert!(batch_status(folder.journal()).unwrap().running);
                    updates.push("paused");
                }
                BatchEvent::Update(BatchUpdate::Resumed) => updates.push("resumed"),
                BatchEvent::Finished => break,
                _ => {}
            }
        }
    });
    assert_eq!((updates.as_slice(), accepted), (["paused", "resumed"].as_slice(), 8));
    assert!(took >= ms(3000), "{took:?}");
    assert_eq!(lines(&folder.journal(), "paused"), 1);
    assert_eq!(service.ledger().len(), 8);
}

#[test]
fn a_pause_holds_over_a_restart() {
    let rule = r#","rules":[{"method":"POST","nth":1,"status":429,"headers":{"Retry-After":"4"}}]"#;
    let (service, folder) = (service(2, rule), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    let (took, outcomes) = timed(|| {
        let mut first = client.send_all(items(1), &options).unwrap();
        let event = first.next_event(Duration::MAX).unwrap();
        let BatchEvent::Update(BatchUpdate::Paused { error: Some(error), .. }) = event else { panic!("{event:?}") };
        assert_eq!(
            error.delivery(),
            Some(Delivery::NotSent),
            "a refusal that is about every message is not this message's end"
        );
        drop(first);
        assert!(batch_status(folder.journal()).unwrap().progress.pause.is_some());
        let mut second = client.send_all(items(1), &options).unwrap();
        let event = second.next_event(Duration::MAX).unwrap();
        let BatchEvent::Update(BatchUpdate::Paused { reason, error, .. }) = event else { panic!("{event:?}") };
        assert_eq!((reason, error.is_none()), (PauseReason::RateLimit, true), "its cause was the earlier run's");
        let event = second.next_event(Duration::MAX).unwrap();
        assert!(matches!(event, BatchEvent::Update(BatchUpdate::Resumed)), "{event:?}");
        second.collect::<Result<Vec<_>, _>>().unwrap()
    });
    assert_eq!(outcomes[0].delivery(), Delivery::Accepted);
    assert!(took >= ms(4000), "{took:?}");
    assert_eq!(service.requests().total, 2);
}

#[test]
fn the_rate_holds_over_restarts() {
    let (service, folder) = (service(9, ""), Folder::new());
    let rate = agentjob_core::Rate::new(3, ms(500)).unwrap();
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()).rate(rate));
    for _ in 0..3 {
        let mut batch = client.send_all(items(9), &options).unwrap();
        let sent = batch.by_ref().filter(|outcome| !outcome.as_ref().unwrap().is_earlier()).take(3).count();
        assert_eq!(sent, 3);
    }
    let times: Vec<u64> = service.ledger().iter().map(|message| message.at_ms).collect();
    assert_eq!(times.len(), 9);
    for window in times.windows(4) {
        // A message counts from its end, when it has long been at the service. The service's clock isn't ours.
        assert!(window[3] - window[0] >= 480, "{times:?}");
    }
}

#[test]
fn after_a_service_failure_the_job_is_polled_before_another_message_is_risked() {
    let rule = r#","rules":[{"method":"POST","nth":1,"status":503},{"method":"GET","nth":1,"status":503}]"#;
    let (service, folder) = (service(3, rule), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    let outcomes = run(&client(&service), items(3), &options);
    let verdicts: Vec<_> = outcomes.iter().map(BatchOutcome::delivery).collect();
    assert_eq!(verdicts, [Delivery::Unknown, Delivery::Accepted, Delivery::Accepted]);
    let methods: Vec<String> =
        service.requests().requests.iter().filter_map(|request| request.method.clone()).collect();
    assert_eq!(methods, ["POST", "GET", "GET", "POST", "POST"]);
}

#[test]
fn a_pause_because_of_a_failed_poll_is_about_no_message() {
    let rules = r#","rules":[{"method":"POST","nth":1,"status":503},{"method":"GET","nth":1,"status":502}]"#;
    let (service, folder) = (service(2, rules), Folder::new());
    let mut batch = client(&service).send_all(items(2), &BatchOptions::new(folder.journal()).concurrency(1)).unwrap();
    let mut errors = Vec::new();
    while errors.len() < 2 {
        if let BatchEvent::Update(BatchUpdate::Paused { error, .. }) = batch.next_event(Duration::MAX).unwrap() {
            errors.extend(error);
        }
    }
    assert_eq!((errors[0].delivery(), errors[0].http_status()), (Some(Delivery::Unknown), Some(503)));
    assert_eq!(
        errors[1].message(),
        "job job_2 could not be read: the service returned 502 (a rule of the emulator says so)"
    );
    assert_eq!(errors[1].delivery(), None);
}

#[test]
fn a_service_that_is_down_loses_no_message() {
    let config = r#"{"jobs":[{"id":"job_1"},{"id":"job_2"},{"id":"job_3"},{"id":"job_4"}]}"#;
    let (service, folder) = (emulator_on_its_own_port(config), Folder::new());
    let (client, port) = (client(&service), service.address().port());
    service.stop();
    let mut batch = client.send_all(items(4), &BatchOptions::new(folder.journal())).unwrap();
    let event = batch.next_event(Duration::MAX).unwrap();
    let BatchEvent::Update(BatchUpdate::Paused { reason, error: Some(error), .. }) = event else { panic!("{event:?}") };
    assert_eq!((reason, error.delivery()), (PauseReason::ServiceFailure, Some(Delivery::NotSent)));
    assert!(!error.message().contains("send it again"), "the batch sends it again, not its caller: {error}");
    let back = Emulator::start(Config { port, ..Config::from_json(config).unwrap() }).unwrap();
    let outcomes: Vec<_> = batch.map(Result::unwrap).collect();
    assert_eq!(outcomes.len(), 4);
    assert!(outcomes.iter().all(|outcome| outcome.delivery() == Delivery::Accepted), "{outcomes:?}");
    assert_eq!(back.ledger().len(), 4);
}

#[test]
fn an_outage_longer_than_max_outage_stops_the_batch() {
    let (service, folder) = (service(50, r#","rules":[{"method":"POST","status":502}]"#), Folder::new());
    let options = BatchOptions::new(folder.journal()).max_outage(ms(2500));
    let (outcomes, error) = run_until_stopped(client(&service).send_all(items(50), &options).unwrap());
    assert_eq!(error.kind(), ErrorKind::Server);
    assert!(error.message().starts_with("the batch stopped after an outage of "), "{error}");
    assert!(error.message().ends_with("Run it again with the same journal: it continues where it stopped."), "{error}");
    assert!(outcomes.len() < 8, "it does not use up the list: {}", outcomes.len());
    let status = batch_status(folder.journal()).unwrap();
    assert_eq!((status.progress.unknown, status.progress.left), (outcomes.len() as u64, 50 - outcomes.len() as u64));
}

#[test]
fn a_429_that_says_retry_at_once_still_backs_off() {
    let rules = r#","rules":[{"method":"POST","status":429,"headers":{"Retry-After":"0"}}]"#;
    // The pauses are as long as they still last when they are reported.
    tried(5, || {
        let (service, folder) = (service(1, rules), Folder::new());
        let mut batch = client(&service).send_all(items(1), &BatchOptions::new(folder.journal())).unwrap();
        let mut pauses = Vec::new();
        while pauses.len() < 2 {
            if let BatchEvent::Update(BatchUpdate::Paused { pause, .. }) = batch.next_event(Duration::MAX).unwrap() {
                pauses.push(pause);
            }
        }
        assert!(pauses[0] <= ms(1000) && pauses[0] < pauses[1] && pauses[1] <= ms(2000), "{pauses:?}");
        assert_eq!(service.requests().total, 2);
    });
}

#[test]
fn a_rate_limit_on_polls_does_not_keep_a_wait_beyond_its_deadline() {
    let rules = r#","work_ms":60000,"rules":[{"method":"GET","nth":1,"status":429,"headers":{"Retry-After":"30"}}]"#;
    // Two jobs may be polled at the same time, before the 429 is there.
    tried(5, || {
        let (service, folder) = (service(2, rules), Folder::new());
        let options = BatchOptions::new(folder.journal()).wait(quick().timeout(ms(1500)));
        let (took, outcomes) = timed(|| run(&client(&service), items(2), &options));
        assert!(took < ms(15_000), "{took:?}");
        assert!(outcomes.iter().all(|outcome| outcome.error().unwrap().kind() == ErrorKind::WaitTimeout));
        let requests = service.requests().requests;
        let polls = requests.iter().filter(|request| request.method.as_deref() == Some("GET")).count();
        assert_eq!(polls, 1, "no job is polled meanwhile");
    });
}

#[test]
fn a_batch_that_is_stopped_while_it_polls_before_a_probe_sends_nothing_more() {
    let rules = r#","rules":[{"method":"POST","nth":1,"status":503},{"method":"GET","delay_ms":3000}]"#;
    let (service, folder) = (service(2, rules), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    let mut batch = client(&service).send_all(items(2), &options).unwrap();
    while service.requests().total < 2 {
        batch.next_event(ms(5)).unwrap();
    }
    batch.stop();
    assert!(batch.by_ref().all(|outcome| outcome.is_ok()));
    assert_eq!((service.requests().total, service.ledger().len()), (2, 0));
}

#[test]
fn a_message_that_always_fails_does_not_delay_the_others() {
    let rules = r#","rules":[{"method":"POST","path":"/v2/agent/*/job/job_1/message","status":408}]"#;
    // The others need one pause of a second.
    tried(3, || {
        let (service, folder) = (service(3, rules), Folder::new());
        let options = BatchOptions::new(folder.journal()).concurrency(1).max_outage(ms(2500));
        let (outcomes, error) = run_until_stopped(client(&service).send_all(items(3), &options).unwrap());
        assert_eq!(outcomes.iter().map(BatchOutcome::number).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(error.http_status(), Some(408));
    });
}
