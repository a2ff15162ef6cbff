//! Real networks: proxies, certificates, many threads, large prompts, connections that die.

use std::net::TcpListener;
use std::sync::atomic::Ordering;

use crate::batches::{Folder, run_until_stopped};
use crate::support::proxy::{Manner, Proxy, proxy};
use crate::support::{
    JOB, builder, client, emulator, given_time, in_its_own_process, limited, ms, quick, timed, until, with_authority,
};
use agentjob_core::{BatchItem, BatchOptions, Client, Delivery, ErrorKind};
use agentjob_emulator::{Config, Emulator};

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
            Manner::Respond("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
            "refused the user name or password (407)",
        ),
        (Manner::Respond("HTTP/1.1 403 Forbidden\r\n\r\n"), "refused the tunnel (403)"),
        (Manner::Respond("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\n\r\nabc"), "refused the tunnel (502)"),
        (Manner::Respond("SSH-2.0-OpenSSH\r\n\r\n"), "sent a response that is not HTTP"),
        (Manner::Respond("HTTP/1.1 200 OK\r\n\r\nand more"), "sent more than a response"),
        (Manner::Respond(""), "closed the connection"),
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
fn a_proxy_that_refuses_the_login_ends_a_call_a_wait_and_a_batch_at_once() {
    let (emulator, folder) = (emulator("{}"), Folder::new());
    let reason = "the proxy refused the user name or password (407)";
    let hint = "Check the option proxy, or the proxy in the environment, which trust_env = false ignores.";
    let refusing = || proxy(Manner::Respond("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"));
    // By default a call retries a failed connection.
    let through = |proxy: &Proxy| builder(&emulator).proxy(&proxy.url).build().unwrap();
    let (sending, waiting, batching) = (refusing(), refusing(), refusing());
    let error = through(&sending).send_message(JOB, "p").unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Connect, Some(Delivery::NotSent)));
    assert_eq!(
        error.message(),
        format!("message to job {JOB} was not sent: {reason}. {hint} It is safe to send it again.")
    );
    let error = through(&waiting).wait(JOB, &quick()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert_eq!(error.message(), format!("job {JOB} could not be read: {reason}. {hint}"));
    let items = (1..=8).map(|n| BatchItem::new(format!("job_{n}"), "p"));
    let batch = through(&batching).send_all(items, &BatchOptions::new(folder.journal()).concurrency(1)).unwrap();
    let (outcomes, error) = run_until_stopped(batch);
    assert!(outcomes.is_empty(), "{outcomes:?}");
    let again = "Then run it again with the same journal: it continues where it stopped.";
    assert_eq!(error.message(), format!("the batch stopped: {reason}. {hint} {again}"));
    for proxy in [sending, waiting, batching] {
        assert_eq!(proxy.asked.load(Ordering::SeqCst), 1, "no second attempt");
    }
    // Without a user name the proxy refused none.
    let url = refusing().url.replace("us%40er:hunter2@", "");
    let client = builder(&emulator).proxy(url).build().unwrap();
    let error = client.get_job(JOB).unwrap_err();
    assert!(error.message().contains("the proxy requires a user name and password (407)"), "{error}");
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
                let config = format!(r#"{{"rules": [{{"nth": 1, "after_response": "{how}"}}]}}"#);
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
    in_its_own_process("network::child_that_counts_its_sockets");
}

#[test]
#[ignore = "it is the process that the test above starts"]
fn child_that_counts_its_sockets() {
    fn sockets() -> usize {
        std::fs::read_dir("/proc/self/fd").map_or(0, |fds| {
            fds.flatten()
                .filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:")))
                .count()
        })
    }
    let emulator = emulator("{}");
    let before = sockets();
    let clients: Vec<_> = (0..50).map(|_| client(&emulator)).collect();
    for client in &clients {
        client.get_job(JOB).unwrap();
        client.close();
    }
    until("the service's ends are closed, too", || sockets() <= before);
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
