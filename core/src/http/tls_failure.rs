//! What went wrong in TLS, by the type of rustls' error, because its own texts contain names of Rust types.

use std::net::IpAddr;

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};

use crate::http::cause::Cause;
use crate::text::describe;
use crate::timestamp::iso;

/// How many of a certificate's names are shown.
const MAX_NAMES: usize = 3;

/// What helps, if anything is known to.
type Hint = Option<&'static str>;

const AUTHORITY: Hint = Some("If the authority is your own, its certificate has to be in ca_file.");
const NAME: Hint = Some("Use a host in base_url that the certificate is for.");
const WILDCARD: Hint =
    Some("Use a host in base_url that the certificate is for. Its * stands for exactly one part of a name.");
/// RFC 9525 section 2: clients check the subject alternative names, and no longer the common name.
const NO_NAME: Hint =
    Some("The service's operators need a certificate with a subject alternative name for the host in base_url.");
const NO_ADDRESS: Hint =
    Some("The service's operators need a certificate with this address as a subject alternative name of type IP.");
const CLOCK: Hint = Some("Check this machine's clock.");
const SERVICE: Hint = Some("The service's operators have to renew its certificate.");
const SCHEME: Hint = Some("Check the scheme and the port of base_url.");
const NOT_AUTHORITY: Hint = Some("This is a CA certificate, not a server certificate.");
const CLIENT: Hint = Some("Give one as client_cert and client_key.");
const CERTIFICATE: Hint = Some("Check client_cert: its authority, its dates, and that it is for clients.");
const HOST: Hint = Some("Check the host in base_url.");

/// The cause that a failed handshake makes. `certified`: the client has a certificate.
pub(crate) fn failure(error: &Error, certified: bool) -> Cause {
    let (why, hint) = explain(error, certified);
    match refuses_client(error) {
        true => Cause::ClientRefused { why, hint },
        false => Cause::Tls { why, hint },
    }
}

/// The cause of a failure after the client's side of the handshake is complete. `may_refuse`: the service may still refuse the client.
pub(crate) fn after_handshake(error: &Error, certified: bool, may_refuse: bool) -> Cause {
    match may_refuse && refuses_client(error) {
        true => failure(error, certified),
        false => Cause::Lost(explain(error, certified).0),
    }
}

/// Whether the service ended the handshake because of the client's certificate, or because there is none. It does so only before its
/// side of the handshake is complete. With TLS 1.3 that may be after the client wrote its request, and the service has processed none
/// of it: it must not before it has checked the client (RFC 8446 sections 4.4.4 and 6.2).
pub(crate) fn refuses_client(error: &Error) -> bool {
    use AlertDescription::*;
    matches!(
        error,
        Error::AlertReceived(
            CertificateRequired
                | BadCertificate
                | UnsupportedCertificate
                | CertificateRevoked
                | CertificateExpired
                | CertificateUnknown
                | UnknownCA
                | AccessDenied
                | DecryptError
        )
    )
}

/// What happened, and what helps.
pub(crate) fn explain(error: &Error, certified: bool) -> (String, Hint) {
    let (why, hint) = match error {
        Error::InvalidCertificate(fault) => return certificate(fault),
        Error::AlertReceived(alert) => return refusal(*alert, certified),
        Error::InvalidMessage(_) => ("the server does not speak TLS, or speaks it incorrectly", SCHEME),
        Error::PeerIncompatible(_) => ("the service and agentjob have no TLS version or cipher in common", None),
        Error::NoCertificatesPresented => ("the service sent no certificate", None),
        Error::NoApplicationProtocol => ("the service does not offer HTTP/1.1", None),
        Error::UnsupportedNameType => ("no certificate can be issued for the host in base_url", NAME),
        Error::DecryptError => ("a record could not be decrypted", None),
        Error::FailedToGetCurrentTime => ("this machine's clock cannot be read", CLOCK),
        Error::FailedToGetRandomBytes => ("this machine has no source of random numbers", None),
        Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::PeerMisbehaved(_)
        | Error::PeerSentOversizedRecord => ("the service violates the TLS protocol", None),
        _ => ("an internal TLS error", None),
    };
    (why.to_owned(), hint)
}

