//! A list that has its messages at other places than in the run before, or lacks some: a number means the last run's list.

use crate::batches::{Folder, prompts, run, service};
use crate::support::client;
use agentjob_core::{
    BatchItem, BatchOptions, BatchOutcome, BatchRef, Decision, Delivery, ErrorKind, Resolution, batch_drop,
    batch_export, batch_report, batch_resolve, batch_retry, batch_status,
};

/// Job 1's message is lost after it arrived, job 2's before; each only the first time.
const LOST: &str = r#","rules":[
    {"method":"POST","path":"/v2/agent/*/job/job_1/message","nth":1,"fault":{"do":"close","at":"request","process":true}},
    {"method":"POST","path":"/v2/agent/*/job/job_2/message","nth":1,"fault":{"do":"close","at":"request","process":false}}]"#;

fn item(n: u32) -> BatchItem {
    BatchItem::new(format!("job_{n}"), format!("message {n}"))
}

fn keyed(n: u32) -> BatchItem {
    item(n).with_key(format!("key_{n}"))
}

fn number(number: u64) -> [BatchRef; 1] {
    [BatchRef::Number(number)]
}

/// The numbers, jobs and states of the export.
fn exported(folder: &Folder) -> Vec<(u64, String, &'static str)> {
    let items = batch_export(folder.journal(), &[]).unwrap().items;
    items.into_iter().map(|item| (item.number, item.job_id, item.state)).collect()
}

fn row(number: u64, job: &str, state: &'static str) -> (u64, String, &'static str) {
    (number, job.to_owned(), state)
}

