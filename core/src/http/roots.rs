//! The trusted certificate authorities: the platform's, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name instead, and the
//! client's own `ca_file`.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls_native_certs::{load_certs_from_paths, load_native_certs};

use crate::config::environment::Environment;
use crate::http::cause::Cause;
use crate::os::descriptor::above_standard;
use crate::text::describe;

/// OpenSSL's variables that replace the platform's store.
const VARIABLES: [&str; 2] = [FILE, "SSL_CERT_DIR"];
const FILE: &str = "SSL_CERT_FILE";

/// Reads them all. Where the platform has no store, as in slim containers, Mozilla's roots are used; but not if one of the variables
/// is set, because then a variable with a wrong path would go unnoticed.
///
/// # Errors
/// `Tls`: the variables lead to no certificate and there is no `ca_file`, or a certificate cannot be used.
pub(crate) fn load(extra: &[CertificateDer<'static>]) -> Result<RootCertStore, Cause> {
    let mut roots = RootCertStore::empty();
    let environment = Environment::default();
    let set: Vec<_> = VARIABLES.into_iter().filter_map(|name| Some((name, environment.get_os(name)?))).collect();
    if set.is_empty() {
        above_standard(|| read_store(&mut roots));
    } else {
        roots.add_parsable_certificates(above_standard(|| read_named(&set)));
    }
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

/// The certificates in the file and in the folders that the variables name.
fn read_named(set: &[(&str, OsString)]) -> Vec<CertificateDer<'static>> {
    let mut certs = Vec::new();
    for (name, value) in set {
        if *name == FILE {
            certs.extend(load_certs_from_paths(Some(Path::new(value)), None).certs);
        } else {
            let folders = env::split_paths(value).filter(|folder| !folder.as_os_str().is_empty());
            certs.extend(folders.flat_map(|folder| load_certs_from_paths(None, Some(&folder)).certs));
        }
    }
    // The file is often one of the folder's.
    certs.sort_unstable_by(|a, b| a.cmp(b));
    certs.dedup();
    certs
}

/// The platform's store, regardless of the variables: its bundle, one file, or where there is none with certificates the files of its
/// folders. On Debian both hold the same certificates, and a folder of 292 names takes twice as long as everything else of a program's
/// first TLS request.
fn read_store(roots: &mut RootCertStore) {
    // Both crates read the variables themselves, and without our rule: the first also an empty one, the other also in a program with
    // more rights than the user who started it.
    let present: Vec<OsString> = VARIABLES.into_iter().filter_map(env::var_os).collect();
    if cfg!(target_os = "macos") && present.is_empty() {
        // The store is no file there.
        roots.add_parsable_certificates(load_native_certs().certs);
    } else if present.iter().all(|value| value.is_empty())
        && let Some(bundle) = openssl_probe::probe().cert_file
    {
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
