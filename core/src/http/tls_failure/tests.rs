//! Every failure of TLS has words of its own, and what helps.

use super::*;
use rustls::{ContentType, InvalidMessage, PeerIncompatible, PeerMisbehaved};
use std::time::Duration;

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

#[test]
fn every_failure_has_its_words_and_its_hint_and_no_name_of_a_type() {
    use AlertDescription::*;
    let a_certificate = "the service's certificate was refused: ";
    let fault = |fault| (Error::InvalidCertificate(fault), a_certificate);
    let alert = |alert| (Error::AlertReceived(alert), "the service refused TLS: ");
    let own = |error| (error, "");
    let at = UnixTime::since_unix_epoch(Duration::from_secs(1_700_000_000));
    let algorithm = CertificateError::UnsupportedSignatureAlgorithmContext {
        signature_algorithm_id: Vec::new(),
        supported_algorithms: Vec::new(),
    };
    let for_key = CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
        signature_algorithm_id: Vec::new(),
        public_key_algorithm_id: Vec::new(),
    };
    let purpose = CertificateError::InvalidPurposeContext {
        required: rustls::ExtendedKeyPurpose::ServerAuth,
        presented: Vec::new(),
    };
    let presented =
        ["DnsName(\"b.example\")", "IpAddress(1.2.3.4)", "DirectoryName", "DnsName(\"c\")", "DnsName(\"d\")"];
    let other = CertificateError::NotValidForNameContext {
        expected: rustls::pki_types::ServerName::try_from("a.example").unwrap(),
        presented: presented.map(String::from).into(),
    };
    let unsupported = "it is signed with an algorithm that agentjob does not support";
    let violates = "the service violates the TLS protocol";
    let no_cipher = "it shares no cipher with agentjob, or requires a client certificate";
    for ((error, start), end, hint) in [
        (fault(CertificateError::UnknownIssuer), "it is signed by an unknown authority", AUTHORITY),
        (fault(CertificateError::Expired), "it has expired", SERVICE),
        (fault(CertificateError::ExpiredContext { time: at, not_after: at }), "it expired on 2023-11-14", SERVICE),
        (fault(CertificateError::NotValidYet), "it is not valid yet", CLOCK),
        (
            fault(CertificateError::NotValidYetContext { time: at, not_before: at }),
            "it is not valid before 2023-11-14",
            CLOCK,
        ),
        (fault(CertificateError::NotValidForName), "it is for another name", NAME),
        (fault(other), "it is not for a.example but for b.example, 1.2.3.4, c and 1 more", NAME),
        (fault(CertificateError::Revoked), "it was revoked", SERVICE),
        (fault(CertificateError::BadEncoding), "it is damaged", None),
        (fault(CertificateError::BadSignature), "its signature is wrong", AUTHORITY),
        (fault(algorithm), unsupported, None),
        (fault(for_key), unsupported, None),
        (fault(CertificateError::InvalidPurpose), "it is not for servers", None),
        (fault(purpose), "it is not for servers", None),
        (
            fault(CertificateError::UnhandledCriticalExtension),
            "it has a critical extension that agentjob does not know",
            None,
        ),
        (fault(CertificateError::InvalidOcspResponse), "it is not valid for a server", NOT_AUTHORITY),
        (alert(ProtocolVersion), "it supports neither TLS 1.2 nor TLS 1.3", None),
        (alert(HandshakeFailure), no_cipher, None),
        (alert(InsufficientSecurity), no_cipher, None),
        (alert(UnrecognisedName), "it does not know the host in base_url", HOST),
        (alert(CertificateRequired), "it requires a client certificate", CLIENT),
        (alert(AccessDenied), "it denies access", None),
        (alert(NoApplicationProtocol), "it does not offer HTTP/1.1", None),
        (alert(InternalError), "it had an internal error", None),
        ((Error::AlertReceived(Unknown(200)), "the service refused TLS "), "(alert 200)", None),
        // A signature of the client, which has no certificate, can't be wrong.
        ((Error::AlertReceived(DecryptError), "the service refused TLS "), "(alert 51)", None),
        (
            own(Error::InvalidMessage(InvalidMessage::InvalidContentType)),
            "the server does not speak TLS, or speaks it incorrectly",
            SCHEME,
        ),
        (
            own(Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon)),
            "the service and agentjob have no TLS version or cipher in common",
            None,
        ),
        (own(Error::NoCertificatesPresented), "the service sent no certificate", None),
        (own(Error::NoApplicationProtocol), "the service does not offer HTTP/1.1", None),
        (own(Error::UnsupportedNameType), "no certificate can be issued for the host in base_url", NAME),
        (own(Error::DecryptError), "a record could not be decrypted", None),
        (own(Error::FailedToGetCurrentTime), "this machine's clock cannot be read", CLOCK),
        (own(Error::FailedToGetRandomBytes), "this machine has no source of random numbers", None),
        (own(Error::PeerSentOversizedRecord), violates, None),
        (own(Error::PeerMisbehaved(PeerMisbehaved::TooMuchEarlyDataReceived)), violates, None),
        (own(Error::InappropriateMessage { expect_types: Vec::new(), got_type: ContentType::Alert }), violates, None),
        (own(Error::HandshakeNotComplete), "an internal TLS error", None),
        (own(Error::General("x".into())), "an internal TLS error", None),
    ] {
        let (why, helps) = explain(&error, false);
        assert_eq!((&*why, helps), (&*format!("{start}{end}"), hint), "{error:?}");
        let of_rustls = format!("{error:?}");
        let names = of_rustls
            .split(|c: char| !c.is_alphanumeric())
            .filter(|name| name.len() > 8 && name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase));
        for name in names {
            assert!(!why.contains(name), "{why} holds {name}");
        }
        let refuses = matches!(failure(&error, false), Cause::ClientRefused { .. });
        assert_eq!(refuses, refuses_client(&error), "{error:?}");
    }
}
