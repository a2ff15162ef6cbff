//! The small run of the two proofs: each fault at every seventh byte, plain and TLS; each way to end a batch's process, a few times.

#[path = "../../../core/tests/support/limit.rs"]
mod limit;

use std::path::Path;

use agentjob_faults::batch::{self, Form};
use agentjob_faults::{all, run};
use limit::limited;

#[test]
fn no_fault_makes_a_message_arrive_twice_or_a_verdict_lie() {
    limited();
    let tally = run(&all(false), 1);
    assert!(tally.sends() > 500, "only {} messages were sent", tally.sends());
    assert_eq!(tally.wrong, Vec::<String>::new());
}

#[test]
fn a_batch_that_is_killed_anywhere_and_run_again_sends_nothing_twice_and_loses_nothing() {
    limited();
    let sender = Path::new(env!("CARGO_BIN_EXE_agentjob-faults-sender"));
    let table = batch::run(sender, Form::Quick, 1);
    assert!(table.kills() > 20, "only {} processes were killed\n{table}", table.kills());
    assert_eq!(table.wrong(), Vec::<String>::new(), "{table}");
}
