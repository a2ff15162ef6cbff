//! What this room leans on in ureq, as tests: `ureq::unversioned` may change with any minor version, and what it promises
//! about the order of calls is written nowhere else. A newer ureq that breaks one of these is not to be taken as it is.

use std::io;
use std::sync::{Arc, Mutex};

use ureq::http::Request;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport};
use ureq::{Agent, Error};

/// What ureq did, in order.
type Diary = Arc<Mutex<Vec<String>>>;

#[derive(Debug)]
struct Scripted {
    diary: Diary,
    answer: &'static [u8],
}

struct Line {
    diary: Diary,
    buffers: LazyBuffers,
    answer: &'static [u8],
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line")
    }
}

impl Connector for Scripted {
    type Out = Line;

    fn connect(&self, _: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Line>, Error> {
        self.diary.lock().unwrap().push("connect".to_owned());
        Ok(Some(Line { diary: self.diary.clone(), buffers: LazyBuffers::new(16 << 10, 16 << 10), answer: self.answer }))
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
        self.diary.lock().unwrap().push(format!("write {text}"));
        Ok(())
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        self.diary.lock().unwrap().push("await".to_owned());
        let answer = std::mem::take(&mut self.answer);
        if answer.is_empty() {
            return Err(Error::Io(io::ErrorKind::ConnectionReset.into()));
        }
        self.buffers.input_append_buf()[..answer.len()].copy_from_slice(answer);
        self.buffers.input_appended(answer.len());
        Ok(true)
    }

    fn is_open(&mut self) -> bool {
        self.diary.lock().unwrap().push("open?".to_owned());
        true
    }
}

/// Two POSTs over an agent as ours is configured, answered so.
fn diary_of(answer: &'static [u8]) -> (Vec<String>, bool) {
    let diary = Diary::default();
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .build();
    let part = |answer| Scripted { diary: diary.clone(), answer };
    let agent = Agent::with_parts(config, part(answer), part(b""));
    let request = Request::post("http://service.invalid/path").header("b", "c").body("body".as_bytes()).unwrap();
    let ended = agent.run(request).and_then(|mut response| response.body_mut().read_to_vec());
    let lines = diary.lock().unwrap().clone();
    (lines, ended.is_ok())
}

#[test]
fn the_head_comes_first_then_the_body_and_only_then_is_an_answer_awaited() {
    let (diary, good) = diary_of(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    assert!(good);
    assert_eq!(diary[0], "connect", "an empty list of addresses is taken");
    assert!(diary[1].starts_with("write POST /path HTTP/1.1\r\n"), "{diary:?}");
    assert!(diary[1].ends_with("\r\n\r\n"), "the whole head in one piece: {diary:?}");
    assert_eq!(diary[2..], ["write body", "await", "open?"], "it asks whether to keep the connection once, at the end");
}

#[test]
fn a_lost_connection_and_a_redirect_are_never_tried_again_by_ureq_itself() {
    for answer in
        [b"".as_slice(), b"HTTP/1.1 307 x\r\nlocation: http://elsewhere.invalid/\r\ncontent-length: 0\r\n\r\n"]
    {
        let (diary, _) = diary_of(answer);
        assert_eq!(diary.iter().filter(|line| *line == "connect").count(), 1, "{diary:?}");
        assert_eq!(diary.iter().filter(|line| line.starts_with("write POST")).count(), 1, "{diary:?}");
    }
}

#[test]
fn what_has_no_version_promise_is_used_in_this_room_alone() {
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
