//! A batch's journal when it is damaged, or when another program changes it.

use std::io::Write;
use std::time::Duration;

use crate::batches::{Folder, items, run, run_until_stopped, service};
use crate::support::{client, in_its_own_process, until};
use agentjob_core::{
    BatchEvent, BatchItem, BatchOptions, BatchOutcome, BatchStatus, BatchUpdate, Client, Delivery, ErrorKind,
    batch_status,
};
use agentjob_emulator::Emulator;

/// Where the lines of a journal begin, and where it ends.
fn starts(journal: &[u8]) -> Vec<usize> {
    let ends = journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

/// Runs a batch to its end. Returns the outcomes by their number, and the updates about a damaged journal.
fn run_with_recovery(
    client: &Client,
    items: Vec<BatchItem>,
    options: &BatchOptions,
) -> (Vec<BatchOutcome>, Vec<BatchUpdate>) {
    let mut batch = client.send_all(items, options).unwrap();
    let (mut outcomes, mut recovered) = (Vec::new(), Vec::new());
    loop {
        match batch.next_event(Duration::MAX).unwrap() {
            BatchEvent::Outcome(outcome) => outcomes.push(outcome),
            BatchEvent::Update(update @ BatchUpdate::Recovered { .. }) => {
                assert!(outcomes.is_empty(), "it comes first");
                recovered.push(update);
            }
            BatchEvent::Finished => break,
            _ => {}
        }
    }
    outcomes.sort_by_key(BatchOutcome::number);
    (outcomes, recovered)
}

fn verdicts(outcomes: &[BatchOutcome]) -> Vec<Delivery> {
    outcomes.iter().map(BatchOutcome::delivery).collect()
}

/// A journal of three accepted messages, cut behind so many lines.
fn journal_of_three(service: &Emulator, folder: &Folder, lines: usize) -> Vec<u8> {
    run(&client(service), items(3), &BatchOptions::new(folder.journal()).concurrency(1));
    let mut whole = std::fs::read(folder.journal()).unwrap();
    let starts = starts(&whole);
    assert_eq!(starts.len(), 8, "a run, and two lines a message");
    whole.truncate(starts[lines]);
    whole
}

#[test]
fn a_last_line_without_its_newline_counts() {
    use Delivery::{Accepted, Unknown};
    let (service, folder) = (service(3, ""), Folder::new());
    let journal = journal_of_three(&service, &folder, 7);
    let starts = starts(&journal);
    for (lines, verdict) in [(6, Unknown), (7, Accepted)] {
        for damage in ["no newline", "a zero for the newline"] {
            let mut bytes = journal[..starts[lines] - 1].to_vec();
            bytes.extend((damage != "no newline").then_some(0));
            std::fs::write(folder.journal(), &bytes).unwrap();
            let (outcomes, recovered) =
                run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
            assert_eq!(verdicts(&outcomes), [Accepted, Accepted, verdict], "{lines} lines, {damage}");
            assert_eq!(recovered.len(), 0, "nothing was dropped");
            let (again, recovered) =
                run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
            assert_eq!((verdicts(&again), recovered.len()), (verdicts(&outcomes), 0), "and the next run reads it");
        }
    }
    assert_eq!(service.ledger().len(), 3);
}

#[test]
fn a_damaged_line_sending_makes_its_message_unknown_and_is_reported() {
    use Delivery::{Accepted, Unknown};
    let (service, folder) = (service(3, ""), Folder::new());
    let journal = journal_of_three(&service, &folder, 6);
    let line = starts(&journal)[5];
    let length = journal.len() - line;
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = journal.clone();
        change(&mut bytes);
        bytes
    };
    let rows = [
        ("a zeroed byte", changed(&|bytes| bytes[line + 70] = 0)),
        ("a flipped bit in its kind", changed(&|bytes| bytes[line + 12] ^= 4)),
        ("a flipped bit in its key", changed(&|bytes| bytes[line + 35] ^= 1)),
        ("a flipped bit at its end", changed(&|bytes| bytes[line + length - 5] ^= 1)),
        ("cut at its end", changed(&|bytes| bytes.truncate(line + length - 2))),
        ("cut in its middle", changed(&|bytes| bytes.truncate(line + length / 2))),
        ("cut at its beginning", changed(&|bytes| bytes.truncate(line + 3))),
        ("zeros from its middle on", changed(&|bytes| bytes[line + 60..].fill(0))),
        ("nothing but zeros", changed(&|bytes| bytes[line..].fill(0))),
        ("zeros behind it", changed(&|bytes| bytes.extend([0; 5000]))),
    ];
    for (name, bytes) in rows {
        std::fs::write(folder.journal(), &bytes).unwrap();
        let before = batch_status(folder.journal()).unwrap();
        assert!(before.dropped_bytes > 0, "{name}");
        let (outcomes, recovered) =
            run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
        assert_eq!(verdicts(&outcomes), [Accepted, Accepted, Unknown], "{name}");
        let [BatchUpdate::Recovered { dropped_bytes, journal_line, unknown, .. }] = recovered[..] else {
            panic!("{name}: {recovered:?}")
        };
        assert_eq!(dropped_bytes, before.dropped_bytes, "{name}");
        assert_eq!((journal_line, unknown), if name == "zeros behind it" { (7, 0) } else { (6, 1) }, "{name}");
        let status = batch_status(folder.journal()).unwrap();
        assert_eq!((status.progress.unknown, status.dropped_bytes), (1, dropped_bytes), "{name}");
        let text = std::fs::read(folder.journal()).unwrap();
        assert!(text.starts_with(&bytes), "{name}: the damaged lines stay");
        if unknown == 1 {
            let error = outcomes[2].error().unwrap();
            let words = "message to job job_3 may have arrived: its line in the journal is damaged";
            assert!(error.message().starts_with(words), "{name}: {error}");
            assert_eq!(status.unknown[0].reason.as_deref(), Some(words));
        }
        let (again, recovered) = run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
        assert_eq!((verdicts(&again), recovered.len()), (verdicts(&outcomes), 0), "{name}: it is reported once");
    }
    assert_eq!(service.ledger().len(), 3, "none of this sent anything");
}

