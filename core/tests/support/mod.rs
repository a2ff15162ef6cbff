//! What every situation needs: an emulator with a script, and a client that talks to it.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part of this")]

pub mod wire;

use std::time::{Duration, Instant};

use agentjob_core::{Client, ClientBuilder, WaitOptions};
use agentjob_emulator::{Config, Emulator};

pub const JOB: &str = "job_demo";

/// An emulator with the configuration of tests/emulator/README.md.
pub fn emulator(config: &str) -> Emulator {
    Emulator::start(Config::from_json(config).expect(config)).expect("a port is free")
}

/// A client's settings for this emulator, deaf to the environment's proxies.
pub fn builder(emulator: &Emulator) -> ClientBuilder {
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

/// A wait that looks often enough for a test, and long enough for a slow machine.
pub fn quick() -> WaitOptions {
    WaitOptions::new()
        .timeout(Duration::from_secs(20))
        .min_interval(Duration::from_millis(20))
        .max_interval(Duration::from_millis(50))
        .settle(Duration::from_millis(300))
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// How long `work` took, and what it made.
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let made = work();
    (began.elapsed(), made)
}

/// Says that a test could not be run here. Written past the test harness, which shows what passing tests print to nobody.
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
