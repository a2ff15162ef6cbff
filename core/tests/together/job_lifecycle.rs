//! The main use: send a follow-up, wait for it, read the result.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{JOB, builder, client, emulator, given_time, ms, quick, timed, tried, until};
use agentjob_core::{
    CallOptions, CancelToken, Control, Delivery, ErrorKind, Interrupted, Job, JobStatus, Poller, WaitOptions,
};

#[test]
fn a_follow_up_is_sent_and_waited_for_until_its_pull_request() {
    let emulator = emulator(r#"{"work_ms": 100}"#);
    let client = client(&emulator);
    let job = client.send_message(JOB, "Also cover the \"error\" cases\n\u{1F600}").unwrap();
    assert_eq!(job.id(), JOB);
    let done = client.wait(JOB, &quick()).unwrap();
    assert_eq!(done.status(), &JobStatus::Completed);
    assert!(done.pr_link().unwrap().contains("/pull/"));
    let ledger = emulator.ledger();
    assert_eq!(ledger.len(), 1);
    assert_eq!(ledger[0].prompt, "Also cover the \"error\" cases\n\u{1F600}");
}

#[test]
fn the_request_on_the_wire_follows_the_contract() {
    let emulator = emulator("{}");
    let client = builder(&emulator).user_agent_suffix("tests/1").build().unwrap();
    client.send_message(JOB, "p").unwrap();
    client.get_job(JOB).unwrap();
    let seen = emulator.requests().requests;
    let header = |n: usize, name: &str| {
        let found: Vec<_> = seen[n].headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).collect();
        assert!(found.len() <= 1, "{name} is sent once");
        found.first().map(|(_, value)| value.clone())
    };
    assert_eq!(seen[0].method.as_deref(), Some("POST"));
    assert_eq!(seen[0].path.as_deref(), Some("/v2/agent/demo/job/job_demo/message"));
    assert_eq!(header(0, "authorization").as_deref(), Some("Bearer ***"), "the right key, masked by the emulator");
    assert_eq!(header(0, "content-type").as_deref(), Some("application/json"));
    assert_eq!(header(0, "content-length").as_deref(), Some("14"));
    assert_eq!(header(0, "accept").as_deref(), Some("application/json"));
    assert_eq!(header(0, "accept-encoding").as_deref(), Some("identity"));
    assert_eq!(header(0, "user-agent").unwrap(), format!("agentjob/{} tests/1", agentjob_core::VERSION));
    assert_eq!(header(0, "transfer-encoding"), None);
    assert_eq!(header(0, "expect"), None);
    assert_eq!(seen[1].method.as_deref(), Some("GET"));
    assert_eq!(seen[1].path.as_deref(), Some("/v2/agent/demo/job/job_demo"));
    assert_eq!(header(1, "content-type"), None);
    assert_eq!(header(1, "content-length"), None);
    assert_eq!(emulator.requests().connections, 1, "the connection is kept");
}

