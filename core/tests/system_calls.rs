//! The system calls of a message over a kept connection, counted by strace if it is installed.

#![cfg(target_os = "linux")]

mod support;

use std::process::Command;

use agentjob_core::{BatchItem, BatchOptions, Client};
use support::{JOB, emulator, skip};

const SENDS: usize = 50;
const CHILD: &str = "AGENTJOB_TEST_SENDS_TO";

/// The traced process: it warms up, marks the place, and sends.
#[test]
#[ignore = "it is the process that the test below counts"]
fn child() {
    let url = std::env::var(CHILD).unwrap();
    let client = Client::builder().base_url(url).api_key("k").project_id("demo").trust_env(false).build().unwrap();
    client.send_message(JOB, "warm").unwrap();
    // A marker: nothing else makes this system call.
    drop(std::fs::metadata("/agentjob-begin"));
    for _ in 0..SENDS {
        client.send_message(JOB, "counted").unwrap();
    }
    drop(std::fs::metadata("/agentjob-end"));
}

/// The same with a batch that sends one message at a time.
#[test]
#[ignore = "it is the process that a test below counts"]
fn child_with_a_batch() {
    let url = std::env::var(CHILD).unwrap();
    let client = Client::builder().base_url(url).api_key("k").project_id("demo").trust_env(false).build().unwrap();
    let journal = std::env::temp_dir().join(format!("agentjob-traced-{}.journal", std::process::id()));
    let items = (0..SENDS).map(|n| BatchItem::new(JOB, format!("counted {n}")));
    let batch = client.send_all(items, &BatchOptions::new(&journal)).unwrap();
    assert_eq!(batch.map(Result::unwrap).count(), SENDS);
    std::fs::remove_file(journal).unwrap();
}

/// The trace of one of the children above; `None` without strace, or where it may not trace.
fn traced(child: &str, options: &[&str]) -> Option<String> {
    let emulator = emulator(r#"{"api_key": "k", "hourly_limit": 1000}"#);
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/stderr"])
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", child, "--test-threads=1"])
        .env(CHILD, emulator.base_url())
        .output();
    let Ok(traced) = traced else {
        skip("SKIPPED: strace is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&traced.stderr).into_owned();
    if text.contains("PTRACE_TRACEME") || text.contains("Operation not permitted") {
        skip("SKIPPED: strace may not trace here");
        return None;
    }
    Some(text)
}

#[test]
fn a_batch_sends_a_message_only_after_its_line_is_on_the_disk() {
    let options = ["-e", "trace=write,fsync,fdatasync,sendto", "-s", "32"];
    let Some(text) = traced("child_with_a_batch", &options) else { return };
    let begin = text.find(r#""{\"line\":\"run\""#).unwrap_or_else(|| panic!("{text}"));
    let mut steps = Vec::new();
    for line in text[begin..].lines() {
        let call = line.split_once(' ').map_or(line, |(_, rest)| rest.trim());
        steps.extend(match call {
            _ if call.contains(r#""{\"line\":\"sending\""#) => Some("sending"),
            _ if call.contains(r#""{\"line\":\"accepted\""#) => Some("accepted"),
            _ if call.starts_with("sendto(") => Some("send"),
            _ if call.starts_with("fdatasync(") || call.starts_with("fsync(") => Some("sync"),
            _ => None,
        });
    }
    let mut expected = vec!["sync"];
    expected.extend((0..SENDS).flat_map(|_| ["sending", "sync", "send", "accepted", "sync"]));
    assert_eq!(steps, expected, "two syncs a message, and nothing else: {text}");
}

#[test]
fn a_message_over_a_kept_connection_is_one_send_and_one_receive() {
    let expected = [("getpid", SENDS), ("recvfrom", 2 * SENDS), ("sendto", SENDS)];
    let expected = expected.map(|(call, times)| (call.to_owned(), times)).into_iter().collect::<Counts>();
    let mut counts = Counts::new();
    for _ in 0..10 {
        match counted() {
            None => return,
            Some(found) => counts = found,
        }
        // When a response takes longer than 50 ms, the call checks whether it was cancelled and reads again; only a busy
        // machine is so slow.
        if counts == expected {
            break;
        }
    }
    assert_eq!(counts, expected, "one check of the connection, one send, one response");
}

type Counts = std::collections::BTreeMap<String, usize>;

/// How often the child made each system call; `None` where it cannot be traced.
fn counted() -> Option<Counts> {
    let text = traced("child", &[])?;
    let begin = text.find("/agentjob-begin").unwrap_or_else(|| panic!("{text}"));
    let end = text.find("/agentjob-end").unwrap();
    let mut counts = Counts::new();
    for line in text[begin..end].lines().skip(1) {
        let call = line.split_once(' ').map_or("", |(_, rest)| rest.trim()).split('(').next().unwrap();
        *counts.entry(call.to_owned()).or_default() += 1;
    }
    // The markers, and the memory that grows now and then, do not count.
    counts.retain(|call, _| {
        !matches!(call.as_str(), "statx" | "newfstatat" | "stat" | "brk" | "mmap" | "munmap" | "madvise")
    });
    Some(counts)
}
