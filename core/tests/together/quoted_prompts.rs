//! A service that repeats the prompt in its own words, in every response that is no success: no event has it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentjob_core::{BatchEvent, BatchItem, BatchOptions, Control, Event, EventLevel, Interrupted};

use crate::batches::Folder;
use crate::support::{JOB, builder, emulator, quick};

const PROMPT: &str = "walrus5ginger8comet2 follow-up";

#[derive(Default)]
struct Listener(Mutex<String>);

impl Control for Listener {
    fn event(&self, event: &Event<'_>) -> Result<(), Interrupted> {
        self.0.lock().unwrap().push_str(&format!("{event} {event:?} {}\n", event.to_json()));
        Ok(())
    }
}

/// The service's first response to a method.
fn rule(method: &str, status: u16) -> String {
    let body = format!(r#"{{"error": "not now: {PROMPT}"}}"#);
    format!(
        r#"{{"method": "{method}", "nth": 1, "status": {status}, "headers": {{"Retry-After": "0"}}, "body": {body:?}}}"#
    )
}

#[test]
fn a_prompt_that_the_service_repeats_is_in_no_event() {
    for (post, get) in [(429, 503), (408, 429), (425, 502)] {
        let service = emulator(&format!(r#"{{"rules": [{}, {}]}}"#, rule("POST", post), rule("GET", get)));
        let client = builder(&service).max_retries(1).build().unwrap();
        let heard = Arc::new(Listener::default());
        let call = agentjob_core::CallOptions::new().control(heard.clone());
        client.send_and_wait(JOB, PROMPT, &quick().call(call)).unwrap();
        let heard = heard.0.lock().unwrap();
        assert!(heard.contains(&format!("failed (the service returned {post})")), "{heard}");
        assert!(heard.contains(&format!("the service returned {get}")) && heard.contains("wait job"), "{heard}");
        assert!(!heard.contains(&PROMPT[..8]), "{heard}");
    }
}

#[test]
fn a_prompt_that_the_service_repeats_is_in_no_event_of_a_batch() {
    for status in [429, 503] {
        let service = emulator(&format!(r#"{{"rules": [{}]}}"#, rule("POST", status)));
        let folder = Folder::new();
        let options = BatchOptions::new(folder.journal()).call_events(EventLevel::Debug);
        let items = [BatchItem::new(JOB, PROMPT)];
        let mut batch = builder(&service).build().unwrap().send_all(items, &options).unwrap();
        let mut heard = String::new();
        loop {
            match batch.next_event(Duration::MAX).unwrap() {
                BatchEvent::Call(event) => heard.push_str(&format!("{event} {event:?} {}\n", event.to_json())),
                BatchEvent::Finished => break,
                _ => {}
            }
        }
        assert!(heard.contains(&format!(": the service returned {status}\n")) || heard.contains("paused"), "{heard}");
        assert!(!heard.contains(&PROMPT[..8]), "{heard}");
    }
}
