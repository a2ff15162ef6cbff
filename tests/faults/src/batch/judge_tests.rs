//! Tests the judge: good evidence is doctored, one mistake at a time, and each must be found under its own name.

use super::judge::{Evidence, Findings, Processed, judge};
use super::plan::{Item, Said};

const RUN: &str = r#"{"line":"run","journal":4,"agentjob":"0.1.0"}"#;

/// A batch of three: 1 and 3 for one job, 1 and 3 accepted, 2 rejected.
#[derive(Clone)]
struct Case {
    journal: Vec<String>,
    reported: Vec<Vec<Said>>,
    ledger: Vec<Processed>,
    over: bool,
}

fn items() -> Vec<Item> {
    let item = |n: u32, job: &str| Item { job_id: job.into(), prompt: format!("secret{n} do item {n}"), key: None };
    vec![item(1, "job_a"), item(2, "job_b"), item(3, "job_a")]
}

fn sending(number: usize) -> String {
    let job = &items()[number - 1].job_id;
    format!(r#"{{"line":"sending","item":{number},"key":"k{number}","prompt":"p","job_id":"{job}"}}"#)
}

fn line(kind: &str, number: usize) -> String {
    format!(r#"{{"line":"{kind}","item":{number},"key":"k{number}"}}"#)
}

fn reported(number: u64, delivery: &str) -> Said {
    let pr_link = (delivery == "accepted").then(|| format!("pull/{number}"));
    Said::Reported { number, delivery: delivery.into(), error: None, earlier: false, pr_link }
}

fn processed(number: usize) -> Processed {
    let item = &items()[number - 1];
    let pr_link = Some(format!("pull/{number}"));
    Processed { job_id: item.job_id.clone(), prompt: item.prompt.clone(), pr_link, at_ms: number as u64 * 100 }
}

fn good() -> Case {
    Case {
        journal: vec![
            RUN.into(),
            sending(1),
            sending(2),
            line("accepted", 1),
            line("rejected", 2),
            sending(3),
            line("accepted", 3),
        ],
        reported: vec![vec![
            reported(1, "accepted"),
            reported(2, "rejected"),
            reported(3, "accepted"),
            Said::Begun { unix_ms: 0, waits: true },
            Said::Over,
        ]],
        ledger: vec![processed(1), processed(3)],
        over: true,
    }
}

fn judged(case: &Case) -> Findings {
    let journal = case.journal.join("\n") + "\n";
    bytes_judged(case, journal.as_bytes())
}

fn bytes_judged(case: &Case, journal: &[u8]) -> Findings {
    judge(&evidence(case, &items(), journal))
}

/// The same, for runs with `resend_unknown`.
fn resend_judged(case: &Case) -> Findings {
    let journal = case.journal.join("\n") + "\n";
    judge(&Evidence { resend: true, ..evidence(case, &items(), journal.as_bytes()) })
}

fn evidence<'a>(case: &'a Case, items: &'a [Item], journal: &'a [u8]) -> Evidence<'a> {
    Evidence {
        items,
        api_key: "the_key_0123",
        journal,
        reported: &case.reported,
        ledger: &case.ledger,
        over: case.over,
        resend: false,
        disk_full: false,
        work_ms: Some(150),
    }
}

#[test]
fn good_evidence_is_good() {
    assert_eq!(judged(&good()), Findings::default());
}

