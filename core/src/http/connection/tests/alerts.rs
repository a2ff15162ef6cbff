//! An alert that refuses the client's certificate, behind the client's side of the handshake (RFC 8446 4.4.4).

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};

use rustls::crypto::cipher::{OutboundChunks, OutboundPlainMessage};
use rustls::{AlertDescription, ConnectionTrafficSecrets, ContentType, ProtocolVersion};

use super::service::with_tls_in;
use super::*;
use crate::call::control::{Control, Interrupted};
use crate::call::options::CallOptions;

/// Writes a text and then a fatal alert, which rustls has no function for, in one piece.
fn write_and_refuse(mut service: Service, text: &str, alert: AlertDescription) {
    let mut tls = service.tls.take().unwrap();
    let mut records = Vec::new();
    tls.writer().write_all(text.as_bytes()).unwrap();
    while tls.wants_write() {
        tls.write_tls(&mut records).unwrap();
    }
    let suite = tls.negotiated_cipher_suite().unwrap().tls13().unwrap();
    let (number, secrets) = tls.dangerous_extract_secrets().unwrap().tx;
    let (ConnectionTrafficSecrets::Aes128Gcm { key, iv }
    | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
    | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }) = secrets
    else {
        panic!("a cipher that is not known here")
    };
    let fatal = [2, alert.into()];
    let message = OutboundPlainMessage {
        typ: ContentType::Alert,
        version: ProtocolVersion::TLSv1_3,
        payload: OutboundChunks::Single(&fatal),
    };
    records.extend(suite.aead_alg.encrypter(key, iv).encrypt(message, number).unwrap().encode());
    service.stream.write_all(&records).unwrap();
    service.stream.shutdown(Shutdown::Write).unwrap();
}

#[test]
fn an_alert_that_refuses_the_client_says_so_only_if_the_service_asked_for_a_certificate_and_sent_nothing_yet() {
    let asking = |tickets| {
        with_tls_as(true, |config| (config.enable_secret_extraction, config.send_tls13_tickets) = (true, tickets))
    };
    for alert in [AlertDescription::AccessDenied, AlertDescription::CertificateRequired, AlertDescription::UnknownCA] {
        let (why, hint) = tls_failure::explain(&rustls::Error::AlertReceived(alert), false);
        let refused = Some(Cause::ClientRefused { why: why.clone(), hint });
        for (text, expected) in [
            ("", refused),
            ("HTTP", lost(&why)),
            ("HTTP/1.1 100 Continue\r\n\r\n", lost(&why)),
            ("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", lost(&why)),
        ] {
            let (mut connection, service) = asking(0);
            write_and_refuse(service, text, alert);
            assert_eq!(failure(&mut connection, &call()), expected, "{text}");
        }
        // What came before it was read already.
        let ((mut connection, mut service), own_call) = (asking(0), call());
        service.write("HTTP/1.1 100 Continue\r\n\r\n");
        while connection.may_refuse_client {
            own_call.check().unwrap();
            assert!(!connection.read_early_response(&own_call));
        }
        write_and_refuse(service, "", alert);
        assert_eq!(failure(&mut connection, &own_call), lost(&why));
        // A session ticket: the service has accepted the client.
        let (mut connection, service) = asking(1);
        write_and_refuse(service, "", alert);
        assert_eq!(failure(&mut connection, &call()), lost(&why));
        // It asked for no certificate.
        let (mut connection, service) =
            with_tls_as(false, |config| (config.enable_secret_extraction, config.send_tls13_tickets) = (true, 0));
        write_and_refuse(service, "", alert);
        assert_eq!(failure(&mut connection, &call()), lost(&why));
    }
}

#[test]
fn whether_a_service_asked_for_a_certificate_is_not_mixed_up_with_a_call_that_a_control_makes_in_the_handshake() {
    /// Makes a connection to a service that asks, or does not, when it is called first.
    struct Connects(bool, Mutex<Option<Sender<()>>>);
    impl Control for Connects {
        fn check(&self) -> Result<(), Interrupted> {
            if let Some(connected) = self.1.lock().unwrap().take() {
                drop(with_tls_as(self.0, |_| {}));
                connected.send(()).unwrap();
            }
            Ok(())
        }
    }
    for asks in [false, true] {
        let (connected, is_connected) = mpsc::channel();
        let control = Connects(!asks, Mutex::new(Some(connected)));
        let call = CallInFlight::with_options(&CallOptions::new().control(Arc::new(control)), None, LIMIT);
        let (connection, _service) =
            with_tls_in(&call, asks, |_| {}, move || is_connected.recv_timeout(LIMIT).unwrap());
        assert_eq!(connection.may_refuse_client, asks);
    }
}
