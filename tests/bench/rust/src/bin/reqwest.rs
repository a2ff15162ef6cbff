//! reqwest's blocking client, with the timeout that any careful program sets and its own JSON helpers.

use std::time::Duration;

use agentjob_bench::{Entrant, JOB, Place, race};
use reqwest::blocking::Client;

struct Reqwest {
    client: Client,
    url: String,
    key: String,
}

impl Entrant for Reqwest {
    fn new(place: &Place) -> Self {
        let mut builder = Client::builder().timeout(Duration::from_secs(60)).pool_max_idle_per_host(64);
        if let Some(ca_file) = &place.ca_file {
            let pem = std::fs::read(ca_file).expect("a PEM file");
            builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(&pem).expect("certificates"));
        }
        Self { client: builder.build().expect("a client"), url: place.message_url(), key: place.key.clone() }
    }

    fn sender<'a>(&'a self, prompt: &'a str) -> Box<dyn FnMut() + 'a> {
        Box::new(move || {
            let request =
                self.client.post(&self.url).bearer_auth(&self.key).json(&serde_json::json!({ "prompt": prompt }));
            let record: serde_json::Value = request.send().expect("it is taken").json().expect("JSON");
            assert_eq!(record["id"], JOB);
        })
    }
}

fn main() {
    race::<Reqwest>();
}
