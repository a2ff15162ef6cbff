//! Which event comes when: the table of docs/events.md, row by row.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use agentjob_core::{
    BatchItem, BatchOptions, CallOptions, Client, ClientBuilder, Delivery, ErrorKind, Event, EventHandler, EventLevel,
    Poller, Timings,
};
use agentjob_emulator::{Config, Emulator};

use crate::batches::Folder;
use crate::support::proxy::{Manner, proxy};
use crate::support::{JOB, builder, emulator, given_time, ms, quick, refusing, until, with_authority};

const PAGE: &str = include_str!("../../../docs/events.md");

/// What was heard of a call.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Event<'static>>>>);

impl Heard {
    fn handler(&self) -> EventHandler {
        let heard = self.0.clone();
        Arc::new(move |event: &Event<'_>| heard.lock().unwrap().push(event.clone().into_owned()))
    }

    fn forget(&self) {
        self.0.lock().unwrap().clear();
    }

    /// As the table writes it: the events, and the phases of the last response.
    fn row(&self) -> (String, String) {
        let events = self.0.lock().unwrap();
        let names = events.iter().map(|event| match event {
            Event::Response { status, .. } => format!("response {status}"),
            other => other.name().to_owned(),
        });
        let last = events.iter().rev().find_map(|event| match event {
            Event::Response { timings, elapsed, .. } => {
                let known = phases(timings);
                let sum: std::time::Duration = known.iter().map(|(_, time)| *time).sum();
                assert!(*elapsed >= sum, "the phases are parts of the whole: {event:?}");
                Some(known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))
            }
            _ => None,
        });
        (names.collect::<Vec<_>>().join(", "), last.unwrap_or_default())
    }
}

fn phases(timings: &Timings) -> Vec<(&'static str, std::time::Duration)> {
    let all = [
        ("resolve", timings.resolve),
        ("connect", timings.connect),
        ("proxy", timings.proxy),
        ("tls", timings.tls),
        ("first_byte", timings.first_byte),
    ];
    all.into_iter().filter_map(|(name, time)| Some((name, time?))).collect()
}

fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let section = PAGE.split("\n## ").find(|section| section.starts_with(heading)).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'));
    rows.skip(2).map(|row| row.split('|').map(str::trim).collect()).collect()
}

