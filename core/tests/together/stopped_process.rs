//! A process that was stopped past its deadline (Ctrl-Z, a frozen container): what had arrived meanwhile still counts.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{JOB, client, emulator, given_time, limited, ms, until, with_authority};
use agentjob_core::{CallOptions, Client, Control, Delivery, Error, ErrorKind, Interrupted, Job, WaitOptions};
use agentjob_emulator::{Config, Emulator};

/// The timeout of a call that is cancelled; it is not reached.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs nothing of the call from the first check on at which the service has its request, until the service has responded and the call has timed out; then lets it
/// continue, or ends it. The calling thread is the only one of a call, so this is what SIGSTOP does.
struct Stop {
    /// Whether the service has responded, or is about to; `None` before it has the request.
    responded: Box<dyn Fn() -> Option<bool> + Send + Sync>,
    /// How long the response may need to arrive.
    pause: Duration,
    ends_the_call: bool,
    stopped: AtomicBool,
}

impl Stop {
    fn options(
        pause: Duration,
        ends_the_call: bool,
        responded: impl Fn() -> Option<bool> + Send + Sync + 'static,
    ) -> CallOptions {
        let stopped = AtomicBool::new(false);
        let stop = Stop { responded: Box::new(responded), pause, ends_the_call, stopped };
        CallOptions::new().timeout(stop.timeout()).control(Arc::new(stop))
    }

    /// The call's: enough to send its request, or never reached.
    fn timeout(&self) -> Duration {
        if self.ends_the_call { PATIENCE } else { 2 * self.pause }
    }
}

impl Control for Stop {
    fn check(&self) -> Result<(), Interrupted> {
        if (self.responded)().is_some() && !self.stopped.swap(true, Ordering::SeqCst) {
            until("the service has responded", || (self.responded)() == Some(true));
            sleep(self.pause);
            if self.ends_the_call {
                return Err(Interrupted);
            }
            sleep(self.timeout());
        }
        Ok(())
    }
}

/// Whether the emulator has decided how to respond to the first request that it read.
fn has_responded(emulator: &Emulator) -> Option<bool> {
    let requests = emulator.requests().requests;
    requests
        .first()
        .filter(|request| request.complete)
        .map(|request| request.status.or(request.fault.as_ref().map(|_| 0)).is_some())
}

