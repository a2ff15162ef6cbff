//! What one version writes and another reads: docs/compatibility.md promises these. The samples were written once and stay as they are. A
//! change that makes one of these tests fail needs a new format number, and a new sample.

use crate::batches::Folder;
use agentjob_core::{
    BatchItem, BatchOptions, BatchOutcome, BatchRef, Client, Delivery, Poller, Resolution, batch_resolve, batch_status,
};

/// Three messages, accepted, unknown and rejected, to a service at this address.
const JOURNAL: &str = include_str!("formats/journal-4.jsonl");
const ADDRESS: &str = "http://127.0.0.1:40253";
const POLLER: &str = r#"{"agentjob_poller":1,"saved_at_unix_ms":1795540915782,"elapsed_ms":0,"done":false,"state":{"job_id":"job_1",
    "timeout_ms":1800000,"min_interval_ms":20,"max_interval_ms":60000,"lateness_millionths":150000,"settle_ms":250,"due_ms":19,
    "settle_until_ms":249,"early_until_ms":1999,"grace_until_ms":29999,"polls":0,"message":false,"tally":{},"last_status":null}}"#;

fn journal(text: &str) -> Folder {
    let folder = Folder::new();
    std::fs::write(folder.journal(), text).unwrap();
    folder
}

fn client() -> Client {
    Client::builder().base_url(ADDRESS).api_key("key_0123456789").project_id("demo").build().unwrap()
}

fn items() -> Vec<BatchItem> {
    ["job_1", "job_2", "job_gone"].map(|job| BatchItem::new(job, "Add tests")).into()
}

#[test]
fn a_journal_of_this_format_is_resumed_and_decided() {
    let folder = journal(JOURNAL);
    let status = batch_status(folder.journal()).unwrap();
    assert_eq!((status.progress.accepted, status.progress.unknown, status.progress.rejected), (1, 1, 1));
    batch_resolve(folder.journal(), &[BatchRef::Number(2)], Resolution::Arrived).unwrap();

    // All three have ended, so the run needs no service.
    let outcomes = client().send_all(items(), &BatchOptions::new(folder.journal())).unwrap();
    let outcomes: Vec<BatchOutcome> = outcomes.map(Result::unwrap).collect();
    assert!(outcomes.iter().all(BatchOutcome::is_earlier));
    let mut deliveries: Vec<(u64, Delivery)> = outcomes.iter().map(|it| (it.number(), it.delivery())).collect();
    deliveries.sort_by_key(|(item, _)| *item);
    assert_eq!(deliveries, [(1, Delivery::Accepted), (2, Delivery::Accepted), (3, Delivery::Rejected)]);
}

#[test]
fn a_journal_of_another_format_is_refused_and_left_as_it_is() {
    for format in ["3", "5"] {
        let text = JOURNAL.replacen(r#""journal":4"#, &format!(r#""journal":{format}"#), 1);
        let folder = journal(&text);
        let refused = [
            batch_status(folder.journal()).unwrap_err(),
            client().send_all(items(), &BatchOptions::new(folder.journal())).map(drop).unwrap_err(),
        ];
        for error in refused {
            let said = error.to_string();
            assert!(
                said.contains(&format!("has format {format}, but this version of agentjob reads only format 4")),
                "{said}"
            );
            assert!(said.contains("Finish the batch with the version that began it"), "{said}");
        }
        assert_eq!(std::fs::read_to_string(folder.journal()).unwrap(), text);
    }
}

#[test]
fn a_pollers_text_of_this_format_is_resumed_and_another_is_refused() {
    let poller: Poller = POLLER.parse().unwrap();
    assert_eq!(poller.job_id(), "job_1");
    for format in ["0", "2"] {
        let other = POLLER.replacen(r#""agentjob_poller":1"#, &format!(r#""agentjob_poller":{format}"#), 1);
        let said = other.parse::<Poller>().unwrap_err().to_string();
        assert!(said.contains("this is not a poller's text"), "{said}");
    }
}
