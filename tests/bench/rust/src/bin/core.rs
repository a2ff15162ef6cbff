//! agentjob's Rust core.

use agentjob_bench::{JOB, PROMPT, race};

fn main() {
    race(|place| {
        let builder = agentjob_core::Client::builder().base_url(&place.url).api_key(&place.key).project_id("demo");
        let client = builder.build().expect("the settings are right");
        Box::new(move || assert_eq!(client.send_message(JOB, PROMPT).expect("it is taken").id(), JOB))
    });
}