#[test]
fn a_number_means_the_last_runs_list() {
    let (service, folder) = (service(3, LOST), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    let send = |items: Vec<BatchItem>| -> Vec<BatchOutcome> { run(&client(&service), items, &options) };
    send(vec![keyed(1), keyed(2)]);
    assert_eq!(exported(&folder), [row(1, "job_1", "unknown"), row(2, "job_2", "unknown")]);
    let outcomes = send(vec![keyed(2), keyed(3), keyed(1)]);
    let reported = |n: u64| outcomes.iter().find(|outcome| outcome.number() == n).unwrap().job_id().to_owned();
    assert_eq!((reported(1), reported(3)), ("job_2".to_owned(), "job_1".to_owned()));
    let expected = [row(1, "job_2", "unknown"), row(2, "job_3", "accepted"), row(3, "job_1", "unknown")];
    assert_eq!(exported(&folder), expected, "as the run reported them");
    let unknown: Vec<u64> = batch_status(folder.journal()).unwrap().unknown.iter().map(|item| item.number).collect();
    assert_eq!(unknown, [1, 3]);
    let made = batch_resolve(folder.journal(), &number(1), Resolution::NotArrived).unwrap();
    assert_eq!((&*made[0].job_id, made[0].number), ("job_2", 1));
    assert_eq!(batch_resolve(folder.journal(), &number(3), Resolution::Arrived).unwrap()[0].job_id, "job_1");
    // Reordered once more: the run acts on the decisions, wherever the messages are now.
    send(vec![keyed(3), keyed(1), keyed(2)]);
    assert_eq!(prompts(&service), ["message 1", "message 3", "message 2"], "each arrived once");
    let accepted = [row(1, "job_3", "accepted"), row(2, "job_1", "accepted"), row(3, "job_2", "accepted")];
    assert_eq!(exported(&folder), accepted);
    let page = batch_report(folder.journal()).unwrap();
    assert!(page.contains("message 2: <b>arrived</b>") && page.contains("message 3: <b>not_arrived</b>"), "{page}");
}

#[test]
fn a_message_that_the_list_lacks_is_no_part_of_the_batch() {
    let limited = r#","rules":[{"method":"POST","path":"/v2/agent/*/job/job_2/message","status":401}]"#;
    for make in [item as fn(u32) -> BatchItem, keyed] {
        let (service, folder) = (service(4, limited), Folder::new());
        let options = BatchOptions::new(folder.journal()).concurrency(1);
        let stopped = client(&service).send_all(vec![make(1), make(2)], &options).unwrap().find_map(Result::err);
        assert_eq!(stopped.unwrap().kind(), ErrorKind::Authentication);
        assert_eq!(exported(&folder), [row(1, "job_1", "accepted"), row(2, "job_2", "not_sent")]);
        run(&client(&service), vec![make(1), make(3), make(4)], &options);
        let expected = [row(1, "job_1", "accepted"), row(2, "job_3", "accepted"), row(3, "job_4", "accepted")];
        assert_eq!(exported(&folder), expected);
        assert_eq!(batch_drop(folder.journal(), &number(2)).unwrap_err().kind(), ErrorKind::InvalidArgument);
        if make(2).key().is_some() {
            let gone = batch_drop(folder.journal(), &[BatchRef::Key("key_2".into())]).unwrap_err();
            let why = "item \"key_2\" is not in the list of the last run. Run the batch with it first.";
            assert_eq!(gone.message(), why);
        }
        // It comes back, at another place.
        let stopped = client(&service).send_all(vec![make(1), make(3), make(4), make(2)], &options).unwrap();
        assert_eq!(stopped.filter_map(Result::err).count(), 1);
        assert_eq!(exported(&folder)[3], row(4, "job_2", "not_sent"));
        assert_eq!(batch_drop(folder.journal(), &number(4)).unwrap()[0].decision, Decision::Drop);
    }
}

#[test]
fn a_rejected_message_whose_job_is_wrong_is_dropped_and_then_its_line_may_be_changed() {
    let (service, folder) = (service(2, ""), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    let (wrong, right) = (BatchItem::new("job_gone", "message 2"), item(2));
    run(&client(&service), vec![item(1), wrong], &options);
    let refused = || client(&service).send_all(vec![item(1), right.clone()], &options).unwrap_err();
    let rejected = refused();
    assert!(rejected.reason().ends_with("was rejected"), "{rejected}");
    assert_eq!(
        rejected.hint(),
        Some("Drop that message first (batch_drop, or agentjob batch drop), or restore the list.")
    );
    batch_retry(folder.journal(), &number(2), None).unwrap();
    let decided = refused();
    assert!(decided.reason().ends_with("was decided about"), "{decided}");
    assert_eq!(decided.hint(), rejected.hint());
    batch_drop(folder.journal(), &number(2)).unwrap();
    run(&client(&service), vec![item(1), right], &options);
    assert_eq!(prompts(&service), ["message 1", "message 2"], "the first is not sent again");
}

#[test]
fn the_line_of_a_message_that_may_have_arrived_is_restored_whatever_was_decided() {
    let (service, folder) = (service(1, LOST), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    run(&client(&service), vec![item(1)], &options);
    let refused = || client(&service).send_all(vec![BatchItem::new("job_1", "another")], &options).unwrap_err();
    let restore = "Restore the list and add new items at its end. Another list needs a journal of its own.";
    let expect = |why: &str| {
        let error = refused();
        assert!(error.reason().ends_with(why) && error.hint() == Some(restore), "{error}");
    };
    expect("may have arrived");
    batch_resolve(folder.journal(), &number(1), Resolution::NotArrived).unwrap();
    expect("was decided about");
    batch_drop(folder.journal(), &number(1)).unwrap();
    expect("may have arrived");
}

#[test]
fn the_numbers_of_a_run_that_did_not_begin_count_for_no_other_run() {
    let (service, folder) = (service(2, LOST), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    run(&client(&service), vec![keyed(1), keyed(2)], &options);
    let before = std::fs::read_to_string(folder.journal()).unwrap();
    run(&client(&service), vec![keyed(2), keyed(1)], &options);
    let after = std::fs::read_to_string(folder.journal()).unwrap();
    let begun: Vec<&str> = after[before.len()..].split_inclusive('\n').collect();
    assert!(begun[0].starts_with(r#"{"line":"numbers""#) && begun[1].starts_with(r#"{"line":"run""#), "{begun:?}");
    for cut in [0, 60] {
        // The power failed behind the numbers, or in the line behind them, and the next run has the first list again.
        std::fs::write(folder.journal(), format!("{before}{}{}", begun[0], &begun[1][..cut])).unwrap();
        run(&client(&service), vec![keyed(1), keyed(2)], &options);
        assert_eq!(exported(&folder), [row(1, "job_1", "unknown"), row(2, "job_2", "unknown")], "cut at {cut}");
    }
}

#[test]
fn a_message_that_a_cut_off_line_names_must_be_in_the_list() {
    let (service, folder) = (service(4, ""), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    run(&client(&service), vec![keyed(1), keyed(2), keyed(3)], &options);
    let whole = std::fs::read_to_string(folder.journal()).unwrap();
    // Of the line that says that the second message is about to be sent, only the end is missing.
    let cut = &whole[..whole.match_indices('\n').nth(3).unwrap().0 - 20];
    std::fs::write(folder.journal(), cut).unwrap();
    let refused = client(&service).send_all(vec![keyed(1), keyed(3)], &options).unwrap_err();
    let why = "it is missing from the list, but its message to job job_2 in journal";
    assert!(refused.message().contains(why) && refused.message().contains("may have arrived"), "{refused}");
    assert_eq!(std::fs::read_to_string(folder.journal()).unwrap(), cut, "nothing is written");
    let outcomes = run(&client(&service), vec![keyed(4), keyed(3), keyed(2), keyed(1)], &options);
    let unknown = |outcome: &&BatchOutcome| outcome.delivery() == Delivery::Unknown;
    assert_eq!(outcomes.iter().filter(unknown).map(BatchOutcome::job_id).collect::<Vec<_>>(), ["job_2"]);
    assert_eq!(prompts(&service).iter().filter(|prompt| *prompt == "message 2").count(), 1, "it is not sent again");
    assert_eq!(exported(&folder)[2], row(3, "job_2", "unknown"));
}

#[test]
fn what_was_dropped_and_may_have_arrived_stays_in_the_list() {
    let (service, folder) = (service(2, LOST), Folder::new());
    let options = BatchOptions::new(folder.journal()).concurrency(1);
    run(&client(&service), vec![keyed(1), keyed(2)], &options);
    batch_drop(folder.journal(), &[BatchRef::All]).unwrap();
    let refused = client(&service).send_all(vec![keyed(2)], &options).unwrap_err();
    assert!(refused.message().contains("it is missing from the list"), "{refused}");
    assert!(run(&client(&service), vec![keyed(2), keyed(1)], &options).is_empty());
}

#[test]
fn a_list_may_leave_out_what_was_rejected_and_dropped_and_has_it_back_as_dropped() {
    let rejected = r#","rules":[{"method":"POST","path":"/v2/agent/*/job/job_1/message","status":422}]"#;
    let (service, folder) = (service(2, rejected), Folder::new());
    let options = BatchOptions::new(folder.journal());
    run(&client(&service), vec![keyed(1), keyed(2)], &options);
    let refused = client(&service).send_all(vec![keyed(2)], &options).unwrap_err();
    assert!(refused.message().contains("it is missing from the list"), "{refused}");
    batch_drop(folder.journal(), &number(1)).unwrap();
    assert_eq!(run(&client(&service), vec![keyed(2)], &options).len(), 1);
    assert_eq!(exported(&folder), [row(1, "job_2", "accepted")]);
    let progress = batch_status(folder.journal()).unwrap().progress;
    assert_eq!((progress.items, progress.dropped, progress.left, progress.done), (1, 0, 0, 1));
    assert_eq!(run(&client(&service), vec![keyed(2), keyed(1)], &options).len(), 1);
    assert_eq!(exported(&folder)[1], row(2, "job_1", "dropped"));
    assert_eq!(batch_retry(folder.journal(), &number(2), None).unwrap()[0].job_id, "job_1");
    let outcomes = run(&client(&service), vec![keyed(2), keyed(1)], &options);
    assert!(outcomes.iter().any(|outcome| outcome.delivery() == Delivery::Rejected));
}
