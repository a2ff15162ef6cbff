//! Batches against the emulator: what is sent, what is reported. When it is sent is in `batch_pace`.

use std::time::Duration;

use crate::batches::{Folder, items, prompts, run, run_until_stopped, service};
use crate::support::{JOB, builder, client, ms, quick, timed, until};
use agentjob_core::{
    BatchEvent, BatchItem, BatchOptions, BatchOutcome, BatchUpdate, CancelToken, Delivery, ErrorKind, batch_status,
};
use agentjob_emulator::Emulator;

#[test]
fn every_message_is_sent_once_and_a_second_run_sends_none() {
    let (service, folder) = (service(20, ""), Folder::new());
    let options = BatchOptions::new(folder.journal());
    let outcomes = run(&client(&service), items(20), &options);
    assert_eq!(outcomes.len(), 20);
    assert!(outcomes.iter().all(|o| o.delivery() == Delivery::Accepted && !o.is_earlier() && o.job().is_some()));
    assert_eq!(service.ledger().len(), 20);
    let again = run(&client(&service), items(20), &options);
    assert!(again.iter().all(|o| o.delivery() == Delivery::Accepted && o.is_earlier()), "{again:?}");
    let numbers: Vec<u64> = again.iter().map(BatchOutcome::number).collect();
    assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    assert!(again.iter().all(|o| o.job().unwrap().id() == o.job_id()));
    assert_eq!(service.ledger().len(), 20);
    let journal = std::fs::read_to_string(folder.journal()).unwrap();
    assert!(!journal.contains("message 1") && !journal.contains(&service.api_key()), "no prompt, no key");
}

#[test]
fn the_same_items_continue_where_a_stopped_run_was() {
    // The first run is dropped while messages 6 and 7 have no response yet.
    let rules = r#","rules":[{"method":"POST","nth":6,"delay_ms":3000,"status":200},
        {"method":"POST","nth":7,"delay_ms":3000,"status":200}]"#;
    let (service, folder) = (service(30, rules), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()).concurrency(2));
    let mut first = client.send_all(items(30), &options).unwrap();
    let taken: Vec<_> = first.by_ref().take(5).map(Result::unwrap).collect();
    assert_eq!(taken.len(), 5);
    until("a message is in flight", || service.ledger().len() > 5);
    drop(first);
    let sent = service.ledger().len();
    assert!((6..30).contains(&sent), "{sent}");
    let outcomes = run(&client, items(30), &options);
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_earlier()).count(), sent, "dropping it lost no outcome");
    assert!(outcomes.iter().all(|outcome| outcome.delivery() == Delivery::Accepted));
    assert_eq!(service.ledger().len(), 30);
}

#[test]
fn a_message_that_may_have_arrived_is_reported_and_not_sent_again() {
    let rule = r#","rules":[{"method":"POST","path":"/v2/agent/*/job/job_2/message","nth":1,
        "fault":{"do":"close","at":"request","process":true}}]"#;
    let (service, folder) = (service(3, rule), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    for earlier in [false, true] {
        let outcomes = run(&client, items(3), &options);
        let unknown: Vec<_> = outcomes.iter().filter(|outcome| outcome.delivery() == Delivery::Unknown).collect();
        assert_eq!(unknown.len(), 1);
        assert_eq!((unknown[0].number(), unknown[0].job_id(), unknown[0].is_earlier()), (2, "job_2", earlier));
        let error = unknown[0].error().unwrap();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::ConnectionLost, Some(Delivery::Unknown)));
        assert!(error.message().contains("job job_2 may have arrived"), "{error}");
    }
    assert_eq!(service.ledger().len(), 3);
    let resent = run(&client, items(3), &options.clone().resend_unknown(true));
    assert!(resent.iter().all(|outcome| outcome.delivery() == Delivery::Accepted));
    assert_eq!(prompts(&service).iter().filter(|prompt| *prompt == "message 2").count(), 2, "as the caller asked");
}

