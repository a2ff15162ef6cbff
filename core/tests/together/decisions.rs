//! What a person decides about the messages of a batch: what may be decided, and what the next run does with it.

use std::path::Path;

use crate::batches::{Folder, items, lines, prompts, run, service};
use crate::support::{client, quick};
use agentjob_core::{
    BatchExportItem, BatchItem, BatchOptions, BatchOutcome, BatchRef, Decision, Delivery, ErrorKind, ExportFormat,
    Resolution, batch_drop, batch_export, batch_resolve, batch_retry, batch_status,
};
use agentjob_emulator::Emulator;

/// Job 2's message is lost after it arrived, job 3's is lost before it is processed, job 4's is rejected; each only the first time.
const FAILURES: &str = r#","rules":[
    {"method":"POST","path":"/v2/agent/*/job/job_2/message","nth":1,"fault":{"do":"close","at":"request","process":true}},
    {"method":"POST","path":"/v2/agent/*/job/job_3/message","nth":1,"fault":{"do":"close","at":"request","process":false}},
    {"method":"POST","path":"/v2/agent/*/job/job_4/message","nth":1,"status":422}]"#;

/// Runs five messages into these failures: 1 and 5 are accepted, 2 and 3 unknown, 4 is rejected.
pub(crate) fn after_failures() -> (Emulator, Folder) {
    let (service, folder) = (service(5, FAILURES), Folder::new());
    let outcomes = run(&client(&service), list(), &BatchOptions::new(folder.journal()).concurrency(1));
    use Delivery::{Accepted, Rejected, Unknown};
    let deliveries: Vec<Delivery> = outcomes.iter().map(BatchOutcome::delivery).collect();
    assert_eq!(deliveries, [Accepted, Unknown, Unknown, Rejected, Accepted]);
    (service, folder)
}

/// The messages; the fourth has a key.
fn list() -> Vec<BatchItem> {
    let mut items = items(5);
    items[3] = items[3].clone().with_key("tests");
    items
}

pub(crate) fn numbers(numbers: &[u64]) -> Vec<BatchRef> {
    numbers.iter().map(|number| BatchRef::Number(*number)).collect()
}

/// How often each prompt arrived.
pub(crate) fn arrived(service: &Emulator, prompt: &str) -> usize {
    prompts(service).iter().filter(|arrived| *arrived == prompt).count()
}

fn exported(journal: &Path, number: u64) -> BatchExportItem {
    batch_export(journal, &[BatchRef::Number(number)]).unwrap().items.remove(0)
}

pub(crate) fn resume(service: &Emulator, folder: &Folder) -> Vec<BatchOutcome> {
    run(&client(service), list(), &BatchOptions::new(folder.journal()).concurrency(1))
}

#[test]
fn each_decision_has_its_effect_on_the_next_run() {
    let (service, folder) = after_failures();
    let journal = folder.journal();
    let made = batch_resolve(&journal, &numbers(&[2]), Resolution::Arrived).unwrap();
    assert_eq!((made[0].number, &*made[0].job_id, made[0].decision), (2, "job_2", Decision::Arrived));
    batch_resolve(&journal, &numbers(&[3]), Resolution::NotArrived).unwrap();
    let made = batch_retry(&journal, &["tests".parse().unwrap()], None).unwrap();
    assert_eq!((made[0].number, &*made[0].key), (4, "tests"), "the caller's key is in the journal");
    let status = batch_status(&journal).unwrap();
    assert_eq!((status.progress.unknown, status.progress.rejected, status.progress.left), (0, 0, 2));
    let decisions: Vec<_> = status.decisions.iter().map(|made| (made.number, made.decision)).collect();
    assert_eq!(decisions, [(2, Decision::Arrived), (3, Decision::NotArrived), (4, Decision::Retry)]);
    let outcomes = resume(&service, &folder);
    assert_eq!(outcomes.len(), 5);
    assert!(outcomes.iter().all(|outcome| outcome.delivery() == Delivery::Accepted), "{outcomes:?}");
    for n in 1..=5 {
        assert_eq!(arrived(&service, &format!("message {n}")), 1, "message {n}");
    }
    assert!(resume(&service, &folder).iter().all(BatchOutcome::is_earlier), "a decision is acted upon once");
}

