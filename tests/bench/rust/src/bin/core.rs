//! agentjob's Rust core.

use agentjob_bench::{Entrant, JOB, Place, race};
use agentjob_core::Client;

struct Core(Client);

impl Entrant for Core {
    fn new(place: &Place) -> Self {
        let mut builder = Client::builder().base_url(&place.url).api_key(&place.key).project_id("demo");
        if let Some(ca_file) = &place.ca_file {
            builder = builder.ca_file(ca_file);
        }
        Self(builder.build().expect("the settings are right"))
    }

    fn sender<'a>(&'a self, prompt: &'a str) -> Box<dyn FnMut() + 'a> {
        Box::new(move || assert_eq!(self.0.send_message(JOB, prompt).expect("it is taken").id(), JOB))
    }
}

fn main() {
    race::<Core>();
}
