//! The floor: a socket, one write, one read, the answer parsed. It sends what agentjob sends, byte for byte,
//! so that the service has the same work with both.

use std::io::{Read, Write};
use std::net::TcpStream;

use agentjob_bench::{JOB, PROMPT, check, race};

fn main() {
    race(|place| {
        let mut stream = TcpStream::connect(&place.host).expect("the service listens");
        stream.set_nodelay(true).expect("a socket");
        let body = format!("{{\"prompt\":\"{PROMPT}\"}}");
        let request = format!(
            "POST /v2/agent/demo/job/{JOB}/message HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\nAuthorization: Bearer {}\r\n\
            User-Agent: agentjob/0.1.0\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n\
            Content-Type: application/json\r\n\r\n{body}",
            place.host,
            body.len(),
            place.key
        );
        let mut answer = [0; 8192];
        Box::new(move || {
            stream.write_all(request.as_bytes()).expect("it is taken");
            let n = stream.read(&mut answer).expect("an answer");
            assert!(answer.starts_with(b"HTTP/1.1 200 "));
            let head = answer[..n].windows(4).position(|end| end == b"\r\n\r\n").expect("a whole head") + 4;
            check(&answer[head..n]);
        })
    });
}
