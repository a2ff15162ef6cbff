//! Client certificates: which files are accepted, what is wrong with the others, and what a service's refusal means for a message.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::batches::Folder;
use crate::support::files::{put_private, set_mode};
use crate::support::{JOB, builder, skip, with_authority};
use agentjob_core::{Client, ClientBuilder, Delivery, Error, ErrorKind};
use agentjob_emulator::{Config, Emulator, TlsOptions};

fn mutual() -> Emulator {
    let options = TlsOptions { requires_client_certificate: true, ..TlsOptions::default() };
    Emulator::start_tls_with(Config::default(), &options).unwrap()
}

impl Folder {
    /// Puts a PEM file there.
    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        put_private(&path, text);
        path
    }
}

/// A certificate and its key, each as PEM.
fn parts(emulator: &Emulator) -> (String, String) {
    let pem = emulator.client_pem().unwrap();
    let key = pem.find("-----BEGIN PRIVATE KEY").unwrap();
    (pem[..key].to_owned(), pem[key..].to_owned())
}

fn refused(set: ClientBuilder) -> Error {
    let error = set.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    error
}

#[test]
fn a_certificate_with_its_key_in_one_file_or_in_two_is_shown_to_the_service() {
    let (service, folder) = (mutual(), Folder::new());
    let (cert, key) = parts(&service);
    let both = folder.put("both", service.client_pem().unwrap());
    // The certificate itself may be readable for everyone.
    let cert = folder.put("cert", &cert);
    set_mode(&cert, 0o644);
    let key = folder.put("key", &key);
    let clients = [
        with_authority(&service, |set| set.client_cert(&both)),
        with_authority(&service, |set| set.client_cert(&cert).client_key(&key)),
        with_authority(&service, |set| set.client_cert(&both).client_key(&key)),
    ];
    for client in clients {
        client.send_message(JOB, "p").unwrap();
        client.get_job(JOB).unwrap();
        assert!(!format!("{client:?}").contains("PRIVATE"), "{client:?}");
    }
    assert_eq!((service.ledger().len(), service.requests().connections), (3, 3));
}

/// Whether Windows has dropped the refusal when the connection's reset came. Whether the message arrived is not known then.
fn is_taken_away(error: &Error) -> bool {
    cfg!(windows) && error.kind() == ErrorKind::ConnectionLost
}

#[test]
fn a_message_to_a_service_that_wants_a_certificate_was_not_sent() {
    let (service, other, folder) = (mutual(), mutual(), Folder::new());
    let strange = folder.put("strange", other.client_pem().unwrap());
    for (certificate, reason, hint) in [
        (None, "it requires a client certificate", "Give one as client_cert and client_key."),
        (
            Some(&strange),
            "client certificate",
            "Check client_cert: its authority, its dates, and that it is for clients.",
        ),
    ] {
        let client = with_authority(&service, |set| match certificate {
            Some(path) => set.client_cert(path),
            None => set,
        });
        // With TLS 1.3 the refusal comes when the client has already written: small prompts whole, large ones in part.
        for length in [1, 1_000, 100_000, 3_000_000] {
            let error = client.send_message(JOB, &"p".repeat(length)).unwrap_err();
            if is_taken_away(&error) {
                assert_ne!(error.delivery(), Some(Delivery::Accepted), "{length}: {error}");
                continue;
            }
            assert_eq!(
                (error.kind(), error.delivery()),
                (ErrorKind::Tls, Some(Delivery::NotSent)),
                "{length}: {error}"
            );
            assert_eq!((error.attempts(), error.hint()), (1, Some(hint)), "{length}: {error}");
            assert!(error.reason().contains(reason), "{error}");
        }
        let error = client.get_job(JOB).unwrap_err();
        assert!(error.kind() == ErrorKind::Tls || is_taken_away(&error), "{error}");
    }
    assert_eq!((service.ledger().len(), service.requests().total), (0, 0));
}