#[test]
fn a_resent_message_that_is_rejected_stays_unknown_and_is_not_sent_a_third_time() {
    let rules = r#","rules":[
        {"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":1,"fault":{"do":"close","at":"request","process":true}},
        {"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":2,"status":422}]"#;
    let (service, folder) = (service(1, rules), Folder::new());
    let options = BatchOptions::new(folder.journal());
    run(&client(&service), items(1), &options);
    batch_resolve(folder.journal(), &[BatchRef::All], Resolution::Resend).unwrap();
    for _ in 0..2 {
        assert_eq!(run(&client(&service), items(1), &options)[0].delivery(), Delivery::Unknown);
        assert_eq!(lines(&folder.journal(), "sending"), 2);
    }
    batch_resolve(folder.journal(), &[BatchRef::All], Resolution::Resend).unwrap();
    assert_eq!(run(&client(&service), items(1), &options)[0].delivery(), Delivery::Accepted);
    assert_eq!(arrived(&service, "message 1"), 2);
}

#[test]
fn a_decision_to_resend_holds_until_the_message_was_sent() {
    let rules = r#","rules":[
        {"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":1,"fault":{"do":"close","at":"request","process":true}},
        {"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":2,"status":401}]"#;
    let (service, folder) = (service(1, rules), Folder::new());
    let options = BatchOptions::new(folder.journal());
    run(&client(&service), items(1), &options);
    batch_resolve(folder.journal(), &numbers(&[1]), Resolution::Resend).unwrap();
    let stopped = client(&service).send_all(items(1), &options).unwrap().find_map(Result::err).unwrap();
    assert_eq!(stopped.kind(), ErrorKind::Authentication);
    assert_eq!(run(&client(&service), items(1), &options)[0].delivery(), Delivery::Accepted, "it was not sent before");
}

#[test]
fn a_dropped_message_is_neither_sent_nor_reported() {
    let (service, folder) = after_failures();
    let made = batch_drop(folder.journal(), &[BatchRef::All]).unwrap();
    assert_eq!(made.iter().map(|made| made.number).collect::<Vec<_>>(), [2, 3, 4]);
    let status = batch_status(folder.journal()).unwrap();
    let progress = status.progress;
    assert_eq!((progress.dropped, progress.unknown, progress.rejected, progress.left, progress.done), (3, 0, 0, 0, 5));
    let mut batch = client(&service).send_all(list(), &BatchOptions::new(folder.journal())).unwrap();
    let outcomes: Vec<u64> = batch.by_ref().map(|outcome| outcome.unwrap().number()).collect();
    assert_eq!(outcomes, [1, 5]);
    assert_eq!((batch.progress().dropped, batch.progress().done, batch.progress().left), (3, 5, 0));
    assert_eq!(lines(&folder.journal(), "sending"), 5, "nothing was sent again");
    assert_eq!(exported(&folder.journal(), 4).state, "dropped");
}

#[test]
fn a_decision_can_be_changed_until_a_send_that_follows_it_ends() {
    // A run tries each, and stops before it is sent.
    let refused =
        |job: u32| format!(r#",{{"method":"POST","path":"/v2/agent/*/job/job_{job}/message","nth":2,"status":401}}"#);
    let rules = FAILURES.replace(']', &format!("{}]", [2, 4].map(refused).concat()));
    let (service, folder) = (service(5, &rules), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()).concurrency(1));
    run(&client, list(), &options);
    let stopped = |options: &BatchOptions| {
        let stopped = client.send_all(list(), options).unwrap().find_map(Result::err).unwrap();
        assert_eq!(stopped.kind(), ErrorKind::Authentication);
    };
    batch_resolve(folder.journal(), &numbers(&[2]), Resolution::Resend).unwrap();
    stopped(&options);
    batch_resolve(folder.journal(), &numbers(&[2]), Resolution::Arrived).unwrap();
    batch_retry(folder.journal(), &numbers(&[4]), Some("wrong")).unwrap();
    stopped(&options.clone().retry_prompt("wrong"));
    batch_retry(folder.journal(), &numbers(&[4]), Some("right")).unwrap();
    let outcomes = run(&client, list(), &options.retry_prompt("right"));
    assert_eq!(outcomes.iter().filter(|outcome| outcome.delivery() == Delivery::Accepted).count(), 4);
    assert_eq!(["message 2", "wrong", "right"].map(|prompt| arrived(&service, prompt)), [1, 0, 1]);
    // Now it has ended.
    let error = batch_retry(folder.journal(), &numbers(&[4]), Some("late")).unwrap_err();
    assert!(error.message().contains("its message was accepted"), "{error}");
}

