//! A connection, plain or TLS, and the service at its other end, which a test plays.

use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use super::*;

/// More than a read of the service needs, even on a starved machine.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// What the sockets take while their peer does not read, in bytes; the kernel takes some more.
pub(super) const SOCKET_BUFFER: usize = 64 << 10;

/// The other end of a connection.
pub(super) struct Service {
    pub(super) stream: TcpStream,
    pub(super) tls: Option<ServerConnection>,
    /// The client's end, to see what it has not read yet.
    pub(super) client: TcpStream,
}

impl Service {
    pub(super) fn write(&mut self, text: &str) {
        match &mut self.tls {
            Some(tls) => {
                tls.writer().write_all(text.as_bytes()).unwrap();
                while tls.wants_write() {
                    tls.write_tls(&mut self.stream).unwrap();
                }
            }
            None => self.stream.write_all(text.as_bytes()).unwrap(),
        }
    }

    /// Reads until the client's connection ends, and returns how many bytes that were.
    pub(super) fn read_all(&mut self) -> usize {
        let mut read = Vec::new();
        match &mut self.tls {
            // The client sends no close_notify.
            Some(tls) => drop(rustls::Stream::new(tls, &mut self.stream).read_to_end(&mut read).unwrap_err()),
            None => drop(self.stream.read_to_end(&mut read).unwrap()),
        }
        read.len()
    }
}

/// How many bytes an end has not read yet.
pub(super) fn unread(end: &TcpStream) -> u64 {
    rustix::io::ioctl_fionread(end).unwrap()
}

/// Two ends whose sockets take little while the other one does not read.
pub(super) fn small_pair() -> (TcpStream, TcpStream) {
    let (client, service) = pair();
    set_socket_send_buffer_size(&client, SOCKET_BUFFER).unwrap();
    set_socket_recv_buffer_size(&service, SOCKET_BUFFER).unwrap();
    service.set_read_timeout(Some(LIMIT)).unwrap();
    (client, service)
}

pub(super) fn plain() -> (Connection, Service) {
    let (client, stream) = small_pair();
    let service = Service { stream, tls: None, client: client.try_clone().unwrap() };
    (Connection::new(Socket::new(client).unwrap(), None, false, false), service)
}

pub(super) fn with_tls() -> (Connection, Service) {
    with_tls_as(false, |_| {})
}

/// `asks`: the service asks for the client's certificate, but needs none.
pub(super) fn with_tls_as(asks: bool, configure: impl FnOnce(&mut ServerConfig)) -> (Connection, Service) {
    with_tls_in(&call(), asks, configure, || {})
}

/// The service takes part in the handshake once `ready` returns.
pub(super) fn with_tls_in(
    call: &CallInFlight,
    asks: bool,
    configure: impl FnOnce(&mut ServerConfig),
    ready: impl FnOnce() + Send,
) -> (Connection, Service) {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    let roots = [signed.cert.der().clone()];
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut authorities = RootCertStore::empty();
    authorities.add(roots[0].clone()).unwrap();
    let clients = match asks {
        true => WebPkiClientVerifier::builder_with_provider(authorities.into(), provider.clone())
            .allow_unauthenticated()
            .build()
            .unwrap(),
        false => WebPkiClientVerifier::no_client_auth(),
    };
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let mut config = config.with_client_cert_verifier(clients).with_single_cert(roots.to_vec(), key).unwrap();
    configure(&mut config);
    let mut tls = ServerConnection::new(Arc::new(config)).unwrap();
    let (client, mut stream) = small_pair();
    let socket = Socket::new(client.try_clone().unwrap()).unwrap();
    let config = tls::configure(&roots, None).unwrap();
    std::thread::scope(|scope| {
        let accepted = scope.spawn(move || {
            ready();
            while tls.is_handshaking() {
                tls.complete_io(&mut stream).unwrap();
            }
            Service { stream, tls: Some(tls), client }
        });
        let tls = tls::handshake(call, config, "localhost", &socket).unwrap();
        (Connection::new(socket, Some(tls), false, false), accepted.join().unwrap())
    })
}
