//! The trusted certificate authorities: the platform's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name instead, and the
//! client's own `ca_file`.

use std::env;
use std::ffi::OsString;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;

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
    let set = if privilege::is_raised() && !set.is_empty() {
        roots.add_parsable_certificates(above_standard(usual_places));
        Vec::new()
    } else {
        roots.add_parsable_certificates(above_standard(rustls_native_certs::load_native_certs).certs);
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

/// The platform's store, regardless of the variables.
fn usual_places() -> Vec<CertificateDer<'static>> {
    let folders = openssl_probe::candidate_cert_dirs();
    folders.flat_map(|folder| rustls_native_certs::load_certs_from_paths(None, Some(folder)).certs).collect()
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
