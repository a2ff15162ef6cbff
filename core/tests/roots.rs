//! Which authorities are trusted: the platform's, as `SSL_CERT_FILE` and `SSL_CERT_DIR` name them, or the bundled ones
//! where there is no store. Each case is a process of its own, for the variables are the process's.

mod support;

use std::process::{Command, Output};

use agentjob_core::Client;
use agentjob_emulator::{Config, Emulator};
use support::{JOB, limited};

const CHILD: &str = "AGENTJOB_TEST_ROOTS_URL";

/// The process in question: one message, and how it ended.
#[test]
#[ignore = "it is the process that the tests below start"]
fn child() {
    let url = std::env::var(CHILD).unwrap();
    let client = Client::builder().base_url(url).api_key("k").project_id("demo").trust_env(false).build().unwrap();
    match client.send_message(JOB, "p") {
        Ok(job) => eprintln!("ok {}", job.id()),
        Err(error) => eprintln!("{} {error}", error.kind()),
    }
}

fn told(emulator: &Emulator, variables: &[(&str, &str)]) -> String {
    let Output { status, stderr, .. } = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "child", "--nocapture"])
        .env(CHILD, emulator.base_url())
        .env_remove("AGENTJOB_CA_FILE")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(status.success());
    String::from_utf8(stderr).unwrap()
}

#[test]
fn the_platforms_variables_count_and_an_empty_store_falls_back_to_the_bundled_roots() {
    limited();
    let config = Config::from_json(r#"{"api_key": "k"}"#).unwrap();
    let emulator = Emulator::start_tls(config).unwrap();
    let path = std::env::temp_dir().join(format!("agentjob-roots-{}.pem", std::process::id()));
    std::fs::write(&path, emulator.ca_pem().unwrap()).unwrap();
    let (file, nothing) = (path.to_str().unwrap(), "/nonexistent");

    assert!(told(&emulator, &[("SSL_CERT_FILE", file)]).contains("ok job_demo"));
    assert!(told(&emulator, &[("AGENTJOB_CA_FILE", file)]).contains("ok job_demo"));
    let both = [("SSL_CERT_FILE", nothing), ("SSL_CERT_DIR", nothing), ("AGENTJOB_CA_FILE", file)];
    assert!(told(&emulator, &both).contains("ok job_demo"), "ca_file is added to whatever there is");
    let none = told(&emulator, &[("SSL_CERT_FILE", nothing), ("SSL_CERT_DIR", nothing)]);
    assert!(none.contains("tls message to job job_demo was not sent"), "{none}");
    assert!(none.contains("UnknownIssuer"), "there are roots, but not this one: {none}");
    assert_eq!(emulator.ledger().len(), 3);
    std::fs::remove_file(path).unwrap();
}
