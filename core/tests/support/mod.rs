//! What every test needs: an emulator with a configuration, and a client that talks to it.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part of this")]

pub mod files;
mod limit;
mod port;
pub mod proxy;
pub mod wire;

use std::net::{Ipv4Addr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use agentjob_core::{Client, ClientBuilder, WaitOptions};
use agentjob_emulator::{Config, Emulator};
pub use limit::limited;
use rustix::fd::OwnedFd;

pub const JOB: &str = "job_demo";

/// An emulator with the configuration of tests/emulator/README.md.
pub fn emulator(config: &str) -> Emulator {
    limited();
    Emulator::start(Config::from_json(config).expect(config)).expect("a port is free")
}

/// The same on a port that no other test gets, so that another one can take its place when it has been stopped.
pub fn emulator_on_its_own_port(config: &str) -> Emulator {
    limited();
    let config = Config::from_json(config).expect(config);
    Emulator::start(Config { port: port::port_of_its_own(), ..config }).expect("the port is free")
}

/// An address that refuses every connection. A port that was free a moment ago may be another test's by now; this one is taken,
/// by a socket that does not listen.
pub fn refusing() -> (OwnedFd, SocketAddr) {
    use rustix::net::{AddressFamily, SocketAddrV4, SocketType, bind, getsockname, socket};
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = getsockname(&socket).unwrap().try_into().unwrap();
    (socket, address)
}

/// A client's settings for this emulator, without the environment's proxies.
pub fn builder(emulator: &Emulator) -> ClientBuilder {
    limited();
    Client::builder()
        .base_url(emulator.base_url())
        .api_key(emulator.api_key())
        .project_id(emulator.project_id())
        .trust_env(false)
        .timeout(Duration::from_secs(20))
}

pub fn client(emulator: &Emulator) -> Client {
    builder(emulator).build().unwrap()
}

/// A wait that polls often enough for a test, and long enough for a slow machine.
pub fn quick() -> WaitOptions {
    WaitOptions::new()
        .timeout(Duration::from_secs(20))
        .min_interval(Duration::from_millis(20))
        .max_interval(Duration::from_millis(50))
        .settle(Duration::from_millis(300))
}

pub const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// How long `work` took, and its result.
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let made = work();
    (began.elapsed(), made)
}

/// Waits for a fact, for as long as a starved machine may need.
pub fn until(fact: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "it never became true: {fact}");
        std::thread::sleep(ms(1));
    }
}

/// Tries with a pause, and again with twice the pause while the attempt returns `None`: for states that only the client can see,
/// so a test can do no better than pause. Returns what the first long enough pause gave.
pub fn given_time<T>(first: Duration, mut attempt: impl FnMut(Duration) -> Option<T>) -> T {
    let mut pause = first;
    loop {
        if let Some(made) = attempt(pause) {
            return made;
        }
        pause *= 2;
        assert!(pause < Duration::from_secs(30), "even {pause:?} would not be enough");
    }
}

/// Tries what the machine's speed may decide, such as an upper bound of a time, until it succeeds once: a busy machine stalls now
/// and then, and a library that is wrong fails every time. The last attempt counts.
pub fn tried(times: u32, attempt: impl Fn()) {
    for _ in 1..times {
        if catch_unwind(AssertUnwindSafe(&attempt)).is_ok() {
            return;
        }
    }
    attempt();
}

/// The first time below `bound`, or else the shortest of twenty. A busy machine oversleeps; the best time shows how fast the
/// library is.
pub fn quickest(bound: Duration, mut attempt: impl FnMut() -> Duration) -> Duration {
    let mut best = attempt();
    for _ in 1..20 {
        if best < bound {
            break;
        }
        best = best.min(attempt());
    }
    best
}

/// Runs an ignored test in a process of its own, because it changes something that all tests of a process share.
pub fn in_its_own_process(test: &str) {
    limited();
    let mut own = std::process::Command::new(std::env::current_exe().unwrap());
    let ran = own.args(["--ignored", "--exact", test, "--nocapture"]).output().unwrap();
    let output = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && output.contains("1 passed"), "{output}");
}

/// Reports that a test could not run here. Bypasses the test harness, which hides the output of passing tests.
pub fn skip(why: &str) {
    use std::io::Write;
    drop(writeln!(std::io::stderr(), "{why}"));
}

/// A client that trusts this emulator's own authority.
pub fn with_authority(emulator: &Emulator, more: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Client {
    let name = format!("agentjob-network-{}-{}.pem", std::process::id(), emulator.address().port());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, emulator.ca_pem().unwrap()).unwrap();
    let client = more(builder(emulator).ca_file(&path)).build().unwrap();
    std::fs::remove_file(path).unwrap();
    client
}
