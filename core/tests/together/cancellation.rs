//! A call that is cancelled, closed or timed out ends within its bounds in every phase, with a true verdict about its
//! message, and sends nothing afterwards.

use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::support::{JOB, builder, emulator, given_time, limited, ms, quickest, timed, until};
use agentjob_core::{CallOptions, CancelToken, Client, Delivery, Error, ErrorKind, Job};
use agentjob_emulator::{Config, Emulator};

/// A phase of a call in which the service has fallen silent.
struct Phase {
    name: &'static str,
    rule: &'static str,
    tls: bool,
    prompt_bytes: usize,
    verdict: Delivery,
}

/// A service that reads no more sees the connection's end only when it is no longer silent: the client's FIN is behind what it has not
/// read.
const MID_WRITE: &str = r#""fault": {"do": "stall", "at": "body:10", "ms": 8000}"#;

/// More than the socket buffers of both ends hold.
const BEYOND_BUFFERS: usize = 16 << 20;

const PHASES: [Phase; 7] = [
    Phase {
        name: "TLS handshake",
        rule: r#""fault": {"do": "stall", "at": "accept"}"#,
        tls: true,
        prompt_bytes: 1,
        verdict: Delivery::NotSent,
    },
    Phase { name: "mid-write", rule: MID_WRITE, tls: false, prompt_bytes: BEYOND_BUFFERS, verdict: Delivery::NotSent },
    Phase {
        name: "mid-write over TLS",
        rule: MID_WRITE,
        tls: true,
        prompt_bytes: BEYOND_BUFFERS,
        verdict: Delivery::NotSent,
    },
    Phase {
        name: "waiting",
        rule: r#""fault": {"do": "stall", "at": "request"}"#,
        tls: false,
        prompt_bytes: 1,
        verdict: Delivery::Unknown,
    },
    Phase {
        name: "waiting over TLS",
        rule: r#""fault": {"do": "stall", "at": "request"}"#,
        tls: true,
        prompt_bytes: 1,
        verdict: Delivery::Unknown,
    },
    Phase {
        name: "mid-body",
        rule: r#""fault": {"do": "stall", "at": "response:250"}"#,
        tls: false,
        prompt_bytes: 1,
        verdict: Delivery::Accepted,
    },
    Phase {
        name: "a pause",
        rule: r#""status": 429, "headers": {"Retry-After": "15"}"#,
        tls: false,
        prompt_bytes: 1,
        verdict: Delivery::Rejected,
    },
];

impl Phase {
    /// Whether the service has fallen silent, or has responded.
    fn is_reached(&self, emulator: &Emulator) -> bool {
        let seen = emulator.requests();
        let silent = seen.requests.first().is_some_and(|entry| entry.fault.is_some() || entry.status.is_some());
        silent || (self.verdict == Delivery::NotSent && self.prompt_bytes == 1 && seen.connections > 0)
    }

    /// Whether the client has to read something to be in this phase, which the service cannot see.
    fn is_read(&self) -> bool {
        matches!(self.verdict, Delivery::Accepted | Delivery::Rejected)
    }

    fn emulator(&self) -> Emulator {
        let config = Config::from_json(&format!(r#"{{"rules": [{{{}}}]}}"#, self.rule)).unwrap();
        if self.tls { Emulator::start_tls(config) } else { Emulator::start(config) }.unwrap()
    }

    fn client(&self, emulator: &Emulator) -> Client {
        let builder = builder(emulator).max_prompt_bytes(BEYOND_BUFFERS);
        match emulator.ca_pem() {
            None => builder.build().unwrap(),
            Some(pem) => {
                let path = std::env::temp_dir().join(format!(
                    "agentjob-cancel-{}-{}.pem",
                    std::process::id(),
                    emulator.address().port()
                ));
                std::fs::write(&path, pem).unwrap();
                let client = builder.ca_file(&path).build().unwrap();
                std::fs::remove_file(path).unwrap();
                client
            }
        }
    }
}

/// The documented bound is 100 ms; the rest is for reading the clock on both sides.
const PROMISE: Duration = ms(110);

/// Runs a call, ends it from another thread once `there` returns, and returns how long after that the call returned.
fn end_from_another_thread(
    call: impl FnOnce() -> Result<Job, Error> + Send,
    there: impl FnOnce(),
    end: impl FnOnce(),
) -> (Duration, Error) {
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let ended = call();
            (Instant::now(), ended)
        });
        there();
        let ended_at = Instant::now();
        end();
        let (back_at, ended) = calling.join().unwrap();
        (back_at.saturating_duration_since(ended_at), ended.unwrap_err())
    })
}

/// Ends a message in this phase, and returns how long that took, or `None` if the client was not as far as the service.
fn end_in(phase: &Phase, pause: Duration, kind: ErrorKind) -> Option<Duration> {
    let emulator = phase.emulator();
    let client = phase.client(&emulator);
    let token = CancelToken::new();
    let options = CallOptions::new().cancel(&token);
    let prompt = "x".repeat(phase.prompt_bytes);
    let there = || {
        until(phase.name, || phase.is_reached(&emulator));
        if phase.is_read() {
            // Only the client knows when it has read what the service wrote.
            std::thread::sleep(pause);
        }
    };
    let end = || if kind == ErrorKind::Closed { client.close() } else { token.cancel() };
    let (delay, error) = end_from_another_thread(|| client.send_message_with(JOB, &prompt, &options), there, end);
    let seen = emulator.requests().total;
    assert_eq!(error.kind(), kind, "{}", phase.name);
    // The token stays cancelled and the client closed: the next call does not even begin.
    let after = client.send_message_with(JOB, "p", &options).unwrap_err();
    assert_eq!((after.kind(), after.delivery()), (kind, Some(Delivery::NotSent)));
    drop(client);
    until("no connection is left that could carry a request", || emulator.open_connections() == 0);
    assert_eq!(emulator.requests().total, seen, "{}", phase.name);
    // The client had not read the response yet, so `unknown` was true.
    if phase.is_read() && error.delivery() == Some(Delivery::Unknown) {
        return None;
    }
    assert_eq!(error.delivery(), Some(phase.verdict), "{}: {error}", phase.name);
    Some(delay)
}

