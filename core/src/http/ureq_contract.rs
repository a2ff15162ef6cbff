//! What this room relies on in ureq, as tests: `ureq::unversioned` may change with any minor version, and its order of calls is
//! documented nowhere. If a newer ureq fails one of these, this room must change before ureq is updated.

use std::io;
use std::sync::{Arc, Mutex};

use ureq::http::Request;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport};
use ureq::{Agent, Error};

/// What ureq did, in order.
type Log = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
struct Scripted {
    log: Log,
    response: &'static [u8],
}

struct Line {
    log: Log,
    buffers: LazyBuffers,
    response: &'static [u8],
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line")
    }
}

impl Connector for Scripted {
    type Out = Line;

    fn connect(&self, _: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Line>, Error> {
        self.log.lock().unwrap().push("connect".to_owned());
        Ok(Some(Line { log: self.log.clone(), buffers: LazyBuffers::new(16 << 10, 16 << 10), response: self.response }))
    }
}

impl Resolver for Scripted {
    fn resolve(
        &self,
        _: &ureq::http::Uri,
        _: &ureq::config::Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

impl Transport for Line {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        let text = String::from_utf8_lossy(&self.buffers.output()[..amount]).into_owned();
        self.log.lock().unwrap().push(format!("write {text}"));
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        self.log.lock().unwrap().push("await".to_owned());
        let response = std::mem::take(&mut self.response);
        if response.is_empty() {
            return Err(Error::Io(io::ErrorKind::ConnectionReset.into()));
        }
        self.buffers.input_append_buf()[..response.len()].copy_from_slice(response);
        self.buffers.input_appended(response.len());
        Ok(true)
    }

    fn is_open(&mut self) -> bool {
        self.log.lock().unwrap().push("open?".to_owned());
        true
    }
}

/// Makes a POST over an agent that is configured like ours, with this response.
fn log_of(response: &'static [u8]) -> (Vec<String>, bool) {
    let log = Log::default();
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .build();
    let part = |response| Scripted { log: log.clone(), response };
    let agent = Agent::with_parts(config, part(response), part(b""));
    let request = Request::post("http://service.invalid/path").header("b", "c").body("body".as_bytes()).unwrap();
    let ended = agent.run(request).and_then(|mut response| {
        log.lock().unwrap().push(format!("head {}", response.status().as_u16()));
        response.body_mut().read_to_vec()
    });
    let lines = log.lock().unwrap().clone();
    (lines, ended.is_ok())
}

#[test]
fn the_head_is_written_first_then_the_body_and_then_the_response_is_awaited() {
    let (log, good) = log_of(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    assert!(good);
    assert_eq!(log[0], "connect", "an empty list of addresses is accepted");
    assert!(log[1].starts_with("write POST /path HTTP/1.1\r\n"), "{log:?}");
    assert!(log[1].ends_with("\r\n\r\n"), "the whole head in one piece: {log:?}");
    let rest = ["write body", "await", "head 200", "open?"];
    assert_eq!(log[2..], rest, "it asks whether to keep the connection once, when the body was read");
    // Without a body there is nothing to read, so it asks before our code has seen the head.
    for response in [b"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n".as_slice(), b"HTTP/1.1 204 x\r\n\r\n"] {
        let (log, _) = log_of(response);
        assert!(log[3..].iter().map(String::as_str).take(2).eq(["await", "open?"]), "{log:?}");
    }
}

#[test]
fn a_head_that_ureq_does_not_understand_is_an_error_and_the_connection_is_not_kept() {
    for response in [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok".as_slice(),
        b"HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: a\r\n b\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nno field\r\n\r\nok",
        b"HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ] {
        let (log, good) = log_of(response);
        assert!(!good && log.last().unwrap() == "await", "{log:?}");
    }
}

#[test]
fn a_connection_is_kept_only_if_the_response_ended_and_nothing_followed_it() {
    const SIZED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    for (response, ends) in
        [(SIZED, true), (CHUNKED, true), (&SIZED[..SIZED.len() - 1], false), (&CHUNKED[..CHUNKED.len() - 5], false)]
    {
        let (log, good) = log_of(response);
        assert_eq!((good, log.last().unwrap() == "open?"), (ends, ends), "{log:?}");
    }
    for response in [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok.".as_slice(),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n.",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ] {
        let (log, good) = log_of(response);
        assert!(good && log.last().unwrap() == "head 200", "{log:?}");
    }
}

#[test]
fn ureq_never_retries_after_a_lost_connection_or_a_redirect() {
    for response in
        [b"".as_slice(), b"HTTP/1.1 307 x\r\nlocation: http://elsewhere.invalid/\r\ncontent-length: 0\r\n\r\n"]
    {
        let (log, _) = log_of(response);
        assert_eq!(log.iter().filter(|line| *line == "connect").count(), 1, "{log:?}");
        assert_eq!(log.iter().filter(|line| line.starts_with("write POST")).count(), 1, "{log:?}");
    }
}

#[test]
fn only_this_room_uses_the_unversioned_parts_of_ureq() {
    fn search(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("http") {
                search(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.extend(std::fs::read_to_string(&path).unwrap().contains("unversioned").then_some(path));
            }
        }
    }
    let mut found = Vec::new();
    search(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut found);
    assert_eq!(found, Vec::<std::path::PathBuf>::new());
}
