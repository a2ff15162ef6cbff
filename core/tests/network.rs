//! Real networks: proxies, certificates, many threads, large prompts, connections that die.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agentjob_core::{Client, Delivery, ErrorKind};
use agentjob_emulator::{Config, Emulator};
use support::{JOB, builder, client, emulator, given_time, limited, ms, timed, until, with_authority};

/// What a proxy does with a CONNECT.
#[derive(Clone, Copy)]
enum Manner {
    Tunnel,
    /// A tunnel that stops reading for a while after 64 KiB.
    Pausing,
    Answer(&'static str),
    Silent,
    Drip,
}

struct Proxy {
    url: String,
    asked: Arc<AtomicUsize>,
}

/// A proxy on loopback. Its threads end with their connections.
fn proxy(manner: Manner) -> Proxy {
    limited();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://us%40er:hunter2@{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || serve(stream, manner));
        }
    });
    Proxy { url, asked }
}

fn serve(mut client: TcpStream, manner: Manner) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if client.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("CONNECT "), "{head}");
    // us@er:hunter2
    assert!(head.contains("\r\nProxy-Authorization: Basic dXNAZXI6aHVudGVyMg==\r\n"), "{head}");
    assert!(!head.to_lowercase().contains("bearer"), "only the service gets the key");
    match manner {
        Manner::Tunnel | Manner::Pausing => {
            let target = head.split(' ').nth(1).unwrap();
            let mut service = TcpStream::connect(target).unwrap();
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), service.try_clone().unwrap());
            let up = std::thread::spawn(move || {
                if matches!(manner, Manner::Pausing) {
                    std::io::copy(&mut (&mut from).take(64 << 10), &mut to)?;
                    // The time is what is tested: longer than several slices of a write, with every buffer full.
                    std::thread::sleep(ms(400));
                }
                std::io::copy(&mut from, &mut to)
            });
            drop(std::io::copy(&mut service, &mut client));
            drop(client.shutdown(std::net::Shutdown::Both));
            drop(service.shutdown(std::net::Shutdown::Both));
            drop(up.join());
        }
        Manner::Answer(text) => drop(client.write_all(text.as_bytes())),
        Manner::Silent => drop(client.read(&mut byte)),
        Manner::Drip => {
            for byte in
                b"HTTP/1.1 200 OK\r\nx: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n\r\n"
            {
                // The time is what is tested: each byte comes within the slice of a read, the last one after connect_timeout.
                std::thread::sleep(ms(20));
                if client.write_all(&[*byte]).is_err() {
                    return;
                }
            }
        }
    }
}

#[test]
fn messages_go_through_a_proxy_over_one_kept_tunnel() {
    let emulator = emulator("{}");
    let proxy = proxy(Manner::Tunnel);
    let client = builder(&emulator).proxy(&proxy.url).build().unwrap();
    for _ in 0..3 {
        client.send_message(JOB, "p").unwrap();
    }
    assert_eq!(emulator.ledger().len(), 3);
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 1);
}

#[test]
fn messages_go_through_a_proxy_over_tls() {
    let emulator = Emulator::start_tls(Config::default()).unwrap();
    let proxy = proxy(Manner::Tunnel);
    let client = with_authority(&emulator, |builder| builder.proxy(&proxy.url));
    client.send_message(JOB, "p").unwrap();
    client.send_message(JOB, "p").unwrap();
    assert_eq!(emulator.ledger().len(), 2);
}

