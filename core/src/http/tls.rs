//! TLS by rustls with ring: one configuration for all connections of a client, so that sessions resume.

use std::cell::Cell;
use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use rustls::client::ResolvesClientCert;
use rustls::crypto::{CryptoProvider, KeyProvider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{ClientConfig, ClientConnection, ProtocolVersion, SignatureScheme};

use crate::http::call_in_flight::CallInFlight;
use crate::http::cause::Cause;
use crate::http::socket::{Socket, Wrote};
use crate::http::{roots, tls_failure};

/// The configuration that every connection of a client shares. `extra_roots` are trusted in addition to the platform's; `certificate` is
/// the client's own.
pub(crate) fn configure(
    extra_roots: &[CertificateDer<'static>],
    certificate: Option<&Arc<CertifiedKey>>,
) -> Result<Arc<ClientConfig>, Cause> {
    let roots = roots::load(extra_roots)?;
    let builder = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_failure::failure(&error, certificate.is_some()))?
        .with_root_certificates(roots);
    let mut config = builder.with_client_cert_resolver(Arc::new(Certificate(certificate.cloned())));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // An attacker may replay 0-RTT data, which would be a second message. It is off by default; keep it off.
    config.enable_early_data = false;
    Ok(Arc::new(config))
}

/// ring, but it loads no key: config/client_certificate.rs does, and says what is wrong with one.
fn provider() -> CryptoProvider {
    CryptoProvider { key_provider: &NoKeys, ..rustls::crypto::ring::default_provider() }
}

/// Accepts no private key.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        Err(rustls::Error::General("agentjob loads client keys itself".to_owned()))
    }
}

thread_local! {
    /// In what rustls now reads on this thread, the service asked for the client's certificate.
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// The client's certificate, if it has one.
#[derive(Debug)]
struct Certificate(Option<Arc<CertifiedKey>>);

impl ResolvesClientCert for Certificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        ASKED.set(true);
        self.0.clone()
    }

    fn has_certs(&self) -> bool {
        self.0.is_some()
    }
}

/// A connection whose handshake is complete on the client's side.
pub(crate) struct Secured {
    pub(crate) tls: ClientConnection,
    /// The service may still refuse the client: it asked for a certificate, and with TLS 1.3 the client may write before it is checked.
    pub(crate) may_refuse: bool,
}

/// Completes the TLS handshake. Nothing of the request is sent before.
pub(crate) fn handshake(
    call: &CallInFlight,
    config: Arc<ClientConfig>,
    host: &str,
    socket: &Socket,
) -> Result<Secured, Cause> {
    let failed = |why: String| Cause::Tls { why, hint: None };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| failed(format!("{host} is not a valid name for TLS")))?;
    let certified = config.client_auth_cert_resolver.has_certs();
    let failure = |error: &rustls::Error| tls_failure::failure(error, certified);
    let mut tls = ClientConnection::new(config, name).map_err(|error| failure(&error))?;
    let (mut writable, mut asked) = (true, false);
    while tls.is_handshaking() || (writable && tls.wants_write()) {
        if writable && tls.wants_write() {
            match write_records(call, &mut tls, socket)? {
                Wrote::Some(_) => continue,
                // The reason, perhaps an alert, can still be read.
                Wrote::Broken => writable = false,
                Wrote::ResponseWaiting => {}
            }
        }
        if tls.is_handshaking() {
            if read_records(call, &mut tls, socket)? == 0 {
                return Err(failed("the service closed the connection in the handshake".to_owned()));
            }
            // While this one waited, a control may have made a handshake of its own.
            ASKED.set(false);
            let read = tls.process_new_packets();
            asked |= ASKED.get();
            if let Err(error) = read {
                // Sends the alert that tells the service why; it does not matter whether it arrives.
                drop(write_records(call, &mut tls, socket));
                return Err(failure(&error));
            }
        }
    }
    let may_refuse = asked && tls.protocol_version() == Some(ProtocolVersion::TLSv1_3);
    Ok(Secured { tls, may_refuse })
}