#[test]
fn a_damaged_line_that_can_be_read_is_reported_before_the_next_run() {
    let (service, folder) = (service(3, ""), Folder::new());
    let mut journal = journal_of_three(&service, &folder, 6);
    journal.truncate(journal.len() - 3);
    std::fs::write(folder.journal(), &journal).unwrap();
    let BatchStatus { progress, unknown, .. } = batch_status(folder.journal()).unwrap();
    assert_eq!((progress.unknown, progress.left), (1, 0));
    assert_eq!((unknown[0].number, unknown[0].job_id.as_str()), (3, "job_3"));
}

#[test]
fn a_run_that_is_killed_while_it_recovers_loses_nothing() {
    let (service, folder) = (service(3, ""), Folder::new());
    let mut journal = journal_of_three(&service, &folder, 6);
    journal.truncate(journal.len() - 40);
    std::fs::write(folder.journal(), &journal).unwrap();
    run(&client(&service), items(3), &BatchOptions::new(folder.journal()));
    let recovered = std::fs::read(folder.journal()).unwrap();
    for cut in journal.len()..recovered.len() {
        std::fs::write(folder.journal(), &recovered[..cut]).unwrap();
        let outcomes = run(&client(&service), items(3), &BatchOptions::new(folder.journal()));
        assert_eq!(
            outcomes.iter().filter(|outcome| outcome.delivery() == Delivery::Unknown).count(),
            1,
            "cut at {cut}"
        );
    }
    assert_eq!(service.ledger().len(), 3);
}

