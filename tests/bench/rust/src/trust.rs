//! Whom the Rust peers trust, as a program that talks to a real service does: the platform's roots, and one authority more.

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The platform's authorities and those of `ca_file`.
pub fn authorities(ca_file: &str) -> Vec<CertificateDer<'static>> {
    let mut all = rustls_native_certs::load_native_certs().certs;
    all.extend(CertificateDer::pem_file_iter(ca_file).expect("a PEM file").map(|one| one.expect("a certificate")));
    all
}