#[test]
fn a_message_that_was_dropped_before_it_was_sent_can_be_retried() {
    let refused = r#","rules":[{"method":"POST","nth":1,"status":401}]"#;
    let (service, folder) = (service(1, refused), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    assert!(client.send_all(items(1), &options).unwrap().any(|outcome| outcome.is_err()));
    batch_drop(folder.journal(), &numbers(&[1])).unwrap();
    let error = batch_resolve(folder.journal(), &numbers(&[1]), Resolution::NotArrived).unwrap_err();
    assert!(
        error
            .message()
            .ends_with("its message was not sent before it was dropped. Retry it to have it sent, or drop it."),
        "{error}"
    );
    assert!(run(&client, items(1), &options).is_empty());
    for decision in ["wrong", "right"] {
        batch_retry(folder.journal(), &numbers(&[1]), Some(decision)).unwrap();
    }
    assert_eq!(run(&client, items(1), &options.retry_prompt("right"))[0].delivery(), Delivery::Accepted);
    assert_eq!(prompts(&service), ["right"]);
}

#[test]
fn the_last_decision_counts_until_a_run_acts_on_it() {
    let (service, folder) = after_failures();
    let journal = folder.journal();
    for resolution in [Resolution::NotArrived, Resolution::Resend, Resolution::Arrived] {
        batch_resolve(&journal, &numbers(&[2]), resolution).unwrap();
    }
    batch_drop(&journal, &numbers(&[3, 4])).unwrap();
    batch_resolve(&journal, &numbers(&[3]), Resolution::NotArrived).unwrap();
    batch_retry(&journal, &numbers(&[4]), None).unwrap();
    assert!(resume(&service, &folder).iter().all(|outcome| outcome.delivery() == Delivery::Accepted));
    assert_eq!([2, 3, 4].map(|n| arrived(&service, &format!("message {n}"))), [1, 1, 1]);
    let error = batch_resolve(&journal, &numbers(&[3]), Resolution::NotArrived).unwrap_err();
    assert!(error.message().contains("item 3 cannot be decided: its message was accepted"), "{error}");
}

#[test]
fn a_bad_decision_is_named_and_nothing_is_written() {
    let (_service, folder) = after_failures();
    let journal = folder.journal();
    let before = std::fs::read(&journal).unwrap();
    let key = |key: &str| BatchRef::Key(key.into());
    let resolve = |items: &[BatchRef]| batch_resolve(&journal, items, Resolution::Arrived);
    let long = "x".repeat((4 << 20) + 1);
    let rows = [
        (resolve(&[]), "no item is named"),
        (resolve(&numbers(&[2, 9])), "item 9 is not in the journal"),
        (resolve(&[BatchRef::Number(2), key("nobody")]), "item \"nobody\" is not in the journal"),
        (resolve(&numbers(&[2, 1])), "item 1 cannot be decided: its message was accepted"),
        (resolve(&numbers(&[2, 4])), "item 4 cannot be decided: its message was rejected, so it did not arrive"),
        (resolve(&numbers(&[2, 3, 2])), "item 2 is named twice"),
        (resolve(&[BatchRef::All, BatchRef::Number(2)]), "all is given together with items"),
        (batch_retry(&journal, &numbers(&[4, 2]), None), "item 2 cannot be decided: its message was not rejected"),
        (batch_retry(&journal, &numbers(&[1]), None), "item 1 cannot be decided: its message was accepted"),
        (batch_retry(&journal, &[BatchRef::Number(4), key("tests")], None), "item 4 and item \"tests\" are the same"),
        (batch_retry(&journal, &numbers(&[4]), Some("")), "prompt is empty"),
        (batch_retry(&journal, &numbers(&[4]), Some(&long)), "prompt is 4194305 bytes long"),
        (batch_drop(&journal, &numbers(&[5])), "item 5 cannot be decided: its message was accepted"),
    ];
    for (decided, start) in rows {
        let error = decided.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().starts_with(start), "{error}");
    }
    assert_eq!(std::fs::read(&journal).unwrap(), before);
    batch_drop(&journal, &[BatchRef::All]).unwrap();
    let error = batch_drop(&journal, &[BatchRef::All]).unwrap_err();
    assert!(error.message().contains("has no message that drop can be decided about"), "{error}");
}

