//! Whose result an outcome has, if a job gets several messages: that of its own message, or none.

use std::collections::HashMap;
use std::path::Path;

use crate::batches::{
    Folder, assert_own_results, by_number, deliveries, messages, prompts, run, run_until_stopped, service_with_jobs,
};
use crate::support::{client, ms, quick};
use agentjob_core::{
    BatchOptions, BatchOutcome, BatchRef, Delivery, ErrorKind, Resolution, WaitOptions, batch_drop, batch_export,
    batch_resolve, batch_retry,
};
use agentjob_emulator::Emulator;

#[test]
fn with_a_wait_each_message_of_a_job_has_its_own_result() {
    for more in ["", r#","busy":true"#, r#","busy":true,"stale_ms":60"#, r#","outcome":"archived""#] {
        let (service, folder) = (service_with_jobs(more), Folder::new());
        let options = BatchOptions::new(folder.journal()).wait(quick());
        let items = || messages(&["a", "a", "b", "a", "b", "a"]);
        let outcomes = by_number(run(&client(&service), items(), &options), 6);
        assert_eq!(deliveries(&outcomes), [Delivery::Accepted; 6], "{more}");
        assert_own_results(&service, &outcomes);
        let posts = service.requests().requests.iter().filter(|r| r.method.as_deref() == Some("POST")).count();
        assert_eq!(posts, 6, "a job that is done refuses nothing: {more}");
        let again = by_number(run(&client(&service), items(), &options), 6);
        assert!(again.values().all(BatchOutcome::is_earlier));
        assert_own_results(&service, &again);
    }
}

