//! Sends a follow-up message to a job, shows the job until it is done, and prints its record.
//!
//! `cargo run -p agentjob-core --example follow_up -- JOB_ID "PROMPT"`, with the service in the `AGENTJOB_` variables.

use std::process::ExitCode;
use std::sync::Arc;

use agentjob_core::{
    CallOptions, Client, Control, Delivery, Error, ErrorKind, Interrupted, Job, JobStatus, WaitOptions,
};

/// Shows each change on standard error.
struct Progress;

impl Control for Progress {
    fn update(&self, job: &Job) -> Result<(), Interrupted> {
        eprintln!("{}: {}", job.id(), job.status());
        Ok(())
    }
}

fn follow_up(job_id: &str, prompt: &str) -> Result<Job, Error> {
    let client = Client::builder().build()?;
    let options = WaitOptions::new().call(CallOptions::new().control(Arc::new(Progress)));
    client.send_and_wait(job_id, prompt, &options)
}

#[expect(clippy::print_stdout, reason = "the record on standard output is what this program is for")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [job_id, prompt] = arguments.as_slice() else {
        eprintln!("usage: follow_up JOB_ID PROMPT");
        return ExitCode::from(2);
    };
    match follow_up(job_id, prompt) {
        Ok(job) => {
            println!("{}", job.to_json());
            ExitCode::from(u8::from(job.status() == &JobStatus::Failed))
        }
        Err(error) => {
            eprintln!("follow_up: {error}");
            ExitCode::from(match (error.kind(), error.delivery()) {
                (ErrorKind::InvalidArgument, _) => 2,
                (ErrorKind::WaitTimeout, _) => 4,
                (_, Some(Delivery::Unknown)) => 5,
                _ => 3,
            })
        }
    }
}
