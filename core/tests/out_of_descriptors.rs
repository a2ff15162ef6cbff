//! A process that has no file descriptor left. One test, because the limit is the whole process's.

#![cfg(target_os = "linux")]

mod support;

use std::fs::File;

use agentjob_core::{Delivery, ErrorKind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{JOB, builder, emulator};

#[test]
fn without_a_descriptor_nothing_is_sent_and_the_next_call_works() {
    let emulator = emulator("{}");
    let client = builder(&emulator).max_retries(0).build().unwrap();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..limit }).unwrap();
    let mut taken = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        taken.push(file);
    }
    let error = client.send_message(JOB, "p").unwrap_err();
    drop(taken);
    setrlimit(Resource::Nofile, limit).unwrap();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Connect, Some(Delivery::NotSent)));
    assert!(error.message().contains("could not open a connection"), "{error}");
    client.send_message(JOB, "p").unwrap();
    assert_eq!(emulator.ledger().len(), 1);
}
