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
fn a_proxy_gets_the_user_agent_with_its_suffix() {
    let emulator = emulator("{}");
    let proxy = proxy(Manner::Tunnel);
    let client = builder(&emulator).proxy(&proxy.url).user_agent_suffix("nightly/2").build().unwrap();
    client.send_message(JOB, "p").unwrap();
    let address = emulator.address();
    let agent = concat!("User-Agent: agentjob/", env!("CARGO_PKG_VERSION"), " nightly/2");
    let login = "Proxy-Authorization: Basic dXNAZXI6aHVudGVyMg==";
    let lines = [&format!("CONNECT {address} HTTP/1.1"), &*format!("Host: {address}"), login, agent, "", ""];
    assert_eq!(*proxy.heads.lock().unwrap(), [lines.join("\r\n")]);
}

/// RFC 9112 2.2, RFC 9110 15.2 and 9.3.6.
#[test]
fn a_tunnel_opens_after_bare_line_feeds_interim_responses_and_a_length() {
    for begin in [
        "HTTP/1.1 200 Connection established\n\n",
        "\r\nHTTP/1.0 200\nVia: a\n\n",
        "HTTP/1.1 100 Continue\r\nVia: a\r\n\r\nHTTP/1.1 102 Processing\n\nHTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: five\r\nTransfer-Encoding: gzip\r\n\r\n",
    ] {
        let emulator = emulator("{}");
        let proxy = proxy(Manner::TunnelAfter(begin));
        let client = builder(&emulator).proxy(&proxy.url).max_retries(0).build().unwrap();
        client.send_message(JOB, "p").unwrap_or_else(|error| panic!("{begin:?}: {error}"));
        assert_eq!(emulator.ledger().len(), 1);
    }
}

#[test]
fn a_proxy_that_refuses_or_sends_nonsense_is_named_and_nothing_was_sent() {
    use Manner::{Hold, Respond};
    let garbled = "sent a response that is not valid";
    // All that is read at once, and behind it a response to a request that was not written yet.
    let head = format!("HTTP/1.1 200 OK\r\nVia: {}\r\n\r\n", "x".repeat(4096 - 26));
    assert_eq!(head.len(), 4096);
    let record = r#"{"id": "job_demo", "status": "active"}"#;
    let surplus = format!("{head}HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{record}", record.len());
    for (manner, clause) in [
        (
            Respond("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
            "refused the user name or password (407)".to_owned(),
        ),
        (Respond("HTTP/1.1 403 Forbidden\r\n\r\n"), "refused the tunnel (403).".to_owned()),
        (
            Respond("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\n\r\nabc"),
            "refused the tunnel (502: abc)".to_owned(),
        ),
        // Chunks are not read.
        (
            Hold("HTTP/1.1 503 x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n"),
            "refused the tunnel (503).".to_owned(),
        ),
        (Respond("HTTP/1.1 101 Switching Protocols\r\n\r\n"), "refused the tunnel (101).".to_owned()),
        (Hold("HTTP/1.1 403 Forbidden\nContent-Length: 0\n\n"), "refused the tunnel (403).".to_owned()),
        (Hold("SSH-2.0-OpenSSH\r\n"), format!("{garbled} (it is not valid HTTP/1.1)")),
        (Hold("220 mail.example.com"), format!("{garbled} (it is not valid HTTP/1.1)")),
        (Hold("HTTP/1.1 2000 OK\r\n\r\n"), format!("{garbled} (it is not valid HTTP/1.1)")),
        (Hold("HTTP/1.1 200 OK\r\nno field\r\n\r\n"), format!("{garbled} (it is not valid HTTP/1.1)")),
        (Hold("HTTP/1.1 200 OK\r\n\r\nand more"), "sent more than a response".to_owned()),
        (Hold(Box::leak(surplus.into_boxed_str())), "sent more than a response".to_owned()),
        (Respond(""), "closed the connection".to_owned()),
        (Respond("HTTP/1.1 200 OK\r\nVia"), "closed the connection".to_owned()),
    ] {
        let emulator = emulator("{}");
        let proxy = proxy(manner);
        let client = builder(&emulator).proxy(&proxy.url).max_retries(0).build().unwrap();
        let error = client.send_message(JOB, "p").unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Connect, Some(Delivery::NotSent)), "{error}");
        assert_eq!((error.http_status(), error.request_id()), (None, None), "the service returned none");
        assert!(error.message().contains(&format!("the proxy {clause}")), "{error}");
        assert!(!error.message().contains("hunter2"), "{error}");
        assert!(emulator.ledger().is_empty());
    }
}

