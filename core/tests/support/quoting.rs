//! A service that quotes the key, and a search that finds the key in any encoding.

use std::collections::{HashSet, VecDeque};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

pub(crate) const KEYS: [&str; 4] = [
    "sk/9f+3c77aaQQ==",
    "adm_zebra7quilt4mango9",
    r#"q"w\x%7e&y'<u>/i+9=0"#,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
];

/// A listener on loopback that sends each connection the next response, and closes it.
pub(crate) struct Service {
    pub(crate) address: String,
    responses: Arc<Mutex<VecDeque<Vec<u8>>>>,
}

impl Service {
    pub(crate) fn start() -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let responses = Arc::new(Mutex::new(VecDeque::<Vec<u8>>::new()));
        let turn = responses.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut responses = turn.lock().unwrap();
                responses.rotate_left(1);
                let response = responses.back().unwrap().clone();
                drop(responses);
                drop(serve(stream, &response));
            }
        });
        Service { address, responses }
    }

    /// Sets the responses, which are sent in turns.
    pub(crate) fn responses(&self, responses: impl IntoIterator<Item = Vec<u8>>) {
        *self.responses.lock().unwrap() = responses.into_iter().collect();
    }
}

fn serve(mut stream: TcpStream, response: &[u8]) -> std::io::Result<()> {
    let mut request = Vec::new();
    let end = loop {
        let mut piece = [0; 4096];
        let n = stream.read(&mut piece)?;
        request.extend_from_slice(&piece[..n]);
        match request.windows(4).position(|window| window == b"\r\n\r\n") {
            Some(end) => break end + 4,
            None if n == 0 => return Ok(()),
            None => {}
        }
    };
    let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
    let mut rest = vec![0; (end + length.unwrap_or(0)).saturating_sub(request.len())];
    stream.read_exact(&mut rest)?;
    stream.write_all(response)
}

fn each(text: &str, one: impl Fn(usize, char) -> String) -> String {
    text.chars().enumerate().map(|(n, c)| one(n, c)).collect()
}

fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn percent(text: &str) -> String {
    each(text, |_, c| if c.is_ascii_alphanumeric() { c.into() } else { format!("%{:02x}", c as u32) })
}

type Encode = fn(&str) -> String;

/// How services, gateways and their frameworks encode what they quote.
pub(crate) const ENCODINGS: [(&str, Encode); 11] = [
    ("raw", str::to_owned),
    ("json", json),
    ("php", |key| json(key).replace('/', "\\/")),
    (".net", |key| each(key, |_, c| if c.is_ascii_alphanumeric() { c.into() } else { format!("\\u{:04X}", c as u32) })),
    ("all escaped", |key| each(key, |_, c| format!("\\u{:04x}", c as u32))),
    ("percent", percent),
    ("html", |key| key.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&#34;").replace('/', "&#x2F;")),
    ("base64", |key| BASE64_STANDARD.encode(key)),
    ("base64 of Bearer", |key| BASE64_STANDARD_NO_PAD.encode(format!("Bearer {key}"))),
    ("base64 of user:key", |key| BASE64_URL_SAFE_NO_PAD.encode(format!("user:{key}"))),
    ("base64 in json", |key| BASE64_STANDARD.encode(format!("k:{key}")).replace('/', "\\/")),
];

/// Whether any decoding of the text contains six consecutive characters of the key.
pub(crate) fn shows(text: &str, key: &str) -> bool {
    let pieces: HashSet<&[u8]> = key.as_bytes().windows(6).collect();
    let mut first = [false; 256];
    pieces.iter().for_each(|piece| first[piece[0] as usize] = true);
    let has = |text: &[u8]| text.windows(6).any(|window| first[window[0] as usize] && pieces.contains(window));
    let mut readings = vec![text.as_bytes().to_vec()];
    for round in 0..3 {
        for reading in std::mem::take(&mut readings) {
            if has(&reading) {
                return true;
            }
            if round < 2 {
                readings.extend([unescaped(&reading), unpercented(&reading), without_space(&reading)]);
                readings.extend((0..4).map(|skipped| unpacked(&reading, skipped)));
            }
        }
        readings.sort();
        readings.dedup();
    }
    false
}

fn replaced(text: &[u8], start: &[u8], digits: usize) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let begin = at + start.len();
        let code = text[at..].starts_with(start).then(|| text.get(begin..begin + digits)).flatten();
        match code.and_then(|code| u32::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok()) {
            Some(code) => {
                out.push(code as u8);
                at = begin + digits;
            }
            None => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    out
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let text = replaced(text, b"\\u", 4);
    text.into_iter().filter(|byte| *byte != b'\\').collect()
}

fn unpercented(text: &[u8]) -> Vec<u8> {
    replaced(&replaced(text, b"%", 2), b"&#x", 2).into_iter().filter(|byte| *byte != b';').collect()
}

fn without_space(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
}

fn unpacked(text: &[u8], skipped: usize) -> Vec<u8> {
    let digit = |byte: &u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = text.iter().filter_map(digit).map(u32::from).skip(skipped).collect();
    let triple = |four: &[u32]| {
        let bits = four.iter().fold(0, |bits, digit| bits << 6 | digit);
        [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8]
    };
    digits.chunks_exact(4).flat_map(triple).collect()
}
