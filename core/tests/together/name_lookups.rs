//! A real resolver that hangs for one host: the process runs in its own network and mount namespaces, where the only name server
//! is a socket that stays silent.

use std::net::UdpSocket;
use std::process::{Command, Output};

use crate::support::{JOB, emulator, ms, skip, timed};
use agentjob_core::{Client, Delivery, ErrorKind};

/// The process in the namespaces.
#[test]
#[ignore = "it is the process that the test below starts"]
fn child() {
    let silent = UdpSocket::bind("127.0.0.1:53").unwrap();
    let emulator = emulator("{}");
    let to = |host: &str| {
        let url = format!("http://{host}:{}", emulator.address().port());
        let builder = Client::builder().base_url(url).api_key(emulator.api_key()).project_id(emulator.project_id());
        builder.allow_plaintext(true).trust_env(false).max_retries(0).timeout(ms(700)).build().unwrap()
    };
    let stuck = to("stuck.test");
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let error = stuck.send_message(JOB, "p").unwrap_err();
                assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Some(Delivery::NotSent)), "{error}");
            });
        }
    });
    // The lookups still run: the system's resolver tries for 5 s and more.
    assert!(silent.recv(&mut [0; 512]).unwrap() > 0, "the name server was asked");
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let lookups = threads.filter(|task| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "agentjob-lookup")
    });
    let count = lookups.count();
    assert!((1..=4).contains(&count), "{count} lookups");
    let (took, sent) = timed(|| to("localhost").send_message(JOB, "p"));
    sent.unwrap();
    assert!(took < ms(600), "{took:?}");
    eprintln!("another host was reached");
}

#[test]
fn stuck_lookups_of_one_host_do_not_block_another_host() {
    let folder = std::env::temp_dir().join(format!("agentjob-lookups-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (resolver, hosts) = (folder.join("resolv.conf"), folder.join("hosts"));
    std::fs::write(&resolver, "nameserver 127.0.0.1\n").unwrap();
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
    std::fs::remove_dir_all(folder).unwrap();
    match ended {
        Ok(Output { status, stderr, .. }) if status.code().is_some_and(|code| code != 77 && code != 1) => {
            let text = String::from_utf8_lossy(&stderr);
            assert!(status.success() && text.contains("another host was reached"), "{status}: {text}");
        }
        _ => skip("skipped: no namespaces here (unshare, ip), so there is no resolver that hangs"),
    }
}
