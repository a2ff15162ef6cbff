//! TLS by rustls with ring: one configuration for all connections of a client, so that sessions resume.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, KeyProvider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::SigningKey;
use rustls::{ClientConfig, ClientConnection};

use crate::http::failure::Cause;
use crate::http::interrupt::Call;
use crate::http::socket::{Socket, Wrote};
use crate::http::{roots, tls_failure};

/// What every connection of a client shares, with these roots besides the platform's.
pub(crate) fn configure(extra_roots: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, Cause> {
    let roots = roots::load(extra_roots)?;
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_failure::failure(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // 0-RTT data may be replayed by anyone in between, which would be a second message. It is off by default; it stays off.
    config.enable_early_data = false;
    Ok(Arc::new(config))
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
        Err(rustls::Error::General("agentjob sends no client certificate".to_owned()))
    }
}

/// Shakes hands. Nothing of the request has left before this is done.
pub(crate) fn handshake(
    call: &Call,
    config: Arc<ClientConfig>,
    host: &str,
    socket: &Socket,
) -> Result<ClientConnection, Cause> {
    let ended = |why: String| Cause::Tls { why, hint: None };
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| ended(format!("{host} is not a valid name for TLS")))?;
    let mut tls = ClientConnection::new(config, name).map_err(|error| tls_failure::failure(&error))?;
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
                return Err(ended("the service closed the connection in the handshake".to_owned()));
            }
            if let Err(error) = tls.process_new_packets() {
                // The alert tells the service why; whether it arrives does not matter.
                drop(write_records(call, &mut tls, socket));
                return Err(tls_failure::failure(&error));
            }
        }
    }
    Ok(tls)
}

/// Hands encrypted bytes to the kernel, as many as it takes at once.
pub(crate) fn write_records(call: &Call, tls: &mut ClientConnection, socket: &Socket) -> Result<Wrote, Cause> {
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
pub(crate) fn read_records(call: &Call, tls: &mut ClientConnection, socket: &Socket) -> Result<usize, Cause> {
    let mut port = Port { call, socket, ended: None };
    match tls.read_tls(&mut port) {
        Ok(n) => Ok(n),
        Err(error) => match port.ended.take() {
            Some(Ended::Cause(cause)) => Err(cause),
            _ => Err(Cause::Lost(error.to_string())),
        },
    }
}

/// Takes in encrypted bytes that wait, without waiting for more. Whether the peer goes on speaking; none if nothing waits.
pub(crate) fn take_records(tls: &mut ClientConnection, socket: &Socket) -> Option<bool> {
    let mut records = [0; 4096];
    let n = socket.read_at_once(&mut records)?;
    let mut rest = &records[..n];
    let mut goes_on = !rest.is_empty();
    while !rest.is_empty() {
        match tls.read_tls(&mut rest).ok().and_then(|_| tls.process_new_packets().ok()) {
            Some(state) => goes_on &= !state.peer_has_closed(),
            None => return Some(false),
        }
    }
    Some(goes_on)
}

/// Whether nothing that was deciphered waits to be read, nor the peer's goodbye.
pub(crate) fn is_drained(tls: &mut ClientConnection) -> bool {
    tls.reader().fill_buf().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
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
