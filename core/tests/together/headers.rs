//! Extra headers: which requests have them, which values win, and where they never go.

use crate::batches::Folder;
use crate::support::{JOB, builder, emulator, quick};
use agentjob_core::{
    BatchItem, BatchOptions, CallOptions, Client, ClientOptions, Delivery, ErrorKind, Headers, WaitOptions,
};
use agentjob_emulator::Emulator;

/// The values of a header in each request.
fn sent(emulator: &Emulator, name: &str) -> Vec<Vec<String>> {
    let values = |headers: &Vec<(String, String)>| {
        headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone()).collect()
    };
    emulator.requests().requests.iter().map(|request| values(&request.headers)).collect()
}

fn one(name: &str, value: &str) -> Headers {
    Headers::new().with(name, value).unwrap()
}

#[test]
fn every_request_of_a_client_and_a_call_has_its_headers() {
    let emulator = emulator(r#"{"work_ms": 40}"#);
    let headers = one("X-Tenant", "acme team\t7").with("traceparent", "client").unwrap();
    let client = builder(&emulator).headers(headers).headers(one("x-more", "m")).build().unwrap();
    let call = CallOptions::new().headers(one("TraceParent", "call")).headers(one("X-Call", "c"));
    client.send_message(JOB, "p").unwrap();
    client.send_message_with(JOB, "p", &call).unwrap();
    client.get_job_with(JOB, &call).unwrap();
    client.create_job_with("p", &call).unwrap();
    client.get_job(JOB).unwrap();
    let plain = [["client"], ["call"], ["call"], ["call"], ["client"]];
    assert_eq!(sent(&emulator, "traceparent"), plain, "the call's wins over the client's");
    assert_eq!(sent(&emulator, "x-tenant"), [["acme team\t7"]; 5]);
    assert_eq!(sent(&emulator, "x-more"), [["m"]; 5]);
    assert_eq!(sent(&emulator, "x-call").concat(), ["c"; 3]);
    let asked = emulator.requests().requests.len();
    let wait = quick().call(call.clone());
    client.send_and_wait(JOB, "p", &wait).unwrap();
    client.watch(JOB, &wait).unwrap().for_each(|job| drop(job.unwrap()));
    let mut poller = client.poller(JOB, &WaitOptions::new()).unwrap();
    poller.poll(&client, &call).unwrap();
    let all = sent(&emulator, "traceparent");
    assert!(all.len() > asked + 3 && all[asked..].iter().all(|values| values == &["call"]), "{all:?}");
    let other = client.with_options(ClientOptions::new().headers(one("X-Tenant", "other"))).unwrap();
    other.get_job(JOB).unwrap();
    client.get_job(JOB).unwrap();
    assert_eq!(sent(&emulator, "x-tenant").split_off(all.len()), [["other"], ["acme team\t7"]]);
    assert_eq!(sent(&emulator, "x-more").split_off(all.len()), [["m"], ["m"]]);
    assert_eq!(emulator.requests().connections, 1, "headers need no connection of their own");
}

#[test]
fn every_request_of_a_batch_has_its_headers() {
    let emulator = emulator(r#"{"work_ms": 40, "jobs": [{"id": "a"}, {"id": "b"}]}"#);
    let client = builder(&emulator).headers(one("X-Tenant", "client")).build().unwrap();
    let folder = Folder::new();
    let journal = folder.journal();
    let options = BatchOptions::new(&journal).wait(quick()).headers(one("X-Tenant", "secret9batch"));
    let items = [BatchItem::new("a", "p"), BatchItem::new("b", "p")];
    for outcome in client.send_all(items, &options).unwrap() {
        assert_eq!(outcome.unwrap().delivery(), Delivery::Accepted);
    }
    let all = sent(&emulator, "x-tenant");
    assert!(all.len() >= 4 && all.iter().all(|values| values == &["secret9batch"]), "{all:?}");
    assert!(!std::fs::read_to_string(&journal).unwrap().contains("secret9batch"));
    assert!(!format!("{options:?}").contains("secret9batch"));
}

#[test]
fn headers_that_are_too_many_together_are_refused_before_anything_is_sent() {
    let emulator = emulator("{}");
    let long = "v".repeat(10_000);
    let client = builder(&emulator).headers(one("X-Client", &long)).build().unwrap();
    let call = CallOptions::new().headers(one("X-Call", &long));
    let error = client.send_message_with(JOB, "p", &call).unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::InvalidArgument, Some(Delivery::NotSent)));
    assert!(error.message().contains("the headers are longer than 16384 bytes together"), "{error}");
    assert!(builder(&emulator).headers(one("X", &long)).headers(one("Y", &long)).build().is_err());
    let folder = Folder::new();
    let journal = folder.journal();
    let options = BatchOptions::new(&journal).headers(one("X-Call", &long));
    assert!(client.send_all([BatchItem::new(JOB, "p")], &options).is_err() && !journal.exists());
    assert_eq!(emulator.requests().requests.len(), 0);
    client.send_message_with(JOB, &"p".repeat(100_000), &CallOptions::new().headers(one("X-Call", "short"))).unwrap();
    assert_eq!(sent(&emulator, "x-client"), [[long]], "a long header goes with a long prompt");
}

#[test]
fn a_value_that_the_service_quotes_is_removed_like_the_key() {
    for (headers, quoted) in [("client", "secret9client"), ("call", "secret9call")] {
        let body = format!(r#"{{"error": "bad header {quoted}"}}"#);
        let rule = format!(r#"{{"status": 400, "headers": {{"X-Request-Id": "{quoted}"}}, "body": {body:?}}}"#);
        let emulator = emulator(&format!(r#"{{"rules": [{rule}]}}"#));
        let client = builder(&emulator).headers(one("X-A", "secret9client")).build().unwrap();
        let call = CallOptions::new().headers(one("X-B", "secret9call"));
        let wait = quick().call(call.clone());
        for error in [
            client.send_message_with(JOB, "p", &call).unwrap_err(),
            client.get_job_with(JOB, &call).unwrap_err(),
            client.wait(JOB, &wait).unwrap_err(),
            client.send_and_wait(JOB, "p", &wait).unwrap_err(),
        ] {
            let shown = format!("{error} {error:?} {:?} {:?} {call:?}", error.body(), error.request_id());
            assert!(!shown.contains("secret9"), "{headers}: {shown}");
            assert!(error.message().contains("bad header ***"), "{error}");
        }
    }
}

#[test]
fn a_proxy_that_tunnels_does_not_see_the_headers() {
    let emulator = Emulator::start_tls(agentjob_emulator::Config::default()).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let seen = std::thread::spawn(move || {
        use std::io::{BufRead, BufReader, Write};
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let head: Vec<_> = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").unwrap();
        head
    });
    let client: Client =
        crate::support::with_authority(&emulator, |to| to.headers(one("X-Tenant", "acme")).proxy(proxy).max_retries(0));
    let error = client.get_job_with(JOB, &CallOptions::new().headers(one("X-B", "b"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
    let head = seen.join().unwrap();
    assert!(head[0].starts_with("CONNECT ") && !head.iter().any(|line| line.starts_with("X-")), "{head:?}");
}
