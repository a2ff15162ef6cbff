//! The trusted certificate authorities: the platform's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name instead, and the
//! client's own `ca_file`.

use std::env;
use std::ffi::OsString;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls_native_certs::{load_certs_from_paths, load_native_certs};

use crate::http::cause::Cause;
use crate::os::descriptor::above_standard;
use crate::os::privilege;
use crate::text::describe;

/// OpenSSL's variables that replace the platform's store.
const VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Reads them all. Where the platform has no store, as in slim containers, Mozilla's roots are used; but not if one of the variables
/// is set, because then a variable with a wrong path would go unnoticed.
///
/// # Errors
/// `Tls`: the variables lead to no certificate and there is no `ca_file`, or a certificate cannot be used.
pub(crate) fn load(extra: &[CertificateDer<'static>]) -> Result<RootCertStore, Cause> {
    let mut roots = RootCertStore::empty();
    let set: Vec<_> = VARIABLES.into_iter().filter_map(|name| Some((name, env::var_os(name)?))).collect();
    // A program with more rights than the user who started it ignores the variables.
    let set = if set.is_empty() || privilege::is_raised() {
        above_standard(|| read_store(&mut roots, !set.is_empty()));
        Vec::new()
    } else {
        roots.add_parsable_certificates(above_standard(load_native_certs).certs);
        set
    };
    if roots.is_empty() {
        if set.is_empty() {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        } else if extra.is_empty() {
            return Err(none_found(&set));
        }
    }
    for root in extra {
        let refused = |_| Cause::Tls {
            why: "a certificate in ca_file cannot be used as an authority's".to_owned(),
            hint: Some("Give the certificates of authorities as ca_file."),
        };
        roots.add(root.clone()).map_err(refused)?;
    }
    Ok(roots)
}

/// The platform's store, regardless of the variables: its bundle, one file, or where there is none with certificates the files of its
/// folders. On Debian both hold the same certificates, and a folder of 292 names takes twice as long as everything else of a program's
/// first TLS request.
fn read_store(roots: &mut RootCertStore, variables_are_set: bool) {
    // With the variables set, both crates would read the files that they name.
    if cfg!(target_os = "macos") && !variables_are_set {
        // The store is no file there.
        roots.add_parsable_certificates(load_native_certs().certs);
    } else if let Some(bundle) = (!variables_are_set).then(openssl_probe::probe).and_then(|found| found.cert_file) {
        roots.add_parsable_certificates(load_certs_from_paths(Some(&bundle), None).certs);
    }
    if roots.is_empty() {
        let folders = openssl_probe::candidate_cert_dirs();
        roots.add_parsable_certificates(folders.flat_map(|folder| load_certs_from_paths(None, Some(folder)).certs));
    }
}

fn none_found(set: &[(&str, OsString)]) -> Cause {
    let searched: Vec<String> =
        set.iter().map(|(name, value)| format!("{name}={}", describe(&value.to_string_lossy()))).collect();
    Cause::Tls {
        why: format!("no certificate authority was found in {}", searched.join(" and ")),
        hint: Some(
            "Correct or unset these variables, or give ca_file. Without them the platform's store is used (ca-certificates).",
        ),
    }
}
