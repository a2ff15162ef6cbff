//! A service whose reads lag behind its writes: after a message the response says `active`, and for a while polls still show the
//! result from before the message. No wait takes it for the message's own.

use std::sync::Arc;
use std::time::Duration;

use agentjob_core::{
    BatchItem, BatchOptions, CallOptions, CancelToken, Client, Control, Delivery, ErrorKind, ExportFormat, Interrupted,
    Job, Poller, WaitOptions, batch_export,
};
use agentjob_emulator::Emulator;

use crate::batches::Folder;
use crate::support::{JOB, client, emulator, ms, quick, until};

const PREVIOUS: &str = "https://example.com/pull/previous";

/// A service whose polls are this late, with a job that has a result. Each message then takes `work_ms`.
fn lagging(stale_ms: u32, work_ms: u32, rules: &str) -> Emulator {
    emulator(&format!(
        r#"{{"work_ms": {work_ms}, "stale_ms": {stale_ms}, "stale_post": false, "rules": [{rules}],
            "jobs": [{{"id": "{JOB}", "status": "completed", "prLink": "{PREVIOUS}"}}]}}"#
    ))
}

/// Polls often, and gives the reads more time to catch up than they need.
fn patient() -> WaitOptions {
    quick().settle(Duration::from_secs(15))
}

fn assert_new(name: &str, job: &Job) {
    assert_eq!(job.status().as_str(), "completed", "{name}");
    assert_ne!(job.pr_link(), Some(PREVIOUS), "{name}");
}

/// Polls as a program with its own loop does.
fn drive(client: &Client, mut poller: Poller) -> Job {
    loop {
        std::thread::sleep(poller.due_in());
        if let Some(job) = poller.poll(client, &CallOptions::new()).unwrap() {
            return job;
        }
    }
}

#[test]
fn a_wait_after_a_message_whose_response_says_active_does_not_take_the_previous_result() {
    type Wait = fn(&Client) -> Job;
    let waits: [(&str, Wait); 6] = [
        ("send_and_wait", |client| client.send_and_wait(JOB, "p", &patient()).unwrap()),
        ("send_and_poll", |client| drive(client, client.send_and_poll(JOB, "p", &patient()).unwrap())),
        ("wait", |client| {
            assert_eq!(client.send_message(JOB, "p").unwrap().status().as_str(), "active");
            client.wait(JOB, &patient()).unwrap()
        }),
        ("watch", |client| {
            client.send_message(JOB, "p").unwrap();
            client.watch(JOB, &patient()).unwrap().last().unwrap().unwrap()
        }),
        ("poller", |client| {
            client.send_message(JOB, "p").unwrap();
            drive(client, client.poller(JOB, &patient()).unwrap())
        }),
        ("a batch", |client| {
            let folder = Folder::new();
            let options = BatchOptions::new(folder.journal()).wait(patient());
            let mut batch = client.send_all([BatchItem::new(JOB, "p")], &options).unwrap();
            batch.next().unwrap().unwrap().job().unwrap().clone()
        }),
    ];
    std::thread::scope(|scope| {
        for (name, wait) in waits {
            scope.spawn(move || {
                let service = lagging(300, 1500, "");
                let done = wait(&client(&service));
                assert_new(name, &done);
                assert_eq!(service.ledger().len(), 1, "{name}");
            });
        }
    });
}

#[test]
fn a_wait_that_began_before_the_message_does_not_take_the_previous_result() {
    // The message of another thread, which the service has processed and not yet responded to.
    let service = lagging(1500, 4000, r#"{"method": "POST", "delay_ms": 1000}"#);
    let one = client(&service);
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| one.send_message(JOB, "p").unwrap());
        until("the service has the message", || service.ledger().len() == 1);
        let waiting = scope.spawn(|| one.wait(JOB, &patient()).unwrap());
        assert_new("wait", &waiting.join().unwrap());
        sending.join().unwrap();
    });

    // The watch's first poll is sure to come while the reads lag.
    let service = lagging(3000, 4000, "");
    let one = client(&service);
    let (mut watch, poller) = (one.watch(JOB, &patient()).unwrap(), one.poller(JOB, &patient()).unwrap());
    let saved = poller.to_string();
    one.send_message(JOB, "p").unwrap();
    let first = watch.next().unwrap().unwrap();
    assert_eq!(first.pr_link(), Some(PREVIOUS), "a watch shows each record");
    let resumed: Poller = saved.parse().unwrap();
    std::thread::scope(|scope| {
        let driven = [poller, resumed].map(|poller| scope.spawn(|| drive(&one, poller)));
        assert_new("watch", &watch.last().unwrap().unwrap());
        driven.into_iter().for_each(|driven| assert_new("poller", &driven.join().unwrap()));
    });
}

