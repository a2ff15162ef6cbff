//! Responses without bounds: each ends in a clear error, in little memory. One test, because it measures the peak memory of the
//! whole process, the emulator included.

#![cfg(target_os = "linux")]

mod support;

use agentjob_core::{Delivery, ErrorKind};
use support::{JOB, builder, emulator, ms, skip};

/// Resets the peak (proc(5), clear_refs).
fn forget_peak() -> std::io::Result<()> {
    std::fs::write("/proc/self/clear_refs", "5")
}

fn memory_kb(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let value = status.lines().find_map(|l| l.strip_prefix(line)).unwrap();
    value.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn an_endless_response_is_a_clear_error_in_little_memory() {
    let deep = "[".repeat(8 << 20);
    let deep = format!(r#"{{"status": 200, "body": "{deep}"}}"#);
    let ten_gb = r#"{"endless": "body", "content_length": 10737418240}"#;
    for (name, rule, kind, verdict, reason) in [
        ("headers without end", r#"{"endless": "headers"}"#, ErrorKind::InvalidResponse, Delivery::Unknown, "head"),
        (
            "chunks without end",
            r#"{"endless": "chunks"}"#,
            ErrorKind::InvalidResponse,
            Delivery::Accepted,
            "longer than 8388608",
        ),
        (
            "a body without end",
            r#"{"endless": "body"}"#,
            ErrorKind::InvalidResponse,
            Delivery::Accepted,
            "longer than 8388608",
        ),
        ("10 GB", ten_gb, ErrorKind::InvalidResponse, Delivery::Accepted, "longer than 8388608"),
        (
            "gzip",
            r#"{"status": 200, "headers": {"Content-Encoding": "gzip"}, "body": "x"}"#,
            ErrorKind::InvalidResponse,
            Delivery::Accepted,
            "encoded (gzip)",
        ),
        (
            "one byte at a time",
            r#"{"drip": {"bytes": 1, "every_ms": 100}}"#,
            ErrorKind::Timeout,
            Delivery::Unknown,
            "timeout",
        ),
        ("deep JSON", &deep, ErrorKind::InvalidResponse, Delivery::Accepted, "deeper than 128 levels"),
        (
            "an error without end",
            r#"{"status": 500, "endless": "body"}"#,
            ErrorKind::Server,
            Delivery::Unknown,
            "returned 500",
        ),
    ] {
        let emulator = emulator(&format!(r#"{{"rules": [{rule}]}}"#));
        let client = builder(&emulator)
            .timeout(if name == "one byte at a time" { ms(1500) } else { ms(60_000) })
            .build()
            .unwrap();
        let before = memory_kb("VmRSS:");
        let measured = forget_peak().is_ok();
        let error = client.send_message(JOB, "p").unwrap_err();
        let grew = memory_kb("VmHWM:").saturating_sub(before);
        assert_eq!((error.kind(), error.delivery()), (kind, Some(verdict)), "{name}: {error}");
        assert!(error.message().contains(reason), "{name}: {error}");
        if !measured {
            skip("SKIPPED: the peak memory, for /proc/self/clear_refs cannot be written here");
            continue;
        }
        assert!(grew < 32 << 10, "{name}: {grew} KiB more at the peak");
    }
}