/// Makes the call of a row. `hear` gives a client its ear; what happened before `forget` is not part of the row.
fn call(situation: &str, heard: &Heard) {
    let hear = |emulator: &Emulator| builder(emulator).on_event(heard.handler());
    let plain = |config: &str| {
        let emulator = emulator(config);
        let client = hear(&emulator).build().unwrap();
        (emulator, client)
    };
    let trusting = |emulator: &Emulator, more: &dyn Fn(ClientBuilder) -> ClientBuilder| -> Client {
        with_authority(emulator, |builder| more(builder.on_event(heard.handler())))
    };
    let tls = || Emulator::start_tls(Config::default()).unwrap();
    match situation {
        "a message is accepted" => drop(plain("{}").1.send_message(JOB, "p").unwrap()),
        "the next one uses the kept connection" => {
            let (_emulator, client) = plain("{}");
            client.send_message(JOB, "p").unwrap();
            heard.forget();
            client.send_message(JOB, "p").unwrap();
        }
        "the URL has a name" => {
            let emulator = emulator("{}");
            let url = emulator.base_url().replace("127.0.0.1", "localhost");
            hear(&emulator).base_url(url).build().unwrap().send_message(JOB, "p").unwrap();
        }
        "through TLS" => drop(trusting(&tls(), &|builder| builder).send_message(JOB, "p").unwrap()),
        "through a proxy" => {
            let (emulator, proxy) = (emulator("{}"), proxy(Manner::Tunnel));
            hear(&emulator).proxy(&proxy.url).build().unwrap().send_message(JOB, "p").unwrap();
        }
        "through a proxy, with TLS" => {
            let (emulator, proxy) = (tls(), proxy(Manner::Tunnel));
            trusting(&emulator, &|builder| builder.proxy(&proxy.url)).send_message(JOB, "p").unwrap();
        }
        "a job is created" => drop(plain("{}").1.create_job("p").unwrap()),
        "the job does not exist" => drop(plain("{}").1.send_message("nobody", "p").unwrap_err()),
        "a 429 that may be retried" => {
            let rule = r#"{"rules": [{"nth": 1, "status": 429, "headers": {"Retry-After": "0"}}]}"#;
            plain(rule).1.send_message(JOB, "p").unwrap();
        }
        "a message and a 503" => drop(plain(r#"{"rules": [{"status": 503}]}"#).1.send_message(JOB, "p").unwrap_err()),
        "a read job and a 503" => drop(plain(r#"{"rules": [{"nth": 1, "status": 503}]}"#).1.get_job(JOB).unwrap()),
        "the record is cut off" => {
            let (_emulator, client) = plain(r#"{"rules": [{"content_length": 9999, "status": 200}]}"#);
            assert_eq!(client.send_message(JOB, "p").unwrap_err().delivery(), Some(Delivery::Accepted));
        }
        "the record cannot be used" => {
            let (_emulator, client) = plain(r#"{"rules": [{"status": 200, "body": "{}"}]}"#);
            assert_eq!(client.send_message(JOB, "p").unwrap_err().kind(), ErrorKind::InvalidResponse);
        }
        "nothing listens" => {
            let (_socket, address) = refusing();
            let client = hear(&emulator("{}")).base_url(format!("http://{address}")).build().unwrap();
            assert_eq!(client.send_message(JOB, "p").unwrap_err().attempts(), 3);
        }
        "the proxy refuses the tunnel" => {
            let (emulator, proxy) = (emulator("{}"), proxy(Manner::Respond("HTTP/1.1 403 Forbidden\r\n\r\n")));
            hear(&emulator).proxy(&proxy.url).build().unwrap().send_message(JOB, "p").unwrap_err();
        }
        "the certificate is not trusted" => {
            let emulator = tls();
            assert_eq!(hear(&emulator).build().unwrap().get_job(JOB).unwrap_err().kind(), ErrorKind::Tls);
        }
        "a message without a response" => {
            let (_emulator, client) = plain(r#"{"rules": [{"fault": {"do": "close", "at": "request"}}]}"#);
            assert_eq!(client.send_message(JOB, "p").unwrap_err().delivery(), Some(Delivery::Unknown));
        }
        "a read job without a response" => {
            let rule = r#"{"rules": [{"nth": 1, "fault": {"do": "close", "at": "request"}}]}"#;
            plain(rule).1.get_job(JOB).unwrap();
        }
        "no response in time" => {
            let emulator = emulator(r#"{"rules": [{"fault": {"do": "stall", "at": "request"}}]}"#);
            given_time(ms(200), |timeout| {
                heard.forget();
                hear(&emulator).timeout(timeout).build().unwrap().send_message(JOB, "p").unwrap_err();
                // Otherwise it was not yet sent.
                (emulator.requests().total > 0).then_some(())
            });
        }
        "the kept connection had died" => {
            // Only the client sees when the close has arrived.
            given_time(ms(50), |pause| {
                let (emulator, client) = plain(r#"{"rules": [{"nth": 1, "after_response": "close"}]}"#);
                client.send_message(JOB, "p").unwrap();
                heard.forget();
                std::thread::sleep(pause);
                client.send_message(JOB, "p").unwrap();
                assert_eq!(emulator.ledger().len(), 2);
                (heard.0.lock().unwrap().len() == 4).then_some(())
            });
        }
        "a wait for a finished job" => drop(plain("{}").1.wait(JOB, &quick()).unwrap()),
        "a wait whose first poll fails" => {
            plain(r#"{"rules": [{"nth": 1, "status": 503}]}"#).1.wait(JOB, &quick()).unwrap();
        }
        "a message and its wait" => {
            // The wait's first poll comes when the job is done.
            let (emulator, client) = plain(r#"{"work_ms": 1}"#);
            let wait = quick().min_interval(ms(100)).max_interval(ms(100)).settle(ms(0));
            let mut poller = client.send_and_poll(JOB, "p", &wait).unwrap();
            until("the job is done", || builder(&emulator).build().unwrap().get_job(JOB).unwrap().is_terminal());
            while poller.poll(&client, &Default::default()).unwrap().is_none() {}
        }
        "a wrong argument" => drop(plain("{}").1.send_message(JOB, "").unwrap_err()),
        "a closed client" => {
            let (_emulator, client) = plain("{}");
            client.close();
            client.send_message(JOB, "p").unwrap_err();
        }
        other => panic!("docs/events.md has a situation that this test does not make: {other}"),
    }
}

#[test]
fn each_situation_has_the_events_of_the_table() {
    let table = rows("Which event comes when");
    assert!(table.len() > 20, "{table:?}");
    let mut wrong = Vec::new();
    for row in &table {
        let [situation, events, timings] = row[..] else { panic!("{row:?}") };
        let heard = Heard::default();
        call(situation, &heard);
        let expected = (events.to_owned(), timings.to_owned());
        if heard.row() != expected {
            wrong.push(format!("{situation}: {:?}, not {expected:?}", heard.row()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_event_has_the_keys_and_the_level_of_the_tables() {
    let heard = Heard::default();
    let emulator = emulator(r#"{"rules": [{"nth": 1, "status": 503, "headers": {"X-Request-Id": "r-1"}}]}"#);
    let client = builder(&emulator).on_event(heard.handler()).build().unwrap();
    client.get_job(JOB).unwrap();
    client.wait(JOB, &quick()).unwrap();
    let of_batch = heard_of_a_paused_batch();
    let events = [&heard, &of_batch].map(|heard| heard.0.lock().unwrap().clone()).concat();
    let mut found = HashMap::new();
    for event in &events {
        let json = event.to_json();
        let keys: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).unwrap();
        assert_eq!(keys["event"], event.name());
        found.insert(event.name(), (keys.keys().cloned().collect::<Vec<_>>(), event.level()));
    }
    for row in rows("The events").iter().take_while(|row| row[0].starts_with('`') && row.len() == 3) {
        let name = row[0].trim_matches('`');
        let mut keys: Vec<_> = row[2].split(", ").filter_map(|key| Some(key.split('`').nth(1)?.to_owned())).collect();
        keys.push("event".to_owned());
        keys.sort();
        let (mut known, level) = found.remove(name).unwrap_or_else(|| panic!("no {name} was heard"));
        known.sort();
        assert_eq!(known, keys, "{name}");
        let levels = rows("The logger");
        let row = levels.iter().find(|row| row[1].split(", ").any(|known| known == name)).expect(name);
        assert_eq!(row[0].trim_matches('`'), format!("{level:?}").to_uppercase(), "{name}");
    }
    assert!(found.is_empty(), "docs/events.md does not have {:?}", found.keys());
}

/// The events that only a batch has.
fn heard_of_a_paused_batch() -> Heard {
    let (heard, folder) = (Heard::default(), Folder::new());
    let emulator = emulator(r#"{"rules": [{"nth": 1, "status": 429, "headers": {"Retry-After": "1"}}]}"#);
    let client = builder(&emulator).on_event(heard.handler()).build().unwrap();
    let batch = client.send_all(vec![BatchItem::new(JOB, "p")], &BatchOptions::new(folder.journal())).unwrap();
    assert_eq!(batch.count(), 1);
    heard.0.lock().unwrap().retain(|event| event.item().is_none());
    heard
}

#[test]
fn polls_that_get_a_login_page_are_counted_and_the_fifth_is_a_warning() {
    let heard = Heard::default();
    let emulator = emulator(
        r#"{"rules": [{"method": "GET", "from": 10}, {"method": "GET", "nth": 8, "status": 503},
            {"method": "GET", "status": 200, "body": "<html>Log in</html>"}]}"#,
    );
    let client = builder(&emulator).on_event(heard.handler()).build().unwrap();
    let mut poller = client.poller(JOB, &quick()).unwrap();
    for _ in 0..7 {
        assert_eq!(poller.poll(&client, &CallOptions::new()).unwrap(), None);
    }
    let mut poller: Poller = poller.to_string().parse().unwrap();
    while poller.poll(&client, &CallOptions::new()).unwrap().is_none() {}
    let heard = heard.0.lock().unwrap();
    let polls: Vec<_> = heard.iter().filter(|event| event.name() == "poll").collect();
    let counts = polls.iter().map(|event| match event {
        Event::Poll { consecutive_failures, .. } => (*consecutive_failures, event.level() == EventLevel::Warning),
        _ => unreachable!(),
    });
    let expected = [1, 2, 3, 4, 5, 6, 7, 1, 1, 0].map(|count| (count, count == 5));
    assert_eq!(counts.collect::<Vec<_>>(), expected, "another failure, and a resumed wait, count again");
    let line = polls[4].to_string();
    assert!(
        line.contains("cannot be used: it is not JSON") && line.contains(" (5 in a row failed alike); next in "),
        "{line}"
    );
    assert!(!line.contains("Log in") && !polls[4].to_json().contains("Log in"));
    assert!(polls[4].to_json().contains(",\"consecutive_failures\":5,"));
}

#[test]
fn polls_that_have_no_response_in_time_fail_alike() {
    poll_a_silent_service_twice_after(0);
}

#[test]
fn polls_that_have_no_response_in_time_fail_alike_also_late_in_a_wait_that_has_time_left() {
    poll_a_silent_service_twice_after(50);
}

fn poll_a_silent_service_twice_after(timeouts: u32) {
    given_time(ms(50), |timeout| {
        let heard = Heard::default();
        let emulator = emulator(r#"{"rules": [{"fault": {"do": "stall", "at": "request"}}]}"#);
        let client = builder(&emulator).timeout(timeout).on_event(heard.handler()).build().unwrap();
        let began = Instant::now();
        let mut poller = client.poller(JOB, &quick().timeout(timeout * 100)).unwrap();
        std::thread::sleep(timeout * timeouts);
        for _ in 0..2 {
            // Only a machine that stands still has the wait time out here.
            let polled = poller.poll(&client, &CallOptions::new()).ok()?;
            assert_eq!(polled, None);
        }
        let heard = heard.0.lock().unwrap();
        let counts = heard.iter().filter_map(|event| match event {
            Event::Poll { consecutive_failures, .. } => Some(*consecutive_failures),
            _ => None,
        });
        // Otherwise one had not yet been sent, or was cut short by the end of the wait.
        let in_time = emulator.requests().total == 2 && began.elapsed() < timeout * 100;
        in_time.then(|| assert_eq!(counts.collect::<Vec<_>>(), [1, 2]))
    });
}

#[test]
fn a_status_of_more_than_300_bytes_is_shortened_in_an_event() {
    for (bytes, is_whole) in [(300, true), (301, false)] {
        let (heard, written) = (Heard::default(), "x".repeat(bytes));
        let record = format!(r#"{{"id": "{JOB}", "status": "{written}"}}"#);
        let emulator = emulator(&format!(r#"{{"rules": [{{"status": 200, "json": {record}}}]}}"#));
        let client = builder(&emulator).on_event(heard.handler()).build().unwrap();
        client.poller(JOB, &quick()).unwrap().poll(&client, &CallOptions::new()).unwrap();
        let heard = heard.0.lock().unwrap();
        let Some(Event::Poll { status: Some(status), .. }) = heard.last() else { panic!("{heard:?}") };
        assert_eq!((*status == written, status.ends_with('…')), (is_whole, !is_whole), "{bytes}: {status}");
    }
}

#[test]
fn a_response_has_its_facts() {
    let heard = Heard::default();
    let emulator = emulator(r#"{"rules": [{"delay_ms": 600, "status": 200, "headers": {"X-Request-Id": "r-7"}}]}"#);
    let job = builder(&emulator).on_event(heard.handler()).build().unwrap().send_message(JOB, "p").unwrap();
    let heard = heard.0.lock().unwrap();
    let Event::Response { operation, job_id, attempt, status, request_id, bytes, elapsed, timings, item } = &heard[1]
    else {
        panic!("{heard:?}")
    };
    assert_eq!((*operation, &**job_id, *attempt, *status), ("send_message", JOB, 1, 200));
    assert_eq!((request_id.as_deref(), *bytes), (Some("r-7"), job.to_json().len() as u64));
    assert_eq!(*item, None, "it is no batch's");
    let first_byte = timings.first_byte.unwrap();
    // The service may have the request before the client knows that it is sent.
    assert!(first_byte >= ms(100) && *elapsed >= first_byte, "{heard:?}");
    let line = heard[1].to_string();
    assert!(line.starts_with("send_message job_demo: request 1 returned 200 after "), "{line}");
    assert!(line.ends_with(&format!("({bytes} bytes, request id r-7)")), "{line}");
}

/// Ends a call at its response.
struct Stop;

impl agentjob_core::Control for Stop {
    fn event(&self, event: &Event<'_>) -> Result<(), agentjob_core::Interrupted> {
        if event.name() == "response" { Err(agentjob_core::Interrupted) } else { Ok(()) }
    }
}

#[test]
fn an_observer_that_ends_the_call_at_its_response_does_not_change_the_verdict() {
    for (rule, verdict) in [
        (r#"{"nth": 9}"#, Delivery::Accepted),
        (r#"{"status": 404}"#, Delivery::Rejected),
        (r#"{"status": 500}"#, Delivery::Unknown),
        (r#"{"status": 429, "headers": {"Retry-After": "0"}}"#, Delivery::Rejected),
    ] {
        let emulator = emulator(&format!(r#"{{"rules": [{rule}]}}"#));
        let call = agentjob_core::CallOptions::new().control(Arc::new(Stop));
        let client = builder(&emulator).build().unwrap();
        let error = client.send_message_with(JOB, "p", &call).unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Cancelled, Some(verdict)), "{rule} {error}");
        assert_eq!(emulator.requests().total, 1, "{rule}");
        let error = client.get_job_with(JOB, &call).unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Cancelled, None), "{rule} {error}");
    }
}

#[test]
fn what_ends_the_creation_of_a_job_at_its_response_has_the_job() {
    let emulator = emulator(
        r#"{"api_key": "secret_of_29", "rules": [{"nth": 2, "status": 201, "json": {"id": "a secret_of_29\nb", "status": "active"}}]}"#,
    );
    let client = builder(&emulator).api_key("secret_of_29").build().unwrap();
    let call = agentjob_core::CallOptions::new().control(Arc::new(Stop));
    let error = client.create_job_with("p", &call).unwrap_err();
    assert_eq!(error.job().unwrap().id(), emulator.ledger()[0].job_id);
    assert!(error.message().starts_with("new job job_1 was created, but the call was cancelled."), "{error}");
    let error = client.create_job_with("p", &call).unwrap_err();
    assert_eq!(error.job().unwrap().id(), "a secret_of_29\nb", "the record is the service's own data");
    assert!(error.message().starts_with(r"new job a ***\nb was created, but "), "{error}");
    // That of a message may be its previous result.
    assert!(client.send_message_with(JOB, "p", &call).unwrap_err().job().is_none());
}