#[test]
fn a_journal_in_use_missing_or_foreign_is_refused() {
    let rule = r#","rules":[{"method":"POST","fault":{"do":"stall","at":"request","process":true,"ms":60000}}]"#;
    let (service, folder) = (service(2, rule), Folder::new());
    let journal = folder.journal();
    let error = batch_drop(&journal, &numbers(&[1])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Journal);
    assert!(error.message().contains("does not exist") && !journal.exists(), "{error}");
    let options = BatchOptions::new(&journal).grace(std::time::Duration::ZERO);
    let batch = client(&service).send_all(items(2), &options).unwrap();
    let error = batch_drop(&journal, &numbers(&[1])).unwrap_err();
    let process = format!("another run, process {}", std::process::id());
    assert!(
        error.message().contains("is in use by ")
            && error.message().contains(&process)
            && error.message().contains("Stop that run"),
        "{error}"
    );
    drop(batch);
    assert!(batch_drop(&folder.0, &numbers(&[1])).unwrap_err().message().contains("not a regular file"));
    std::fs::write(folder.0.join("other"), "{}\n").unwrap();
    assert!(
        batch_drop(folder.0.join("other"), &numbers(&[1])).unwrap_err().message().contains("not an agentjob journal")
    );
}

#[test]
fn a_retry_with_another_prompt_sends_exactly_that_prompt() {
    let (service, folder) = after_failures();
    let journal = folder.journal();
    batch_retry(&journal, &numbers(&[4]), Some("a better message")).unwrap();
    batch_drop(&journal, &numbers(&[2, 3])).unwrap();
    assert!(!std::fs::read_to_string(&journal).unwrap().contains("better"), "the journal has no prompt");
    assert_eq!(batch_status(&journal).unwrap().new_prompts, 1);
    let options = BatchOptions::new(&journal);
    let refused = client(&service).send_all(list(), &options).unwrap_err();
    assert!(refused.message().contains("item 4: journal"), "{refused}");
    assert!(refused.message().contains("to retry it with a new prompt, which this run does not have"), "{refused}");
    let wrong = client(&service).send_all(list(), &options.clone().retry_prompt("another one")).unwrap_err();
    assert!(wrong.message().contains("to retry it with a new prompt"), "{wrong}");
    let both = options.clone().retry_prompt("a better message").retry_prompt("another one");
    let wrong = client(&service).send_all(list(), &both).unwrap_err();
    assert!(wrong.message().contains("retry prompt 2 belongs to no decision"), "{wrong}");
    assert_eq!(arrived(&service, "a better message"), 0);

    let outcomes = run(&client(&service), list(), &options.clone().retry_prompt("a better message"));
    assert!(outcomes.iter().any(|outcome| outcome.number() == 4 && outcome.delivery() == Delivery::Accepted));
    assert_eq!((arrived(&service, "a better message"), arrived(&service, "message 4")), (1, 0));
    // Later runs need it no more, and may still be given it.
    for options in [options.clone(), options.retry_prompt("a better message")] {
        assert_eq!(run(&client(&service), list(), &options).len(), 3);
    }
    assert_eq!(arrived(&service, "a better message"), 1);
}

