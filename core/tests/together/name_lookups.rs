//! A real resolver that hangs for one host: the process runs in its own network and mount namespaces, where the only name server
//! is a socket that stays silent.

use std::net::UdpSocket;
use std::process::{Command, Output};

use crate::batches::Folder;
use crate::support::{JOB, emulator, ms, skip, until};
use agentjob_core::{Client, Delivery, ErrorKind};

/// The process in the namespaces.
#[test]
#[ignore = "it is the process that the test below starts"]
fn child() {
    let silent = UdpSocket::bind("127.0.0.1:53").unwrap();
    let emulator = emulator("{}");
    let to = |host: &str, timeout: u64| {
        let url = format!("http://{host}:{}", emulator.address().port());
        let builder = Client::builder().base_url(url).api_key(emulator.api_key()).project_id(emulator.project_id());
        builder.allow_plaintext(true).trust_env(false).max_retries(0).timeout(ms(timeout)).build().unwrap()
    };
    let stuck = to("stuck.test", 700);
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let error = stuck.send_message(JOB, "p").unwrap_err();
                assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Some(Delivery::NotSent)), "{error}");
            });
        }
    });
    // The lookups still run: this resolver tries for minutes.
    assert!(silent.recv(&mut [0; 512]).unwrap() > 0, "the name server was asked");
    // The list of threads has gaps while threads end, and the hundred may still be doing that.
    let mut threads = Vec::new();
    until("the threads of the calls are gone", || {
        let before = std::mem::replace(&mut threads, names_of_threads());
        before == threads && threads.len() < 20
    });
    let count = threads.iter().filter(|name| *name == "agentjob-lookup").count();
    assert!((1..=4).contains(&count), "{count} lookups: {threads:?}");
    to("localhost", 20_000).send_message(JOB, "p").unwrap();
    assert!(names_of_threads().iter().any(|name| name == "agentjob-lookup"), "the other host is still looked up");
    eprintln!("another host was reached");
}

fn names_of_threads() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    threads
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .map(|name| name.trim().to_owned())
        .collect()
}

#[test]
fn stuck_lookups_of_one_host_do_not_block_another_host() {
    let folder = Folder::new();
    let (resolver, hosts) = (folder.0.join("resolv.conf"), folder.0.join("hosts"));
    // Longer than the test: 150 s.
    std::fs::write(&resolver, "nameserver 127.0.0.1\noptions timeout:30 attempts:5\n").unwrap();
    std::fs::write(&hosts, "127.0.0.1 localhost\n").unwrap();
    let script = r#"ip link set lo up 2>/dev/null || ifconfig lo up || exit 77
        mount --bind "$0" "$(readlink -f /etc/resolv.conf)" && mount --bind "$1" /etc/hosts || exit 77
        shift; exec "$@""#;
    let ended = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--net", "sh", "-c", script])
        .args([&resolver, &hosts])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "name_lookups::child", "--nocapture"])
        .output();
    match ended {
        // 1 and 77: there are no namespaces. 127: there is no unshare, under qemu, which does not tell a parent that a program is missing.
        Ok(Output { status, stderr, .. }) if status.code().is_none_or(|code| ![1, 77, 127].contains(&code)) => {
            let text = String::from_utf8_lossy(&stderr);
            assert!(status.success() && text.contains("another host was reached"), "{status}: {text}");
        }
        _ => skip("skipped: no namespaces here (unshare, ip), so there is no resolver that hangs"),
    }
}