#[test]
fn damage_before_the_last_line_is_named_and_not_changed() {
    let (service, folder) = (service(3, ""), Folder::new());
    let (client, journal) = (client(&service), folder.journal());
    let whole = journal_of_three(&service, &folder, 7);
    let starts = starts(&whole);
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        std::fs::write(&journal, &bytes).unwrap();
        let error = client.send_all(items(3), &BatchOptions::new(&journal)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Journal);
        assert_eq!(batch_status(&journal).unwrap_err().message(), error.message());
        assert_eq!(std::fs::read(&journal).unwrap(), bytes, "a damaged journal is not changed");
        error.message().to_owned()
    };
    let line = |n: usize| starts[n - 1]..starts[n];
    let follows = "it does not follow the line before it: a line is missing, repeated or moved";
    type Change<'a> = &'a dyn Fn(&mut Vec<u8>);
    let rows: [(&str, Change<'_>); 9] = [
        ("line 4: its checksum does not match its text", &|bytes| bytes[starts[3] + 30] ^= 1),
        ("line 4: it is not text", &|bytes| bytes[starts[3] + 30] = 0xff),
        ("line 1: its checksum does not match its text", &|bytes| bytes[40] ^= 1),
        (follows, &|bytes| drop(bytes.drain(line(2)))),
        (follows, &|bytes| drop(bytes.drain(line(4)))),
        (follows, &|bytes| drop(bytes.drain(starts[3]..starts[5]))),
        (follows, &|bytes| bytes.extend_from_within(line(7))),
        (follows, &|bytes| bytes.extend_from_within(line(2))),
        (follows, &|bytes| {
            let moved: Vec<u8> = bytes.drain(line(3)).collect();
            bytes.extend(moved);
        }),
    ];
    for (words, change) in rows {
        let message = damaged(change);
        assert!(message.contains("is damaged: line ") && message.contains(words), "{words}: {message}");
    }
    assert_eq!(service.ledger().len(), 3);
}

#[test]
fn a_file_that_is_not_a_journal_is_not_changed() {
    let (service, folder) = (service(1, ""), Folder::new());
    let (client, options) = (client(&service), BatchOptions::new(folder.journal()));
    let rows = [
        "\0",
        "\0\0\0\0\0\0\0\0",
        "{",
        "{\"",
        "{\"line\":\"ru",
        "{\"line\":\"runner\"",
        "{\"line\":\"run\",\"journal\":two,\"agentjob\":\"9\"}\n",
        "{\"line\":\"run\",\0\"journal\":4,\n",
        "\n",
        " ",
        "a letter to a friend",
        "a letter\nto a friend\n",
        "\u{feff}{\"line\":\"run\",\"journal\":4,",
    ];
    for text in rows {
        std::fs::write(folder.journal(), text).unwrap();
        let error = client.send_all(items(1), &options).unwrap_err();
        assert!(error.message().contains("is not a batch's journal and was not changed"), "{text:?}: {error}");
        assert_eq!(batch_status(folder.journal()).unwrap_err().message(), error.message());
        assert_eq!(std::fs::read(folder.journal()).unwrap(), text.as_bytes());
    }
    for beginning in ["{\"line\":\"run\",\"journal\":4,", "{\"line\":\"run\",\"journal\":4,\"agentj"] {
        std::fs::write(folder.journal(), beginning).unwrap();
        let error = client.send_all(items(1), &options).unwrap_err();
        assert!(error.message().contains("is damaged: line 1: "), "it may have had more lines: {error}");
        assert_eq!(std::fs::read(folder.journal()).unwrap(), beginning.as_bytes());
    }
    for version in ["1", "2", "3", "17"] {
        let text = format!("{{\"line\":\"run\",\"journal\":{version},\"agentjob\":\"9\"}}\n");
        std::fs::write(folder.journal(), &text).unwrap();
        let error = client.send_all(items(1), &options).unwrap_err();
        assert!(error.message().contains(&format!("has format {version}, but this version")), "{error}");
        assert_eq!(batch_status(folder.journal()).unwrap_err().message(), error.message());
        assert_eq!(std::fs::read(folder.journal()).unwrap(), text.as_bytes());
    }
    assert_eq!(service.ledger().len(), 0);
    std::fs::write(folder.journal(), "").unwrap();
    assert_eq!(run(&client, items(1), &options)[0].delivery(), Delivery::Accepted);
    let pipe = folder.0.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe, folder.0.clone(), "/dev/null".into()] {
        assert!(batch_status(&path).unwrap_err().message().contains("is not a regular file"), "{path:?}");
    }
}