#[test]
fn a_rejected_message_is_reported_and_not_sent_again() {
    let (service, folder) = (service(2, ""), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    for earlier in [false, true] {
        let outcomes = run(&client, items(3), &options);
        let refused = outcomes.iter().find(|outcome| outcome.number() == 3).unwrap();
        assert_eq!((refused.delivery(), refused.is_earlier()), (Delivery::Rejected, earlier));
        let error = refused.error().unwrap();
        assert_eq!((error.kind(), error.http_status()), (ErrorKind::NotFound, Some(404)));
    }
    assert_eq!(service.requests().total, 3);
}

#[test]
fn a_failure_of_every_message_stops_the_batch_and_loses_none() {
    for (status, kind) in
        [(401, ErrorKind::Authentication), (403, ErrorKind::PermissionDenied), (307, ErrorKind::Redirect)]
    {
        let rule = format!(r#","rules":[{{"method":"POST","nth":1,"status":{status}}}]"#);
        let (service, folder) = (service(3, &rule), Folder::new());
        let (client, options) = (client(&service), BatchOptions::new(folder.journal()).concurrency(1));
        let (outcomes, error) = run_until_stopped(client.send_all(items(3), &options).unwrap());
        assert_eq!((outcomes.len(), error.kind(), error.http_status()), (0, kind, Some(status)));
        assert_eq!(service.ledger().len(), 0);
        assert_eq!(run(&client, items(3), &options).len(), 3, "once it is fixed, the batch continues");
        assert_eq!(service.ledger().len(), 3);
    }
}

#[test]
fn messages_to_one_job_keep_their_order() {
    let rule = r#","rules":[{"method":"POST","nth":1,"delay_ms":150,"status":200}]"#;
    let (service, folder) = (service(2, rule), Folder::new());
    let to = |job: &str, n: u32| BatchItem::new(job, format!("{job} {n}"));
    let items = vec![to("job_1", 1), to("job_1", 2), to("job_2", 1), to("job_1", 3), to("job_2", 2)];
    run(&client(&service), items, &BatchOptions::new(folder.journal()).concurrency(4));
    let sent = prompts(&service);
    for job in ["job_1", "job_2"] {
        let of_job: Vec<_> = sent.iter().filter(|prompt| prompt.starts_with(job)).collect();
        assert!(of_job.is_sorted(), "{sent:?}");
    }
    assert_eq!(sent.len(), 5);
}

#[test]
fn a_batch_that_waits_reports_each_job_s_end() {
    let (service, folder) = (service(10, ""), Folder::new());
    let options = BatchOptions::new(folder.journal()).wait(quick());
    let (client, mut accepted) = (client(&service), 0);
    let mut batch = client.send_all(items(10), &options).unwrap();
    let mut done = Vec::new();
    loop {
        match batch.next_event(Duration::MAX).unwrap() {
            BatchEvent::Outcome(outcome) => done.push(outcome),
            BatchEvent::Update(BatchUpdate::Accepted { .. }) => accepted += 1,
            BatchEvent::Finished => break,
            _ => {}
        }
    }
    assert_eq!((accepted, done.len()), (10, 10));
    assert!(done.iter().all(|outcome| outcome.job().unwrap().status().as_str() == "completed"));
    assert!(done.iter().all(|outcome| outcome.job().unwrap().pr_link().is_some()), "the new result");
    let requests = service.requests().total;
    let again = run(&client, items(10), &options);
    assert!(again.iter().all(|outcome| outcome.is_earlier() && outcome.job().unwrap().pr_link().is_some()));
    assert_eq!(service.requests().total, requests, "a job that is done is not polled again");
}

#[test]
fn a_wait_continues_in_the_next_run() {
    let (service, folder) = (service(3, r#","work_ms":3000"#), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()).wait(quick()));
    let mut first = client.send_all(items(3), &options).unwrap();
    while first.progress().accepted < 3 {
        first.next_event(ms(10)).unwrap();
    }
    drop(first);
    let status = batch_status(folder.journal()).unwrap();
    assert_eq!((status.progress.waiting, status.progress.accepted, status.running), (3, 3, false));
    let outcomes = run(&client, items(3), &options);
    assert!(outcomes.iter().all(|outcome| outcome.job().unwrap().is_terminal() && outcome.error().is_none()));
    assert_eq!(service.ledger().len(), 3);
}

#[test]
fn a_wait_that_only_the_second_run_wants_begins_there() {
    let (service, folder) = (service(3, ""), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    run(&client, items(3), &options);
    let outcomes = run(&client, items(3), &options.wait(quick()));
    assert!(outcomes.iter().all(|outcome| !outcome.is_earlier() && outcome.job().unwrap().pr_link().is_some()));
    assert_eq!(service.ledger().len(), 3);
}

#[test]
fn a_wait_that_timed_out_is_an_accepted_message_with_that_error() {
    let (service, folder) = (service(1, r#","work_ms":60000"#), Folder::new());
    let wait = quick().timeout(ms(1000));
    let outcomes = run(&client(&service), items(1), &BatchOptions::new(folder.journal()).wait(wait));
    assert_eq!(outcomes[0].delivery(), Delivery::Accepted);
    let error = outcomes[0].error().unwrap();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::WaitTimeout, Some(Delivery::Accepted)));
    assert_eq!(outcomes[0].job().unwrap().status().as_str(), "active");
}

#[test]
fn a_token_ends_a_batch_and_the_messages_in_flight_have_their_responses() {
    let rule = r#","rules":[{"method":"POST","delay_ms":3000,"process":true,"status":200}]"#;
    let (service, folder) = (service(20, rule), Folder::new());
    let token = CancelToken::new();
    let options = BatchOptions::new(folder.journal()).cancel(&token);
    let batch = client(&service).send_all(items(20), &options).unwrap();
    until("four messages are in flight", || service.ledger().len() == 4);
    token.cancel();
    let (outcomes, error) = run_until_stopped(batch);
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(
        error.message(),
        "the batch stopped: it was cancelled with 16 messages left to send. Run it again with the same journal: it continues where it stopped."
    );
    assert!(outcomes.iter().all(|outcome| outcome.delivery() == Delivery::Accepted), "{outcomes:?}");
    assert_eq!((outcomes.len(), service.ledger().len()), (4, 4));
}

#[test]
fn without_grace_a_message_in_flight_is_unknown() {
    let rule = r#","rules":[{"method":"POST","fault":{"do":"stall","at":"request","process":true}}]"#;
    let (service, folder) = (service(1, rule), Folder::new());
    let options = BatchOptions::new(folder.journal()).grace(Duration::ZERO);
    let client = client(&service);
    let batch = client.send_all(items(1), &options).unwrap();
    until("the message is at the service", || !service.ledger().is_empty());
    let (took, ()) = timed(|| drop(batch));
    assert!(took < ms(10_000), "it does not wait for the response: {took:?}");
    let status = batch_status(folder.journal()).unwrap();
    assert_eq!((status.progress.unknown, status.unknown[0].job_id.as_str()), (1, "job_1"));
    assert_eq!(run(&client, items(1), &options)[0].delivery(), Delivery::Unknown);
}

#[test]
fn closing_the_client_ends_its_batches() {
    let rule = r#","rules":[{"method":"POST","nth":1,"status":429,"headers":{"Retry-After":"60"}}]"#;
    let (service, folder) = (service(2, rule), Folder::new());
    let client = client(&service);
    let mut batch = client.send_all(items(2), &BatchOptions::new(folder.journal()).concurrency(1)).unwrap();
    assert!(matches!(batch.next_event(Duration::MAX).unwrap(), BatchEvent::Update(BatchUpdate::Paused { .. })));
    client.close();
    assert_eq!(run_until_stopped(batch).1.kind(), ErrorKind::Closed);
}

#[test]
fn a_changed_list_is_refused_and_the_item_named() {
    let (service, folder) = (service(9, ""), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    let keyed = |n: u32, prompt: &str| {
        BatchItem::new(format!("job_{n}"), prompt).with_key(format!("k{n}")).with_line(u64::from(n) + 1)
    };
    let plain = |n: u32, prompt: &str| BatchItem::new(format!("job_{n}"), prompt).with_line(u64::from(n) + 1);
    let with_keys = vec![keyed(1, "a"), keyed(2, "b")];
    let without = vec![plain(1, "a"), plain(2, "b")];
    for (first, rows) in [
        (
            with_keys,
            vec![
                (vec![keyed(1, "a"), keyed(2, "B")], "line 3: its prompt was changed after the batch began: journal"),
                (
                    vec![keyed(1, "a"), BatchItem::new("job_3", "b").with_key("k2")],
                    "item 2: its job was changed after the batch began: journal",
                ),
                (vec![keyed(1, "a")], "item 2: it is missing from the list, but its message to job"),
            ],
        ),
        (
            without,
            vec![
                (vec![plain(1, "a"), plain(2, "B")], "line 3: it is now a different message, but its message to job"),
                (vec![plain(2, "b"), plain(1, "a")], "line 3: it is now a different message, but its message to job"),
                (vec![plain(1, "a")], "item 2: it is missing from the list, but its message to job"),
            ],
        ),
    ] {
        drop(std::fs::remove_file(folder.journal()));
        run(&client, first.clone(), &options);
        let sent = service.ledger().len();
        for (changed, start) in rows {
            let error = client.send_all(changed, &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().starts_with(start), "{error}");
        }
        assert_eq!(service.ledger().len(), sent, "nothing was sent");
        let mut longer = first;
        longer.push(plain(9, "new"));
        assert_eq!(run(&client, longer, &options).len(), 3, "new items at the end are accepted");
    }
    let reordered = vec![keyed(2, "b"), keyed(1, "a")];
    let other = BatchOptions::new(folder.0.join("other"));
    run(&client, vec![keyed(1, "a"), keyed(2, "b")], &other);
    assert!(run(&client, reordered, &other).iter().all(BatchOutcome::is_earlier), "keys have no order");
}

#[test]
fn a_journal_belongs_to_one_run_and_one_service() {
    let (service, folder) = (service(2, ""), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    let mut first =
        client.send_all(items(2), &options.clone().rate("1/d".parse::<agentjob_core::Rate>().unwrap())).unwrap();
    assert_eq!(first.next().unwrap().unwrap().delivery(), Delivery::Accepted);
    let error = client.send_all(items(2), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Journal);
    let or = if cfg!(windows) { "another program, or " } else { "" };
    let by = format!("is in use by {or}another run, process {} or a child of it", std::process::id());
    assert!(error.message().contains(&by), "{error}");
    first.stop();
    assert_eq!(first.count(), 0);
    let other = builder(&service).project_id("another").build().unwrap();
    let error = other.send_all(items(2), &options).unwrap_err();
    assert!(error.message().contains("belongs to project demo at http://127.0.0.1"), "{error}");
}

#[test]
fn wrong_items_and_settings_are_named_before_a_journal_is_created() {
    let (service, folder) = (service(1, ""), Folder::new());
    let (client, journal) = (client(&service), folder.journal());
    let options = || BatchOptions::new(&journal);
    let rows = [
        (client.send_all([BatchItem::new(JOB, "").with_line(17)], &options()), "line 17: prompt is empty"),
        (client.send_all(items(1), &options().concurrency(0)), "concurrency is 0. Give 1 to 64."),
        (client.send_all(items(1), &options().concurrency(65)), "concurrency is 65. Give 1 to 64."),
        (client.send_all(items(1), &options().max_outage(Duration::ZERO)), "max_outage"),
        (client.send_all(items(1), &options().wait(quick().lateness(2.0))), "lateness is 2"),
        (client.send_all(items(1), &BatchOptions::new("")), "journal is empty"),
    ];
    for (started, start) in rows {
        let error = started.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with(start), "{error}");
    }
    assert!(!journal.exists());
    assert_eq!(service.requests().total, 0);
    for path in [folder.0.join("no/such/folder"), folder.0.clone()] {
        let why = std::fs::OpenOptions::new().append(true).create(true).open(&path).unwrap_err();
        let error = client.send_all(items(1), &BatchOptions::new(path)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Journal);
        assert!(error.message().contains(&format!("cannot be opened ({why})")), "{error}");
    }
}

#[test]
fn a_list_without_items_is_done_at_once() {
    let (service, folder) = (service(1, ""), Folder::new());
    assert_eq!(run(&client(&service), Vec::new(), &BatchOptions::new(folder.journal()).wait(quick())).len(), 0);
}

/// The first poll takes long, so that a run whose caller is slow sends no second message after its pause.
const LATE_POLL: &str = r#"{"method":"GET","nth":1,"delay_ms":3000}"#;

/// A first run leaves message 1 unknown, and a pause.
fn leave_first_unknown(service: &Emulator, folder: &Folder) -> BatchOptions {
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    let mut first = client(service).send_all(items(3), &options).unwrap();
    loop {
        if let BatchEvent::Outcome(outcome) = first.next_event(Duration::MAX).unwrap() {
            assert_eq!((outcome.number(), outcome.delivery()), (1, Delivery::Unknown));
            return options;
        }
    }
}

#[test]
fn an_unknown_message_that_is_rejected_when_it_is_sent_again_stays_unknown_and_the_batch_continues() {
    let rules = r#"{"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":1,"status":503},
        {"method":"POST","path":"/v2/agent/*/job/job_1/message","status":404}"#;
    let (service, folder) = (service(3, &format!(r#","rules":[{rules},{LATE_POLL}]"#)), Folder::new());
    let options = leave_first_unknown(&service, &folder).resend_unknown(true);
    let outcomes = run(&client(&service), items(3), &options);
    let verdicts: Vec<_> = outcomes.iter().map(BatchOutcome::delivery).collect();
    assert_eq!(verdicts, [Delivery::Unknown, Delivery::Accepted, Delivery::Accepted]);
    let error = outcomes[0].error().unwrap();
    let words = "message to job job_1 may have arrived: an earlier run may have delivered it, and the second attempt was rejected (the service returned 404)";
    assert!(error.message().starts_with(words), "{error}");
    assert!(error.message().ends_with(" Check the job before you send it again."), "{error}");
    assert_eq!((error.delivery(), error.http_status()), (Some(Delivery::Unknown), Some(404)));
    assert!(batch_status(folder.journal()).unwrap().unknown[0].reason.as_ref().unwrap().starts_with(words));
}

#[test]
fn an_unknown_message_whose_second_send_is_limited_stays_unknown() {
    let rules = r#"{"method":"POST","nth":1,"status":503},
        {"method":"POST","nth":2,"status":429,"headers":{"Retry-After":"3"}}"#;
    let (service, folder) = (service(3, &format!(r#","rules":[{rules},{LATE_POLL}]"#)), Folder::new());
    let options = leave_first_unknown(&service, &folder);
    let mut second = client(&service).send_all(items(3), &options.clone().resend_unknown(true)).unwrap();
    // The first run's pause has no error here.
    let is_limited = |event| matches!(event, BatchEvent::Update(BatchUpdate::Paused { error: Some(_), .. }));
    while !is_limited(second.next_event(Duration::MAX).unwrap()) {}
    drop(second);
    let status = batch_status(folder.journal()).unwrap();
    assert_eq!((status.progress.unknown, status.progress.left), (1, 2));
    let outcomes = run(&client(&service), items(3), &options);
    assert_eq!((outcomes[0].number(), outcomes[0].delivery()), (1, Delivery::Unknown));
    let error = outcomes[0].error().unwrap();
    assert_eq!(error.delivery(), Some(Delivery::Unknown));
    assert!(error.message().contains("may have arrived: an earlier run may have delivered it"), "{error}");
    assert_eq!(prompts(&service), ["message 2", "message 3"]);
}

#[test]
fn a_wait_that_timed_out_starts_again_in_the_next_run() {
    let (service, folder) = (service(1, r#","work_ms":4000"#), Folder::new());
    let options = BatchOptions::new(folder.journal());
    let short = options.clone().wait(quick().timeout(ms(100)));
    assert_eq!(run(&client(&service), items(1), &short)[0].error().unwrap().kind(), ErrorKind::WaitTimeout);
    let outcomes = run(&client(&service), items(1), &options.wait(quick()));
    assert!(outcomes[0].error().is_none() && outcomes[0].job().unwrap().is_terminal());
}