fn certificate(fault: &CertificateError) -> (String, Hint) {
    let (why, hint) = match fault {
        CertificateError::UnknownIssuer => ("it is signed by an unknown authority".to_owned(), AUTHORITY),
        CertificateError::Expired => ("it has expired".to_owned(), SERVICE),
        CertificateError::ExpiredContext { not_after, .. } => (format!("it expired on {}", day(*not_after)), SERVICE),
        CertificateError::NotValidYet => ("it is not valid yet".to_owned(), CLOCK),
        CertificateError::NotValidYetContext { not_before, .. } => {
            (format!("it is not valid before {}", day(*not_before)), CLOCK)
        }
        CertificateError::NotValidForName => ("it is for another name".to_owned(), NAME),
        CertificateError::NotValidForNameContext { expected, presented } => wrong_name(&expected.to_str(), presented),
        CertificateError::Revoked => ("it was revoked".to_owned(), SERVICE),
        CertificateError::BadEncoding => ("it is damaged".to_owned(), None),
        CertificateError::BadSignature => ("its signature is wrong".to_owned(), AUTHORITY),
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            ("it is signed with an algorithm that agentjob does not support".to_owned(), None)
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            ("it is not for servers".to_owned(), None)
        }
        CertificateError::UnhandledCriticalExtension => {
            ("it has a critical extension that agentjob does not know".to_owned(), None)
        }
        _ => ("it is not valid for a server".to_owned(), NOT_AUTHORITY),
    };
    (format!("the service's certificate was refused: {why}"), hint)
}

/// The service ended the handshake with an alert (RFC 8446 section 6.2).
fn refusal(alert: AlertDescription, certified: bool) -> (String, Hint) {
    let (why, hint) = match alert {
        AlertDescription::CertificateExpired if certified => ("the client certificate has expired", CERTIFICATE),
        AlertDescription::CertificateRevoked if certified => ("the client certificate was revoked", CERTIFICATE),
        AlertDescription::UnknownCA if certified => {
            ("the client certificate is signed by an authority that it does not know", CERTIFICATE)
        }
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateUnknown
        // A signature in the handshake is wrong: that of another authority with the same name.
        | AlertDescription::DecryptError
            if certified =>
        {
            ("it does not accept the client certificate", CERTIFICATE)
        }
        AlertDescription::ProtocolVersion => ("it supports neither TLS 1.2 nor TLS 1.3", None),
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            ("it shares no cipher with agentjob, or requires a client certificate", None)
        }
        AlertDescription::UnrecognisedName => ("it does not know the host in base_url", HOST),
        AlertDescription::CertificateRequired
        | AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateRevoked
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::UnknownCA => ("it requires a client certificate", CLIENT),
        AlertDescription::AccessDenied => ("it denies access", None),
        AlertDescription::NoApplicationProtocol => ("it does not offer HTTP/1.1", None),
        AlertDescription::InternalError => ("it had an internal error", None),
        other => return (format!("the service refused TLS (alert {})", u8::from(other)), None),
    };
    (format!("the service refused TLS: {why}"), hint)
}

/// The certificate is for none of the names that it would have to be for. rustls has its subject alternative names only as texts
/// in a notation of its own; one in another notation is not a host's.
fn wrong_name(host: &str, presented: &[String]) -> (String, Hint) {
    let dns = |entry: &'_ String| -> Option<String> {
        entry.strip_prefix("DnsName(\"")?.strip_suffix("\")").map(str::to_owned)
    };
    let address = |entry: &'_ String| -> Option<String> {
        entry.strip_prefix("IpAddress(")?.strip_suffix(')').map(str::to_owned)
    };
    let names: Vec<String> = presented.iter().filter_map(|entry| dns(entry).or_else(|| address(entry))).collect();
    let shown = describe(host);
    if presented.is_empty() {
        return (
            format!("it is not for {shown}: it has no subject alternative names, and its common name does not count"),
            NO_NAME,
        );
    }
    if names.is_empty() {
        return (format!("it is not for {shown}: none of its subject alternative names is a host"), NO_NAME);
    }
    if host.parse::<IpAddr>().is_ok() && presented.iter().filter_map(dns).any(|name| name == host) {
        return (format!("it has {shown} as a DNS name, not as an IP address"), NO_ADDRESS);
    }
    let wildcard = |name: &String| {
        name.strip_prefix("*.").is_some_and(|parent| host == parent || host.ends_with(&format!(".{parent}")))
    };
    let hint = if names.iter().any(wildcard) { WILDCARD } else { NAME };
    let listed = names.iter().take(MAX_NAMES).map(|name| describe(name)).collect::<Vec<_>>().join(", ");
    let more = match names.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (format!("it is not for {shown} but for {listed}{more}"), hint)
}

fn day(time: UnixTime) -> String {
    iso(time.as_secs().saturating_mul(1000)).split('T').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
