//! Records as long as the client's limit allows, and their memory. The tests run one after the other, because they measure and limit
//! the memory of the whole process.

#![cfg(target_os = "linux")]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use agentjob_core::{Client, Delivery, ErrorKind};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{JOB, skip};

const MIB: usize = 1 << 20;

/// A service that responds to every request with this record.
fn serve(record: Arc<Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            respond_to_all(stream.unwrap(), &record);
        }
    });
    base_url
}

fn respond_to_all(mut stream: TcpStream, record: &[u8]) {
    let mut request = [0; 4096];
    while stream.read(&mut request).is_ok_and(|read| read > 0) {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", record.len());
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(record)).is_err() {
            return;
        }
    }
}

fn record(length: usize) -> Arc<Vec<u8>> {
    let mut record = format!(r#"{{"id":"{JOB}","status":"active","model":"m","x":["#).into_bytes();
    record.reserve_exact(length);
    while record.len() < length {
        record.extend_from_slice(br#"[[],{"a":0}],"#);
    }
    record.extend_from_slice(b"0]}");
    Arc::new(record)
}

fn client(base_url: &str, limit: usize) -> Client {
    let builder = Client::builder().base_url(base_url).api_key("k_secret").project_id("p").trust_env(false);
    builder.max_response_bytes(limit).timeout(Duration::from_secs(60)).build().unwrap()
}

fn memory(line: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let value = status.lines().find_map(|l| l.strip_prefix(line)).unwrap();
    value.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

fn a_long_record_takes_at_most_four_times_its_length() {
    let record = record(8 * MIB - 100);
    let base_url = serve(record.clone());
    let client = client(&base_url, 8 * MIB);
    let before = memory("VmRSS:");
    if std::fs::write("/proc/self/clear_refs", "5").is_err() {
        return skip("SKIPPED: the peak memory, for /proc/self/clear_refs cannot be written here");
    }
    let job = client.get_job(JOB).unwrap();
    let again = job.clone();
    assert_eq!(
        job.to_json().len(),
        record.len()
            + r#","source":{"repository":null,"ref":null},"prLink":null,"createdAt":null,"archivedAt":null"#.len()
    );
    let grew = memory("VmHWM:").saturating_sub(before);
    assert!(grew <= 4 * record.len(), "{} times its length", grew as f64 / record.len() as f64);
    assert_eq!(job, again);
}

fn a_response_too_large_for_memory_is_accepted_and_not_read() {
    let base_url = serve(record(64 * MIB));
    let all = getrlimit(Resource::As);
    for room in [8, 24, 48] {
        let client = client(&base_url, 256 * MIB);
        let little = (memory("VmSize:") + room * MIB) as u64;
        setrlimit(Resource::As, Rlimit { current: Some(little), maximum: all.maximum }).unwrap();
        let is_limited = Vec::<u8>::new().try_reserve_exact(2 * room * MIB).is_err();
        let error = client.send_message(JOB, "p").map(drop);
        setrlimit(Resource::As, all).unwrap();
        if !is_limited {
            return skip(
                "SKIPPED: a response too large for memory, for a limit of memory has no effect here (as under qemu)",
            );
        }
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::InvalidResponse, Some(Delivery::Accepted)));
        // What could not be reserved any more, which includes what had been.
        let bytes =
            error.message().split_once("out of memory for a response of ").unwrap().1.split(' ').next().unwrap();
        assert!((room * MIB / 2..room * MIB * 2).contains(&bytes.parse().unwrap()), "{room} MiB: {error}");
    }
}

#[test]
fn long_records() {
    // Settings of glibc's malloc: one heap, and what is freed goes back at once. Otherwise what it keeps in reserve
    // hides what a call takes.
    if std::env::var_os("MALLOC_ARENA_MAX").is_none() {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.env("MALLOC_ARENA_MAX", "1").env("MALLOC_MMAP_THRESHOLD_", "131072");
        assert!(again.args(["--exact", "long_records", "--nocapture"]).status().unwrap().success());
        return;
    }
    a_long_record_takes_at_most_four_times_its_length();
    a_response_too_large_for_memory_is_accepted_and_not_read();
}
