//! The certificate with which a client proves who it is to the service (mutual TLS), and its private key.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use zeroize::{Zeroize, Zeroizing};

use crate::call::control::Control;
use crate::config::environment::Environment;
use crate::config::setting_file::{MAX_WAIT, SettingFile};
use crate::error::Error;
use crate::text::quoted;

/// The longest file with a chain or a key, in bytes: many times what authorities issue.
const MAX_FILE_BYTES: usize = 1 << 20;

/// A setting's name, for errors, and the file that it names.
type Named<'a> = (&'a str, &'a Path);

/// How files are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    /// Whether other users may have access to the key.
    pub(crate) may_be_shared: bool,
    pub(crate) control: Option<&'a dyn Control>,
}

/// Reads the client's certificate, if there is one: from the arguments if either is given, else from the variables, so that a
/// certificate of one is never paired with a key of the other.
pub(crate) fn read(
    cert: Option<&Path>,
    key: Option<&Path>,
    environment: &Environment,
    reading: Reading<'_>,
) -> Result<Option<Arc<CertifiedKey>>, Error> {
    if cert.is_some() || key.is_some() {
        return pair(cert.map(|path| ("client_cert", path)), key.map(|path| ("client_key", path)), reading);
    }
    let (cert, key) = (environment.get("AGENTJOB_CLIENT_CERT")?, environment.get("AGENTJOB_CLIENT_KEY")?);
    let named = |name, path| (name, Path::new(path));
    pair(
        cert.as_deref().map(|path| named("AGENTJOB_CLIENT_CERT", path)),
        key.as_deref().map(|path| named("AGENTJOB_CLIENT_KEY", path)),
        reading,
    )
}

fn pair(
    cert: Option<Named<'_>>,
    key: Option<Named<'_>>,
    reading: Reading<'_>,
) -> Result<Option<Arc<CertifiedKey>>, Error> {
    let cert = match (cert, key) {
        (Some(cert), _) => cert,
        (None, None) => return Ok(None),
        (None, Some((name, _))) => {
            let other = name.replace("key", "cert").replace("KEY", "CERT");
            return Err(Error::invalid(format!("{name} is given without {other}"))
                .with_hint(format!("Give the file with the certificate as {other}.")));
        }
    };
    let file = contents(cert, reading)?;
    let chain = certificates(cert, &file.pem)?;
    let (of, found) = match key {
        Some(key) => {
            let file = contents(key, reading)?;
            file.is_private?;
            (key, private_key(key, &file.pem)?)
        }
        None => {
            let found = private_key(cert, &file.pem)?;
            if found.is_some() {
                file.is_private?;
            }
            (cert, found)
        }
    };
    let Some(mut found) = found else {
        let hint = match key {
            Some(_) => "Give a PEM file with the key of the certificate.",
            None => "Give the file with the key as client_key (AGENTJOB_CLIENT_KEY), or append the key to this file.",
        };
        return Err(wrong(of, "contains no private key", hint));
    };
    let usable = rustls::crypto::ring::sign::any_supported_type(&found);
    found.zeroize();
    let usable = usable.map_err(|_| {
        let hint = "Give a key for RSA (2048 to 4096 bits), ECDSA (P-256 or P-384) or Ed25519.";
        wrong(of, "contains a private key that cannot be used", hint)
    })?;
    let certified = CertifiedKey::new(chain, usable);
    match certified.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
            Ok(Some(Arc::new(certified)))
        }
        Err(rustls::Error::InconsistentKeys(_)) => {
            let reason = format!(
                "the private key in {} {} is not that of the certificate in {} {}",
                of.0,
                quoted(of.1),
                cert.0,
                quoted(cert.1)
            );
            let hint =
                "The file must begin with the certificate that the key belongs to; those of its authorities follow.";
            Err(Error::invalid(reason).with_hint(hint))
        }
        Err(_) => Err(wrong(
            cert,
            "begins with a certificate that cannot be read",
            "Give a PEM file with an X.509 certificate.",
        )),
    }
}

/// What is in a file.
struct Contents {
    pem: Zeroizing<Vec<u8>>,
    /// Whether it may contain a private key: the rule about other users.
    is_private: Result<(), Error>,
}

fn contents((name, path): Named<'_>, reading: Reading<'_>) -> Result<Contents, Error> {
    let file = SettingFile::open(name, path)?;
    let is_private = if reading.may_be_shared { Ok(()) } else { file.refuse_shared() };
    Ok(Contents { pem: file.read(MAX_FILE_BYTES, MAX_WAIT, reading.control)?, is_private })
}

fn certificates(of: Named<'_>, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let hint = "Give a PEM file with the client's certificate, followed by those of its authorities.";
    match CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>() {
        Ok(chain) if chain.is_empty() => Err(wrong(of, "contains no certificate", hint)),
        Ok(chain) => Ok(chain),
        Err(_) => Err(wrong(of, "is not a PEM file", hint)),
    }
}

fn private_key(of: Named<'_>, pem: &[u8]) -> Result<Option<PrivateKeyDer<'static>>, Error> {
    // PKCS #8, and the older form of OpenSSL.
    if ["-----BEGIN ENCRYPTED PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED"].iter().any(|mark| contains(pem, mark)) {
        let hint = "Decrypt it with openssl pkey, and keep the result readable for yourself only.";
        return Err(wrong(of, "contains a private key that is encrypted with a passphrase", hint));
    }
    match PrivateKeyDer::pem_slice_iter(pem).next() {
        None => Ok(None),
        Some(Ok(key)) => Ok(Some(key)),
        Some(Err(_)) => Err(wrong(of, "is not a PEM file", "Give a PEM file with the key of the certificate.")),
    }
}

fn contains(pem: &[u8], text: &str) -> bool {
    memchr::memmem::find(pem, text.as_bytes()).is_some()
}

fn wrong((name, path): Named<'_>, what: &str, hint: &'static str) -> Error {
    Error::invalid(format!("{name} {} {what}", quoted(path))).with_hint(hint)
}
