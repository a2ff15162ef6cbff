//! A batch's waits end in time, although the service leaves polls without a response.

use std::time::{Duration, Instant};

use crate::batches::{Folder, items, service};
use crate::support::{builder, given_time, ms, quick};
use agentjob_core::{Batch, BatchEvent, BatchOptions, BatchOutcome, Client, Delivery, ErrorKind};
use agentjob_emulator::Emulator;

/// Longer than any test: a poll that it bounds never ends by itself.
const FOREVER: Duration = Duration::from_secs(3600);

fn patient(service: &Emulator) -> Client {
    builder(service).timeout(FOREVER).build().unwrap()
}

/// The next so many outcomes, or those that came in time.
fn outcomes(batch: &mut Batch, count: usize, time: Duration) -> Vec<BatchOutcome> {
    let (began, mut outcomes) = (Instant::now(), Vec::new());
    while outcomes.len() < count && began.elapsed() < time {
        if let BatchEvent::Outcome(outcome) = batch.next_event(ms(100)).unwrap() {
            outcomes.push(outcome);
        }
    }
    outcomes
}

#[test]
fn a_poll_without_a_response_holds_up_no_other_job() {
    let stall = r#","rules":[{"method":"GET","path":"/v2/agent/*/job/job_1","fault":{"do":"stall","at":"request","ms":3600000}}]"#;
    let (service, folder) = (service(6, stall), Folder::new());
    let client = patient(&service);
    let mut batch = client.send_all(items(6), &BatchOptions::new(folder.journal()).wait(quick())).unwrap();
    let done = outcomes(&mut batch, 5, FOREVER / 20);
    assert_eq!(done.len(), 5);
    assert!(done.iter().all(|outcome| outcome.job_id() != "job_1" && outcome.job().unwrap().is_terminal()));
    let requests = service.requests().requests;
    let polls = requests.iter().filter(|one| one.method.as_deref() == Some("GET"));
    assert_eq!(polls.filter(|one| one.path.as_deref().unwrap().ends_with("/job_1")).count(), 1);
}

#[test]
fn more_waits_than_polls_at_a_time_end_at_their_deadlines_though_no_poll_has_a_response() {
    given_time(ms(1500), |timeout| {
        let stall = r#","rules":[{"method":"GET","fault":{"do":"stall","at":"request","ms":3600000}}]"#;
        let (service, folder) = (service(30, stall), Folder::new());
        let client = patient(&service);
        let options = BatchOptions::new(folder.journal()).wait(quick().timeout(timeout));
        let mut batch = client.send_all(items(30), &options).unwrap();
        let outcomes = outcomes(&mut batch, 30, timeout * 4 + Duration::from_secs(10));
        for outcome in &outcomes {
            let error = outcome.error().unwrap();
            assert_eq!((error.kind(), outcome.delivery()), (ErrorKind::WaitTimeout, Delivery::Accepted), "{error}");
        }
        assert_eq!(service.ledger().len(), 30);
        // A machine that stood still until a deadline had passed: such a wait makes one more poll, as long as the client's timeout.
        (outcomes.len() == 30).then_some(())
    });
}
