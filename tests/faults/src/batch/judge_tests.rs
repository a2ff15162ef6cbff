//! Tests the judge: good evidence is doctored, one mistake at a time, and each must be found under its own name.

use super::judge::{Evidence, Findings, Processed, judge};
use super::plan::{Item, Said};

const RUN: &str = r#"{"line":"run","journal":3,"agentjob":"0.1.0"}"#;

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
    Said::Reported { number, delivery: delivery.into(), error: None, earlier: false }
}

fn processed(number: usize) -> Processed {
    let item = &items()[number - 1];
    Processed { job_id: item.job_id.clone(), prompt: item.prompt.clone() }
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
        reported: vec![vec![reported(1, "accepted"), reported(2, "rejected"), reported(3, "accepted"), Said::Over]],
        ledger: vec![processed(1), processed(3)],
        over: true,
    }
}

fn judged(case: &Case) -> Findings {
    let journal = case.journal.join("\n") + "\n";
    bytes_judged(case, journal.as_bytes())
}

fn bytes_judged(case: &Case, journal: &[u8]) -> Findings {
    judge(&Evidence {
        items: &items(),
        api_key: "the_key_0123",
        journal,
        reported: &case.reported,
        ledger: &case.ledger,
        over: case.over,
        resend: false,
        disk_full: false,
    })
}

#[test]
fn good_evidence_is_good() {
    assert_eq!(judged(&good()), Findings::default());
}

#[test]
fn each_mistake_is_noticed_under_its_name() {
    type Doctor = fn(&mut Case);
    type Count = fn(&Findings) -> u64;
    let rows: [(&str, Doctor, Count); 21] = [
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
        let line = format!(r#"{{"line":"recovered","bytes":{bytes},"items":[{{"item":3,"key":"k3"}}]}}"#);
        torn.clone() + "\n" + &line + "\n" + &self::line("unknown", 3) + "\n"
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
