//! The system calls of a message over a kept connection, counted by strace if it is installed.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::batches::Folder;
use crate::support::{JOB, emulator, skip, tried};
use agentjob_core::{
    BatchItem, BatchOptions, BatchRef, CallOptions, CancelToken, Client, Control, WaitOptions, batch_drop,
};

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
    let folder = Folder::new();
    let items = (0..SENDS).map(|n| BatchItem::new(JOB, format!("counted {n}")));
    let batch = client.send_all(items, &BatchOptions::new(folder.journal())).unwrap();
    assert_eq!(batch.map(Result::unwrap).count(), SENDS);
}

/// The same with decisions about a journal.
#[test]
#[ignore = "it is the process that a test below counts"]
fn child_that_decides() {
    let url = std::env::var(CHILD).unwrap();
    let client = Client::builder().base_url(url).api_key("k").project_id("demo").trust_env(false).build().unwrap();
    let folder = Folder::new();
    let journal = folder.journal();
    let items = (0..20).map(|n| BatchItem::new(format!("nobody_{n}"), "rejected"));
    assert_eq!(client.send_all(items, &BatchOptions::new(&journal)).unwrap().map(Result::unwrap).count(), 20);
    for items in [vec![BatchRef::Number(1)], vec![BatchRef::All]] {
        drop(std::fs::metadata("/agentjob-begin"));
        batch_drop(&journal, &items).unwrap();
        drop(std::fs::metadata("/agentjob-end"));
    }
}

