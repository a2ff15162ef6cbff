//! The certificates: an authority made at every start, and the one certificate that it signed.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::wire::Tls;

/// How often a free port is sought that is free on both loopback addresses.
const PORT_TRIES: usize = 20;

/// What the service's certificate says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// The names and addresses that it is for. Default: `localhost`, `127.0.0.1`, `::1`.
    pub names: Vec<String>,
    /// Whether it has expired. Default: no.
    pub expired: bool,
    /// Whether clients must show a certificate of the emulator's authority, such as [`Emulator::client_pem`](crate::Emulator::client_pem).
    /// Default: no.
    pub requires_client_certificate: bool,
}

/// What a start makes: the server's side of TLS, the authority to trust, and a certificate for clients with its key, as PEM.
pub(crate) struct Identity {
    pub(crate) tls: Tls,
    pub(crate) ca_pem: String,
    pub(crate) client_pem: String,
}

impl Default for TlsOptions {
    fn default() -> Self {
        let names = ["localhost", "127.0.0.1", "::1"].map(String::from).into();
        Self { names, expired: false, requires_client_certificate: false }
    }
}

pub(crate) fn identity(options: &TlsOptions) -> io::Result<Identity> {
    let (authority, root) = authority().map_err(invalid)?;
    let key = KeyPair::generate().map_err(invalid)?;
    let certificate = leaf(options).and_then(|leaf| leaf.signed_by(&key, &authority)).map_err(invalid)?;
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let builder = if options.requires_client_certificate {
        let mut roots = RootCertStore::empty();
        roots.add(root.der().clone()).map_err(io::Error::other)?;
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        builder.with_client_cert_verifier(clients.map_err(io::Error::other)?)
    } else {
        builder.with_no_client_auth()
    };
    let mut config = builder.with_single_cert(vec![certificate.der().clone()], private).map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let client_pem = client(&authority).map_err(invalid)?;
    Ok(Identity { tls: Arc::new(config), ca_pem: root.pem(), client_pem })
}

/// A certificate for clients, followed by its key.
fn client(authority: &Issuer<'static, KeyPair>) -> Result<String, rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "agentjob emulator client");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params.signed_by(&key, authority)?.pem() + &key.serialize_pem())
}

fn authority() -> Result<(Issuer<'static, KeyPair>, Certificate), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "agentjob emulator authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let root = params.self_signed(&key)?;
    Ok((Issuer::new(params, key), root))
}

fn leaf(options: &TlsOptions) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(options.names.clone())?;
    params.distinguished_name.push(DnType::CommonName, "agentjob emulator");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    if options.expired {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 2, 1);
    }
    Ok(params)
}

/// Listens on 127.0.0.1 and on the same port of ::1, since `localhost` may mean either. Where there is no IPv6, or where the
/// asked port is taken on ::1, 127.0.0.1 alone has to do.
pub(crate) fn bind_localhost(port: u16) -> io::Result<Vec<TcpListener>> {
    for _ in 0..PORT_TRIES {
        let v4 = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        match TcpListener::bind((Ipv6Addr::LOCALHOST, v4.local_addr()?.port())) {
            Ok(v6) => return Ok(vec![v4, v6]),
            // Another program listens on this port of ::1: try another port, if any will do.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port == 0 => {}
            Err(_) => return Ok(vec![v4]),
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, "no port is free on both 127.0.0.1 and ::1"))
}

fn invalid(error: rcgen::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("the certificate cannot be made: {error}"))
}
