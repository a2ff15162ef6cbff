//! Decisions about the messages of a batch that are interrupted: by the end of the process, or by a line that is cut off.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::batches::{Folder, lines, service};
use crate::decisions::{after_failures, arrived, numbers, resume};
use agentjob_core::{
    BatchOutcome, BatchRef, Decision, Delivery, Resolution, batch_decide_with_checkpoints, batch_drop, batch_resolve,
    batch_status,
};

#[test]
fn a_decision_that_is_cut_off_was_not_made() {
    let (service, folder) = after_failures();
    let journal = folder.journal();
    let before = std::fs::metadata(&journal).unwrap().len() as usize;
    batch_resolve(&journal, &numbers(&[3]), Resolution::NotArrived).unwrap();
    let whole = std::fs::read(&journal).unwrap();
    let sent = lines(&journal, "sending");
    for cut in [before + 1, before + 5, before + 30, before + 60, whole.len() - 30, whole.len() - 3] {
        std::fs::write(&journal, &whole[..cut]).unwrap();
        batch_drop(&journal, &numbers(&[4])).unwrap();
        let decisions = batch_status(&journal).unwrap().decisions;
        assert_eq!(decisions.iter().map(|made| made.number).collect::<Vec<_>>(), [4], "cut at {cut}");
        std::fs::write(&journal, &whole[..cut]).unwrap();
        let outcomes = resume(&service, &folder);
        assert_eq!(lines(&journal, "sending"), sent, "nothing is sent after a cut at {cut}");
        assert_eq!(outcomes[2].delivery(), Delivery::Unknown, "cut at {cut}");
        assert!(batch_status(&journal).unwrap().decisions.is_empty());
    }
    for at in (before..whole.len() - 1).step_by(9) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x04;
        std::fs::write(&journal, &flipped).unwrap();
        let error = batch_drop(&journal, &numbers(&[4])).unwrap_err();
        assert!(error.message().contains("is damaged: line"), "a flip at {at}: {error}");
        assert_eq!(std::fs::read(&journal).unwrap(), flipped);
    }
}

#[test]
fn a_message_that_a_cut_off_line_names_can_be_decided_about() {
    let (service, folder) = (service(5, ""), Folder::new());
    resume(&service, &folder);
    let journal = folder.journal();
    let whole = std::fs::read_to_string(&journal).unwrap();
    // Of the line that says that the third message is about to be sent, only the end is missing.
    let line = whole.match_indices('\n').nth(5).unwrap().0;
    std::fs::write(&journal, &whole[..line - 20]).unwrap();
    let unknown = batch_status(&journal).unwrap().unknown;
    assert_eq!(unknown.iter().map(|item| (item.number, &*item.job_id)).collect::<Vec<_>>(), [(3, "job_3")]);
    batch_resolve(&journal, &[BatchRef::All], Resolution::Arrived).unwrap();
    let outcomes = resume(&service, &folder);
    assert_eq!(outcomes[2].delivery(), Delivery::Accepted);
    assert_eq!(arrived(&service, "message 3"), 1);
}

const DESK: &str = "AGENTJOB_TEST_DESK";

/// A process that decides, reports it, and kills itself at a step.
#[test]
#[ignore = "it is the process that the test below kills"]
fn child_that_decides() {
    let given = std::env::var(DESK).unwrap();
    let (journal, step) = given.split_once('\n').unwrap();
    let wanted = step.to_owned();
    let kill: Arc<dyn Fn(&'static str) + Send + Sync> = Arc::new(move |name| {
        if name == wanted {
            std::process::abort();
        }
    });
    let made =
        batch_decide_with_checkpoints(&PathBuf::from(journal), &numbers(&[2, 3]), Decision::NotArrived, None, &kill);
    let said = format!("decided {}\n", made.unwrap().len());
    std::io::Write::write_all(&mut std::io::stdout(), said.as_bytes()).unwrap();
}

#[test]
fn a_process_that_is_killed_while_it_decides_loses_and_doubles_nothing() {
    for (step, most) in [("desk_opened", 0), ("decision_written", 2), ("decision_synced", 2), ("never", 2)] {
        let (service, folder) = after_failures();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "interrupted_decisions::child_that_decides", "--nocapture"])
            .env(DESK, format!("{}\n{step}", folder.journal().display()))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let said: Vec<String> = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
        let reported = said.iter().any(|line| line.contains("decided 2"));
        assert_eq!(child.wait().unwrap().success(), reported, "{said:?}");
        assert_eq!(reported, step == "never");
        let made = batch_status(folder.journal()).unwrap().decisions;
        assert_eq!(made.len(), most, "at {step}: {made:?}");
        let outcomes = resume(&service, &folder);
        assert_eq!(outcomes.len(), 5);
        // What was decided is sent once, what was not stays unknown.
        for n in [2, 3] {
            let was_decided = made.iter().any(|made| made.number == n);
            let wanted = if was_decided { Delivery::Accepted } else { Delivery::Unknown };
            let outcome = outcomes.iter().find(|outcome| outcome.number() == n).unwrap();
            assert_eq!(outcome.delivery(), wanted, "at {step}");
        }
        assert_eq!(lines(&folder.journal(), "sending"), 5 + most, "at {step}");
        assert!(resume(&service, &folder).iter().all(BatchOutcome::is_earlier));
    }
}
