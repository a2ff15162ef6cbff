//! A batch's journal when it is damaged, or when another program changes it.

use std::time::Duration;

use crate::batches::{Folder, items, run, service};
use crate::support::{client, in_its_own_process};
use agentjob_core::{
    BatchEvent, BatchItem, BatchOptions, BatchOutcome, BatchUpdate, Client, Delivery, ErrorKind, batch_status,
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
        for zeros in [0, 1, 300] {
            let mut bytes = journal[..starts[lines] - 1].to_vec();
            bytes.resize(bytes.len() + zeros, 0);
            std::fs::write(folder.journal(), &bytes).unwrap();
            let (outcomes, recovered) =
                run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
            assert_eq!(verdicts(&outcomes), [Accepted, Accepted, verdict], "{lines} lines, {zeros} zeros behind");
            assert_eq!(recovered.len(), 0, "nothing was dropped");
            let (again, recovered) =
                run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
            assert_eq!((verdicts(&again), recovered.len()), (verdicts(&outcomes), 0), "and the next run reads it");
        }
    }
    assert_eq!(service.ledger().len(), 3);
}

#[test]
fn what_a_crash_leaves_of_the_last_line_is_skipped_and_reported() {
    use Delivery::{Accepted, Unknown};
    let (service, folder) = (service(3, ""), Folder::new());
    let whole = journal_of_three(&service, &folder, 7);
    let starts = starts(&whole);
    // The first `count` lines, of the last of them only so much, and zeros behind.
    let left = |count: usize, kept: usize, zeros: usize| {
        let mut bytes = whole[..starts[count - 1] + kept].to_vec();
        bytes.resize(bytes.len() + zeros, 0);
        bytes
    };
    let (sending, outcome) = (starts[6] - starts[5], starts[7] - starts[6]);
    // Its verdict, the line that is reported, how many messages are unknown because of it, and whether the third one is sent.
    let rows = [
        ("a `sending` without its end", left(6, sending - 3, 0), Unknown, (6, 1), false),
        ("a `sending` with zeros from its time on", left(6, sending - 80, 80), Unknown, (6, 1), false),
        ("a `sending` without its job", left(6, sending / 2, 0), Accepted, (6, 0), true),
        ("a `sending` of a few bytes and zeros", left(6, 3, 400), Accepted, (6, 0), true),
        ("nothing but zeros", left(6, 0, 5000), Accepted, (6, 0), true),
        ("zeros behind the last line", left(6, sending, 512 << 10), Unknown, (7, 0), false),
        ("an outcome without its end", left(7, outcome - 3, 0), Unknown, (7, 0), false),
        ("an outcome of a few bytes", left(7, 3, 0), Unknown, (7, 0), false),
        ("zeros in the place of an outcome", left(7, 0, outcome), Unknown, (7, 0), false),
    ];
    for (name, bytes, verdict, reported, is_sent) in rows {
        let sent = service.ledger().len();
        std::fs::write(folder.journal(), &bytes).unwrap();
        let before = batch_status(folder.journal()).unwrap();
        assert_eq!(before.progress.unknown, u64::from(verdict == Unknown), "{name}");
        let (outcomes, recovered) =
            run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
        assert_eq!(verdicts(&outcomes), [Accepted, Accepted, verdict], "{name}");
        assert_eq!(service.ledger().len() - sent, usize::from(is_sent), "{name}");
        let [BatchUpdate::Recovered { dropped_bytes, journal_line, unknown, .. }] = recovered[..] else {
            panic!("{name}: {recovered:?}")
        };
        assert_eq!((journal_line, unknown), reported, "{name}");
        let status = batch_status(folder.journal()).unwrap();
        assert_eq!((before.dropped_bytes, status.dropped_bytes), (dropped_bytes, dropped_bytes), "{name}");
        assert!(dropped_bytes > 0 && std::fs::read(folder.journal()).unwrap().starts_with(&bytes), "{name}: it stays");
        let (again, recovered) = run_with_recovery(&client(&service), items(3), &BatchOptions::new(folder.journal()));
        assert_eq!((verdicts(&again), recovered.len()), (verdicts(&outcomes), 0), "{name}: it is reported once");
    }
}

#[test]
fn a_run_that_is_killed_while_it_recovers_loses_nothing() {
    let (service, folder) = (service(3, ""), Folder::new());
    let whole = journal_of_three(&service, &folder, 7);
    let starts = starts(&whole);
    // The end of a `sending`, and only the first bytes of an outcome.
    for kept in [starts[6] - 40, starts[6] + 3] {
        std::fs::write(folder.journal(), &whole[..kept]).unwrap();
        run(&client(&service), items(3), &BatchOptions::new(folder.journal()));
        let recovered = std::fs::read(folder.journal()).unwrap();
        let behind = kept + 1 + recovered[kept..].iter().position(|byte| *byte == b'\n').unwrap();
        // The last byte is a newline, without which the last line counts.
        for cut in (kept..behind).chain((behind..recovered.len() - 1).step_by(9)) {
            let mut bytes = recovered[..cut].to_vec();
            bytes.resize(cut + if cut % 3 == 0 { 300 } else { 0 }, 0);
            std::fs::write(folder.journal(), &bytes).unwrap();
            let outcomes = run(&client(&service), items(3), &BatchOptions::new(folder.journal()));
            let unknown = outcomes.iter().filter(|outcome| outcome.delivery() == Delivery::Unknown);
            assert_eq!(unknown.count(), 1, "{kept} bytes, cut at {cut}");
        }
    }
    assert_eq!(service.ledger().len(), 3);
}