/// Passes encrypted bytes to the kernel, as many as it takes at once.
pub(crate) fn write_records(call: &CallInFlight, tls: &mut ClientConnection, socket: &Socket) -> Result<Wrote, Cause> {
    let mut stream = SocketIo { call, socket, ended: None };
    match tls.write_tls(&mut stream) {
        Ok(n) => Ok(Wrote::Some(n)),
        Err(error) => match stream.ended.take() {
            Some(Ended::Cause(cause)) => Err(cause),
            Some(Ended::Wrote(wrote)) => Ok(wrote),
            None => Err(Cause::Lost(error.to_string())),
        },
    }
}

/// Reads encrypted bytes; 0 means that the peer closed.
pub(crate) fn read_records(call: &CallInFlight, tls: &mut ClientConnection, socket: &Socket) -> Result<usize, Cause> {
    let mut stream = SocketIo { call, socket, ended: None };
    match tls.read_tls(&mut stream) {
        Ok(n) => Ok(n),
        Err(error) => match stream.ended.take() {
            Some(Ended::Cause(cause)) => Err(cause),
            _ => Err(Cause::Lost(error.to_string())),
        },
    }
}

/// What was found when reading without waiting.
pub(crate) enum Waiting {
    /// Nothing has arrived.
    Nothing,
    /// Records arrived, and the peer may send more.
    Records,
    /// The peer closed, or sent something invalid.
    End,
}

/// Reads encrypted bytes that have arrived, without waiting for more.
pub(crate) fn read_waiting_records(tls: &mut ClientConnection, socket: &Socket) -> Waiting {
    let mut records = [0; 4096];
    let Some(n) = socket.read_at_once(&mut records) else { return Waiting::Nothing };
    let mut rest = &records[..n];
    while !rest.is_empty() {
        let state = tls.read_tls(&mut rest).ok().and_then(|_| tls.process_new_packets().ok());
        // Behind a close_notify rustls reads nothing any more.
        if state.is_none_or(|state| state.peer_has_closed()) {
            return Waiting::End;
        }
    }
    if n > 0 { Waiting::Records } else { Waiting::End }
}

/// Whether there is no deciphered data to read, and no close_notify.
pub(crate) fn is_drained(tls: &mut ClientConnection) -> bool {
    tls.reader().fill_buf().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// The socket as `Read` and `Write`, as rustls wants it. `ended` keeps what an `io::Error` cannot carry.
struct SocketIo<'a> {
    call: &'a CallInFlight,
    socket: &'a Socket,
    ended: Option<Ended>,
}

enum Ended {
    Cause(Cause),
    Wrote(Wrote),
}

impl Read for SocketIo<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.read(self.call, buf).map_err(|cause| {
            self.ended = Some(Ended::Cause(cause));
            io::Error::other("agentjob")
        })
    }
}

impl Write for SocketIo<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let ended = match self.socket.write(self.call, buf) {
            Ok(Wrote::Some(n)) => return Ok(n),
            Ok(wrote) => Ended::Wrote(wrote),
            Err(cause) => Ended::Cause(cause),
        };
        self.ended = Some(ended);
        Err(io::Error::other("agentjob"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::crypto::ring;

    #[test]
    fn the_provider_is_that_of_ring_but_accepts_no_private_key() {
        let (ours, rings) = (provider(), ring::default_provider());
        assert_eq!(ours.cipher_suites, rings.cipher_suites);
        assert_eq!(names(&ours), names(&rings));
        let (checks, of_ring) = (ours.signature_verification_algorithms, rings.signature_verification_algorithms);
        assert_eq!(checks.supported_schemes(), of_ring.supported_schemes());
        assert_eq!(checks.all.len(), of_ring.all.len());
        let key = PrivateKeyDer::Pkcs8(Vec::new().into());
        let refused = ours.key_provider.load_private_key(key).expect_err("it signs nothing");
        assert!(refused.to_string().contains("loads client keys itself"), "{refused}");
    }

    fn names(provider: &CryptoProvider) -> Vec<rustls::NamedGroup> {
        provider.kx_groups.iter().map(|group| group.name()).collect()
    }
}
