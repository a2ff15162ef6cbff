//! A service that writes given responses, byte for byte, in given pieces.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use agentjob_core::{Client, Error, Job};

use super::{JOB, ms};

/// A service that gives each request the next response.
pub struct Service {
    pub client: Client,
    responses: Sender<Response>,
    /// The connection that each request came over, by number.
    seen: Receiver<usize>,
}

struct Response {
    pieces: Vec<Vec<u8>>,
    /// What is sent endlessly after the response, once per pause.
    drip: Option<(Vec<u8>, Duration)>,
    /// Whether the connection is closed after it.
    close: bool,
}

impl Service {
    pub fn new() -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (responses, next) = channel();
        let (saw, seen) = channel();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                if !serve(stream, number, &next, &saw) {
                    return;
                }
            }
        });
        let builder = Client::builder().base_url(url).api_key("key_of_the_service").project_id("demo");
        let client = builder.trust_env(false).max_retries(0).timeout(Duration::from_secs(20)).build().unwrap();
        Service { client, responses, seen }
    }

    /// Sends a message that gets this response. Returns the client's result, and the number of the connection.
    pub fn send(&self, pieces: Vec<Vec<u8>>, close: bool) -> (Result<Job, Error>, usize) {
        self.respond(Response { pieces, drip: None, close })
    }

    /// The same, and after the response sends `drip` endlessly, once per `pause`. With an empty `drip` the response stalls.
    pub fn send_and_drip(&self, pieces: Vec<Vec<u8>>, drip: &str, pause: Duration) -> (Result<Job, Error>, usize) {
        let drip = (!drip.is_empty()).then(|| (drip.as_bytes().to_vec(), pause));
        self.respond(Response { pieces, drip, close: false })
    }

    fn respond(&self, response: Response) -> (Result<Job, Error>, usize) {
        self.responses.send(response).unwrap();
        let ended = self.client.send_message(JOB, "p");
        let seen = self.seen.recv_timeout(ms(60_000));
        let number = seen.unwrap_or_else(|_| panic!("no request came: {ended:?}"));
        (ended, number)
    }
}

/// Serves one connection. Returns whether to accept another.
fn serve(mut stream: TcpStream, number: usize, next: &Receiver<Response>, saw: &Sender<usize>) -> bool {
    stream.set_nodelay(true).unwrap();
    while read_request(&mut stream) {
        saw.send(number).unwrap();
        let Ok(response) = next.recv() else { return false };
        for (n, piece) in response.pieces.iter().enumerate() {
            if n > 0 {
                // Lets the piece before leave by itself. If the two arrive together, the result must be the same.
                std::thread::yield_now();
            }
            if stream.write_all(piece).is_err() {
                return true;
            }
        }
        if let Some((drip, pause)) = &response.drip {
            while stream.write_all(drip).is_ok() {
                std::thread::sleep(*pause);
            }
            return true;
        }
        if response.close {
            return true;
        }
    }
    true
}

fn read_request(stream: &mut TcpStream) -> bool {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => request.extend_from_slice(&piece[..n]),
            _ => return false,
        }
        if let Some(end) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
            if request.len() >= end + 4 + length.map_or(0, |length| length.parse().unwrap()) {
                return true;
            }
        }
    }
}

pub fn whole(bytes: &str) -> Vec<Vec<u8>> {
    vec![bytes.as_bytes().to_vec()]
}

/// Every way of cutting this response in two, then the response byte by byte, then whole.
pub fn cuts(bytes: &str) -> impl Iterator<Item = Vec<Vec<u8>>> {
    let all = bytes.as_bytes().to_vec();
    let dripped = all.iter().map(|byte| vec![*byte]).collect();
    let two = (1..all.len()).map({
        let all = all.clone();
        move |at| vec![all[..at].to_vec(), all[at..].to_vec()]
    });
    two.chain([dripped, vec![all]])
}

/// A record of the job.
pub const RECORD: &str = r#"{"id":"job_demo","status":"active"}"#;

/// A 200 with the record and a length, and these lines in its head.
pub fn sized(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {}\r\n\r\n{RECORD}", RECORD.len())
}

/// The same in one chunk.
pub fn chunked(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{RECORD}\r\n0\r\n\r\n", RECORD.len())
}
