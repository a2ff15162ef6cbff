//! The certificates: an authority made at every start, and the one certificate that it signed.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

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
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self { names: ["localhost", "127.0.0.1", "::1"].map(String::from).into(), expired: false }
    }
}

/// The server's side of TLS, and the authority to trust as PEM.
pub(crate) fn identity(options: &TlsOptions) -> io::Result<(Tls, String)> {
    let (authority, ca_pem) = authority().map_err(invalid)?;
    let key = KeyPair::generate().map_err(invalid)?;
    let certificate = leaf(options).and_then(|leaf| leaf.signed_by(&key, &authority)).map_err(invalid)?;
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), ca_pem))
}

fn authority() -> Result<(Issuer<'static, KeyPair>, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "agentjob emulator authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let pem = params.self_signed(&key)?.pem();
    Ok((Issuer::new(params, key), pem))
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
