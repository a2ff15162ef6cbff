//! The small run of the proof: each fault at every seventh byte, plain and TLS.

use agentjob_faults::{all, run};

#[test]
fn no_fault_makes_a_message_arrive_twice_or_a_verdict_lie() {
    let tally = run(&all(false), 1);
    assert!(tally.sends() > 500, "only {} messages were sent", tally.sends());
    assert_eq!(tally.wrong, Vec::<String>::new());
}
