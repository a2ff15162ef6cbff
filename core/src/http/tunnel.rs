//! A tunnel through an HTTP proxy (RFC 9110 9.3.6), requested before anything of the actual request is sent.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use zeroize::Zeroizing;

use crate::config::endpoint::Endpoint;
use crate::config::proxy::Proxy;
use crate::http::call_in_flight::CallInFlight;
use crate::http::cause::Cause;
use crate::http::socket::{Socket, Wrote};

/// The longest head of a proxy's response, in bytes; it has no body.
const MAX_HEAD_BYTES: usize = 16 << 10;

/// Asks the proxy at the other end of `socket` for a tunnel to the service.
pub(crate) fn open(call: &CallInFlight, socket: &Socket, proxy: &Proxy, to: &Endpoint) -> Result<(), Cause> {
    let lost = |cause| match cause {
        Cause::Lost(why) => Cause::Proxy(format!("closed the connection ({why})")),
        other => other,
    };
    let request = request(proxy, to);
    let mut rest = request.as_slice();
    while !rest.is_empty() {
        match socket.write(call, rest).map_err(lost)? {
            Wrote::Some(n) => rest = &rest[n..],
            Wrote::Broken | Wrote::ResponseWaiting => break,
        }
    }
    let mut head = Vec::with_capacity(1024);
    loop {
        let mut piece = [0; 1024];
        match socket.read(call, &mut piece).map_err(lost)? {
            0 => return Err(Cause::Proxy("closed the connection without a response".to_owned())),
            n => head.extend_from_slice(&piece[..n]),
        }
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            // A service sends nothing before it has a request, so more bytes cannot be its own.
            let rest = head.len() - end - 4;
            return check_status(&head, proxy).and_then(|()| {
                if rest == 0 { Ok(()) } else { Err(Cause::Proxy("sent more than a response".to_owned())) }
            });
        }
        if head.len() > MAX_HEAD_BYTES || !looks_like_http(&head) {
            return Err(Cause::Proxy("sent a response that is not HTTP".to_owned()));
        }
    }
}

fn request(proxy: &Proxy, to: &Endpoint) -> Zeroizing<Vec<u8>> {
    let host = if to.host.contains(':') { format!("[{}]", to.host) } else { to.host.clone() };
    let authority = format!("{host}:{}", to.port);
    let mut request = Zeroizing::new(Vec::with_capacity(512));
    request.extend_from_slice(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n").as_bytes());
    if let Some(credentials) = &proxy.credentials {
        let encoded = Zeroizing::new(BASE64_STANDARD.encode(credentials.pair()));
        request.extend_from_slice(b"Proxy-Authorization: Basic ");
        request.extend_from_slice(encoded.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    request
}

fn looks_like_http(head: &[u8]) -> bool {
    let start = b"HTTP/1.";
    head.iter().zip(start).all(|(a, b)| a == b)
}

fn check_status(head: &[u8], proxy: &Proxy) -> Result<(), Cause> {
    let status = looks_like_http(head).then(|| head.get(9..12)).flatten();
    match status.and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u16>().ok()) {
        Some(200..=299) => Ok(()),
        Some(407) => Err(Cause::ProxyLogin { credentials: proxy.credentials.is_some() }),
        Some(status) => Err(Cause::Proxy(format!("refused the tunnel ({status})"))),
        None => Err(Cause::Proxy("sent a response that is not HTTP".to_owned())),
    }
}
