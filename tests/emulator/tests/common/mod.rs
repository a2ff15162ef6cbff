//! A client of the tests' own: raw bytes over a socket, and a response taken apart by hand.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this")]

#[path = "../../../../core/tests/support/limit.rs"]
mod limit;
#[path = "../../../../core/tests/support/port.rs"]
mod port;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use agentjob_emulator::{Config, Emulator};
pub use limit::limited;
pub use port::port_of_its_own;
use serde_json::Value;

pub const JOB: &str = "/v2/agent/demo/job/job_demo";
pub const MESSAGE: &str = "/v2/agent/demo/job/job_demo/message";
pub const CREATE: &str = "/v2/agent/demo/job";
pub const BODY: &str = r#"{"prompt":"Also cover the error cases"}"#;
const KEY: &str = "emulator_0123456789abcdef";

pub fn emulator(config: &str) -> Emulator {
    limited();
    Emulator::start(Config::from_json(config).expect(config)).expect("a free port")
}

/// The same on a port that no other test gets: when it has been stopped, nothing listens there.
pub fn emulator_on_its_own_port(config: &str) -> Emulator {
    limited();
    let config = Config::from_json(config).expect(config);
    Emulator::start(Config { port: port_of_its_own(), ..config }).expect("the port is free")
}

/// A response, as far as it came.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let field = self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub fn job_status(&self) -> String {
        self.json()["status"].as_str().expect("a status").to_owned()
    }
}

/// How a connection ended for the client.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    Fin,
    Reset,
}

pub struct Peer(pub TcpStream);

impl Peer {
    pub fn connect(emulator: &Emulator) -> Self {
        let stream = TcpStream::connect(emulator.address()).expect("the emulator listens");
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.write_all(bytes.as_ref()).expect("the emulator reads");
    }

    pub fn request(&mut self, method: &str, path: &str, body: &str) -> Response {
        self.write(request(method, path, body));
        self.response()
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.request("GET", path, "")
    }

    pub fn post(&mut self, path: &str, body: &str) -> Response {
        self.request("POST", path, body)
    }

    /// Reads one response, whatever delimits it.
    pub fn response(&mut self) -> Response {
        let head = self.read_head();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut response = Response { status, headers, body: Vec::new() };
        if let Some(length) = response.header("content-length") {
            response.body = vec![0; length.parse().unwrap()];
            self.0.read_exact(&mut response.body).expect("the whole body");
        } else if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                response.body.extend(chunk);
            }
        } else if status != 204 && status != 304 {
            self.0.read_to_end(&mut response.body).expect("a FIN after the body");
        }
        response
    }

    /// Reads up to and with the blank line.
    pub fn read_head(&mut self) -> String {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.byte().expect("a whole head"));
        }
        String::from_utf8(head).unwrap()
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            line.push(self.byte().expect("a chunk's line"));
        }
        let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
        let mut chunk = vec![0; size + 2];
        self.0.read_exact(&mut chunk).unwrap();
        chunk.truncate(size);
        (size > 0).then_some(chunk)
    }

    fn byte(&mut self) -> Option<u8> {
        let mut byte = [0];
        (self.0.read(&mut byte).ok()? == 1).then_some(byte[0])
    }

    /// Everything until the connection ends, and how it ends.
    pub fn rest(&mut self) -> (Vec<u8>, End) {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => (rest, End::Fin),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => (rest, End::Reset),
            Err(error) => panic!("neither a FIN nor a reset: {error}"),
        }
    }

    /// How the connection ends, with nothing sent before.
    pub fn end(&mut self) -> End {
        let (rest, end) = self.rest();
        assert_eq!(String::from_utf8_lossy(&rest), "");
        end
    }
}

/// A request with the right key.
pub fn request(method: &str, path: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: emulator\r\nAuthorization: Bearer {KEY}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Waits until `done`, for as long as a starved machine may need.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "never happened: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether something takes less than `bound` at least once in twenty times: a machine that is busy oversleeps now and then.
pub fn once_within(bound: Duration, mut something: impl FnMut() -> Duration) -> bool {
    (0..20).any(|_| something() < bound)
}
