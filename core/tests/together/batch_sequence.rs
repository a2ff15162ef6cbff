//! What happens to a job's next messages: the rows of the table in docs/reference/batches.md.

use std::time::Duration;

use crate::batches::{
    Folder, assert_own_results, by_number, deliveries, messages, prompts, run, run_until_stopped, service_with_jobs,
};
use crate::support::{client, emulator, given_time, ms, quick, until};
use agentjob_core::{
    Batch, BatchEvent, BatchOptions, BatchOutcome, BatchRef, BatchUpdate, CancelToken, Client, Delivery, ErrorKind,
    PauseReason, Resolution, batch_drop, batch_resolve, batch_status,
};
use agentjob_emulator::Emulator;

#[test]
fn a_message_that_is_rejected_or_whose_job_fails_does_not_stop_the_next_ones() {
    let (rejecting, folder) =
        (service_with_jobs(r#","rules":[{"method":"POST","nth":1,"status":400}]"#), Folder::new());
    let outcomes = by_number(
        run(&client(&rejecting), messages(&["a", "a", "a"]), &BatchOptions::new(folder.journal()).wait(quick())),
        3,
    );
    assert_eq!(deliveries(&outcomes), [Delivery::Rejected, Delivery::Accepted, Delivery::Accepted]);
    assert_own_results(&rejecting, &outcomes);

    let (failing, folder) = (service_with_jobs(r#","outcome":"failed","busy":true"#), Folder::new());
    let outcomes =
        by_number(run(&client(&failing), messages(&["a", "a"]), &BatchOptions::new(folder.journal()).wait(quick())), 2);
    assert_eq!(deliveries(&outcomes), [Delivery::Accepted; 2]);
    assert!(outcomes.values().all(|o| o.job().unwrap().status().as_str() == "failed"));
}

/// A message that the service processes, with the connection closed before the response.
const LOST: &str = r#"{"method":"POST","nth":1,"fault":{"do":"close","at":"request","process":true}}"#;

#[test]
fn an_unknown_message_holds_the_others_of_its_job_until_it_is_settled() {
    for wait in [None, Some(quick())] {
        let (service, folder) = (service_with_jobs(&format!(r#","rules":[{LOST}]"#)), Folder::new());
        let options = BatchOptions::new(folder.journal()).wait(wait).concurrency(1);
        let items = || messages(&["a", "a", "b", "a", "b"]);
        let expected =
            [Delivery::Unknown, Delivery::NotSent, Delivery::Accepted, Delivery::NotSent, Delivery::Accepted];
        for earlier in [false, true] {
            let outcomes = by_number(run(&client(&service), items(), &options), 5);
            assert_eq!(deliveries(&outcomes), expected);
            let error = outcomes[&4].error().unwrap();
            assert_eq!((error.kind(), error.delivery()), (ErrorKind::Conflict, Some(Delivery::NotSent)));
            assert_eq!(
                error.message(),
                "message to job a was not sent: item 1, to the same job, may have arrived, so the order is no longer \
                 known. Check the job, resolve item 1, and run the batch again."
            );
            assert_eq!(outcomes[&1].is_earlier(), earlier);
            assert!(!outcomes[&2].is_earlier(), "it has not ended");
        }
        assert_eq!(prompts(&service), ["message 1", "message 3", "message 5"]);
        assert_eq!(batch_status(folder.journal()).unwrap().progress.left, 2);

        let outcomes = by_number(run(&client(&service), items(), &options.clone().resend_unknown(true)), 5);
        assert_eq!(deliveries(&outcomes), [Delivery::Accepted; 5], "once it is settled they are sent");
        assert_eq!(prompts(&service)[3..], ["message 1", "message 2", "message 4"]);
    }
}

#[test]
fn a_wait_that_ends_without_a_result_holds_the_next_message_until_a_later_run_has_it() {
    let jobs = r#"{"id":"a"},{"id":"b"}"#;
    let service = emulator(&format!(r#"{{"work_ms":4000,"busy":true,"jobs":[{jobs}]}}"#));
    let folder = Folder::new();
    let items = || messages(&["a", "a", "b"]);
    let short = BatchOptions::new(folder.journal()).wait(quick().timeout(ms(200)));
    let outcomes = by_number(run(&client(&service), items(), &short), 3);
    assert_eq!(deliveries(&outcomes), [Delivery::Accepted, Delivery::NotSent, Delivery::Accepted]);
    assert_eq!(outcomes[&1].error().unwrap().kind(), ErrorKind::WaitTimeout);
    assert_eq!(
        outcomes[&2].error().unwrap().message(),
        "message to job a was not sent: the wait for item 1, to the same job, ended without its result. Run the batch \
         again to wait for it."
    );
    assert_eq!(service.ledger().len(), 2);

    let patient = BatchOptions::new(folder.journal()).wait(quick());
    let outcomes = by_number(run(&client(&service), items(), &patient), 3);
    assert_eq!(deliveries(&outcomes), [Delivery::Accepted; 3]);
    assert_own_results(&service, &outcomes);
}

#[test]
fn without_a_wait_a_busy_job_s_message_is_sent_when_the_job_is_done_and_others_are_sent_meanwhile() {
    let (service, folder) = (service_with_jobs(r#","busy":true"#), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    let mut batch = client(&service).send_all(messages(&["soon", "a", "soon", "b", "c"]), &options).unwrap();
    let (mut outcomes, mut busy) = (Vec::new(), Vec::new());
    loop {
        match batch.next_event(Duration::from_secs(60)).unwrap() {
            BatchEvent::Outcome(outcome) => outcomes.push(outcome),
            BatchEvent::Update(BatchUpdate::Busy { number, job_id, error }) => {
                assert_eq!(error.http_status(), Some(409));
                // The batch sends it again: neither the message's end, nor something to do for its caller.
                let says = "message to job soon was not sent: the service returned 409 (the job is active)";
                assert_eq!((error.message(), error.delivery()), (says, Some(Delivery::NotSent)));
                busy.push((number, job_id));
            }
            BatchEvent::Update(BatchUpdate::Paused { .. }) => panic!("a busy job pauses nothing"),
            BatchEvent::Finished => break,
            _ => {}
        }
    }
    assert_eq!(deliveries(&by_number(outcomes, 5)), [Delivery::Accepted; 5]);
    assert_eq!(busy[0], (1, "soon".into()));
    let arrived = prompts(&service);
    assert_eq!(arrived[..3], ["message 2", "message 4", "message 5"], "the others did not wait");
    assert_eq!(arrived[3..], ["message 1", "message 3"], "in the order of the list");
    assert_eq!(batch.progress().busy, 0);
}

fn posts_to(service: &Emulator, job: &str) -> usize {
    let path = format!("/v2/agent/demo/job/{job}/message");
    service.requests().requests.iter().filter(|request| request.path.as_deref() == Some(path.as_str())).count()
}

fn polls_of(service: &Emulator, job: &str) -> usize {
    let path = format!("/v2/agent/demo/job/{job}");
    service.requests().requests.iter().filter(|request| request.path.as_deref() == Some(path.as_str())).count()
}

#[test]
fn a_job_that_stays_busy_has_its_messages_rejected_after_max_busy() {
    let (service, folder) = (service_with_jobs(r#","busy":true"#), Folder::new());
    let options = BatchOptions::new(folder.journal()).wait(quick()).max_busy(ms(2000));
    let items = || messages(&["stuck", "stuck", "a"]);
    let outcomes = by_number(run(&client(&service), items(), &options), 3);
    assert_eq!(deliveries(&outcomes), [Delivery::Rejected, Delivery::Rejected, Delivery::Accepted]);
    for number in [1, 2] {
        let error = outcomes[&number].error().unwrap();
        assert_eq!((error.kind(), error.http_status()), (ErrorKind::Conflict, Some(409)));
        assert!(error.message().contains("The job was busy for 2 s (max_busy)."), "{error}");
    }
    assert_eq!(posts_to(&service, "stuck"), 3, "the first one twice, the second once");
    assert!(polls_of(&service, "stuck") > 1, "it was polled");
    let again = by_number(run(&client(&service), items(), &options), 3);
    assert!(again.values().all(BatchOutcome::is_earlier), "rejected is final");
}

#[test]
fn with_max_busy_0_a_409_rejects_the_message_at_once() {
    let (service, folder) = (service_with_jobs(r#","busy":true"#), Folder::new());
    let options = BatchOptions::new(folder.journal()).max_busy(Duration::ZERO);
    let outcomes = by_number(run(&client(&service), messages(&["stuck", "stuck"]), &options), 2);
    assert_eq!(deliveries(&outcomes), [Delivery::Rejected; 2]);
    assert_eq!((posts_to(&service, "stuck"), polls_of(&service, "stuck")), (2, 0));
}

#[test]
fn a_409_that_has_another_cause_is_asked_less_and_less_often() {
    let rule = r#","rules":[{"method":"POST","path":"/v2/agent/demo/job/a/message","status":409}]"#;
    let (posts, most) = given_time(ms(2000), |max_busy| {
        let (service, folder) = (service_with_jobs(rule), Folder::new());
        let options = BatchOptions::new(folder.journal()).wait(quick()).max_busy(max_busy);
        let outcomes = by_number(run(&client(&service), messages(&["a", "b"]), &options), 2);
        assert_eq!(deliveries(&outcomes), [Delivery::Rejected, Delivery::Accepted]);
        let posts = posts_to(&service, "a");
        // Twice as long has room for one more.
        let most = 9 + (max_busy.as_secs() / 2).ilog2() as usize;
        (posts >= 3).then_some((posts, most))
    });
    assert!(posts <= most, "after 20 ms, and then after twice as long each time: {posts}");
}

#[test]
fn a_busy_job_is_polled_first_when_a_later_run_resumes() {
    let (service, folder) = (service_with_jobs(r#","busy":true"#), Folder::new());
    let options = BatchOptions::new(folder.journal()).wait(quick());
    let client = client(&service);
    let mut batch = client.send_all(messages(&["stuck"]), &options).unwrap();
    until_busy(&mut batch, 1);
    assert_eq!(batch.progress().busy, 1);
    drop(batch);
    let status = batch_status(folder.journal()).unwrap();
    assert_eq!((status.progress.left, status.progress.unknown), (1, 0));

    let batch = client.send_all(messages(&["stuck"]), &options).unwrap();
    let polls = polls_of(&service, "stuck");
    until("the job is polled again", || polls_of(&service, "stuck") > polls + 2);
    assert_eq!(batch.progress().busy, 1);
    drop(batch);
    assert_eq!(posts_to(&service, "stuck"), 1, "the second run sent nothing to an active job");
}

fn until_busy(batch: &mut Batch, number: u64) {
    loop {
        match batch.next_event(Duration::from_secs(60)).unwrap() {
            BatchEvent::Update(BatchUpdate::Busy { number: busy, .. }) if busy == number => return,
            BatchEvent::Finished => panic!("the job was not busy"),
            _ => {}
        }
    }
}

#[test]
fn every_ending_while_a_job_is_busy_or_works_leaves_the_messages_in_flight_their_responses() {
    let end: [fn(Batch, &Client, &CancelToken); 4] = [
        |batch, _, _| drop(batch),
        |batch, _, _| {
            batch.stop();
            assert!(batch.map(Result::unwrap).all(|o| o.delivery() != Delivery::Unknown));
        },
        |batch, _, token| {
            token.cancel();
            assert_eq!(run_until_stopped(batch).1.kind(), ErrorKind::Cancelled);
        },
        |batch, client, _| {
            client.close();
            assert_eq!(run_until_stopped(batch).1.kind(), ErrorKind::Closed);
        },
    ];
    let ending = |way: usize, end: fn(Batch, &Client, &CancelToken)| {
        // Its response comes when the batch has long been ended.
        let slow = r#","busy":true,"work_ms":60000,"rules":[{"method":"POST",
            "path":"/v2/agent/demo/job/c/message","status":200,"delay_ms":4000}]"#;
        let jobs = r#"{"id":"a"},{"id":"c"},{"id":"stuck","status":"active"}"#;
        let service = emulator(&format!(r#"{{"jobs":[{jobs}]{slow}}}"#));
        let (client, folder, token) = (client(&service), Folder::new(), CancelToken::new());
        let options = BatchOptions::new(folder.journal()).wait(quick()).cancel(&token).grace(Duration::from_secs(20));
        let mut batch = client.send_all(messages(&["stuck", "a", "a", "c", "c"]), &options).unwrap();
        until_busy(&mut batch, 1);
        until("the message to c is at the service, and a works", || prompts(&service).len() == 2);
        until("the wait for a has begun", || batch.progress().waiting == 1);
        end(batch, &client, &token);
        let progress = batch_status(folder.journal()).unwrap().progress;
        assert_eq!((progress.accepted, progress.unknown, progress.left), (2, 0, 3), "way {way}");
        assert_eq!(prompts(&service).len(), 2, "nothing more was sent");
    };
    std::thread::scope(|scope| {
        end.into_iter().enumerate().for_each(|(way, end)| drop(scope.spawn(move || ending(way, end))));
    });
}

#[test]
fn a_held_message_that_may_have_arrived_before_is_unknown() {
    let lost = [1, 2, 3].map(|nth| {
        format!(r#"{{"method":"POST","nth":{nth},"fault":{{"do":"close","at":"request","process":true}}}}"#)
    });
    let (service, folder) = (service_with_jobs(&format!(r#","rules":[{}]"#, lost.join(","))), Folder::new());
    let (items, options) = (|| messages(&["a", "a"]), BatchOptions::new(folder.journal()));
    let number = |number| [BatchRef::Number(number)];
    run(&client(&service), items(), &options);
    batch_drop(folder.journal(), &number(1)).unwrap();
    run(&client(&service), items(), &options);
    batch_resolve(folder.journal(), &number(1), Resolution::Resend).unwrap();
    batch_resolve(folder.journal(), &number(2), Resolution::Resend).unwrap();
    let outcomes = by_number(run(&client(&service), items(), &options), 2);
    assert!(outcomes.values().all(|outcome| outcome.delivery() == Delivery::Unknown), "{outcomes:?}");
    let held =
        "message to job a may have arrived: item 1, to the same job, may have arrived, so the order is no longer known";
    let error = outcomes[&2].error().unwrap();
    assert!(error.message().starts_with(held) && error.delivery() == Some(Delivery::Unknown), "{error}");
    assert_eq!(prompts(&service).len(), 3, "it is held");
}

#[test]
fn a_run_that_only_holds_messages_back_does_not_report_the_pause_of_an_earlier_one() {
    let limit =
        r#"{"method":"POST","path":"/v2/agent/demo/job/b/message","status":429,"headers":{"Retry-After":"600"}}"#;
    let (service, folder) = (service_with_jobs(&format!(r#","rules":[{LOST},{limit}]"#)), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()).concurrency(1));
    let items = || messages(&["a", "a", "b"]);
    let is_limited = |event: &BatchEvent| {
        matches!(event, BatchEvent::Update(BatchUpdate::Paused { reason: PauseReason::RateLimit, .. }))
    };
    let mut first = client.send_all(items(), &options).unwrap();
    while !is_limited(&first.next_event(Duration::from_secs(60)).unwrap()) {}
    drop(first);
    let mut paused = client.send_all(items(), &options).unwrap();
    while !is_limited(&paused.next_event(Duration::from_secs(60)).unwrap()) {}
    drop(paused);

    batch_drop(folder.journal(), &[BatchRef::Number(3)]).unwrap();
    let mut held = client.send_all(items(), &options).unwrap();
    loop {
        match held.next_event(Duration::from_secs(60)).unwrap() {
            BatchEvent::Finished => break,
            BatchEvent::Outcome(_) => {}
            event => panic!("{event:?}"),
        }
    }
}
