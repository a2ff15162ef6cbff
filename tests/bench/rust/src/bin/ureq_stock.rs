//! ureq as it comes, with the timeout that any careful program sets.

use std::time::Duration;

use agentjob_bench::{Entrant, Place, check, race, trust};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

struct Ureq {
    agent: ureq::Agent,
    url: String,
    bearer: String,
}

impl Entrant for Ureq {
    fn new(place: &Place) -> Self {
        let mut config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(60)));
        if let Some(ca_file) = &place.ca_file {
            let roots: Vec<_> =
                trust::authorities(ca_file).iter().map(|one| Certificate::from_der(one).to_owned()).collect();
            config = config.tls_config(TlsConfig::builder().root_certs(RootCerts::Specific(roots.into())).build());
        }
        let agent = ureq::Agent::new_with_config(config.build());
        Self { agent, url: place.message_url(), bearer: format!("Bearer {}", place.key) }
    }

    fn sender<'a>(&'a self, prompt: &'a str) -> Box<dyn FnMut() + 'a> {
        Box::new(move || {
            let body = serde_json::json!({ "prompt": prompt }).to_string();
            let request = self
                .agent
                .post(&self.url)
                .header("authorization", &self.bearer)
                .header("content-type", "application/json");
            let mut response = request.send(body).expect("it is taken");
            check(&response.body_mut().read_to_vec().expect("a body"));
        })
    }
}

fn main() {
    race::<Ureq>();
}
