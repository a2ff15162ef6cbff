//! What a message over a kept connection asks of the kernel, counted by strace where it is there.

#![cfg(target_os = "linux")]

mod support;

use std::process::Command;

use agentjob_core::Client;
use support::{JOB, emulator, skip};

const SENDS: usize = 50;
const CHILD: &str = "AGENTJOB_TEST_SENDS_TO";

/// The counted process: it warms up, marks the place, and sends.
#[test]
#[ignore = "it is the process that the test below counts"]
fn child() {
    let url = std::env::var(CHILD).unwrap();
    let client = Client::builder().base_url(url).api_key("k").project_id("demo").trust_env(false).build().unwrap();
    client.send_message(JOB, "warm").unwrap();
    // A system call that nothing else makes.
    drop(std::fs::metadata("/agentjob-begin"));
    for _ in 0..SENDS {
        client.send_message(JOB, "counted").unwrap();
    }
    drop(std::fs::metadata("/agentjob-end"));
}

#[test]
fn a_message_over_a_kept_connection_is_one_send_and_one_answer() {
    let emulator = emulator(r#"{"api_key": "k", "hourly_limit": 1000}"#);
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/stderr"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child", "--test-threads=1"])
        .env(CHILD, emulator.base_url())
        .output();
    let Ok(traced) = traced else {
        skip("SKIPPED: strace is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&traced.stderr);
    if text.contains("PTRACE_TRACEME") || text.contains("Operation not permitted") {
        skip("SKIPPED: strace may not trace here");
        return;
    }
    let begin = text.find("/agentjob-begin").unwrap_or_else(|| panic!("{text}"));
    let end = text.find("/agentjob-end").unwrap();
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for line in text[begin..end].lines().skip(1) {
        let call = line.split_once(' ').map_or("", |(_, rest)| rest.trim()).split('(').next().unwrap();
        *counts.entry(call).or_default() += 1;
    }
    // The two metadata calls themselves, and the memory that grows now and then, do not count.
    counts.retain(|call, _| !matches!(*call, "statx" | "newfstatat" | "stat" | "brk" | "mmap" | "munmap" | "madvise"));
    let expected = [("getpid", SENDS), ("recvfrom", 2 * SENDS), ("sendto", SENDS)];
    assert_eq!(counts, expected.into_iter().collect(), "one look at the connection, one send, one answer");
}