#[test]
fn a_journal_that_is_moved_stops_the_batch() {
    let rule = r#","rules":[{"method":"POST","delay_ms":100,"process":true,"status":200}]"#;
    let (service, folder) = (service(20, rule), Folder::new());
    let mut batch = client(&service).send_all(items(20), &BatchOptions::new(folder.journal()).concurrency(1)).unwrap();
    assert!(batch.next().unwrap().is_ok());
    let elsewhere = folder.0.join("elsewhere");
    std::fs::rename(folder.journal(), &elsewhere).unwrap();
    let (outcomes, error) = run_until_stopped(batch);
    assert_eq!(error.kind(), ErrorKind::Journal);
    assert!(error.message().contains("was removed or replaced while the batch ran"), "{error}");
    assert_eq!(service.ledger().len(), 1 + outcomes.len());
    std::fs::rename(&elsewhere, folder.journal()).unwrap();
    assert_eq!(run(&client(&service), items(20), &BatchOptions::new(folder.journal())).len(), 20);
    assert_eq!(service.ledger().len(), 20);
}

#[test]
fn a_journal_that_another_program_changes_stops_the_batch() {
    type Change = fn(&std::fs::File);
    let changes: [(&str, Change); 3] = [
        ("cut", |file| file.set_len(100).unwrap()),
        ("emptied", |file| file.set_len(0).unwrap()),
        ("appended to", |mut file| file.write_all(b"a note\n").unwrap()),
    ];
    let changed = |name: &str, change: Change| {
        // The second message has its outcome only when the journal has long been changed.
        let rule = r#","rules":[{"method":"POST","from":2,"delay_ms":3000,"process":true,"status":200}]"#;
        let (service, folder) = (service(20, rule), Folder::new());
        let options = BatchOptions::new(folder.journal()).concurrency(1);
        let mut batch = client(&service).send_all(items(20), &options).unwrap();
        assert!(batch.next().unwrap().is_ok());
        // Until the service has the second message: its line is written, its outcome isn't.
        until("the second message is at the service", || service.ledger().len() == 2);
        change(&std::fs::OpenOptions::new().append(true).open(folder.journal()).unwrap());
        let changed = std::fs::read(folder.journal()).unwrap();
        let (outcomes, error) = run_until_stopped(batch);
        assert_eq!(error.kind(), ErrorKind::Journal, "{name}");
        assert!(error.message().contains("was changed by another program while the batch ran"), "{name}: {error}");
        assert_eq!((outcomes.len(), service.ledger().len()), (1, 2), "{name}: nothing more was sent");
        assert_eq!(std::fs::read(folder.journal()).unwrap(), changed, "{name}: and nothing was written");
    };
    std::thread::scope(|scope| {
        changes.into_iter().for_each(|(name, change)| drop(scope.spawn(move || changed(name, change))));
    });
}

#[test]
fn a_program_that_changes_its_working_directory_keeps_its_journal() {
    in_its_own_process("journal::child_that_changes_its_working_directory");
}

#[test]
#[ignore = "it is the process that the test above starts"]
fn child_that_changes_its_working_directory() {
    let rule = r#","rules":[{"method":"POST","delay_ms":20,"process":true,"status":200}]"#;
    let (service, folder, elsewhere) = (service(10, rule), Folder::new(), Folder::new());
    std::env::set_current_dir(&folder.0).unwrap();
    let mut batch = client(&service).send_all(items(10), &BatchOptions::new("run.journal").concurrency(1)).unwrap();
    assert!(batch.next().unwrap().is_ok());
    std::env::set_current_dir(&elsewhere.0).unwrap();
    assert_eq!(batch.map(Result::unwrap).count(), 9);
    assert_eq!(batch_status(folder.journal()).unwrap().progress.accepted, 10);
    let error = batch_status("run.journal").unwrap_err();
    assert!(error.message().contains(elsewhere.0.to_str().unwrap()), "an error shows the whole path: {error}");
}