#[test]
fn a_message_that_was_not_delivered_does_not_delay_a_wait() {
    let service = lagging(0, 0, r#"{"method": "POST", "status": 409}"#);
    let client = client(&service);
    let mut poller = client.poller(JOB, &patient()).unwrap();
    assert_eq!(client.send_message(JOB, "p").unwrap_err().delivery(), Some(Delivery::Rejected));
    assert!(poller.poll(&client, &CallOptions::new()).unwrap().is_some());
}

#[test]
fn a_wait_after_a_new_job_ends_with_its_first_result() {
    let service = emulator(r#"{"work_ms": 0}"#);
    let client = client(&service);
    let id = client.create_job("p").unwrap().id().to_owned();
    let mut poller = client.poller(&id, &patient()).unwrap();
    assert!(poller.poll(&client, &CallOptions::new()).unwrap().is_some(), "a new job has no previous result");
}

/// Ends a wait at its first record.
struct AtFirstRecord;

impl Control for AtFirstRecord {
    fn update(&self, job: &Job) -> Result<(), Interrupted> {
        if job.is_terminal() { Err(Interrupted) } else { Ok(()) }
    }
}

#[test]
fn an_error_says_that_the_job_may_have_shown_its_previous_result_and_does_not_have_that() {
    let service = lagging(60_000, 60_000, "");
    let client = client(&service);
    let doubt = "the job showed completed, which may be its previous result";
    let late = client.send_and_wait(JOB, "p", &patient().timeout(ms(2000))).unwrap_err();
    let start = format!("message to job {JOB} was accepted, but waiting for its result timed out: {doubt}, after ");
    assert!(late.kind() == ErrorKind::WaitTimeout && late.message().starts_with(&start), "{late}");
    assert!(late.job().is_none(), "{late:?}");
    let options = patient().call(CallOptions::new().control(Arc::new(AtFirstRecord)));
    let stopped = client.send_and_wait(JOB, "p", &options).unwrap_err();
    assert_eq!(
        stopped.message(),
        format!(
            "message to job {JOB} was accepted, but waiting for its result ended: the call was cancelled; {doubt}. \
             Do not send it again."
        )
    );
    assert!(stopped.job().is_none(), "{stopped:?}");
}

#[test]
fn a_batch_whose_wait_times_out_before_it_has_settled_does_not_report_the_previous_result() {
    let (service, folder) = (lagging(60_000, 60_000, ""), Folder::new());
    let options = BatchOptions::new(folder.journal()).wait(patient().timeout(ms(2000)));
    let outcome = client(&service).send_all([BatchItem::new(JOB, "p")], &options).unwrap().next().unwrap().unwrap();
    assert_eq!(outcome.error().unwrap().kind(), ErrorKind::WaitTimeout);
    assert!(outcome.job().is_none(), "{outcome:?}");
}

#[test]
fn the_export_has_no_previous_result_of_a_message_that_was_not_waited_for() {
    let service = emulator(&format!(
        r#"{{"work_ms": 100, "stale_ms": 200,
            "jobs": [{{"id": "{JOB}", "status": "completed", "prLink": "{PREVIOUS}"}}]}}"#
    ));
    let (client, folder) = (client(&service), Folder::new());
    let options = BatchOptions::new(folder.journal());
    let run =
        |options: BatchOptions| client.send_all([BatchItem::new(JOB, "p")], &options).unwrap().next().unwrap().unwrap();
    let response = run(options.clone());
    assert_eq!(response.job().unwrap().pr_link(), Some(PREVIOUS), "the response is as the service gave it");
    let exported = batch_export(folder.journal(), &[]).unwrap();
    assert!(exported.items[0].job.is_none(), "{exported:?}");
    let text = exported.text(ExportFormat::JsonLines);
    assert!(text.contains(r#""status":null,"pr_link":null}"#), "{text}");
    assert_new("a later wait", run(options.wait(quick())).job().unwrap());
    assert_new("its export", batch_export(folder.journal(), &[]).unwrap().items[0].job.as_ref().unwrap());
}

#[test]
fn a_wait_that_is_cancelled_or_closed_says_the_same_whether_a_poll_is_in_flight_or_not() {
    let job = r#""jobs": [{"id": "job_1", "status": "active"}]"#;
    let silent = r#", "rules": [{"nth": 2, "fault": {"do": "stall", "at": "request"}}]"#;
    for (rules, options, requests) in [
        ("", WaitOptions::new().min_interval(Duration::from_secs(30)), 1),
        (silent, WaitOptions::new().min_interval(ms(1)), 2),
    ] {
        for cause in ["the call was cancelled", "the client was closed"] {
            let service = emulator(&format!("{{{job}{rules}}}"));
            let client = client(&service);
            let token = CancelToken::new();
            let options = options.clone().call(CallOptions::new().cancel(&token));
            let error = std::thread::scope(|scope| {
                let waiting = scope.spawn(|| client.wait("job_1", &options).unwrap_err());
                until("the wait polls", || service.requests().total == requests);
                if cause.contains("closed") {
                    client.close()
                } else {
                    token.cancel()
                }
                waiting.join().unwrap()
            });
            assert_eq!(error.message(), format!("wait for job job_1 ended: {cause}"));
        }
    }
}