#[test]
fn a_retry_with_another_prompt_that_is_lost_is_resent_with_that_prompt_or_not_at_all() {
    let lost =
        r#",{"method":"POST","path":"/v2/agent/*/job/job_4/message","nth":2,"fault":{"do":"close","at":"request"}}]"#;
    let (service, folder) = (service(5, &FAILURES.replace("422}]", &format!("422}}{lost}"))), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    run(&client(&service), list(), &options);
    batch_retry(folder.journal(), &numbers(&[4]), Some("a better message")).unwrap();
    let with_prompt = options.clone().retry_prompt("a better message");
    let outcomes = run(&client(&service), list(), &with_prompt);
    assert!(outcomes.iter().any(|outcome| outcome.number() == 4 && outcome.delivery() == Delivery::Unknown));

    let refused = client(&service).send_all(list(), &options.resend_unknown(true)).unwrap_err();
    assert!(refused.message().contains("item 4: journal"), "{refused}");
    assert!(refused.message().contains("to retry it with a new prompt, which this run does not have"), "{refused}");
    assert_eq!(batch_status(folder.journal()).unwrap().progress.unknown, 3, "nothing was written");
    run(&client(&service), list(), &with_prompt.resend_unknown(true));
    assert_eq!((arrived(&service, "a better message"), arrived(&service, "message 4")), (1, 0));
    assert_eq!(batch_status(folder.journal()).unwrap().progress.unknown, 0);
}

#[test]
fn a_new_prompt_may_come_from_the_list_with_a_key_and_without() {
    for has_key in [true, false] {
        let rule = r#","rules":[{"method":"POST","path":"/v2/agent/*/job/job_2/message","nth":1,"status":400}]"#;
        let (service, folder) = (service(2, rule), Folder::new());
        let list = |prompt: &str| {
            let second = BatchItem::new("job_2", prompt);
            vec![items(1).remove(0), if has_key { second.with_key("second") } else { second }]
        };
        let options = BatchOptions::new(folder.journal());
        run(&client(&service), list("bad"), &options);
        let changed = client(&service).send_all(list("good"), &options).unwrap_err();
        assert_eq!(changed.kind(), ErrorKind::InvalidArgument, "without a decision it is a changed list: {changed}");
        batch_retry(folder.journal(), &numbers(&[2]), Some("good")).unwrap();
        let other = client(&service).send_all(list("neither"), &options).unwrap_err();
        let why = if has_key { "its prompt was changed" } else { "in journal" };
        assert!(other.message().contains(why), "{other}");
        for _ in 0..2 {
            let outcomes = run(&client(&service), list("good"), &options);
            assert!(outcomes.iter().all(|outcome| outcome.delivery() == Delivery::Accepted), "{outcomes:?}");
        }
        assert_eq!(run(&client(&service), list("bad"), &options).len(), 2, "the old list is still the batch's");
        assert_eq!((arrived(&service, "good"), arrived(&service, "bad")), (1, 0));
    }
}

#[test]
fn a_retry_with_the_prompt_that_the_list_has_may_be_given_to_the_runs_after_it() {
    let (service, folder) = after_failures();
    batch_retry(folder.journal(), &numbers(&[4]), Some("message 4")).unwrap();
    let options = BatchOptions::new(folder.journal()).retry_prompt("message 4");
    for _ in 0..2 {
        assert_eq!(run(&client(&service), list(), &options)[3].delivery(), Delivery::Accepted);
    }
    assert_eq!(arrived(&service, "message 4"), 1);
    let error = client(&service).send_all(list(), &options.retry_prompt("message 5")).unwrap_err();
    assert!(error.message().starts_with("retry prompt 2 belongs to no decision"), "{error}");
}

#[test]
fn two_items_of_a_list_are_never_one_of_the_journal() {
    let rule = r#","rules":[{"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":1,"status":400}]"#;
    let (service, folder) = (service(1, rule), Folder::new());
    let options = BatchOptions::new(folder.journal());
    // The journal does not store such a long key, so it can't tell that the item has one.
    let keyed = BatchItem::new("job_1", "bad").with_key("k".repeat(200));
    run(&client(&service), vec![keyed.clone()], &options);
    batch_retry(folder.journal(), &numbers(&[1]), Some("good")).unwrap();
    let list = vec![BatchItem::new("job_1", "good"), keyed];
    let error = client(&service).send_all(list, &options.retry_prompt("good")).unwrap_err();
    assert!(error.message().contains("item 2: journal"), "{error}");
    assert!(error.message().contains("as the new prompt of another item of the list"), "{error}");
    assert_eq!(prompts(&service).len(), 0);
}

#[test]
fn a_message_without_a_key_is_never_one_that_has_a_key() {
    let rule = r#","rules":[{"method":"POST","nth":1,"status":400}]"#;
    let (service, folder) = (service(1, rule), Folder::new());
    let options = BatchOptions::new(folder.journal());
    run(&client(&service), vec![BatchItem::new("job_1", "bad").with_key("a")], &options);
    batch_retry(folder.journal(), &numbers(&[1]), Some("good")).unwrap();
    batch_drop(folder.journal(), &numbers(&[1])).unwrap();
    let outcomes = run(&client(&service), vec![BatchItem::new("job_1", "good")], &options);
    assert!(outcomes.len() == 1 && outcomes[0].delivery() == Delivery::Accepted, "{outcomes:?}");
}

#[test]
fn a_message_that_arrived_gets_no_other_messages_result() {
    let (service, folder) = after_failures();
    batch_resolve(folder.journal(), &numbers(&[2]), Resolution::Arrived).unwrap();
    batch_drop(folder.journal(), &numbers(&[3, 4])).unwrap();
    let options = BatchOptions::new(folder.journal()).wait(quick());
    for earlier in [false, true] {
        let outcomes = run(&client(&service), list(), &options);
        let second = outcomes.iter().find(|outcome| outcome.number() == 2).unwrap();
        assert_eq!((second.delivery(), second.is_earlier()), (Delivery::Accepted, earlier));
        assert!(second.job().is_none() && second.error().is_none());
    }
}

#[test]
fn jobs_that_failed_are_counted_and_named() {
    let jobs = r#","rules":[{"method":"GET","path":"/v2/agent/*/job/job_2","status":200,"body":"{\"id\":\"job_2\",\"status\":\"failed\"}"}]"#;
    let (service, folder) = (service(3, jobs), Folder::new());
    let options = BatchOptions::new(folder.journal()).wait(quick());
    for _ in 0..2 {
        let mut batch = client(&service).send_all(items(3), &options).unwrap();
        assert_eq!(batch.by_ref().map(Result::unwrap).count(), 3);
        assert_eq!((batch.progress().failed, batch.progress().accepted, batch.progress().done), (1, 3, 3));
    }
    let status = batch_status(folder.journal()).unwrap();
    assert_eq!(status.progress.failed, 1);
    assert_eq!((status.failed[0].number, &*status.failed[0].job_id), (2, "job_2"));
}

#[test]
fn the_export_has_every_item_with_its_decision() {
    let (_service, folder) = after_failures();
    let journal = folder.journal();
    batch_drop(&journal, &numbers(&[3])).unwrap();
    batch_retry(&journal, &numbers(&[4]), None).unwrap();
    let export = batch_export(&journal, &[]).unwrap();
    let states: Vec<_> = export.items.iter().map(|item| (item.number, item.state)).collect();
    assert_eq!(states, [(1, "accepted"), (2, "unknown"), (3, "dropped"), (4, "not_sent"), (5, "accepted")]);
    assert_eq!(export.items[3].decision.as_ref().unwrap().0, Decision::Retry);
    assert_eq!((export.items[3].http_status, &*export.items[3].key), (Some(422), "tests"));
    let csv = export.text(ExportFormat::Csv);
    let header = "item,key,job_id,state,decision,decided_at,at,http_status,reason,status,pr_link\r\n";
    assert!(csv.starts_with(header) && csv.lines().count() == 6, "{csv}");
    assert!(csv.contains("\r\n4,tests,job_4,not_sent,retry,20"), "{csv}");
    let json = export.text(ExportFormat::JsonLines);
    let lines: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[2]["decision"]), (5, &"drop".into()));
    assert!(lines[0]["status"].is_null(), "no run has waited for its result");
    let named = batch_export(&journal, &[BatchRef::Key("tests".into())]).unwrap();
    assert_eq!(named.items.iter().map(|item| item.number).collect::<Vec<_>>(), [4]);
}
