//! The metadata of a success.

use std::sync::{Arc, Mutex};

use agentjob_core::{CallOptions, MetaHandler, ResponseMeta};

use crate::support::{JOB, builder, client, emulator, ms, quick};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<ResponseMeta>>>);

impl Kept {
    fn handler(&self) -> MetaHandler {
        let kept = self.0.clone();
        Arc::new(move |meta: &ResponseMeta| kept.lock().unwrap().push(meta.clone()))
    }

    fn call(&self) -> CallOptions {
        CallOptions::new().meta(self.handler())
    }

    fn take(&self) -> Vec<ResponseMeta> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

#[test]
fn a_success_has_metadata_and_a_failure_has_none() {
    let rules = r#"{"rules": [
        {"nth": 1, "status": 429, "headers": {"Retry-After": "0"}},
        {"nth": 2, "status": 200, "headers": {"X-Request-Id": "r-2", "X-Region": "eu"}},
        {"nth": 4, "status": 404}
    ]}"#;
    let (emulator, kept) = (emulator(rules), Kept::default());
    let client = client(&emulator);
    let job = client.send_message_with(JOB, "p", &kept.call()).unwrap();
    let [meta] = &kept.take()[..] else { panic!("a call that succeeds has its metadata once") };
    assert_eq!((meta.operation(), meta.job_id(), meta.status()), ("send_message", JOB, 200));
    assert_eq!((meta.request_id(), meta.attempts(), meta.headers_cut()), (Some("r-2"), 2, false));
    assert_eq!(
        (meta.header("X-REGION"), meta.header("x-request-id"), meta.header("none")),
        (Some("eu"), Some("r-2"), None)
    );
    assert_eq!(meta.bytes(), job.to_json().len() as u64);
    let first_byte = meta.timings().first_byte.expect("a response has a first byte");
    assert!(meta.timings().connect.is_none() && meta.elapsed() >= first_byte, "{meta:?}");
    let json: serde_json::Value = serde_json::from_str(&meta.to_json()).unwrap();
    assert_eq!(
        (&json["status"], &json["headers"]["x-region"], &json["attempts"]),
        (&200.into(), &"eu".into(), &2.into())
    );

    let new = client.create_job_with("p", &kept.call()).unwrap();
    let [meta] = &kept.take()[..] else { panic!("once") };
    assert_eq!((meta.operation(), meta.job_id(), meta.status(), meta.attempts()), ("create_job", new.id(), 201, 1));
    client.send_message_with(JOB, "p", &kept.call()).unwrap_err();
    assert!(kept.take().is_empty());
}

#[test]
fn a_wait_has_the_metadata_of_each_record() {
    let (emulator, kept) =
        (emulator(r#"{"work_ms": 60, "rules": [{"method": "GET", "nth": 1, "status": 503}]}"#), Kept::default());
    let client = client(&emulator);
    let done = client.send_and_wait(JOB, "p", &quick().call(kept.call())).unwrap();
    let seen = kept.take();
    assert_eq!(seen[0].operation(), "send_message");
    assert!(
        seen.len() > 1 && seen[1..].iter().all(|meta| meta.operation() == "get_job" && meta.attempts() == 1),
        "{seen:?}"
    );
    assert_eq!(seen.last().unwrap().bytes(), done.to_json().len() as u64);
    // The 503 has none: one request more than there are successes.
    assert_eq!(emulator.requests().total as usize, seen.len() + 1);
}

#[test]
fn calls_of_many_threads_have_their_own_metadata() {
    let jobs: Vec<String> = (0..8).map(|n| format!(r#"{{"id": "job_{n}"}}"#)).collect();
    let emulator = emulator(&format!(r#"{{"jobs": [{}]}}"#, jobs.join(",")));
    let client = client(&emulator);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let client = &client;
            scope.spawn(move || {
                let (kept, id) = (Kept::default(), format!("job_{n}"));
                for _ in 0..20 {
                    client.get_job_with(&id, &kept.call()).unwrap();
                }
                let seen = kept.take();
                assert!(seen.len() == 20 && seen.iter().all(|meta| meta.job_id() == id), "{seen:?}");
            });
        }
    });
}

#[test]
fn headers_hold_no_secret() {
    const KEY: &str = "adm_zebra7quilt4mango9";
    let rule = format!(
        r#"{{"status": 200, "headers": {{"X-Echo": "Bearer {KEY}", "Set-Cookie": "session=walrus", "X-Request-Id": "{KEY}"}}}}"#
    );
    let emulator = emulator(&format!(r#"{{"api_key": "{KEY}", "rules": [{rule}]}}"#));
    let kept = Kept::default();
    let client = builder(&emulator).api_key(KEY).timeout(ms(20_000)).build().unwrap();
    client.send_message_with(JOB, "comet prompt", &kept.call()).unwrap();
    let meta = &kept.take()[0];
    assert_eq!((meta.header("x-echo"), meta.header("set-cookie")), (Some("Bearer ***"), Some("***")));
    let text = format!("{meta:?} {}", meta.to_json());
    for secret in ["zebra", "quilt4", "mango9", "walrus", "comet"] {
        assert!(!text.contains(secret), "{text}");
    }
}
