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
mod tests {
    use super::*;
    use rustls::{ContentType, InvalidMessage, PeerIncompatible, PeerMisbehaved};
    use std::time::Duration;

    #[test]
    fn every_failure_is_described_without_the_names_of_types() {
        let at = UnixTime::since_unix_epoch(Duration::from_secs(1_700_000_000));
        let expected = rustls::pki_types::ServerName::try_from("a.example").unwrap();
        let presented =
            ["DnsName(\"b.example\")", "IpAddress(1.2.3.4)", "DirectoryName", "DnsName(\"c\")", "DnsName(\"d\")"]
                .map(String::from);
        let other = CertificateError::NotValidForNameContext { expected, presented: presented.into() };
        let refused = |fault| Error::InvalidCertificate(fault);
        for (error, words) in [
            (refused(CertificateError::UnknownIssuer), "signed by an unknown authority"),
            (refused(CertificateError::Expired), "it has expired"),
            (refused(CertificateError::ExpiredContext { time: at, not_after: at }), "it expired on 2023-11-14"),
            (refused(CertificateError::NotValidYetContext { time: at, not_before: at }), "not valid before 2023-11-14"),
            (refused(other), "it is not for a.example but for b.example, 1.2.3.4, c and 1 more"),
            (refused(CertificateError::Revoked), "it was revoked"),
            (refused(CertificateError::InvalidOcspResponse), "it is not valid for a server"),
            (Error::AlertReceived(AlertDescription::ProtocolVersion), "neither TLS 1.2 nor TLS 1.3"),
            (Error::AlertReceived(AlertDescription::CertificateRequired), "a client certificate"),
            (Error::AlertReceived(AlertDescription::Unknown(200)), "(alert 200)"),
            (Error::InvalidMessage(InvalidMessage::InvalidContentType), "does not speak TLS"),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                "have no TLS version or cipher in common",
            ),
            (Error::PeerMisbehaved(PeerMisbehaved::TooMuchEarlyDataReceived), "violates the TLS protocol"),
            (Error::NoCertificatesPresented, "sent no certificate"),
            (Error::General("x".into()), "an internal TLS error"),
            (
                Error::InappropriateMessage { expect_types: Vec::new(), got_type: ContentType::Alert },
                "violates the TLS protocol",
            ),
        ] {
            let (why, _) = explain(&error, false);
            assert!(why.contains(words), "{why}");
            let own = format!("{error:?}");
            let names = own.split(|c: char| !c.is_alphanumeric()).filter(|name| {
                name.len() > 8 && name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
            });
            for name in names {
                assert!(!why.contains(name), "{why} holds {name}");
            }
        }
    }

    #[test]
    fn a_certificate_that_is_not_for_the_host_says_what_it_is_for_and_what_helps() {
        let hostile = format!("DnsName(\"{}\u{1b}[31m\u{202e}\nx\")", "n".repeat(290));
        let many: Vec<String> = (0..10_000).map(|n| format!("DnsName(\"{}{n}\")", "n".repeat(400))).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (host, presented, words, hint) in [
            (
                "a.example",
                &[][..],
                "it is not for a.example: it has no subject alternative names, and its common name does not count",
                NO_NAME,
            ),
            ("10.0.0.1", &[], "it is not for 10.0.0.1: it has no subject", NO_NAME),
            (
                "a.example",
                &["DirectoryName", "Unsupported(0x01)", "UniformResourceIdentifier(\"https://a.example\")"],
                "it is not for a.example: none of its subject alternative names is a host",
                NO_NAME,
            ),
            ("a.example", &["IpAddress(10.0.0.1)"], "it is not for a.example but for 10.0.0.1", NAME),
            ("10.0.0.1", &["DnsName(\"a.example\")"], "it is not for 10.0.0.1 but for a.example", NAME),
            (
                "10.0.0.1",
                &["DnsName(\"a.example\")", "DnsName(\"10.0.0.1\")"],
                "it has 10.0.0.1 as a DNS name, not as an IP address",
                NO_ADDRESS,
            ),
            ("::1", &["DnsName(\"::1\")"], "it has ::1 as a DNS name, not as an IP address", NO_ADDRESS),
            ("a.b.example", &["DnsName(\"*.example\")"], "it is not for a.b.example but for *.example", WILDCARD),
            ("example", &["DnsName(\"*.example\")"], "it is not for example but for *.example", WILDCARD),
            ("a.other", &["DnsName(\"*.example\")"], "it is not for a.other but for *.example", NAME),
            ("an.example", &["DnsName(\"*.n.example\")"], "but for *.n.example", NAME),
            ("a.example", &[&hostile], "n\\u{1b}[31m\\u{202e}\\nx", NAME),
            ("a.example", &many, "… and 9997 more", NAME),
        ] {
            let expected = rustls::pki_types::ServerName::try_from(host).unwrap().to_owned();
            let presented = presented.iter().map(|name| (*name).to_owned()).collect();
            let fault = CertificateError::NotValidForNameContext { expected, presented };
            let (why, helps) = explain(&Error::InvalidCertificate(fault), false);
            assert!(why.contains(words) && why.len() < 1200, "{why}");
            assert_eq!(helps, hint, "{why}");
        }
    }

    #[test]
    fn an_alert_about_the_client_says_whether_a_certificate_is_missing_or_wrong() {
        use AlertDescription::*;
        for (alert, wrong) in [
            (BadCertificate, "it does not accept the client certificate"),
            (UnsupportedCertificate, "it does not accept the client certificate"),
            (CertificateUnknown, "it does not accept the client certificate"),
            (DecryptError, "it does not accept the client certificate"),
            (CertificateExpired, "the client certificate has expired"),
            (CertificateRevoked, "the client certificate was revoked"),
            (UnknownCA, "the client certificate is signed by an authority that it does not know"),
        ] {
            let error = Error::AlertReceived(alert);
            assert!(refuses_client(&error));
            assert_eq!(explain(&error, true), (format!("the service refused TLS: {wrong}"), CERTIFICATE));
            if alert == DecryptError {
                continue;
            }
            let missing = "the service refused TLS: it requires a client certificate".to_owned();
            assert_eq!(explain(&error, false), (missing, CLIENT));
        }
        let other = [HandshakeFailure, DecodeError, InternalError, CloseNotify, UserCanceled];
        assert!(!other.into_iter().any(|alert| refuses_client(&Error::AlertReceived(alert))));
    }
}
