//! TLS by rustls with ring: one configuration for all connections of a client, so that sessions resume.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, KeyProvider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::SigningKey;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::call::Call;
use super::cause::Cause;
use super::socket::{Socket, Wrote};

/// Reads the platform's roots (`SSL_CERT_FILE` and `SSL_CERT_DIR` count there) and adds the client's own. Where there is
/// no store, as in slim containers, the roots that Mozilla ships stand in.
pub(super) fn configure(extra_roots: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, Cause> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(platform_roots());
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for root in extra_roots {
        roots.add(root.clone()).map_err(|error| Cause::Tls(format!("a certificate of ca_file: {error}")))?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Cause::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // 0-RTT data may be replayed by anyone in between, which would be a second message. It is off by default; it stays off.
    config.enable_early_data = false;
    Ok(Arc::new(config))
}

/// In a program with more rights than whoever started it the variables do not count; then the usual places are looked through.
fn platform_roots() -> Vec<CertificateDer<'static>> {
    let given = ["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().any(|name| std::env::var_os(name).is_some());
    if !given || !crate::privilege::is_raised() {
        return rustls_native_certs::load_native_certs().certs;
    }
    let folders = openssl_probe::candidate_cert_dirs();
    folders.flat_map(|folder| rustls_native_certs::load_certs_from_paths(None, Some(folder)).certs).collect()
}

/// ring, without its half that signs: no client certificate is ever shown, and the linker can leave out what would sign for one.
fn provider() -> CryptoProvider {
    CryptoProvider { key_provider: &NoKeys, ..rustls::crypto::ring::default_provider() }
}

/// Takes no private key.
#[derive(Debug)]
struct NoKeys;

impl KeyProvider for NoKeys {
    fn load_private_key(&self, _: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, rustls::Error> {
        Err(rustls::Error::General("agentjob shows no client certificate".to_owned()))
    }
}

/// Shakes hands. Nothing of the request has left before this is done.
pub(super) fn handshake(
    call: &Call,
    config: Arc<ClientConfig>,
    host: &str,
    socket: &Socket,
) -> Result<ClientConnection, Cause> {
    let failed = |error: rustls::Error| Cause::Tls(plain(&error));
    let name = ServerName::try_from(host.to_owned()).map_err(|_| Cause::Tls(format!("{host} is no name for TLS")))?;
    let mut tls = ClientConnection::new(config, name).map_err(failed)?;
    let mut taken = true;
    while tls.is_handshaking() || (taken && tls.wants_write()) {
        if taken && tls.wants_write() {
            match write_records(call, &mut tls, socket)? {
                Wrote::Some(_) => continue,
                // What the service says for itself, an alert perhaps, is still there to be read.
                Wrote::Broken => taken = false,
                Wrote::Answering => {}
            }
        }
        if tls.is_handshaking() {
            if read_records(call, &mut tls, socket)? == 0 {
                return Err(Cause::Tls("the service closed the connection in the handshake".to_owned()));
            }
            if let Err(error) = tls.process_new_packets() {
                // The alert tells the service why; whether it arrives does not matter.
                drop(write_records(call, &mut tls, socket));
                return Err(failed(error));
            }
        }
    }
    Ok(tls)
}

/// Hands encrypted bytes to the kernel, as many as it takes at once.
pub(super) fn write_records(call: &Call, tls: &mut ClientConnection, socket: &Socket) -> Result<Wrote, Cause> {
    let mut port = Port { call, socket, ended: None };
    match tls.write_tls(&mut port) {
        Ok(n) => Ok(Wrote::Some(n)),
        Err(error) => match port.ended.take() {
            Some(Ended::Cause(cause)) => Err(cause),
            Some(Ended::Wrote(wrote)) => Ok(wrote),
            None => Err(Cause::Lost(error.to_string())),
        },
    }
}

/// Takes in encrypted bytes; 0 is the peer's end.
pub(super) fn read_records(call: &Call, tls: &mut ClientConnection, socket: &Socket) -> Result<usize, Cause> {
    let mut port = Port { call, socket, ended: None };
    match tls.read_tls(&mut port) {
        Ok(n) => Ok(n),
        Err(error) => match port.ended.take() {
            Some(Ended::Cause(cause)) => Err(cause),
            _ => Err(Cause::Lost(error.to_string())),
        },
    }
}

/// A certificate's fault in words that name it.
pub(super) fn plain(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => "what answers there does not speak TLS".to_owned(),
        rustls::Error::InvalidCertificate(fault) => format!("the certificate is refused: {fault}"),
        other => other.to_string(),
    }
}

/// The socket as rustls wants it. What std's errors cannot carry is left in `ended`.
struct Port<'a> {
    call: &'a Call,
    socket: &'a Socket,
    ended: Option<Ended>,
}

enum Ended {
    Cause(Cause),
    Wrote(Wrote),
}

impl Read for Port<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.socket.read(self.call, buf).map_err(|cause| {
            self.ended = Some(Ended::Cause(cause));
            io::Error::other("agentjob")
        })
    }
}

impl Write for Port<'_> {
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
    fn the_provider_is_rings_and_takes_no_private_key() {
        let (ours, rings) = (provider(), ring::default_provider());
        assert_eq!(ours.cipher_suites, rings.cipher_suites);
        assert_eq!(names(&ours), names(&rings));
        let (checks, of_ring) = (ours.signature_verification_algorithms, rings.signature_verification_algorithms);
        assert_eq!(checks.supported_schemes(), of_ring.supported_schemes());
        assert_eq!(checks.all.len(), of_ring.all.len());
        let key = PrivateKeyDer::Pkcs8(Vec::new().into());
        let refused = ours.key_provider.load_private_key(key).expect_err("it signs nothing");
        assert!(refused.to_string().contains("no client certificate"), "{refused}");
    }

    fn names(provider: &CryptoProvider) -> Vec<rustls::NamedGroup> {
        provider.kx_groups.iter().map(|group| group.name()).collect()
    }
}
