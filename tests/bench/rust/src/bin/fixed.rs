//! The service that does almost nothing: it responds to every request at once with one record, so the client is what is measured.
//! It prints one line like the emulator's, and ends when its standard input does.
//!
//! The job in the path `…/job/until_MS_…` is active until that millisecond of the Unix clock, and completed from then on: any
//! number of jobs, each with an end that is known exactly. Every other job is active. `/requests` returns the number of requests
//! about jobs.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// What follows the status in every job's record, as in the emulator's.
const RECORD: &str = r#""source":{"repository":"https://github.com/acme/widgets","ref":"main"},"model":"emulated","prLink":null,"createdAt":"2026-11-20T14:36:15.667Z","archivedAt":null}"#;

static REQUESTS: AtomicU64 = AtomicU64::new(0);

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!(r#"{{"base_url":"http://{}","api_key":"fixed_0123456789abcdef"}}"#, listener.local_addr()?);
    io::stdout().flush()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serve(stream));
        }
    });
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop)
}

/// Responds until the client closes. A client that breaks off is not an error here.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 256 * 1024];
    let mut filled = 0;
    let mut response = String::with_capacity(1024);
    loop {
        let head = loop {
            if let Some(end) = buffer[..filled].windows(4).position(|end| end == b"\r\n\r\n") {
                break end + 4;
            }
            match stream.read(&mut buffer[filled..])? {
                0 => return Ok(()),
                n => filled += n,
            }
        };
        compose(&String::from_utf8_lossy(&buffer[..head]), &mut response);
        let mut whole = head + body_length(&buffer[..head]);
        while filled < whole {
            if filled == buffer.len() {
                // The body is counted and discarded.
                whole -= filled;
                filled = 0;
            }
            match stream.read(&mut buffer[filled..])? {
                0 => return Ok(()),
                n => filled += n,
            }
        }
        buffer.copy_within(whole..filled, 0);
        filled -= whole;
        stream.write_all(response.as_bytes())?;
    }
}

fn body_length(head: &[u8]) -> usize {
    let name = b"\r\ncontent-length:";
    let at = head.windows(name.len()).position(|here| here.eq_ignore_ascii_case(name));
    at.map_or(0, |at| {
        let value = &head[at + name.len()..];
        let digits = value.iter().skip_while(|byte| **byte == b' ').take_while(|byte| byte.is_ascii_digit());
        digits.fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'))
    })
}

fn compose(head: &str, response: &mut String) {
    use std::fmt::Write;
    let path = head.split(' ').nth(1).unwrap_or("/");
    response.clear();
    if path == "/requests" {
        let count = REQUESTS.load(Ordering::Relaxed).to_string();
        write!(response, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{count}", count.len()).expect("memory");
        return;
    }
    REQUESTS.fetch_add(1, Ordering::Relaxed);
    let job = path.split_once("/job/").map_or("none", |(_, rest)| rest.split('/').next().unwrap_or(rest));
    let until = job.strip_prefix("until_").and_then(|rest| rest.split('_').next()?.parse::<u128>().ok());
    let done = until
        .is_some_and(|until| SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() >= until);
    let status = if done { "completed" } else { "active" };
    let length = r#"{"id":"","status":"",}"#.len() - 1 + job.len() + status.len() + RECORD.len();
    write!(
        response,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n\
        {{\"id\":\"{job}\",\"status\":\"{status}\",{RECORD}"
    )
    .expect("memory");
}