#[test]
fn a_cancelled_call_ends_in_every_phase_and_sends_nothing_afterwards() {
    limited();
    for phase in &PHASES {
        let delay = quickest(PROMISE, || given_time(ms(20), |pause| end_in(phase, pause, ErrorKind::Cancelled)));
        assert!(delay < PROMISE, "{}: {delay:?}", phase.name);
    }
}

#[test]
fn closing_the_client_ends_its_calls_in_every_phase() {
    limited();
    for phase in &PHASES {
        let delay = quickest(PROMISE, || given_time(ms(20), |pause| end_in(phase, pause, ErrorKind::Closed)));
        assert!(delay < PROMISE, "{}: {delay:?}", phase.name);
    }
}

#[test]
fn a_calls_timeout_is_one_total_over_all_phases() {
    limited();
    let late = |phase: &Phase, timeout: Duration| {
        let emulator = phase.emulator();
        let client = phase.client(&emulator);
        let prompt = "x".repeat(phase.prompt_bytes);
        let options = CallOptions::new().timeout(timeout);
        let (took, ended) = timed(|| client.send_message_with(JOB, &prompt, &options));
        let error = ended.unwrap_err();
        if error.delivery() != Some(phase.verdict) {
            // It timed out in an earlier phase, with the verdict of that phase.
            assert_eq!(error.kind(), ErrorKind::Timeout, "{}: {error}", phase.name);
            let processed = !emulator.ledger().is_empty();
            assert!(error.delivery() == Some(Delivery::Unknown) || !processed, "{}: {error}", phase.name);
            return None;
        }
        if phase.name == "a pause" {
            assert_eq!(error.kind(), ErrorKind::RateLimit, "a pause longer than the timeout is not started");
        } else {
            assert!(took >= timeout, "{}: {took:?}", phase.name);
            assert_eq!(error.kind(), ErrorKind::Timeout, "{}", phase.name);
        }
        Some(took.saturating_sub(timeout))
    };
    for phase in &PHASES {
        let delay = quickest(ms(150), || given_time(ms(300), |timeout| late(phase, timeout)));
        assert!(delay < ms(150), "{}: {delay:?}", phase.name);
    }
}

#[test]
fn a_dripping_response_does_not_extend_the_timeout() {
    let emulator = emulator(r#"{"rules": [{"drip": {"bytes": 1, "every_ms": 10}}]}"#);
    let client = builder(&emulator).timeout(ms(300)).build().unwrap();
    let late = quickest(ms(150), || {
        let (took, ended) = timed(|| client.get_job(JOB));
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Timeout);
        assert!(took >= ms(300), "{took:?}");
        took.saturating_sub(ms(300))
    });
    assert!(late < ms(150), "{late:?}");
}

/// A listener whose queue is full, so that one more connection hangs in its handshake.
fn full_listener() -> (TcpListener, Vec<TcpStream>) {
    limited();
    use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, listen, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new([127, 0, 0, 1].into(), 0)).unwrap();
    listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, ms(200)) {
        queued.push(stream);
        assert!(queued.len() < 64, "the queue never fills");
    }
    (listener, queued)
}

#[test]
fn a_connection_attempt_that_hangs_ends_at_its_timeout_and_when_cancelled() {
    let (listener, _queued) = full_listener();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let builder = || Client::builder().base_url(&url).api_key("k").project_id("p").trust_env(false).max_retries(0);

    let client = builder().connect_timeout(ms(300)).build().unwrap();
    let late = quickest(ms(150), || {
        let (took, ended) = timed(|| client.send_message(JOB, "p"));
        let error = ended.unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Some(Delivery::NotSent)));
        assert!(error.message().contains("connect_timeout"), "{error}");
        assert!(took >= ms(300), "{took:?}");
        took.saturating_sub(ms(300))
    });
    assert!(late < ms(150), "{late:?}");

    let client = builder().build().unwrap();
    let delay = quickest(PROMISE, || {
        let token = CancelToken::new();
        let options = CallOptions::new().cancel(&token);
        let call = || client.send_message_with(JOB, "p", &options);
        // No one can see whether the connection attempt began in this time; the assertions hold either way.
        let (delay, error) = end_from_another_thread(call, || std::thread::sleep(ms(150)), || token.cancel());
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Cancelled, Some(Delivery::NotSent)));
        delay
    });
    assert!(delay < PROMISE, "{delay:?}");
}

#[test]
fn a_connect_timeout_is_retried_within_the_calls_timeout() {
    let (listener, _queued) = full_listener();
    let client = Client::builder()
        .base_url(format!("http://{}", listener.local_addr().unwrap()))
        .api_key("k")
        .project_id("p")
        .trust_env(false)
        .connect_timeout(ms(100))
        .max_retries(2)
        .build()
        .unwrap();
    let error = client.send_message(JOB, "p").unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 3));
}