#[test]
fn a_proxy_that_refuses_or_sends_nonsense_is_named_and_nothing_was_sent() {
    for (manner, clause) in [
        (
            Manner::Answer("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
            "requires a user name and password (407)",
        ),
        (Manner::Answer("HTTP/1.1 403 Forbidden\r\n\r\n"), "refused the tunnel (403)"),
        (Manner::Answer("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\n\r\nabc"), "refused the tunnel (502)"),
        (Manner::Answer("SSH-2.0-OpenSSH\r\n\r\n"), "sent a response that is not HTTP"),
        (Manner::Answer("HTTP/1.1 200 OK\r\n\r\nand more"), "sent more than a response"),
        (Manner::Answer(""), "closed the connection"),
    ] {
        let emulator = emulator("{}");
        let proxy = proxy(manner);
        let client = builder(&emulator).proxy(&proxy.url).max_retries(0).build().unwrap();
        let error = client.send_message(JOB, "p").unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Connect, Some(Delivery::NotSent)), "{error}");
        assert!(error.message().contains(&format!("the proxy {clause}")), "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
        assert!(emulator.ledger().is_empty());
    }
}

#[test]
fn a_silent_or_dripping_proxy_ends_with_the_connect_timeout() {
    for manner in [Manner::Silent, Manner::Drip] {
        let emulator = emulator("{}");
        let proxy = proxy(manner);
        let client = builder(&emulator).proxy(&proxy.url).max_retries(0).connect_timeout(ms(300)).build().unwrap();
        let (took, ended) = timed(|| client.send_message(JOB, "p"));
        let error = ended.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Some(Delivery::NotSent)));
        assert!(took >= ms(300) && took < ms(15_000), "{took:?}");
    }
}

#[test]
fn a_service_that_reads_late_gets_the_whole_of_a_large_message() {
    // Over TLS there is always something to read: the session tickets, which are not a response.
    let prompt = "x".repeat(16 << 20);
    for tls in [false, true] {
        let config = Config::from_json(r#"{"keep_prompts": false}"#).unwrap();
        let emulator = if tls { Emulator::start_tls(config) } else { Emulator::start(config) }.unwrap();
        let proxy = proxy(Manner::Pausing);
        let settings = |b: agentjob_core::ClientBuilder| b.proxy(&proxy.url).max_prompt_bytes(32 << 20).max_retries(0);
        let client =
            if tls { with_authority(&emulator, settings) } else { settings(builder(&emulator)).build().unwrap() };
        let (took, ended) = timed(|| client.send_message(JOB, &prompt));
        ended.unwrap_or_else(|error| panic!("tls: {tls}: {error}"));
        assert!(took >= ms(400), "it had to wait");
        assert_eq!(emulator.ledger().len(), 1);
    }
}

#[test]
fn a_handshake_that_is_reset_fails_at_once() {
    limited();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (n, stream) in listener.incoming().flatten().enumerate() {
            std::thread::sleep(std::time::Duration::from_micros(100 * (n as u64 % 20)));
            // With bytes unread, this close is a reset.
            drop(stream);
        }
    });
    let client =
        Client::builder().base_url(&url).api_key("k").project_id("p").trust_env(false).max_retries(0).build().unwrap();
    for _ in 0..60 {
        let (took, ended) = timed(|| client.send_message(JOB, "p"));
        let error = ended.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Tls, Some(Delivery::NotSent)), "{error}");
        assert!(took < ms(8000), "well before any timeout: {took:?}");
    }
}

#[test]
fn tls_connections_are_kept() {
    let emulator = Emulator::start_tls(Config::default()).unwrap();
    let client = with_authority(&emulator, |builder| builder);
    for _ in 0..5 {
        client.send_message(JOB, "p").unwrap();
    }
    assert_eq!((emulator.ledger().len(), emulator.requests().connections), (5, 1));
}