#[test]
fn each_wrong_file_has_a_sentence_that_names_it() {
    let (service, other, folder) = (mutual(), mutual(), Folder::new());
    let (cert, key) = parts(&service);
    let (cert, key) = (folder.put("cert", &cert), folder.put("key", &key));
    let both = folder.put("both", service.client_pem().unwrap());
    let other_key = folder.put("other_key", &parts(&other).1);
    let text = folder.put("text", "no certificate\n");
    let broken = folder.put("broken", "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n");
    let no_x509 = folder.put(
        "no_x509",
        &format!("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n{}", parts(&service).1),
    );
    let bad_key = folder.put("bad_key", "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n");
    let encrypted = folder
        .put("encrypted", "-----BEGIN ENCRYPTED PRIVATE KEY-----\naGVsbG8=\n-----END ENCRYPTED PRIVATE KEY-----\n");
    let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\naGVsbG8=\n-----END RSA PRIVATE KEY-----\n";
    let old = folder.put("old", old);
    let nothing = folder.0.join("nothing");
    let missing = format!("cannot be read ({})", std::fs::read(&nothing).unwrap_err());
    let shared_key = folder.put("shared key", &parts(&service).1);
    set_mode(&shared_key, 0o640);
    let shared_both = folder.put("shared both", service.client_pem().unwrap());
    set_mode(&shared_both, 0o644);

    let rows: [(&Path, Option<&Path>, &Path, &str); 14] = [
        (&nothing, None, &nothing, &missing),
        (&cert, Some(&nothing), &nothing, &missing),
        (&text, None, &text, "contains no certificate. Give a PEM file with the client's certificate"),
        (&broken, None, &broken, "is not a PEM file. Give a PEM file with the client's certificate"),
        (&no_x509, None, &no_x509, "begins with a certificate that cannot be read. Give a PEM file with an X.509"),
        (&cert, None, &cert, "contains no private key. Give the file with the key as client_key"),
        (&cert, Some(&text), &text, "contains no private key. Give a PEM file with the key of the certificate."),
        (&cert, Some(&cert), &cert, "contains no private key. Give a PEM file with the key of the certificate."),
        (&cert, Some(&bad_key), &bad_key, "contains a private key that cannot be used. Give a key for RSA"),
        (&cert, Some(&encrypted), &encrypted, "that is encrypted with a passphrase. Decrypt it with openssl pkey"),
        (&cert, Some(&old), &old, "that is encrypted with a passphrase. Decrypt it with openssl pkey"),
        (&cert, Some(&other_key), &other_key, "is not that of the certificate in client_cert"),
        (&cert, Some(&shared_key), &shared_key, "is open to other users (mode 0640)"),
        (&shared_both, None, &shared_both, "is open to other users (mode 0644)"),
    ];
    // Windows has no modes.
    for (cert, key, named, what) in rows.into_iter().filter(|row| cfg!(unix) || !row.3.contains("mode")) {
        let set = builder(&service).client_cert(cert);
        let error = refused(key.map_or(set.clone(), |key| set.client_key(key)));
        let message = error.message();
        assert!(message.contains(what) && message.contains(&format!("\"{}\"", named.display())), "{what}: {message}");
        assert!(!message.contains("aGVsbG8"), "{message}");
    }
    let alone = refused(builder(&service).client_key(&key));
    assert_eq!(
        alone.message(),
        "client_key is given without client_cert. Give the file with the certificate as client_cert."
    );
    assert!(builder(&service).client_cert(&cert).client_key(&shared_key).allow_shared_key_file(true).build().is_ok());
    assert!(builder(&service).client_cert(&both).build().is_ok());
    assert_eq!((service.requests().total, service.requests().connections), (0, 0));
}

#[test]
fn keys_of_every_usual_kind_are_accepted() {
    let folder = Folder::new();
    for (name, words) in [
        ("rsa", &["req", "-newkey", "rsa:2048"][..]),
        ("p256", &["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]),
        ("p384", &["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]),
        ("ed25519", &["req", "-newkey", "ed25519"]),
    ] {
        let (cert, key) = (folder.put(&format!("{name}.crt"), ""), folder.put(&format!("{name}.key"), ""));
        let made = Command::new("openssl")
            .args(words)
            .args(["-x509", "-nodes", "-days", "1", "-subj", "/CN=client", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&cert)
            .output();
        let Ok(made) = made else { return skip("SKIPPED: keys of every kind, for openssl is not installed") };
        assert!(made.status.success(), "{made:?}");
        let set = Client::builder().base_url("https://127.0.0.1:9").api_key("k").project_id("p").trust_env(false);
        let built = set.client_cert(&cert).client_key(&key).build();
        assert!(built.is_ok(), "{name}: {built:?}");
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_that_no_program_writes_is_no_key() {
    use agentjob_core::{Control, Interrupted};
    struct Impatient;
    impl Control for Impatient {
        fn check(&self) -> Result<(), Interrupted> {
            Err(Interrupted)
        }
    }
    let (service, folder) = (crate::support::emulator("{}"), Folder::new());
    let pipe = folder.0.join("pipe");
    crate::support::files::put_pipe(&pipe);
    let error = builder(&service).client_cert(&pipe).control(std::sync::Arc::new(Impatient)).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
}
