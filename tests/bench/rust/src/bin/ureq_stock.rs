//! ureq as it comes, with the timeout that any careful program sets.

use agentjob_bench::{JOB, PROMPT, check, race};

fn main() {
    race(|place| {
        let timeout = Some(std::time::Duration::from_secs(60));
        let agent = ureq::Agent::new_with_config(ureq::Agent::config_builder().timeout_global(timeout).build());
        let url = format!("{}/v2/agent/demo/job/{JOB}/message", place.url);
        let bearer = format!("Bearer {}", place.key);
        Box::new(move || {
            let body = serde_json::json!({ "prompt": PROMPT }).to_string();
            let request = agent.post(&url).header("authorization", &bearer).header("content-type", "application/json");
            let mut response = request.send(body).expect("it is taken");
            check(&response.body_mut().read_to_vec().expect("a body"));
        })
    });
}