#[test]
fn a_connection_that_died_while_idle_costs_nothing() {
    for how in ["close", "reset", "close_notify"] {
        for tls in [false, true] {
            given_time(ms(20), |pause| {
                let config = format!(r#"{{"rules": [{{"nth": 1, "after_answer": "{how}"}}]}}"#);
                let config = Config::from_json(&config).unwrap();
                let emulator = if tls { Emulator::start_tls(config) } else { Emulator::start(config) }.unwrap();
                let client = if tls {
                    with_authority(&emulator, |b| b.max_retries(0))
                } else {
                    builder(&emulator).max_retries(0).build().unwrap()
                };
                client.get_job(JOB).unwrap();
                if how == "close_notify" {
                    // TCP stays open, so the service cannot see that the client has the alert.
                    std::thread::sleep(pause);
                } else {
                    until("the service closed it", || emulator.open_connections() == 0);
                }
                if let Err(error) = client.send_message(JOB, "p") {
                    // The connection was still open, and died during the message.
                    assert!(emulator.ledger().is_empty(), "{how}, tls: {tls}: {error}");
                    return None;
                }
                assert_eq!(emulator.ledger().len(), 1);
                assert_eq!(emulator.requests().connections, 2, "{how}, tls: {tls}");
                Some(())
            });
        }
    }
}

#[test]
fn large_prompts_arrive_whole_plain_and_over_tls() {
    let prompt: String = (0..400_000).map(|n| format!("{n:07}\u{e9}\n")).collect();
    assert!(prompt.len() < 4 << 20);
    let plain = emulator("{}");
    client(&plain).send_message(JOB, &prompt).unwrap();
    assert!(plain.ledger()[0].prompt == prompt);
    let tls = Emulator::start_tls(Config::default()).unwrap();
    with_authority(&tls, |builder| builder).send_message(JOB, &prompt).unwrap();
    assert!(tls.ledger()[0].prompt == prompt);
}

#[test]
fn thirty_two_threads_share_a_client_and_get_their_own_responses() {
    let jobs: Vec<String> = (0..32).map(|n| format!(r#"{{"id": "job_{n}", "status": "completed"}}"#)).collect();
    let emulator = emulator(&format!(r#"{{"hourly_limit": 100000, "jobs": [{}]}}"#, jobs.join(",")));
    let client = client(&emulator);
    std::thread::scope(|scope| {
        for n in 0..32 {
            let client = &client;
            scope.spawn(move || {
                let id = format!("job_{n}");
                for k in 0..20 {
                    assert_eq!(client.send_message(&id, &format!("{n} {k}")).unwrap().id(), id);
                    assert_eq!(client.get_job(&id).unwrap().id(), id);
                }
            });
        }
    });
    let ledger = emulator.ledger();
    assert_eq!(ledger.len(), 640);
    assert!(ledger.iter().all(|message| message.prompt.split(' ').next() == message.job_id.strip_prefix("job_")));
    assert!(emulator.requests().connections <= 32, "{} connections", emulator.requests().connections);
}

#[test]
fn a_closed_client_keeps_no_connection() {
    fn sockets() -> usize {
        std::fs::read_dir("/proc/self/fd").map_or(0, |fds| {
            fds.flatten()
                .filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:")))
                .count()
        })
    }
    // Descriptors of the emulator and of other tests in this process come and go; a leak of this many would stay.
    let emulator = emulator("{}");
    let clients: Vec<_> = (0..200).map(|_| client(&emulator)).collect();
    for client in &clients {
        client.get_job(JOB).unwrap();
        client.close();
    }
    until("the service's ends are closed, too", || sockets() < 200);
    drop(clients);
}

#[test]
fn localhost_is_reached_whichever_family_it_listens_on() {
    let emulator = emulator("{}");
    let url = format!("http://localhost:{}", emulator.address().port());
    builder(&emulator).base_url(url).build().unwrap().send_message(JOB, "p").unwrap();
}

#[test]
fn no_redirect_is_followed_and_the_key_goes_nowhere_else() {
    let elsewhere = emulator("{}");
    for status in [301, 302, 303, 307, 308] {
        let location = format!("{}/v2/agent/demo/job/{JOB}", elsewhere.base_url());
        let emulator =
            emulator(&format!(r#"{{"rules": [{{"status": {status}, "headers": {{"Location": "{location}"}}}}]}}"#));
        let client = client(&emulator);
        assert_eq!(client.send_message(JOB, "p").unwrap_err().kind(), ErrorKind::Redirect);
        assert_eq!(client.get_job(JOB).unwrap_err().kind(), ErrorKind::Redirect);
    }
    assert_eq!(elsewhere.requests().connections, 0);
}