/// Stops the process during a call to this emulator, for as long as its response needs to arrive.
fn stopped(
    rule: &str,
    tls: bool,
    ends_the_call: bool,
    call: impl Fn(&Client, &CallOptions) -> Result<Job, Error>,
    is_as_it_should_be: impl Fn(&Result<Job, Error>) -> bool,
) {
    given_time(ms(150), |pause| {
        let config = match rule.contains("delay_ms") {
            true => format!(r#"{{"rules": [{{{rule}}}]}}"#),
            false => format!(r#"{{"rules": [{{"delay_ms": 100, {rule}}}]}}"#),
        };
        let emulator = match tls {
            true => Emulator::start_tls(Config::from_json(&config).unwrap()).unwrap(),
            false => emulator(&config),
        };
        let client = if tls { with_authority(&emulator, |client| client) } else { client(&emulator) };
        let emulator = Arc::new(emulator);
        let seen = Arc::clone(&emulator);
        let ended = call(&client, &Stop::options(pause, ends_the_call, move || has_responded(&seen)));
        if pause > Duration::from_secs(5) {
            assert!(is_as_it_should_be(&ended), "{rule}: {ended:?}");
        }
        is_as_it_should_be(&ended).then_some(())
    });
}

fn send(client: &Client, options: &CallOptions) -> Result<Job, Error> {
    client.send_message_with(JOB, "p", options)
}

#[test]
fn a_response_that_came_while_the_process_was_stopped_is_read() {
    let long = format!(r#""json": {{"id": "job_demo", "status": "active", "log": "{}"}}"#, "x".repeat(40_000));
    let until_close = r#""framing": "close""#;
    for (rule, tls) in [
        (r#""framing": "length""#, false),
        (r#""framing": "length""#, true),
        (r#""framing": "chunked""#, false),
        (until_close, false),
        (until_close, true),
        (&long, false),
        (&long, true),
    ] {
        stopped(rule, tls, false, send, |ended| ended.is_ok());
    }
    let create = |client: &Client, options: &CallOptions| client.create_job_with("p", options);
    stopped(r#""framing": "length""#, false, false, create, |ended| ended.is_ok());
    let get = |client: &Client, options: &CallOptions| client.get_job_with(JOB, options);
    stopped(r#""framing": "length""#, false, false, get, |ended| ended.is_ok());
    stopped(r#""status": 409"#, false, false, send, |ended| {
        let error = ended.as_ref().unwrap_err();
        (error.http_status(), error.delivery()) == (Some(409), Some(Delivery::Rejected))
    });
}

#[test]
fn a_service_that_never_stops_sending_does_not_keep_a_stopped_call_from_ending() {
    // What arrives later would be read up to `max_response_bytes`, which is another error.
    stopped(r#""endless": "body""#, false, false, send, |ended| {
        let error = ended.as_ref().unwrap_err();
        (error.kind(), error.delivery()) == (ErrorKind::Timeout, Some(Delivery::Accepted))
    });
}

#[test]
fn a_stopped_call_that_is_cancelled_then_says_what_the_response_said() {
    for (rule, verdict) in [
        (r#""framing": "chunked""#, Delivery::Accepted),
        (r#""status": 409"#, Delivery::Rejected),
        (r#""status": 502"#, Delivery::Unknown),
        // It ends with what has arrived, and as a call that is cancelled, whatever that was.
        (r#""fault": {"do": "stall", "at": "response:20", "process": true}"#, Delivery::Unknown),
        (r#""fault": {"do": "close", "at": "response:20", "process": true}"#, Delivery::Unknown),
        (r#""fault": {"do": "stall", "at": "response:250", "process": true}"#, Delivery::Accepted),
        (r#""interim": "HTTP/1.1 102 Processing\r\n\r\n", "delay_ms": 30000"#, Delivery::Unknown),
        (r#""endless": "body""#, Delivery::Accepted),
        (r#""headers": {"Transfer-Encoding": "nonsense"}"#, Delivery::Accepted),
    ] {
        stopped(rule, false, true, send, |ended| {
            let error = ended.as_ref().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{rule}: {error}");
            // A stall ends after 30 s.
            assert!(error.elapsed() < Duration::from_secs(20), "{rule}: {error}");
            error.delivery() == Some(verdict)
        });
    }
}

#[test]
fn a_stopped_call_that_is_cancelled_then_has_the_new_job() {
    let create = |client: &Client, options: &CallOptions| client.create_job_with("p", options);
    stopped(r#""framing": "length""#, false, true, create, |ended| {
        let error = ended.as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        let id = error.job().map(|job| job.id().to_owned());
        id.is_some_and(|id| error.message().starts_with(&format!("new job {id} was created, but ")))
    });
}

/// More than the socket buffers of both ends hold.
const BEYOND_BUFFERS: usize = 16 << 20;

#[test]
fn an_early_refusal_that_came_while_the_process_was_stopped_counts() {
    limited();
    let ended = given_time(ms(150), |pause| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let refused = Arc::new(Mutex::new(None));
        let responded = Arc::clone(&refused);
        // It reads the beginning of the request, responds, and reads no more.
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\n{}").unwrap();
            *refused.lock().unwrap() = Some(stream);
        });
        let builder = Client::builder().base_url(url).api_key("k").project_id("p").trust_env(false);
        let client = builder.max_prompt_bytes(BEYOND_BUFFERS).build().unwrap();
        let seen = Arc::clone(&responded);
        let options = Stop::options(pause, false, move || seen.lock().unwrap().is_some().then_some(true));
        let error = client.send_message_with(JOB, &"x".repeat(BEYOND_BUFFERS), &options).unwrap_err();
        (error.http_status() == Some(413)).then_some(error)
    });
    assert_eq!(ended.delivery(), Some(Delivery::Rejected), "{ended}");
}

/// Stops the process when the service has its first poll, until long after the wait's deadline.
struct InAPoll {
    emulator: Arc<Emulator>,
    until: Instant,
}

impl Control for InAPoll {
    fn check(&self) -> Result<(), Interrupted> {
        if has_responded(&self.emulator).is_some() {
            sleep(self.until.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }
}

#[test]
fn a_wait_that_was_stopped_in_a_poll_until_after_its_deadline_polls_once_more() {
    std::thread::scope(|threads| {
        for (first_poll, then) in [
            // Its response was right when the service sent it.
            (r#""json": {"id": "job_demo", "status": "active"}, "status": 200, "delay_ms": 300"#, "completed"),
            (r#""fault": {"do": "stall", "at": "request", "ms": 30000}"#, "completed"),
            (r#""status": 503, "delay_ms": 300"#, "completed"),
            (r#""status": 503, "headers": {"Retry-After": "1"}, "delay_ms": 300"#, "wait_timeout"),
        ] {
            threads.spawn(move || given_time(ms(200), |timeout| stopped_in_a_poll(first_poll, then, timeout)));
        }
    });
}

/// Whether the process was stopped, and what followed from that is right.
fn stopped_in_a_poll(first_poll: &str, then: &str, timeout: Duration) -> Option<()> {
    let emulator = Arc::new(emulator(&format!(
        r#"{{"jobs": [{{"id": "job_demo", "status": "completed"}}], "rules": [{{"nth": 1, {first_poll}}}]}}"#
    )));
    let client = client(&emulator);
    let mut poller = client.poller(JOB, &WaitOptions::new().timeout(timeout)).unwrap();
    let until = Instant::now() + timeout + ms(1200);
    let stop = CallOptions::new().control(Arc::new(InAPoll { emulator: Arc::clone(&emulator), until }));
    let mut polled = poller.poll(&client, &stop);
    if Instant::now() < until {
        return None;
    }
    if let Ok(None) = polled {
        assert_eq!((poller.due_in(), poller.time_left()), (Duration::ZERO, None));
        polled = poller.poll(&client, &CallOptions::new());
    }
    let ended = polled.map_or_else(|error| error.kind().to_string(), |job| job.unwrap().status().as_str().to_owned());
    assert_eq!(ended, then, "{first_poll}");
    Some(())
}

#[test]
fn a_wait_whose_deadline_passed_while_nothing_ran_polls_once_more() {
    let emulator = emulator(
        r#"{"jobs": [{"id": "job_demo", "status": "active", "finish_after_ms": 100}, {"id": "job_busy", "status": "active"}]}"#,
    );
    let client = client(&emulator);
    let options = WaitOptions::new().timeout(ms(200)).min_interval(ms(50));
    let queued = client.poller("job_busy", &options).unwrap();
    let asked_in_time = CallOptions::new().started_at(Instant::now());
    for (job, ends) in [(JOB, true), ("job_busy", false)] {
        let mut poller = client.poller(job, &options).unwrap();
        assert!(poller.time_left().is_some(), "the deadline is ahead");
        sleep(ms(250));
        assert_eq!(poller.time_left(), None, "the poll is made regardless of the deadline");
        let polled = poller.poll(&client, &CallOptions::new());
        match ends {
            true => assert_eq!(polled.unwrap().unwrap().status().as_str(), "completed"),
            false => {
                let polls = emulator.requests().total;
                let error = polled.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::WaitTimeout);
                assert!(error.message().contains("1 poll: 1 active"), "{error}");
                let again = poller.poll(&client, &CallOptions::new()).unwrap_err();
                assert_eq!(again.kind(), ErrorKind::WaitTimeout);
                assert_eq!(emulator.requests().total, polls, "once");
            }
        }
    }
    let polls = emulator.requests().total;
    assert_eq!(queued.clone().poll(&client, &asked_in_time).unwrap_err().kind(), ErrorKind::WaitTimeout);
    assert_eq!(emulator.requests().total, polls, "a poll that queued until the deadline had passed is not made");
}