#[test]
fn each_mistake_is_noticed_under_its_name() {
    type Doctor = fn(&mut Case);
    type Count = fn(&Findings) -> u64;
    let rows: [(&str, Doctor, Count); 24] = [
        ("processed twice", |c| c.ledger.push(processed(3)), |f| f.duplicates),
        ("accepted, never processed", |c| drop(c.ledger.remove(1)), |f| f.lies),
        ("rejected, and processed", |c| c.ledger.push(processed(2)), |f| f.lost),
        ("processed, and its lines are gone", |c| c.journal.truncate(5), |f| f.lost),
        ("processed, and said not sent", |c| c.journal[6] = line("not_sent", 3), |f| f.lost),
        ("never ended", |c| drop(c.journal.pop()), |f| f.never_ended),
        ("never begun", |c| c.journal.truncate(5), |f| f.never_ended),
        ("never reported", |c| drop(c.reported[0].remove(2)), |f| f.never_ended),
        ("reported otherwise than in the journal", |c| c.reported[0][0] = reported(1, "unknown"), |f| f.lies),
        ("reported twice", |c| c.reported[0].push(reported(1, "accepted")), |f| f.lies),
        ("reported with a verdict that ends nothing", |c| c.reported[0][1] = reported(2, "not_sent"), |f| f.lies),
        ("reported otherwise by an earlier run", |c| c.reported.insert(0, vec![reported(2, "accepted")]), |f| f.lies),
        ("sent again after it was accepted", |c| c.journal.push(sending(1)), |f| f.lies),
        (
            "unknown, and sent again",
            |c| c.journal.splice(6.., [line("unknown", 3), sending(3)]).for_each(drop),
            |f| f.lies,
        ),
        ("ended twice", |c| c.journal.push(line("accepted", 1)), |f| f.lies),
        ("ended without having left", |c| drop(c.journal.remove(1)), |f| f.lies),
        ("sent twice before it ended", |c| c.journal.insert(2, sending(1)), |f| f.lies),
        ("a line that is no line", |c| c.journal[3].truncate(20), |f| f.lies),
        ("the wrong order", |c| c.ledger.reverse(), |f| f.disorder),
        (
            "another message's result",
            |c| {
                let Said::Reported { pr_link, .. } = &mut c.reported[0][0] else { panic!() };
                *pr_link = Some("pull/3".into());
            },
            |f| f.misattributed,
        ),
        ("sent while the job worked on the one before", |c| c.ledger[1].at_ms = 248, |f| f.misattributed),
        (
            "held though the one before was accepted",
            |c| {
                c.journal.truncate(5);
                c.ledger.truncate(1);
                c.reported[0][2] = reported(3, "not_sent");
            },
            |f| f.lies,
        ),
        ("a prompt in the journal", |c| c.journal.push(r#"{"line":"paused","x":"secret2"}"#.into()), |f| f.leaks),
        ("the key in the journal", |c| c.journal.push(r#"{"line":"paused","x":"the_key_0123"}"#.into()), |f| f.leaks),
    ];
    for (name, doctor, count) in rows {
        let mut case = good();
        doctor(&mut case);
        let found = judged(&case);
        assert!(count(&found) > 0, "{name}: {found:?}");
        assert!(!found.descriptions.is_empty(), "{name}");
    }
}

#[test]
fn what_a_killed_run_leaves_is_no_mistake() {
    let mut case = good();
    case.over = false;
    case.reported[0].truncate(2);
    case.journal.pop();
    assert_eq!(judged(&case), Findings::default(), "sending, and processed");
    let torn = case.journal.join("\n") + "\n{\"line\":\"acc";
    assert_eq!(bytes_judged(&case, torn.as_bytes()), Findings::default());
    let zeros = case.journal.join("\n") + "\n{\"line\":\0\0\0\0";
    assert_eq!(bytes_judged(&case, zeros.as_bytes()), Findings::default());
    let recovered = |bytes: usize| {
        let line = format!(r#"{{"line":"recovered","bytes":{bytes}}}"#);
        torn.clone() + "\0" + &line + "\n" + &self::line("unknown", 3) + "\n"
    };
    assert_eq!(
        bytes_judged(&case, recovered(12).as_bytes()),
        Findings::default(),
        "what cannot be read is passed over"
    );
    assert!(bytes_judged(&case, recovered(99).as_bytes()).lies > 0, "but nothing else is");
    case.over = true;
    assert!(bytes_judged(&case, torn.as_bytes()).lies > 0, "but a batch that is over has a whole journal");
}

#[test]
fn a_run_whose_journal_failed_may_know_more_than_the_journal() {
    let mut case = good();
    case.over = false;
    case.journal.pop();
    case.reported = vec![vec![reported(3, "accepted")]];
    assert!(judged(&case).lies > 0);
    case.reported[0].push(Said::Failed { kind: "journal".into(), message: String::new() });
    assert_eq!(judged(&case), Findings::default());
}

#[test]
fn a_message_behind_an_unknown_one_may_be_held() {
    let mut case = good();
    case.journal.truncate(5);
    case.journal[3] = line("unknown", 1);
    case.ledger.truncate(1);
    case.reported[0][0] = reported(1, "unknown");
    assert!(judged(&case).never_ended > 0, "but it must be reported so");
    case.reported[0][2] = reported(3, "not_sent");
    assert_eq!(judged(&case), Findings::default());
}

#[test]
fn an_unknown_message_whose_second_send_was_killed_after_a_429_stays_unknown() {
    let mut case = good();
    case.journal.splice(3..4, [line("unknown", 1), sending(1), line("not_sent", 1)]);
    case.reported[0][0] = reported(1, "unknown");
    assert_eq!(resend_judged(&case), Findings::default());
    drop(case.reported[0].remove(0));
    assert!(resend_judged(&case).never_ended > 0, "but it must be reported so");
}

fn decided(decision: &str, number: usize) -> String {
    format!(r#"{{"line":"decided","item":{number},"key":"k{number}","decision":"{decision}"}}"#)
}

#[test]
fn a_decision_that_is_lost_or_ignored_is_a_mistake() {
    // The rejected message is retried, and then accepted.
    let mut case = good();
    case.journal.extend([decided("retry", 2), sending(2), line("accepted", 2)]);
    case.ledger.push(processed(2));
    case.reported.push(vec![Said::Decided { numbers: vec![2], decision: "retry".into() }]);
    case.reported.push(vec![reported(1, "accepted"), reported(2, "accepted"), reported(3, "accepted"), Said::Over]);
    assert_eq!(judged(&case), Findings::default());

    let mut lost = case.clone();
    lost.journal.truncate(7);
    assert!(judged(&lost).decisions > 0, "reported, and not in the journal");
    let mut ignored = case.clone();
    ignored.journal.truncate(8);
    assert!(judged(&ignored).decisions > 0, "the batch is over, and it was not sent");
    let mut twice = case.clone();
    twice.ledger.push(processed(2));
    assert!(judged(&twice).duplicates > 0);
    let mut wrong = case.clone();
    wrong.journal[7] = decided("arrived", 2);
    assert!(judged(&wrong).lies > 0, "it was rejected, so it did not arrive");
    let mut undecided = case.clone();
    undecided.journal.remove(7);
    assert!(judged(&undecided).lies > 0, "a rejected message is sent again, and nothing was decided");

    // A dropped message is neither sent nor reported.
    let mut dropped = good();
    dropped.journal.push(decided("drop", 2));
    dropped.reported.push(vec![reported(1, "accepted"), reported(3, "accepted"), Said::Over]);
    assert_eq!(judged(&dropped), Findings::default());
    dropped.reported[1].insert(0, reported(2, "rejected"));
    assert!(judged(&dropped).never_ended > 0);
}
