//! What went wrong in TLS, by the type of rustls' error, because its own texts contain names of Rust types.

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error};

use crate::http::cause::Cause;
use crate::text::describe;
use crate::timestamp::iso;

/// How many of a certificate's names are shown.
const MAX_NAMES: usize = 3;

/// What helps, if anything is known to.
type Hint = Option<&'static str>;

const AUTHORITY: Hint = Some("If the authority is your own, give its certificate as ca_file.");
const NAME: Hint = Some("Use a host in base_url that the certificate is for.");
const CLOCK: Hint = Some("Check this machine's clock.");
const SERVICE: Hint = Some("The service's operators have to renew its certificate.");
const SCHEME: Hint = Some("Check the scheme and the port of base_url.");
const NOT_AUTHORITY: Hint = Some("An authority's own certificate cannot be a server's.");
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
        Error::InvalidMessage(_) => ("the server does not speak TLS, or not correctly", SCHEME),
        Error::PeerIncompatible(_) => ("the service and agentjob share no version or cipher of TLS", None),
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
        CertificateError::NotValidForNameContext { expected, presented } => {
            (format!("it is not for {} but {}", describe(&expected.to_str()), names(presented)), NAME)
        }
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

/// The names that a certificate is for. rustls has them only as texts in a notation of its own; a name in another notation is
/// left out.
fn names(presented: &[String]) -> String {
    let plain = |name: &String| {
        let inner = name.strip_prefix("DnsName(\"").and_then(|rest| rest.strip_suffix("\")"));
        let address = || name.strip_prefix("IpAddress(").and_then(|rest| rest.strip_suffix(')'));
        inner.or_else(address).map(describe)
    };
    let all: Vec<String> = presented.iter().filter_map(plain).collect();
    match &all[..] {
        [] => "for no name".to_owned(),
        few if few.len() <= MAX_NAMES => format!("for {}", few.join(", ")),
        many => format!("for {} and {} more", many[..MAX_NAMES].join(", "), many.len() - MAX_NAMES),
    }
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
            (Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon), "share no version or cipher of TLS"),
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