/// The trace of one of the children above; `None` without strace, or where it may not trace.
fn traced(child: &str, options: &[&str]) -> Option<String> {
    traced_with(r#"{"api_key": "k", "hourly_limit": 1000}"#, child, options)
}

fn traced_with(config: &str, child: &str, options: &[&str]) -> Option<String> {
    let emulator = emulator(config);
    let traced = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/stderr"])
        .args(options)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", child, "--test-threads=1"])
        .env(CHILD, emulator.base_url())
        .output();
    // 127 under qemu, which does not tell the parent that its child found no program.
    let Some(traced) = traced.ok().filter(|traced| traced.status.code() != Some(127)) else {
        skip("SKIPPED: strace is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&traced.stderr).into_owned();
    if text.contains("PTRACE_TRACEME") || text.contains("Operation not permitted") {
        skip("SKIPPED: strace may not trace here");
        return None;
    }
    // 32-bit x86 has system calls of its own for these.
    let own = [(" send(", " sendto("), (" recv(", " recvfrom("), ("_time64(", "(")];
    Some(own.iter().fold(text, |text, (own, name)| text.replace(own, name)))
}

#[test]
fn a_batch_sends_a_message_only_after_its_line_is_on_the_disk() {
    let options = ["-e", "trace=write,fsync,fdatasync,?send,sendto", "-s", "32"];
    let Some(text) = traced("system_calls::child_with_a_batch", &options) else { return };
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
fn a_decision_costs_one_write_and_two_syncs_however_many_items_it_is_about() {
    let options = ["-e", "trace=write,fsync,fdatasync,statx,?newfstatat,?stat,?stat64", "-s", "40"];
    let Some(text) = traced("system_calls::child_that_decides", &options) else { return };
    let calls: Vec<&str> = text.split("/agentjob-begin").skip(1).collect();
    assert_eq!(calls.len(), 2, "{text}");
    for call in calls {
        let call = call.split("/agentjob-end").next().unwrap();
        let syncs = call.lines().filter(|line| line.contains("fsync(") || line.contains("fdatasync(")).count();
        let written = call.lines().filter(|line| line.contains(r#""{\"line\":\"decided\""#)).count();
        assert_eq!((written, syncs), (1, 2), "{call}");
        let last = call.lines().rfind(|line| line.contains("sync(") || line.contains("decided")).unwrap();
        assert!(last.contains("sync("), "every decision is on the disk before the call returns: {call}");
    }
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

/// The traced process: messages of a client that has its key from a file.
#[test]
#[ignore = "it is the process that the test below counts"]
fn child_with_a_key_file() {
    use std::os::unix::fs::PermissionsExt;
    let url = std::env::var(CHILD).unwrap();
    let folder = Folder::new();
    let key = folder.0.join("agentjob-traced-key");
    std::fs::write(&key, "k").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let client =
        Client::builder().base_url(url).api_key_file(&key).project_id("demo").trust_env(false).build().unwrap();
    client.send_message(JOB, "warm").unwrap();
    drop(std::fs::metadata("/agentjob-begin"));
    for _ in 0..SENDS {
        client.send_message(JOB, "counted").unwrap();
    }
    drop(std::fs::metadata("/agentjob-end"));
}

#[test]
fn a_key_file_costs_one_stat_a_message() {
    let Some(text) = traced("system_calls::child_with_a_key_file", &[]) else { return };
    let part = &text[text.find("/agentjob-begin").unwrap()..text.find("/agentjob-end").unwrap()];
    let stats = part.lines().filter(|line| line.contains("stat") && line.contains("agentjob-traced-key")).count();
    let opened = part.lines().filter(|line| line.contains("open")).count();
    assert_eq!((stats, opened), (SENDS, 0), "{part}");
}

type Counts = std::collections::BTreeMap<String, usize>;

/// How often the child made each system call; `None` where it cannot be traced.
fn counted() -> Option<Counts> {
    let text = traced("system_calls::child", &[])?;
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

/// A control that has nothing to check.
struct Listener;

impl Control for Listener {
    fn wants_checks(&self) -> bool {
        false
    }
}

/// The traced process: a request whose response takes two seconds, then a wait that pauses for as long, both with a cancel token and
/// a control.
#[test]
#[ignore = "it is the process that the test below counts"]
fn child_that_waits() {
    let url = std::env::var(CHILD).unwrap();
    let client = Client::builder().base_url(url).api_key("k").project_id("demo").trust_env(false).build().unwrap();
    let call = CallOptions::new().cancel(&CancelToken::new()).control(Arc::new(Listener));
    client.send_message(JOB, "warm").unwrap();
    drop(std::fs::metadata("/agentjob-begin"));
    client.get_job_with(JOB, &call).unwrap();
    drop(std::fs::metadata("/agentjob-middle"));
    let two_seconds = Duration::from_secs(2);
    let wait = WaitOptions::new().min_interval(two_seconds).max_interval(two_seconds).call(call);
    assert!(client.wait(JOB, &wait).unwrap().is_terminal());
    drop(std::fs::metadata("/agentjob-end"));
}

#[test]
fn a_thread_that_waits_for_two_seconds_hardly_wakes() {
    let active = r#"{"id": "job_demo", "status": "active"}"#.replace('"', "\\\"");
    let done = active.replace("active", "completed");
    let rules = format!(
        r#"{{"api_key": "k", "rules": [{{"method": "GET", "nth": 1, "delay_ms": 2000, "status": 200, "body": "{active}"}},
        {{"method": "GET", "nth": 2, "status": 200, "body": "{active}"}},
        {{"method": "GET", "nth": 3, "status": 200, "body": "{done}"}}]}}"#
    );
    // On a busy machine a response takes longer than it does otherwise, and is checked more often.
    tried(5, || {
        let Some(text) = traced_with(&rules, "system_calls::child_that_waits", &[]) else { return };
        let places = ["begin", "middle", "end"].map(|name| text.find(&format!("/agentjob-{name}")).expect("a marker"));
        for (what, part) in [("response", &text[places[0]..places[1]]), ("pause", &text[places[1]..places[2]])] {
            let waits = ["poll(", "ppoll(", "recvfrom(", "nanosleep(", "futex("];
            // The pause of a wait has the three calls of its two requests besides.
            let woken = part.lines().filter(|line| waits.iter().any(|call| line.contains(call))).count();
            assert!(woken < if what == "response" { 5 } else { 9 }, "{woken} times in one {what}: {part}");
        }
    });
}