#[test]
fn a_run_that_waits_for_what_an_earlier_one_sent_without_waiting_holds_the_rest_until_all_have_results() {
    let (service, folder) = (service_with_jobs(r#","rules":[{"method":"POST","nth":3,"status":401}]"#), Folder::new());
    let items = || messages(&["a", "a", "a"]);
    let (outcomes, error) =
        run_until_stopped(client(&service).send_all(items(), &BatchOptions::new(folder.journal())).unwrap());
    assert_eq!((outcomes.len(), error.kind()), (2, ErrorKind::Authentication));
    let options = BatchOptions::new(folder.journal()).wait(WaitOptions::new().settle(ms(300)).min_interval(ms(20)));
    let outcomes = by_number(run(&client(&service), items(), &options), 3);
    // The second was the last that the job had when the first run ended: the third was sent after its result.
    assert_own_results_but_of(&[1], &service, outcomes);
}

#[test]
fn a_message_before_one_that_was_interrupted_and_is_resent_gets_no_result() {
    let (service, folder) = (service_with_jobs(""), Folder::new());
    let items = || messages(&["a", "a"]);
    run(&client(&service), items(), &BatchOptions::new(folder.journal()));
    // As if the run had been killed before it had the second response.
    let whole = std::fs::read_to_string(folder.journal()).unwrap();
    let (killed, _) = whole.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(folder.journal(), format!("{killed}\n")).unwrap();
    batch_resolve(folder.journal(), &[BatchRef::Number(2)], Resolution::Resend).unwrap();
    let outcomes = by_number(run(&client(&service), items(), &BatchOptions::new(folder.journal()).wait(quick())), 2);
    assert!(outcomes[&1].delivery() == Delivery::Accepted && outcomes[&1].job().is_none(), "{outcomes:?}");
    let last = service.ledger().pop().unwrap().pr_link;
    assert_eq!(outcomes[&2].job().unwrap().pr_link(), last.as_deref());
}

/// Whether each message but these has its own result, and these have none although they were accepted.
fn assert_own_results_but_of(lost: &[u64], service: &Emulator, mut outcomes: HashMap<u64, BatchOutcome>) {
    for number in lost {
        let outcome = outcomes.remove(number).unwrap();
        assert_eq!(outcome.delivery(), Delivery::Accepted, "{outcome:?}");
        assert!(outcome.job().is_none() && outcome.error().is_none(), "{outcome:?}");
    }
    assert_own_results(service, &outcomes);
}

#[test]
fn of_messages_sent_without_a_wait_only_the_last_one_gets_the_jobs_result_in_a_later_run_with_a_wait() {
    for more in ["", r#","busy":true"#] {
        let (service, folder) = (service_with_jobs(more), Folder::new());
        let items = || messages(&["a", "b", "a", "a"]);
        run(&client(&service), items(), &BatchOptions::new(folder.journal()).wait(None));
        let waiting = BatchOptions::new(folder.journal()).wait(quick());
        for earlier in [false, true] {
            let outcomes = by_number(run(&client(&service), items(), &waiting), 4);
            assert!(outcomes.values().all(|outcome| outcome.is_earlier() == earlier));
            assert_own_results_but_of(&[1, 3], &service, outcomes);
        }
        let exported = batch_export(folder.journal(), &[]).unwrap().items;
        let with_result = exported.iter().filter(|item| item.job.is_some()).map(|item| item.number);
        assert_eq!(with_result.collect::<Vec<_>>(), [2, 4]);
    }
}

#[test]
fn a_message_whose_wait_was_interrupted_gets_no_result_of_one_that_was_sent_without_a_wait_meanwhile() {
    let (service, folder) = (service_with_jobs(r#","rules":[{"method":"GET","nth":1,"status":403}]"#), Folder::new());
    let items = || messages(&["a", "a"]);
    let waiting = BatchOptions::new(folder.journal()).wait(quick());
    // The first poll ends the run, so that the second message is not sent.
    let (outcomes, _) = run_until_stopped(client(&service).send_all(items(), &waiting).unwrap());
    assert_eq!((outcomes.len(), prompts(&service).len()), (0, 1));
    run(&client(&service), items(), &BatchOptions::new(folder.journal()));
    let outcomes = by_number(run(&client(&service), items(), &waiting), 2);
    assert_own_results_but_of(&[1], &service, outcomes);
}

#[test]
fn a_message_gets_no_result_of_a_later_one_that_may_have_arrived_whatever_is_decided_about_it() {
    let lost = r#","rules":[{"method":"POST","nth":2,"fault":{"do":"close","at":"request","process":true}}]"#;
    type Decide = fn(&Path);
    let decisions: [(&str, Decide, &[u64]); 4] = [
        ("nothing", |_| (), &[1]),
        ("arrived", |journal| drop(batch_resolve(journal, &[BatchRef::All], Resolution::Arrived).unwrap()), &[1, 2]),
        ("resend", |journal| drop(batch_resolve(journal, &[BatchRef::All], Resolution::Resend).unwrap()), &[1]),
        ("drop", |journal| drop(batch_drop(journal, &[BatchRef::All]).unwrap()), &[1]),
    ];
    for (name, decide, none) in decisions {
        let (service, folder) = (service_with_jobs(lost), Folder::new());
        let items = || messages(&["a", "a"]);
        run(&client(&service), items(), &BatchOptions::new(folder.journal()));
        decide(&folder.journal());
        let outcomes = run(&client(&service), items(), &BatchOptions::new(folder.journal()).wait(quick()));
        let outcomes: HashMap<u64, BatchOutcome> = outcomes.into_iter().map(|o| (o.number(), o)).collect();
        assert_eq!(outcomes.len(), if name == "drop" { 1 } else { 2 }, "{name}");
        assert_own_results_but_of(none, &service, outcomes);
    }
}

#[test]
fn a_message_that_was_rejected_and_retried_is_the_last_one_of_its_job() {
    let (service, folder) = (service_with_jobs(r#","rules":[{"method":"POST","nth":1,"status":422}]"#), Folder::new());
    let items = || messages(&["a", "a"]);
    let options = BatchOptions::new(folder.journal());
    run(&client(&service), items(), &options);
    batch_retry(folder.journal(), &[BatchRef::All], None).unwrap();
    run(&client(&service), items(), &options);
    assert_eq!(prompts(&service), ["message 2", "message 1"]);
    let outcomes = by_number(run(&client(&service), items(), &options.wait(quick())), 2);
    assert_own_results_but_of(&[2], &service, outcomes);
}
