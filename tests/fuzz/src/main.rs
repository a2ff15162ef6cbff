//! The fuzzers, in one program: AGENTJOB_FUZZ names the target. run.py builds and runs it; README.md says what each target compares.
#![no_main]

mod base_url;
mod error_body;
mod exchange;
mod journal;
mod list;
mod no_proxy;
mod poller;
mod proxy;
mod record;
mod response;
mod retry_after;

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

type Target = fn(&[u8]);

/// The names of the targets, which run.py reads here.
const TARGETS: [(&str, Target); 11] = [
    ("base_url", base_url::check),
    ("error_body", error_body::check),
    ("exchange", exchange::check),
    ("journal", journal::check),
    ("list", list::check),
    ("no_proxy", no_proxy::check),
    ("poller", poller::check),
    ("proxy", proxy::check),
    ("record", record::check),
    ("response", response::check),
    ("retry_after", retry_after::check),
];

/// A word that no reader has a reason to refuse.
fn is_word(text: &str) -> bool {
    (1..=60).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

static TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let target = TARGET.get_or_init(|| {
        let name = std::env::var("AGENTJOB_FUZZ").expect("AGENTJOB_FUZZ names a target");
        TARGETS.iter().find(|(known, _)| *known == name).expect("AGENTJOB_FUZZ names a target of this program").1
    });
    target(data);
});
