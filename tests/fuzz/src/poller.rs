//! A poller's text: what is read is written again with the same meaning, and other versions of it are refused.

use std::sync::OnceLock;

use crate::is_word;
use agentjob_core::{Client, Poller, WaitOptions};
use serde_json::Value;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if is_word(text) {
        // The name of a job: its poller must be read again.
        let poller = client().poller(text, &WaitOptions::default()).expect("the name is right");
        let again: Poller = poller.to_string().parse().unwrap_or_else(|error| panic!("{poller}: {error}"));
        assert_eq!(again.job_id(), text);
    }
    let Ok(poller) = text.parse::<Poller>() else { return };
    let before: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{text:?} is no JSON: {error}"));
    let written = poller.to_string();
    let again: Poller = written.parse().unwrap_or_else(|error| panic!("{text:?} became {written:?}: {error}"));
    let after: Value = serde_json::from_str(&again.to_string()).expect("it was JSON");
    // Time passes; everything else stays.
    for name in ["agentjob_poller", "done", "state"] {
        let known = after.get(name).unwrap_or_else(|| panic!("{written:?} has no {name}"));
        assert_eq!(before.get(name), Some(known), "{text:?} became {written:?}");
    }
    assert_eq!(before["state"]["job_id"].as_str(), Some(again.job_id()));
}

/// One that connects nowhere.
fn client() -> &'static Client {
    static CLIENT: OnceLock<Client> = OnceLock::new();
    CLIENT.get_or_init(|| {
        let settings = Client::builder().base_url("https://api.example.com").api_key("key").project_id("project");
        settings.trust_env(false).build().expect("the settings are right")
    })
}
