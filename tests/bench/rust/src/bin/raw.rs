//! The floor: a socket, one write, one read, the response parsed. It sends what agentjob sends, byte for byte, so the service does
//! the same work for both. Over TLS it is rustls over that socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use agentjob_bench::{Entrant, JOB, Place, check, race, trust};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

struct Raw {
    place: Place,
    tls: Option<Arc<ClientConfig>>,
}

trait Stream: Read + Write {}
impl<S: Read + Write> Stream for S {}

impl Raw {
    fn connect(&self) -> Box<dyn Stream> {
        let socket = TcpStream::connect(&self.place.host).expect("the service listens");
        socket.set_nodelay(true).expect("a socket");
        let Some(tls) = &self.tls else { return Box::new(socket) };
        let name = self.place.host.rsplit_once(':').expect("a port").0.to_owned();
        let session = ClientConnection::new(tls.clone(), name.try_into().expect("a name")).expect("a session");
        Box::new(StreamOwned::new(session, socket))
    }
}

impl Entrant for Raw {
    fn new(place: &Place) -> Self {
        let tls = place.ca_file.as_ref().map(|ca_file| {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(trust::authorities(ca_file));
            let ring = Arc::new(rustls::crypto::ring::default_provider());
            let builder =
                ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions().expect("ring has them");
            Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
        });
        Self { place: place.clone(), tls }
    }

    fn sender<'a>(&'a self, prompt: &'a str) -> Box<dyn FnMut() + 'a> {
        let body = format!("{{\"prompt\":\"{prompt}\"}}");
        let request = format!(
            "POST /v2/agent/demo/job/{JOB}/message HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\nAuthorization: Bearer {}\r\n\
            User-Agent: agentjob/0.1.0\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n\
            Content-Type: application/json\r\n\r\n{body}",
            self.place.host,
            body.len(),
            self.place.key
        );
        let mut response = [0; 8192];
        let mut kept = None;
        Box::new(move || {
            let stream = kept.get_or_insert_with(|| self.connect());
            stream.write_all(request.as_bytes()).expect("it is taken");
            let n = stream.read(&mut response).expect("a response");
            assert!(response.starts_with(b"HTTP/1.1 200 "));
            let head = response[..n].windows(4).position(|end| end == b"\r\n\r\n").expect("a whole head") + 4;
            check(&response[head..n]);
            // Only the section that counts handshakes has a service that closes, and it is over TLS.
            if self.tls.is_some()
                && response[..head].to_ascii_lowercase().windows(17).any(|field| field == b"connection: close")
            {
                kept = None;
            }
        })
    }
}

fn main() {
    race::<Raw>();
}
