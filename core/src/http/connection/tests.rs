//! What arrives while a request is still being written.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use super::*;
use crate::call::control::CancelToken;

/// How often it is tried: mostly the service writes its response too slowly for it to be read at once, which shows nothing.
const TRIES: usize = 100;

#[test]
fn an_early_response_that_takes_more_reads_than_are_made_at_once_lets_the_call_be_checked_in_between() {
    // The input buffer has room for one of these and not for two, so that each takes a read. The refusal's head takes some more.
    let interim = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "x".repeat(4100));
    let refusal = format!("HTTP/1.1 413 Content Too Large\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(60_000));
    let early = interim.repeat(MAX_EARLY_READS as usize) + &refusal;
    let call = CallInFlight::for_test(&CancelToken::new(), Duration::from_secs(600));
    for _ in 0..TRIES {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut service, _) = listener.accept().unwrap();
        let mut connection = Connection::new(Socket::new(stream).unwrap(), None, false, false);
        std::thread::scope(|scope| {
            let early = early.as_bytes();
            scope.spawn(move || service.write_all(early).map(|()| service).unwrap());
            while connection.socket.idle() != Idle::Readable {
                std::thread::yield_now();
            }
            assert!(!connection.read_early_response(&call).unwrap(), "all of it was read at once");
            // Nothing of it is lost.
            while !connection.read_early_response(&call).unwrap() {
                std::thread::yield_now();
            }
            assert!(connection.response_came_early);
        });
    }
}
