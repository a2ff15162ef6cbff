//! The events of a batch's calls: the table of docs/events.md, row by row, as the client's handler and as the batch's owner get them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentjob_core::{BatchEvent, BatchItem, BatchOptions, Delivery, Event, EventHandler, EventLevel};

use crate::batches::{Folder, items, run, service};
use crate::support::{builder, client, quick};

const PAGE: &str = include_str!("../../../docs/events.md");

const TWO_POLLS: &str = r#","rules":[
    {"method":"GET","nth":1,"status":200,"json":{"id":"job_1","status":"active","source":{}}},
    {"method":"GET","nth":2,"status":200,"json":{"id":"job_1","status":"completed","source":{}}}]"#;

/// As the table writes it.
fn written(event: &Event<'_>) -> String {
    let status = match event {
        Event::Response { status, .. } => format!(" {status}"),
        _ => String::new(),
    };
    let item = event.item().map_or(String::new(), |item| format!(" {item}"));
    format!("{}{status}{item}", event.name())
}

fn handler(heard: &Arc<Mutex<Vec<String>>>) -> EventHandler {
    let heard = Arc::clone(heard);
    Arc::new(move |event: &Event<'_>| heard.lock().unwrap().push(written(event)))
}

/// The events that the owner of a row's batch and its client's handler get.
fn events(situation: &str) -> [Vec<String>; 2] {
    let (count, more, waits) = match situation {
        "two messages" => (2, "", false),
        "a message and its wait, of two polls" => (1, TWO_POLLS, true),
        "the service returns 429" => {
            (1, r#","rules":[{"method":"POST","nth":1,"status":429,"headers":{"Retry-After":"1"}}]"#, false)
        }
        "the service returns 503" => (2, r#","rules":[{"method":"POST","nth":1,"status":503}]"#, false),
        "the job is busy" => (1, r#","rules":[{"method":"POST","nth":1,"status":409}]"#, false),
        "a message that an earlier run sent" => (1, "", false),
        other => panic!("docs/events.md has a situation that this test does not make: {other}"),
    };
    let (service, folder, by_handler) = (service(count, more), Folder::new(), Arc::default());
    let options = BatchOptions::new(folder.journal()).concurrency(1).wait(waits.then(quick));
    if situation == "a message that an earlier run sent" {
        run(&client(&service), items(count), &options);
    }
    let client = builder(&service).on_event(handler(&by_handler)).build().unwrap();
    let mut batch = client.send_all(items(count), &options.call_events(EventLevel::Debug)).unwrap();
    let mut by_owner = Vec::new();
    loop {
        match batch.next_event(Duration::MAX).unwrap() {
            BatchEvent::Call(event) => by_owner.push(written(&event)),
            BatchEvent::Finished => break,
            _ => {}
        }
    }
    let by_handler = by_handler.lock().unwrap().clone();
    [by_owner, by_handler]
}

#[test]
fn each_batch_has_the_events_of_the_table() {
    let section = PAGE.split("\n## ").find(|section| section.starts_with("In a batch")).unwrap();
    let table = section.split("\n\n").find(|part| part.starts_with("| situation")).unwrap();
    let rows: Vec<Vec<&str>> =
        table.lines().skip(2).map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect();
    assert!(rows.len() > 5, "{rows:?}");
    for row in rows {
        let [by_owner, by_handler] = events(row[0]);
        assert_eq!(by_owner.join(", "), row[1], "the owner, {}", row[0]);
        assert_eq!(by_handler.join(", "), row[1], "the handler, {}", row[0]);
    }
}

#[test]
fn the_owner_gets_the_events_of_the_level_that_it_asks_for() {
    for (level, expected) in [
        (Some(EventLevel::Debug), "attempt response attempt response poll attempt response poll"),
        (Some(EventLevel::Info), "poll poll"),
        (None, ""),
    ] {
        let (service, folder) = (service(1, TWO_POLLS), Folder::new());
        let options = BatchOptions::new(folder.journal()).wait(quick()).call_events(level);
        let mut batch = client(&service).send_all(items(1), &options).unwrap();
        let mut heard = Vec::new();
        loop {
            match batch.next_event(Duration::MAX).unwrap() {
                BatchEvent::Call(event) => heard.push(event.name()),
                BatchEvent::Finished => break,
                _ => {}
            }
        }
        assert_eq!(heard.join(" "), expected, "{level:?}");
    }
}

#[test]
fn a_batch_whose_polls_get_a_login_page_warns_once_for_each_job() {
    let page = r#","rules":[{"method":"GET","status":200,"body":"<html>Log in</html>"}]"#;
    let (service, folder) = (service(2, page), Folder::new());
    let options = BatchOptions::new(folder.journal()).wait(quick().timeout(Duration::from_secs(1)));
    let mut batch = client(&service).send_all(items(2), &options.call_events(EventLevel::Warning)).unwrap();
    let (mut warned, mut reasons) = (Vec::new(), Vec::new());
    loop {
        match batch.next_event(Duration::MAX).unwrap() {
            BatchEvent::Call(event) => {
                assert!(matches!(event, Event::Poll { consecutive_failures: 5, .. }), "{event}");
                warned.push(event.item().unwrap());
            }
            BatchEvent::Outcome(outcome) => reasons.push(outcome.error().unwrap().reason().to_owned()),
            BatchEvent::Finished => break,
            _ => {}
        }
    }
    warned.sort_unstable();
    assert_eq!(warned, [1, 2]);
    assert!(
        reasons.len() == 2
            && reasons.iter().all(|reason| reason.contains("the last poll failed: the record in the response (200)")),
        "{reasons:?}"
    );
}

#[test]
fn events_that_nobody_takes_change_no_outcome() {
    // Three events a message: more of them than are kept.
    let (service, folder) = (service(5_000, ""), Folder::in_memory());
    let options = BatchOptions::new(folder.journal()).concurrency(16).call_events(EventLevel::Debug);
    let list: Vec<_> = (1..=5_000).map(|n| BatchItem::new(format!("job_{n}"), "p")).collect();
    let client = client(&service);
    let batch = client.send_all(list, &options).unwrap();
    assert!(batch.handle().wait(Duration::from_secs(240)), "it runs to its end by itself");
    let outcomes: Vec<_> = batch.map(Result::unwrap).collect();
    assert_eq!(outcomes.len(), 5_000);
    assert!(outcomes.iter().all(|outcome| outcome.delivery() == Delivery::Accepted));
    assert_eq!(service.ledger().len(), 5_000);
}
