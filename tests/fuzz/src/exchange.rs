//! A whole response, head and body, to a message that has arrived: the verdict is the one that the status has by `httparse`, in one piece
//! and in many, and every field of a record is the one that was sent.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crate::record;
use agentjob_core::{Client, Delivery, Error, ErrorKind, Job, fuzzing};

/// What the next connection gets: these bytes, in pieces of this size.
type Response = (Vec<u8>, usize);

struct Service {
    base_url: String,
    responses: Mutex<Sender<Response>>,
}

/// The most pieces; each is a write.
const MAX_PIECES: usize = 24;
const HOUR: Duration = Duration::from_secs(3600);

pub fn check(data: &[u8]) {
    static SERVICE: OnceLock<Service> = OnceLock::new();
    let service = SERVICE.get_or_init(Service::start);
    let Some((size, bytes)) = data.split_first() else { return };
    let whole = service.send(bytes, bytes.len());
    let pieces = service.send(bytes, usize::from(*size % 64 + 1).max(bytes.len() / MAX_PIECES + 1));
    let context = || format!("{:?}\nin one piece: {whole:?}\nin pieces:    {pieces:?}", String::from_utf8_lossy(bytes));
    assert_eq!(ending(&whole), ending(&pieces), "{}", context());

    let (kind, verdict) = ending(&whole);
    let Some(theirs) = Theirs::read(bytes) else {
        return assert_eq!(verdict, Some(Delivery::Unknown), "no response: {}", context());
    };
    match theirs.status {
        200..=299 if theirs.is_plain => assert!(matches!(verdict, None | Some(Delivery::Accepted)), "{}", context()),
        200..=299 => assert!(!matches!(verdict, Some(Delivery::Rejected | Delivery::NotSent)), "{}", context()),
        307 | 308 | 400..=499 if theirs.is_plain => assert_eq!(verdict, Some(Delivery::Rejected), "{}", context()),
        307 | 308 | 400..=499 => {
            assert!(matches!(verdict, Some(Delivery::Rejected | Delivery::Unknown)), "{}", context());
        }
        _ => assert_eq!(verdict, Some(Delivery::Unknown), "{}", context()),
    }
    assert!(!matches!(kind, Some(ErrorKind::InvalidArgument | ErrorKind::Internal)), "{}", context());
    let Some(body) = theirs.body else { return };
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&body);
    for job in [&whole, &pieces] {
        match job {
            Ok(job) => {
                assert_eq!(job.id(), "job_1", "{}", context());
                // `record` is the target for what `serde_json` cannot read.
                let text = std::str::from_utf8(body).expect("a record is UTF-8");
                if let Ok(sent) = serde_json::from_str(text) {
                    record::is_same(job, &sent, text);
                }
            }
            Err(_) if matches!(theirs.status, 200..=299) && theirs.is_plain => {
                let is_right = fuzzing::record(body).is_ok_and(|job| job.id() == "job_1");
                assert!(!is_right, "the record is right: {}", context());
            }
            Err(_) => (),
        }
    }
}

fn ending(ended: &Result<Job, Error>) -> (Option<ErrorKind>, Option<Delivery>) {
    let error = ended.as_ref().err();
    (error.map(Error::kind), error.and_then(Error::delivery))
}

/// The response as `httparse` reads it.
struct Theirs {
    status: u16,
    /// Every reader takes its head for the same: it has few fields, and it is certain where its body ends.
    is_plain: bool,
    /// Its body, where its length is declared and it is there, or all its chunks are.
    body: Option<Vec<u8>>,
}