#[test]
fn damage_that_no_crash_leaves_is_named_and_not_changed() {
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
    let rows: [(&str, Change<'_>); 19] = [
        ("line 4: its checksum does not match its text", &|bytes| bytes[starts[3] + 30] ^= 1),
        ("line 4: it is not text", &|bytes| bytes[starts[3] + 30] = 0xff),
        ("line 1: its checksum does not match its text", &|bytes| bytes[40] ^= 1),
        ("line 7: its checksum does not match its text", &|bytes| bytes[starts[6] + 30] ^= 1),
        ("line 7: its checksum does not match its text", &|bytes| bytes[starts[6] + 30] = 0),
        ("line 7: it has no checksum", &|bytes| bytes.splice(starts[6].., *b"what is this?").for_each(drop)),
        ("line 7: it has no checksum", &|bytes| drop(bytes.drain(starts[7] - 30..starts[7] - 1))),
        ("line 6: it has no checksum", &|bytes| drop(bytes.drain(starts[6] - 20..starts[6] - 1))),
        ("line 8: it has no checksum", &|bytes| bytes.push(b'\n')),
        ("line 8: it has no checksum", &|bytes| bytes.extend(b"\0\0\0what is this?")),
        ("line 8: it has no checksum", &|bytes| bytes.resize(bytes.len() + (600 << 10), 0)),
        ("line 8: it has no checksum", &|bytes| bytes.extend(b"{\"line\":\n{\"line\":")),
        ("line 7: what it was written behind is missing", &|bytes| {
            bytes.truncate(starts[7] - 20);
            std::fs::write(&journal, &bytes).unwrap();
            run(&client, items(3), &BatchOptions::new(&journal));
            let mut recovered = std::fs::read(&journal).unwrap();
            recovered.drain(starts[6]..=bytes.len());
            *bytes = recovered;
        }),
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
        assert!(error.message().contains("is not an agentjob journal; left untouched"), "{text:?}: {error}");
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
    if cfg!(unix) {
        crate::support::files::put_pipe(&pipe);
    }
    // Windows has the folder alone.
    let others = [folder.0.clone(), pipe, "/dev/null".into()];
    for path in others.into_iter().take(if cfg!(unix) { 3 } else { 1 }) {
        assert!(batch_status(&path).unwrap_err().message().contains("is not a regular file"), "{path:?}");
    }
}

/// Windows does not let it be moved or changed.
#[test]
#[cfg(windows)]
fn a_journal_in_use_is_read_and_neither_moved_nor_changed() {
    let rule = r#","rules":[{"method":"POST","delay_ms":100,"process":true,"status":200}]"#;
    let (service, folder) = (service(3, rule), Folder::new());
    let mut batch = client(&service).send_all(items(3), &BatchOptions::new(folder.journal()).concurrency(1)).unwrap();
    assert!(batch.next().unwrap().is_ok());
    std::fs::rename(folder.journal(), folder.0.join("elsewhere")).unwrap_err();
    std::fs::remove_file(folder.journal()).unwrap_err();
    std::fs::OpenOptions::new().append(true).open(folder.journal()).unwrap_err();
    assert!(batch_status(folder.journal()).unwrap().running);
    assert_eq!(batch.map(Result::unwrap).count(), 2);
}

#[test]
#[cfg(unix)]
fn a_journal_that_is_moved_stops_the_batch() {
    let rule = r#","rules":[{"method":"POST","delay_ms":100,"process":true,"status":200}]"#;
    let (service, folder) = (service(20, rule), Folder::new());
    let mut batch = client(&service).send_all(items(20), &BatchOptions::new(folder.journal()).concurrency(1)).unwrap();
    assert!(batch.next().unwrap().is_ok());
    let elsewhere = folder.0.join("elsewhere");
    std::fs::rename(folder.journal(), &elsewhere).unwrap();
    let (outcomes, error) = crate::batches::run_until_stopped(batch);
    assert_eq!(error.kind(), ErrorKind::Journal);
    assert!(error.message().contains("was removed or replaced while the batch ran"), "{error}");
    assert_eq!(service.ledger().len(), 1 + outcomes.len());
    std::fs::rename(&elsewhere, folder.journal()).unwrap();
    assert_eq!(run(&client(&service), items(20), &BatchOptions::new(folder.journal())).len(), 20);
    assert_eq!(service.ledger().len(), 20);
}

#[test]
#[cfg(unix)]
fn a_journal_that_another_program_changes_stops_the_batch() {
    use std::io::Write;
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
        crate::support::until("the second message is at the service", || service.ledger().len() == 2);
        change(&std::fs::OpenOptions::new().append(true).open(folder.journal()).unwrap());
        let changed = std::fs::read(folder.journal()).unwrap();
        let (outcomes, error) = crate::batches::run_until_stopped(batch);
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
    assert!(error.message().contains("does not exist") && !elsewhere.journal().exists(), "{error}");
}
