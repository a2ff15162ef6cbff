//! Which authorities are trusted: those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, the platform's, or the bundled ones where
//! there is no store. Each case runs in its own process, because environment variables belong to the process.

use std::process::{Command, Output};

#[cfg(target_os = "linux")]
use crate::support::skip;
use crate::support::{JOB, limited};
use agentjob_core::Client;
use agentjob_emulator::{Config, Emulator};

const CHILD: &str = "AGENTJOB_TEST_ROOTS_URL";

/// The process of one case: sends one message and prints the result.
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

fn output_with(emulator: &Emulator, variables: &[(&str, &str)]) -> String {
    let Output { status, stderr, .. } = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "trusted_roots::child", "--nocapture"])
        .env(CHILD, emulator.base_url())
        .env_remove("AGENTJOB_CA_FILE")
        .env_remove("SSL_CERT_FILE")
        .env_remove("SSL_CERT_DIR")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(status.success());
    String::from_utf8(stderr).unwrap()
}

#[test]
fn ssl_cert_variables_are_used_and_one_that_leads_nowhere_is_named() {
    limited();
    let config = Config::from_json(r#"{"api_key": "k"}"#).unwrap();
    let emulator = Emulator::start_tls(config).unwrap();
    let folder = std::env::temp_dir().join(format!("agentjob-roots-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    let place = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(place("good.pem"), emulator.ca_pem().unwrap()).unwrap();
    std::fs::write(place("garbage.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    std::fs::write(place("empty.pem"), "").unwrap();
    let good = place("good.pem");

    assert!(output_with(&emulator, &[("SSL_CERT_FILE", &good)]).contains("ok job_demo"));
    assert!(output_with(&emulator, &[("AGENTJOB_CA_FILE", &good)]).contains("ok job_demo"));
    for wrong in ["/nonexistent", &place("garbage.pem"), &place("empty.pem"), &place("empty")] {
        for variables in [vec!["SSL_CERT_FILE"], vec!["SSL_CERT_DIR"], vec!["SSL_CERT_FILE", "SSL_CERT_DIR"]] {
            let mut set: Vec<(&str, &str)> = variables.iter().map(|name| (*name, wrong)).collect();
            let none = output_with(&emulator, &set);
            assert!(none.contains("tls message to job job_demo was not sent"), "{none}");
            let named: Vec<_> = variables.iter().map(|name| format!("{name}={wrong}")).collect();
            let sentence = format!("no certificate authority was found in {})", named.join(" and "));
            assert!(none.contains(&sentence), "{sentence}: {none}");
            assert!(none.contains("Correct or unset these variables, or give ca_file"), "{none}");
            set.push(("AGENTJOB_CA_FILE", &good));
            assert!(output_with(&emulator, &set).contains("ok job_demo"), "ca_file is added to the others");
        }
    }
    // Such as compose's ${SSL_CERT_FILE:-}: an empty variable counts as not set.
    for empty in [&[("SSL_CERT_FILE", "")][..], &[("SSL_CERT_DIR", "")], &[("SSL_CERT_FILE", ""), ("SSL_CERT_DIR", "")]]
    {
        let text = output_with(&emulator, empty);
        assert!(text.contains("signed by an unknown authority"), "the platform's or the bundled are read: {text}");
    }
    let file_right_folder_empty = [("SSL_CERT_FILE", good.as_str()), ("SSL_CERT_DIR", "")];
    let file_empty_folder_right = [("SSL_CERT_FILE", ""), ("SSL_CERT_DIR", folder.to_str().unwrap())];
    let two_folders = std::env::join_paths([place("empty").as_str(), "", folder.to_str().unwrap()]).unwrap();
    let two_folders = two_folders.to_str().unwrap();
    for set in
        [file_right_folder_empty, file_empty_folder_right, [("SSL_CERT_FILE", ""), ("SSL_CERT_DIR", two_folders)]]
    {
        assert!(output_with(&emulator, &set).contains("ok job_demo"), "{set:?}");
    }
    let file_empty_folder_wrong = [("SSL_CERT_FILE", ""), ("SSL_CERT_DIR", ":")];
    let none = output_with(&emulator, &file_empty_folder_wrong);
    assert!(none.contains("no certificate authority was found in SSL_CERT_DIR=:)"), "{none}");
    let file_wrong_folder_right = [("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", folder.to_str().unwrap())];
    assert!(output_with(&emulator, &file_wrong_folder_right).contains("ok job_demo"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// One message in a mount namespace whose /etc is empty but for the host names and what `script` puts there; `$CA` is the file of the emulator's
/// authority. `None` where there are no mount namespaces.
#[cfg(target_os = "linux")]
fn output_in_its_own_etc(script: &str, tool: &[&str]) -> Option<String> {
    let config = Config::from_json(r#"{"api_key": "k"}"#).unwrap();
    let emulator = Emulator::start_tls(config).unwrap();
    let ca = std::env::temp_dir().join(format!("agentjob-ca-{}-{}.pem", std::process::id(), emulator.address().port()));
    std::fs::write(&ca, emulator.ca_pem().unwrap()).unwrap();
    let script = format!(
        r#"hosts=$(cat /etc/hosts); for folder in /etc /usr/lib/ssl /usr/local/share /usr/share/ca-certificates; do
        if test -d $folder; then mount -t tmpfs none $folder || exit 77; fi; done; echo "$hosts" >/etc/hosts; {script}; exec "$0" "$@""#
    );
    let ended = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-e", "-c", &script])
        .args(tool)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "trusted_roots::child", "--nocapture"])
        .env(CHILD, emulator.base_url())
        .env("CA", &ca)
        .env_remove("AGENTJOB_CA_FILE")
        .env_remove("SSL_CERT_FILE")
        .env_remove("SSL_CERT_DIR")
        .output();
    std::fs::remove_file(ca).unwrap();
    match ended {
        Ok(Output { status, stderr, .. }) if status.success() => Some(String::from_utf8(stderr).unwrap()),
        _ => {
            skip("SKIPPED: no mount namespace or no strace here");
            None
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_trust_store_the_bundled_roots_are_used() {
    let Some(text) = output_in_its_own_etc("true", &[]) else { return };
    assert!(text.contains("signed by an unknown authority"), "there are roots, but not this one: {text}");
}

/// Debian, Fedora, RHEL, openSUSE, Alpine.
#[test]
#[cfg(target_os = "linux")]
fn the_bundle_of_each_distribution_is_found() {
    for bundle in [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ] {
        let script = format!("mkdir -p $(dirname {bundle}); cp $CA {bundle}");
        let Some(text) = output_in_its_own_etc(&script, &[]) else { return };
        assert!(text.contains("ok job_demo"), "{bundle}: {text}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_bundle_that_has_certificates_the_folder_is_read() {
    let folder = "mkdir -p /etc/ssl/certs; cp $CA /etc/ssl/certs/0a1b2c3d.0";
    for bundle in
        ["true", "touch /etc/ssl/certs/ca-certificates.crt", "echo garbage >/etc/ssl/certs/ca-certificates.crt"]
    {
        let Some(text) = output_in_its_own_etc(&format!("{folder}; {bundle}"), &[]) else { return };
        assert!(text.contains("ok job_demo"), "{bundle}: {text}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn with_empty_variables_the_platforms_store_is_read() {
    for store in ["/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/0a1b2c3d.0"] {
        let script = format!("export SSL_CERT_FILE= SSL_CERT_DIR=; mkdir -p /etc/ssl/certs; cp $CA {store}");
        let Some(text) = output_in_its_own_etc(&script, &[]) else { return };
        assert!(text.contains("ok job_demo"), "{store}: {text}");
    }
}

/// A folder of 150 authorities takes longer to read than the rest of a program's first TLS request.
#[test]
#[cfg(target_os = "linux")]
fn of_a_store_with_a_bundle_only_the_bundle_is_opened() {
    let script = "mkdir -p /etc/ssl/certs; cp $CA /etc/ssl/certs/ca-certificates.crt; cp $CA /etc/ssl/certs/0a1b2c3d.0";
    let strace = ["strace", "-f", "-qq", "-o", "/dev/stderr", "-e", "trace=openat,open,getdents,getdents64"];
    let Some(text) = output_in_its_own_etc(script, &strace) else { return };
    assert!(text.contains("ok job_demo"), "{text}");
    let opened: Vec<&str> =
        text.lines().filter(|line| line.contains("/etc/ssl") || line.contains("/etc/pki")).collect();
    assert_eq!(opened.len(), 1, "{opened:#?}");
    assert!(opened[0].contains("/etc/ssl/certs/ca-certificates.crt"), "{opened:?}");
    assert!(!text.contains("getdents"), "no folder is listed: {text}");
}