#[test]
fn an_error_has_what_the_proxy_says_bounded_and_without_the_password() {
    const PAGE: &str = "HTTP/1.1 403 Forbidden\r\nX-Request-Id: 7\r\n\r\n<html>Only with a User-Agent</html>";
    for (response, reason, body) in [
        ("HTTP/1.1 403 Forbidden\r\n\r\nnot from here\nline 2", "(403: not from here)", "not from here\nline 2"),
        (PAGE, "(403)", "<html>Only with a User-Agent</html>"),
        (
            "HTTP/1.1 407 x\r\nContent-Length: 22\r\n\r\n{\"error\":\"no hunter2\"}",
            "refused the user name or password (407: no ***)",
            "{\"error\":\"no ***\"}",
        ),
        // Cut off: what there is counts.
        ("HTTP/1.1 403 x\r\nContent-Length: 100\r\n\r\nno", "(403: no)", "no"),
        ("HTTP/1.1 403 x\r\nContent-Length: 2\r\n\r\nnothing", "(403: no)", "no"),
    ] {
        let emulator = emulator("{}");
        let proxy = proxy(Manner::Respond(response));
        let client = builder(&emulator).proxy(&proxy.url).max_retries(0).build().unwrap();
        let error = client.send_message(JOB, "p").unwrap_err();
        assert!(error.reason().starts_with("the proxy ") && error.reason().ends_with(reason), "{error}");
        assert_eq!((error.body(), error.http_status(), error.request_id()), (Some(body), None, None), "{error}");
        assert!(error.unquoted_reason().contains(" (4") || error.unquoted_reason().contains(" (503)"), "{error}");
        assert!(!error.unquoted_reason().contains(':'), "what an event has: {}", error.unquoted_reason());
    }
    let long = format!("HTTP/1.1 403 x\r\nContent-Length: 900000\r\n\r\n{}", "x".repeat(900_000));
    let proxy = proxy(Manner::Respond(Box::leak(long.into_boxed_str())));
    let client = builder(&emulator("{}")).proxy(&proxy.url).max_retries(0).build().unwrap();
    let error = client.get_job(JOB).unwrap_err();
    assert_eq!(error.body().map(str::len), Some(8 << 10));
    assert!(error.message().len() < 700, "{error}");
}

#[test]
fn a_proxy_that_says_when_to_retry_is_not_asked_before_that() {
    let busy = "HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n";
    let (emulator, proxy) = (emulator("{}"), proxy(Manner::Respond(busy)));
    let error = builder(&emulator).proxy(&proxy.url).build().unwrap().send_message(JOB, "p").unwrap_err();
    assert_eq!(error.retry_after(), Some(ms(3_600_000)));
    assert!(error.message().contains("the proxy refused the tunnel (503). Retry after 3600 s ("), "{error}");
    assert!(error.message().ends_with("It is safe to send it again."), "{error}");
    assert_eq!(proxy.asked.load(Ordering::SeqCst), 1, "max_retry_after is shorter");
}

/// squid's default rules, for one, allow CONNECT only to port 443.
#[test]
fn a_proxy_that_refuses_a_tunnel_to_another_port_than_443_gets_the_reason_named() {
    let only = "agentjob asks a proxy only for tunnels (CONNECT), and many proxies allow those only to port 443. \
        Use https on port 443, or reach the service without a proxy (NO_PROXY).";
    let general = "Check the option proxy, or HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY in the environment.";
    for (base_url, status, hint) in [
        ("http://service.invalid", 403, only),
        ("http://service.invalid:443", 405, only),
        ("https://service.invalid:8443", 403, only),
        ("https://service.invalid", 403, general),
        ("https://service.invalid", 405, general),
        ("http://service.invalid", 502, general),
        ("http://service.invalid", 407, general),
    ] {
        let response = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
        let proxy = proxy(Manner::Respond(Box::leak(response.into_boxed_str())));
        let client = Client::builder().base_url(base_url).api_key("k").project_id("p").allow_plaintext(true);
        let error = client.proxy(&proxy.url).max_retries(0).build().unwrap().send_message(JOB, "p").unwrap_err();
        assert_eq!(error.hint(), Some(hint), "{base_url} {status}: {error}");
    }
}

#[test]
fn a_proxy_that_refuses_the_login_ends_a_call_a_wait_and_a_batch_at_once() {
    let (emulator, folder) = (emulator("{}"), Folder::new());
    let reason = "the proxy refused the user name or password (407)";
    let hint = "Check the option proxy, or HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY in the environment.";
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
        assert_eq!(error.reason(), "the proxy did not respond in time (connect_timeout)");
        assert!(error.hint().is_some_and(|hint| hint.contains("Check base_url, too")), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("option proxy")), "{error}");
        assert!(took >= ms(300) && took < ms(15_000), "{took:?}");
        // The whole call may have less time than the connection.
        let client = builder(&emulator).proxy(&proxy.url).max_retries(0).timeout(ms(300)).build().unwrap();
        let error = client.send_message(JOB, "p").unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Some(Delivery::NotSent)));
        assert_eq!(error.reason(), "the proxy did not respond in time (timeout)");
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
    // On Windows a reset may take away the response before it.
    for how in ["close", "reset", "close_notify"].into_iter().filter(|how| cfg!(unix) || *how != "reset") {
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
fn a_message_takes_a_new_connection_when_the_service_may_be_closing_the_idle_one() {
    for (keep_alive, pause, connections) in [
        ("timeout=60", 0, 1),
        ("timeout=2", 1100, 2),
        // A second is not enough for any message.
        ("timeout=1", 0, 2),
        ("timeout=0", 0, 2),
        ("timeout=60, max=0", 0, 2),
        ("timeout=60, max=1", 0, 1),
        ("timeout=soon", 0, 1),
    ] {
        let rules = format!(r#"{{"rules": [{{"headers": {{"Keep-Alive": "{keep_alive}"}}}}]}}"#);
        let emulator = emulator(&rules);
        let client = client(&emulator);
        client.send_message(JOB, "p").unwrap();
        std::thread::sleep(ms(pause));
        client.send_message(JOB, "q").unwrap();
        assert_eq!((emulator.ledger().len(), emulator.requests().connections), (2, connections), "{keep_alive}");
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
