//! The same service over TLS, and certificates that no client should accept.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use agentjob_emulator::{Config, Emulator, TlsOptions};
use common::{limited, once_within};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned};

type Stream = StreamOwned<ClientConnection, TcpStream>;

fn trusting(emulator: &Emulator) -> Arc<ClientConfig> {
    limited();
    let pem = emulator.ca_pem().expect("the authority");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

fn connect(emulator: &Emulator, config: &Arc<ClientConfig>, name: &'static str) -> Stream {
    let tcp = TcpStream::connect(emulator.address()).unwrap();
    tcp.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let name = ServerName::try_from(name).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), tcp)
}

fn get(stream: &mut Stream) -> std::io::Result<String> {
    stream.write_all(
        b"GET /v2/agent/demo/job/job_demo HTTP/1.1\r\nAuthorization: Bearer emulator_0123456789abcdef\r\n\r\n",
    )?;
    let mut text = String::new();
    let mut piece = [0; 4096];
    while !text.ends_with('}') {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            break;
        }
        text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
    }
    Ok(text)
}

fn config(json: &str) -> Config {
    Config::from_json(json).unwrap()
}

#[test]
fn every_loopback_name_is_certified_and_sessions_resume() {
    let emulator = Emulator::start_tls(Config::default()).unwrap();
    let port = emulator.address().port();
    assert_eq!(emulator.base_url(), format!("https://localhost:{port}"));
    TcpStream::connect(("localhost", port)).expect("localhost reaches it");
    let trust = trusting(&emulator);
    for name in ["localhost", "127.0.0.1", "::1"] {
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut stream = connect(&emulator, &trust, name);
            assert!(get(&mut stream).unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
            assert!(get(&mut stream).unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
            assert_eq!(stream.conn.handshake_kind(), Some(kind), "{name}");
            assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
        }
    }
}

#[test]
fn a_certificate_can_be_wrong() {
    let wrong_name = TlsOptions { names: vec!["elsewhere.example".into()], ..TlsOptions::default() };
    let expired = TlsOptions { expired: true, ..TlsOptions::default() };
    for (options, reason) in [(wrong_name, "not valid for name"), (expired, "expired")] {
        let emulator = Emulator::start_tls_with(Config::default(), &options).unwrap();
        let error = get(&mut connect(&emulator, &trusting(&emulator), "localhost")).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let one = Emulator::start_tls(Config::default()).unwrap();
    let other = Emulator::start_tls(Config::default()).unwrap();
    let error = get(&mut connect(&one, &trusting(&other), "localhost")).unwrap_err();
    assert!(error.to_string().contains("invalid peer certificate"), "{error}");
}

#[test]
fn a_close_notify_leaves_the_connection_open_and_a_cut_comes_without_one() {
    let notified = r#"{"rules": [{"after_response": "close_notify"}]}"#;
    let cut = r#"{"rules": [{"after_response": "close"}]}"#;
    for (json, orderly) in [(notified, true), (cut, false)] {
        let emulator = Emulator::start_tls(config(json)).unwrap();
        let mut stream = connect(&emulator, &trusting(&emulator), "localhost");
        assert!(get(&mut stream).unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
        let end = stream.read(&mut [0; 16]);
        if orderly {
            assert_eq!(end.unwrap(), 0);
            stream.sock.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let error = stream.sock.read(&mut [0; 16]).unwrap_err();
            let open = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
            assert!(open.contains(&error.kind()), "{error}");
        } else {
            assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
        }
    }
}

#[test]
fn faults_strike_within_tls_too() {
    for (at, processed) in [("accept", 0), ("head:4", 0), ("body:0", 0), ("request", 0), ("response:20", 1)] {
        let rules = format!(r#"{{"rules": [{{"fault": {{"do": "reset", "at": "{at}"}}}}]}}"#);
        let emulator = Emulator::start_tls(config(&rules)).unwrap();
        let mut stream = connect(&emulator, &trusting(&emulator), "localhost");
        let body = r#"{"prompt":"x"}"#;
        let sent = write!(
            stream,
            "POST /v2/agent/demo/job/job_demo/message HTTP/1.1\r\nAuthorization: Bearer emulator_0123456789abcdef\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut response = Vec::new();
        let end = sent.and_then(|()| stream.read_to_end(&mut response).map(drop));
        // The reset may be there before the write is.
        let kind = end.unwrap_err().kind();
        assert!(matches!(kind, std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe), "{at}: {kind}");
        assert_eq!(response.len(), if processed == 1 { 20 } else { 0 }, "{at}");
        assert_eq!(emulator.ledger().len(), processed, "{at}");
    }
}

#[test]
fn stop_ends_a_connection_without_a_handshake() {
    limited();
    let stopping = || {
        let emulator = Emulator::start_tls(Config::default()).unwrap();
        let mut silent = TcpStream::connect(emulator.address()).unwrap();
        let start = std::time::Instant::now();
        emulator.stop();
        let took = start.elapsed();
        assert_eq!(silent.read(&mut [0; 16]).unwrap_or(0), 0);
        took
    };
    assert!(once_within(Duration::from_millis(200), stopping));
}
