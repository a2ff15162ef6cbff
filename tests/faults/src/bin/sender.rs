//! `agentjob-faults-sender PLAN`: the process that the batch's proof kills. The proof starts it.

use std::process::ExitCode;

fn main() -> ExitCode {
    let plan = std::env::args().nth(1).expect("the plan's file is the one argument");
    agentjob_faults::batch::send(&plan)
}
