//! The program: one JSON line, the flags, and how it ends.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
#[cfg(target_os = "linux")]
use std::time::Duration;

use agentjob_emulator::Listening;
use common::{limited, port_of_its_own};
#[cfg(target_os = "linux")]
use nix::{sys::signal::Signal, unistd::Pid};

const PROGRAM: &str = env!("CARGO_BIN_EXE_agentjob-emulator");

fn spawn(args: &[&str]) -> Child {
    spawn_with(args, &[])
}

fn spawn_with(args: &[&str], variables: &[(&str, &str)]) -> Child {
    limited();
    let mut command = Command::new(PROGRAM);
    command
        .args(args)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("the program starts")
}

#[test]
fn it_prints_one_line_serves_and_ends_with_stdin() {
    let port = port_of_its_own().to_string();
    let mut child = spawn(&["--until-stdin-closes", "--work-ms", "20", "--port", &port]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    let listening: Listening = serde_json::from_str(&line).unwrap();
    assert_eq!((listening.project_id.as_str(), listening.job_id.as_str()), ("demo", "job_demo"));
    assert_eq!((listening.api_key.as_str(), listening.ca_file), ("emulator_0123456789abcdef", None));
    let address = listening.base_url.strip_prefix("http://").unwrap();
    std::net::TcpStream::connect(address).expect("it listens");
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(lines.next().is_none());
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn it_reads_its_configuration_from_stdin() {
    let mut child = spawn(&["--config", "-"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(br#"{"jobs": [{"id": "mine"}], "project_id": "p"}"#).unwrap();
    drop(stdin);
    let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    let listening: Listening = serde_json::from_str(&line).unwrap();
    assert_eq!((listening.project_id.as_str(), listening.job_id.as_str()), ("p", "mine"));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Those that end it. A signal that this process ignores, as under nohup, is ignored by the programs that it starts.
#[cfg(target_os = "linux")]
fn signals() -> impl Iterator<Item = Signal> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    let ends = move |signal: &Signal| ignored >> (*signal as u32 - 1) & 1 == 0;
    [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().filter(ends)
}

/// The kernel drops a signal for which such a process has no handler.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_it_as_the_first_process_of_a_container() {
    let container = ["--pid", "--fork", "--kill-child"];
    if !Command::new("unshare").args(container).arg("true").output().is_ok_and(|output| output.status.success()) {
        // Not eprintln!, whose output the test harness hides.
        return drop(writeln!(std::io::stderr(), "SKIPPED: no process namespace can be made here"));
    }
    limited();
    for signal in signals() {
        let mut command = Command::new("unshare");
        command.args(container).args([PROGRAM, "--until-stdin-closes"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Closed if this test fails, so that nothing is left. Waiting for the child would close it otherwise.
        let _stdin = child.stdin.take();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let first = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
        nix::sys::signal::kill(Pid::from_raw(first.trim().parse().unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal as i32), "{signal}");
    }
}

#[cfg(all(target_os = "linux", feature = "tls"))]
#[test]
fn a_signal_ends_it_and_leaves_no_file() {
    for signal in signals() {
        let mut child = spawn(&["--tls", "--until-stdin-closes"]);
        let _stdin = child.stdin.take();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let file = line.split("\"ca_file\":\"").nth(1).unwrap().split('"').next().unwrap();
        assert!(std::path::Path::new(file).exists(), "{line}");
        nix::sys::signal::kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal as i32), "{signal}");
        assert!(!std::path::Path::new(file).exists(), "{signal}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_ends_it_while_it_reads_its_configuration() {
    let mut child = spawn(&["--config", "-"]);
    let _stdin = child.stdin.take();
    // Its thread that waits for signals is there before it reads.
    let waits = || std::fs::read_dir(format!("/proc/{}/task", child.id())).is_ok_and(|tasks| tasks.count() > 1);
    while !waits() {
        std::thread::sleep(Duration::from_millis(10));
    }
    nix::sys::signal::kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_mistake_is_one_sentence_and_status_2() {
    for (args, stdin, sentence) in [
        (&["--prot", "1"][..], "", "there is no flag --prot; there are --config, --port, "),
        (&["--port"], "", "--port needs a value"),
        (&["--port", "70000"], "", "--port takes a number in its range"),
        (&["--config", "-"], r#"{"rules": [{"nth": 0}]}"#, "rules[0].nth: counts from 1"),
        (&["--config", "no/such/file"], "", "the configuration no/such/file cannot be read"),
        (&["--config", "-", "--until-stdin-closes"], "", "--config - reads stdin"),
        #[cfg(not(feature = "tls"))]
        (&["--tls"], "", "--tls needs an emulator that was built with TLS"),
    ] {
        let mut child = spawn(args);
        // The program may have ended before it reads.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(said.starts_with(&format!("agentjob-emulator: {sentence}")), "{said}");
        assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{said}");
    }
}

#[cfg(feature = "tls")]
#[test]
fn over_tls_it_names_a_file_with_its_authority() {
    // An empty TMPDIR counts as not set: its file is not in whatever folder the program was started in.
    for variables in [&[][..], &[("TMPDIR", "")]] {
        let mut child = spawn_with(&["--until-stdin-closes", "--tls"], variables);
        let line = BufReader::new(child.stdout.take().unwrap()).lines().next().unwrap().unwrap();
        let listening: Listening = serde_json::from_str(&line).unwrap();
        assert!(listening.base_url.starts_with("https://localhost:"));
        let file = listening.ca_file.unwrap();
        assert!(std::path::Path::new(&file).is_absolute(), "{file}");
        assert!(std::fs::read_to_string(&file).unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
        drop(child.stdin.take());
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(!std::path::Path::new(&file).exists());
    }
}