impl Theirs {
    fn read(mut bytes: &[u8]) -> Option<Theirs> {
        let mut has_odd_interim = false;
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 512];
            let mut response = httparse::Response::new(&mut headers);
            let end = match response.parse(bytes) {
                Ok(httparse::Status::Complete(end)) => end,
                // What an interim response says does not matter, so it need not be readable.
                Err(_) => {
                    bytes = after_interim(bytes)?;
                    has_odd_interim = true;
                    continue;
                }
                Ok(httparse::Status::Partial) => return None,
            };
            let status = response.code?;
            bytes = &bytes[end..];
            if matches!(status, 100 | 102..=199) {
                continue;
            }
            let has =
                |name: &str| response.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(name)).count();
            let has_value = |name: &str, value: &[u8]| {
                response.headers.iter().any(|field| field.name.eq_ignore_ascii_case(name) && field.value == value)
            };
            let lengths = has("content-length");
            let length = response.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
            let digits = length.and_then(|field| std::str::from_utf8(field.value).ok());
            let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            let length: Option<usize> = digits.and_then(|digits| digits.parse().ok());
            let is_plain = !has_odd_interim
                && response.headers.len() <= 64
                && has("transfer-encoding") == 0
                && lengths == usize::from(length.is_some());
            let is_chunked =
                lengths == 0 && has("transfer-encoding") == 1 && has_value("transfer-encoding", b"chunked");
            let body = match length.filter(|_| is_plain) {
                Some(length) => bytes.get(..length).map(<[u8]>::to_vec),
                None => Some(bytes).filter(|_| is_chunked && !has_odd_interim).and_then(of_chunks),
            };
            // A 204 has none (RFC 9110 15.3.5), and one in another encoding is refused.
            let body = body.filter(|_| status != 204 && has("content-encoding") == 0);
            return Some(Theirs { status, is_plain, body });
        }
    }
}

/// A body of chunks without its framing. `None` if it is not whole.
fn of_chunks(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let Ok(httparse::Status::Complete((start, length))) = httparse::parse_chunk_size(bytes) else { return None };
        let end = start + usize::try_from(length).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(bytes.get(start..end)?);
        bytes = bytes.get(end..)?.strip_prefix(b"\r\n")?;
    }
}

/// What follows something that begins as an interim response does.
fn after_interim(bytes: &[u8]) -> Option<&[u8]> {
    let head = &bytes[bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()..];
    let is_one = head.starts_with(b"HTTP/1.") && head.get(8..10) == Some(b" 1");
    let end = |mark: &[u8]| head.windows(mark.len()).position(|window| window == mark).map(|at| at + mark.len());
    let end = [end(b"\n\n"), end(b"\n\r\n")].into_iter().flatten().min().filter(|_| is_one)?;
    Some(&head[end..])
}

impl Service {
    fn start() -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let base_url = format!("http://{}", listener.local_addr().expect("it has an address"));
        let (responses, next) = channel::<Response>();
        thread::spawn(move || {
            for (bytes, piece) in next {
                let (stream, _) = listener.accept().expect("the client connects");
                respond(stream, &bytes, piece).expect("the client reads the response");
            }
        });
        Service { base_url, responses: Mutex::new(responses) }
    }

    /// With a client of its own, so that no call meets the connection of another.
    fn send(&self, bytes: &[u8], piece: usize) -> Result<Job, Error> {
        let client = Client::builder().base_url(&self.base_url).api_key("key").project_id("project").max_retries(0);
        // A busy machine ends no call: libFuzzer ends an input that takes too long.
        let client = client.timeout(HOUR).connect_timeout(HOUR);
        let client = client.trust_env(false).build().expect("the settings are right");
        self.responses.lock().expect("nothing panics").send((bytes.to_vec(), piece.max(1))).expect("the service runs");
        client.send_message("job_1", "prompt")
    }
}

/// Reads the whole request, writes the response, and waits until the client has closed the connection.
fn respond(mut stream: TcpStream, bytes: &[u8], piece: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = Vec::new();
    while !is_whole(&request) {
        let mut more = [0; 4096];
        let read = stream.read(&mut more)?;
        assert_ne!(read, 0, "the client closed the connection before the response");
        request.extend_from_slice(&more[..read]);
    }
    // The client may close it before the end, when it has seen enough.
    let written = bytes.chunks(piece).try_for_each(|piece| stream.write_all(piece));
    let _ = written.and_then(|()| stream.shutdown(Shutdown::Write));
    let _ = io::copy(&mut stream, &mut io::sink());
    Ok(())
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    body.len() >= length.and_then(|length| length.parse().ok()).expect("a message has a length")
}
