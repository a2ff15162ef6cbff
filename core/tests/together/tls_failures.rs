//! TLS connections that fail: each error says why in plain English, and that nothing was sent.

use std::io::{Read, Write};
use std::net::TcpListener;

use crate::support::{JOB, builder, client, emulator, with_authority};
use agentjob_core::{Client, Delivery, ErrorKind};
use agentjob_emulator::{Config, Emulator, TlsOptions};

/// Whether it has no type name of the TLS library, such as `UnknownIssuer`.
fn is_plain(message: &str) -> bool {
    let camel =
        |word: &str| word.chars().skip(1).zip(word.chars().skip(2)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    !message.split(|c: char| !c.is_alphanumeric()).any(camel)
}

#[test]
fn a_certificate_of_another_name_without_names_expired_or_of_an_unknown_authority_is_refused_in_plain_words() {
    let expired = TlsOptions { expired: true, ..TlsOptions::default() };
    let other = TlsOptions { names: vec!["other.example".into()], ..TlsOptions::default() };
    let nameless = TlsOptions { names: Vec::new(), ..TlsOptions::default() };
    let address = TlsOptions { names: vec!["127.0.0.1".into()], ..TlsOptions::default() };
    for (options, reason, hint) in [
        (
            nameless,
            "it has no subject alternative names, and its common name does not count",
            "with a subject alternative name for the host",
        ),
        (address, "it is not for localhost but for 127.0.0.1", "Use a host in base_url"),
        (expired, "the service's certificate was refused: it expired on ", "renew its certificate"),
        (other, "it is not for localhost but for other.example", "Use a host in base_url"),
    ] {
        let emulator = Emulator::start_tls_with(Config::default(), &options).unwrap();
        let error = with_authority(&emulator, |builder| builder).send_message(JOB, "p").unwrap_err();
        assert_eq!((error.kind(), error.delivery(), error.attempts()), (ErrorKind::Tls, Some(Delivery::NotSent), 1));
        assert!(error.message().contains(reason) && error.message().contains(hint), "{error}");
        assert!(is_plain(error.message()), "{error}");
    }
    let emulator = Emulator::start_tls(Config::default()).unwrap();
    let error = client(&emulator).send_message(JOB, "p").unwrap_err();
    assert!(error.message().contains("it is signed by an unknown authority"), "{error}");
    assert!(error.message().contains("its certificate has to be in ca_file"), "{error}");
    assert!(is_plain(error.message()), "{error}");
}

#[test]
fn a_service_without_tls_has_its_own_error() {
    let emulator = emulator("{}");
    let url = emulator.base_url().replace("http://", "https://");
    let client = builder(&emulator).base_url(url).build().unwrap();
    let error = client.send_message(JOB, "p").unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Tls, Some(Delivery::NotSent)), "{error}");
    assert!(error.message().contains("does not speak TLS"), "{error}");
    assert!(error.message().contains("Check the scheme and the port of base_url"), "{error}");
    assert!(emulator.ledger().is_empty());
}

#[test]
fn a_service_that_refuses_the_handshake_says_why_in_plain_words() {
    // An alert each (RFC 8446 6.2): fatal, and its number.
    for (alert, reason) in [
        (70, "it supports neither TLS 1.2 nor TLS 1.3"),
        (40, "it shares no cipher with agentjob"),
        (112, "it does not know the host in base_url"),
        (116, "it requires a client certificate"),
        (200, "the service refused TLS (alert 200)"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let service = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            drop(stream.read(&mut [0; 4096]));
            stream.write_all(&[0x15, 3, 3, 0, 2, 2, alert]).unwrap();
        });
        let client = Client::builder().base_url(&url).api_key("k").project_id("p").trust_env(false);
        let error = client.max_retries(0).build().unwrap().send_message(JOB, "p").unwrap_err();
        service.join().unwrap();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Tls, Some(Delivery::NotSent)), "{error}");
        assert!(error.message().contains(reason) && is_plain(error.message()), "{error}");
    }
}