#[test]
fn a_job_is_created_and_a_404_right_after_is_forgiven() {
    let emulator = emulator(r#"{"work_ms": 50, "visible_after_ms": 1500}"#);
    let client = client(&emulator);
    let job = client.create_job("Write the tests").unwrap();
    assert_eq!(job.status(), &JobStatus::Active);
    assert_eq!(client.get_job(job.id()).unwrap_err().kind(), ErrorKind::NotFound, "get_job returns the 404");
    assert_eq!(client.wait(job.id(), &quick()).unwrap().status(), &JobStatus::Completed);
    assert_eq!(client.wait("job_other", &quick()).unwrap_err().kind(), ErrorKind::NotFound, "this one was not created");
}

#[test]
fn the_previous_result_is_never_taken_for_the_new_one() {
    // A message whose response still shows the previous record, and one whose response is newer than what a read shows.
    for (stale_post, options) in [(true, quick()), (false, quick().min_interval(ms(300)).max_interval(ms(300)))] {
        let emulator = emulator(&format!(r#"{{"work_ms": 400, "stale_ms": 150, "stale_post": {stale_post}}}"#));
        let client = client(&emulator);
        let before = client.get_job(JOB).unwrap();
        assert!(before.is_terminal());
        let done = client.send_and_wait(JOB, "again", &options).unwrap();
        assert_ne!(done.pr_link(), before.pr_link(), "stale_post: {stale_post}");
        // The same in two steps.
        let before = done;
        client.send_message(JOB, "and again").unwrap();
        let done = client.wait(JOB, &options).unwrap();
        assert_ne!(done.pr_link(), before.pr_link(), "stale_post: {stale_post}");
    }
}

#[test]
fn a_wait_after_an_unknown_message_does_not_take_the_previous_result() {
    for rule in [
        r#"{"nth": 2, "fault": {"do": "close", "at": "request", "process": true}}"#,
        r#"{"nth": 2, "status": 200, "body": "{", "process": true}"#,
    ] {
        let emulator = emulator(&format!(r#"{{"work_ms": 400, "stale_ms": 150, "rules": [{rule}]}}"#));
        let client = client(&emulator);
        let before = client.get_job(JOB).unwrap();
        let error = client.send_message(JOB, "p").unwrap_err();
        assert!(matches!(error.delivery(), Some(Delivery::Unknown | Delivery::Accepted)), "{error}");
        let done = client.wait(JOB, &quick()).unwrap();
        assert_ne!(done.pr_link(), before.pr_link());
    }
}

#[test]
fn a_wait_that_is_about_to_end_polls_once_more() {
    tried(5, || {
        let emulator = emulator(r#"{"jobs": [{"id": "job_1", "status": "active", "finish_after_ms": 700}]}"#);
        let slow = WaitOptions::new().timeout(ms(2000)).min_interval(Duration::from_secs(10));
        assert!(client(&emulator).wait("job_1", &slow).unwrap().is_terminal());
        assert_eq!(emulator.requests().total, 2, "one poll at once, and one at the end");
    });
}

#[test]
fn the_facts_of_a_waits_error_describe_the_wait() {
    let emulator = emulator(r#"{"jobs": [{"id": "job_1", "status": "active"}], "rules": [{"nth": 4, "status": 401}]}"#);
    let error = client(&emulator).wait("job_1", &quick()).unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Authentication, 4));
    assert!(error.elapsed() >= ms(40) && error.job().is_some(), "{:?}", error.elapsed());
    // A last poll may have no time left to arrive.
    tried(5, || {
        let before = emulator.requests().total;
        let error = client(&emulator).send_and_wait("job_1", "p", &quick().timeout(ms(1000))).unwrap_err();
        let requests = emulator.requests().total - before;
        assert_eq!((error.kind(), u64::from(error.attempts())), (ErrorKind::WaitTimeout, requests), "with the message");
    });
}

#[test]
fn a_wait_after_a_message_that_can_never_succeed_says_the_same_everywhere() {
    let emulator = emulator(
        r#"{"work_ms": 60000, "rules": [{"method": "GET", "status": 401, "json": {"error": "key revoked"}}]}"#,
    );
    let client = client(&emulator);
    let waited = client.send_and_wait(JOB, "p", &quick()).unwrap_err();
    let mut poller = client.send_and_poll(JOB, "p", &quick()).unwrap();
    let polled = poller.poll(&client, &CallOptions::new()).unwrap_err();
    for error in [waited, polled] {
        assert_eq!(
            error.message(),
            "message to job job_demo was accepted, but waiting for its result ended: the service returned 401 (key revoked). \
             Check the API key: it may be wrong or expired. Do not send it again."
        );
        assert_eq!((error.kind(), error.http_status()), (ErrorKind::Authentication, Some(401)));
        assert_eq!((error.reason(), error.attempts()), ("the service returned 401 (key revoked)", 2));
    }
    let alone = client.wait(JOB, &quick()).unwrap_err();
    assert!(alone.message().starts_with("job job_demo could not be read: the service returned 401"), "{alone}");
}

#[test]
fn a_key_in_a_job_id_is_in_no_error_of_a_wait() {
    let emulator = emulator("{}");
    let key = "adm_zebra7quilt4mango9";
    let client = builder(&emulator).api_key(key).base_url("http://127.0.0.1:1").build().unwrap();
    let token = CancelToken::new();
    let late = client.wait(key, &quick().timeout(ms(1))).unwrap_err();
    token.cancel();
    let cancelled = client.wait(key, &quick().call(CallOptions::new().cancel(&token))).unwrap_err();
    for (error, kind) in [(late, ErrorKind::WaitTimeout), (cancelled, ErrorKind::Cancelled)] {
        assert_eq!(error.kind(), kind);
        assert!(!error.message().contains("zebra") && error.message().contains("***"), "{error}");
    }
}

#[test]
fn a_job_that_is_terminal_right_after_its_message_is_done_after_settle() {
    // The job is never seen `active`: its record is terminal from the first response on.
    let record = r#"{"id": "job_demo", "status": "completed", "prLink": null}"#;
    let emulator = emulator(&format!(r#"{{"rules": [{{"status": 200, "json": {record}}}]}}"#));
    let (took, done) = timed(|| client(&emulator).send_and_wait(JOB, "p", &quick()).unwrap());
    assert!(done.is_terminal());
    assert!(took >= ms(300), "{took:?}");
}

#[test]
fn each_terminal_status_ends_a_wait_and_an_unknown_one_does_not() {
    for outcome in ["completed", "failed", "archived"] {
        let emulator = emulator(&format!(r#"{{"work_ms": 50, "outcome": "{outcome}"}}"#));
        let done = client(&emulator).send_and_wait(JOB, "p", &quick()).unwrap();
        assert_eq!(done.status().as_str(), outcome);
    }
    let emulator = emulator(r#"{"jobs": [{"id": "job_1", "status": "paused"}]}"#);
    let error = client(&emulator).wait("job_1", &quick().timeout(ms(1500))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WaitTimeout);
    assert!(error.message().starts_with("wait for job job_1 timed out: the job was still paused after "), "{error}");
}

#[test]
fn a_wait_that_times_out_has_the_last_record_and_its_failed_polls() {
    let rules = r#"[{"nth": 2, "status": 503}, {"nth": 3, "status": 429}]"#;
    given_time(ms(1000), |timeout| {
        let emulator = emulator(&format!(r#"{{"jobs": [{{"id": "job_1", "status": "active"}}], "rules": {rules}}}"#));
        let (took, ended) = timed(|| client(&emulator).wait("job_1", &quick().timeout(timeout)));
        let error = ended.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::WaitTimeout, None));
        assert!(took >= timeout && took < timeout + ms(15_000), "{took:?}");
        // The machine may be too slow for three polls in this time.
        (emulator.requests().total >= 4).then(|| {
            assert_eq!(error.job().unwrap().status(), &JobStatus::Active);
            assert!(error.message().contains("1 rate_limit (429), 1 server (503)"), "{error}");
        })
    });
}

#[test]
fn a_poll_that_the_waits_deadline_cut_short_is_not_named_as_its_last_failure() {
    given_time(ms(300), |timeout| {
        let rules = r#"[{"nth": 1, "status": 503}, {"fault": {"do": "stall", "at": "request"}}]"#;
        let emulator = emulator(&format!(r#"{{"rules": {rules}}}"#));
        let error = client(&emulator).wait(JOB, &quick().timeout(timeout)).unwrap_err();
        // A machine that stops at the deadline makes one more poll.
        (emulator.requests().total == 2).then(|| {
            assert!(error.message().contains("the last poll failed: the service returned 503"), "{error}");
        })
    });
}

#[test]
fn a_wait_times_out_though_the_service_is_silent() {
    let emulator = emulator(r#"{"rules": [{"fault": {"do": "stall", "at": "request"}}]}"#);
    let (took, ended) = timed(|| client(&emulator).wait(JOB, &quick().timeout(ms(300))));
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::WaitTimeout);
    assert!(took >= ms(300) && took < ms(15_000), "{took:?}");
}

#[test]
fn a_wait_survives_outages_of_the_service() {
    let emulator = emulator(
        r#"{"jobs": [{"id": "job_1", "status": "active", "finish_after_ms": 300}], "rules": [
            {"nth": 1, "fault": {"do": "reset", "at": "request"}}, {"nth": 2, "status": 502, "body": "<html>"},
            {"nth": 3, "fault": {"do": "close", "at": "response:40"}}, {"nth": 4, "status": 408},
            {"nth": 5, "raw": "garbage\r\n\r\n", "after_response": "close"}]}"#,
    );
    assert!(client(&emulator).wait("job_1", &quick()).unwrap().is_terminal());
}

#[test]
fn a_wait_that_can_never_succeed_ends_at_once() {
    for (status, kind) in [
        (401, ErrorKind::Authentication),
        (403, ErrorKind::PermissionDenied),
        (404, ErrorKind::NotFound),
        (400, ErrorKind::BadRequest),
        (301, ErrorKind::Redirect),
    ] {
        let emulator = emulator(&format!(r#"{{"rules": [{{"status": {status}}}]}}"#));
        assert_eq!(client(&emulator).wait(JOB, &quick()).unwrap_err().kind(), kind);
        assert_eq!(emulator.requests().total, 1, "{status}");
    }
}

#[test]
fn a_wait_honours_retry_after() {
    let emulator = emulator(r#"{"rules": [{"nth": 1, "status": 429, "headers": {"Retry-After": "1"}}]}"#);
    let (took, done) = timed(|| client(&emulator).wait(JOB, &quick()));
    assert!(done.unwrap().is_terminal());
    assert!(took >= ms(1000), "{took:?}");
}

#[test]
fn watch_yields_each_change_and_ends_with_the_result() {
    // Two polls show it active, whenever they come.
    let active = r#"{"id": "job_demo", "status": "active"}"#;
    let active = |nth| format!(r#"{{"method": "GET", "nth": {nth}, "json": {active}}}"#);
    let emulator = emulator(&format!(r#"{{"work_ms": 50, "rules": [{}, {}]}}"#, active(1), active(2)));
    let client = client(&emulator);
    client.send_message(JOB, "p").unwrap();
    let statuses: Vec<String> =
        client.watch(JOB, &quick()).unwrap().map(|job| job.unwrap().status().as_str().to_owned()).collect();
    assert_eq!(statuses, ["active", "completed"]);
}

#[test]
fn a_poller_resumes_from_its_text() {
    let emulator = emulator(
        r#"{"work_ms": 50, "rules": [{"method": "GET", "nth": 1, "json": {"id": "job_demo", "status": "active"}}]}"#,
    );
    let client = client(&emulator);
    client.send_message(JOB, "p").unwrap();
    let mut poller = client.poller(JOB, &quick()).unwrap();
    assert!(poller.due_in() <= ms(20));
    assert_eq!(poller.poll(&client, &CallOptions::new()).unwrap(), None);
    let before = poller.elapsed();
    let text = poller.to_string();
    assert!(text.len() < 600, "{text}");
    let mut resumed: Poller = text.parse().unwrap();
    assert_eq!(resumed.job_id(), JOB);
    assert_eq!(resumed.polls(), 1);
    assert!(resumed.elapsed() >= before.saturating_sub(ms(5)));
    let done = loop {
        std::thread::sleep(resumed.due_in());
        if let Some(job) = resumed.poll(&client, &CallOptions::new()).unwrap() {
            break job;
        }
    };
    assert!(done.is_terminal() && resumed.is_done());
    for text in ["", "{}", "job_demo", r#"{"agentjob_poller":2}"#] {
        assert_eq!(text.parse::<Poller>().unwrap_err().kind(), ErrorKind::InvalidArgument, "{text}");
    }
}

#[test]
fn a_wait_that_is_resumed_too_late_still_polls_once() {
    let emulator = emulator(r#"{"jobs": [{"id": "job_demo"}, {"id": "job_busy", "status": "active"}]}"#);
    let client = client(&emulator);
    let options = quick().timeout(ms(50));
    for (job, ends) in
        [(JOB, Ok("completed")), ("job_busy", Err("wait for job job_busy timed out: the job was still active after "))]
    {
        let text = client.poller(job, &options).unwrap().to_string();
        std::thread::sleep(ms(80));
        let mut resumed: Poller = text.parse().unwrap();
        assert_eq!(resumed.due_in(), Duration::ZERO);
        match (resumed.poll(&client, &CallOptions::new()), ends) {
            (Ok(done), Ok(status)) => assert_eq!(done.unwrap().status().as_str(), status),
            (Err(error), Err(start)) => {
                assert!(error.kind() == ErrorKind::WaitTimeout && error.message().starts_with(start), "{error}");
                assert_eq!(error.job().map(|job| job.status().as_str()), Some("active"));
                assert_eq!(resumed.poll(&client, &CallOptions::new()).unwrap_err().kind(), ErrorKind::WaitTimeout);
            }
            (polled, _) => panic!("{polled:?}"),
        }
    }
    assert_eq!(emulator.requests().total, 2, "once each");
}

#[test]
fn progress_is_reported_once_per_change_and_can_end_the_wait() {
    #[derive(Default)]
    struct Watcher {
        seen: Mutex<Vec<String>>,
        end_at: usize,
    }
    impl Control for Watcher {
        fn update(&self, job: &Job) -> Result<(), Interrupted> {
            let mut seen = self.seen.lock().unwrap();
            seen.push(job.status().to_string());
            if seen.len() == self.end_at { Err(Interrupted) } else { Ok(()) }
        }
    }
    let emulator = emulator(r#"{"work_ms": 150}"#);
    let client = client(&emulator);
    let wait = |end_at| {
        let watcher = Arc::new(Watcher { end_at, ..Watcher::default() });
        let options = quick().call(CallOptions::new().control(watcher.clone()));
        let ended = client.send_and_wait(JOB, "p", &options);
        (ended, watcher.seen.lock().unwrap().clone())
    };
    let (ended, seen) = wait(0);
    ended.unwrap();
    assert_eq!(seen.last().unwrap(), "completed");
    assert!(seen.len() <= 3, "{seen:?}");

    let (ended, seen) = wait(1);
    let error = ended.unwrap_err();
    assert_eq!(seen.len(), 1);
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Cancelled, Some(Delivery::Accepted)));
    assert!(error.job().is_some());
}

#[test]
fn a_wait_can_be_cancelled_and_closed_from_another_thread() {
    let emulator = emulator(r#"{"jobs": [{"id": "job_1", "status": "active"}]}"#);
    let client = client(&emulator);
    let slow = WaitOptions::new().min_interval(Duration::from_secs(50));
    let token = CancelToken::new();
    for (end, kind) in [
        (Box::new(|| token.cancel()) as Box<dyn Fn() + Send + Sync>, ErrorKind::Cancelled),
        (Box::new(|| client.close()), ErrorKind::Closed),
    ] {
        let options = slow.clone().call(CallOptions::new().cancel(&token));
        let options = if kind == ErrorKind::Closed { slow.clone() } else { options };
        let polls = emulator.requests().total;
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| timed(|| client.wait("job_1", &options)));
            until("the wait polls", || emulator.requests().total > polls);
            end();
            let (took, ended) = waiting.join().unwrap();
            assert_eq!(ended.unwrap_err().kind(), kind);
            assert!(took < ms(30_000), "well before the next poll: {kind}: {took:?}");
        });
    }
    assert_eq!(client.get_job("job_1").unwrap_err().kind(), ErrorKind::Closed);
    assert!(client.is_closed());
}
