//! A tunnel through an HTTP proxy (RFC 9110 9.3.6), requested before anything of the actual request is sent. The proxy's response
//! is read by ureq's own parser, like the service's.

use ureq::http::{Response, StatusCode, header};
use ureq_proto::client::MAX_RESPONSE_HEADERS;
use ureq_proto::parser::try_parse_response;
use zeroize::Zeroizing;

use crate::config::endpoint::Endpoint;
use crate::config::proxy::Proxy;
use crate::http::call_in_flight::CallInFlight;
use crate::http::cause::{Cause, TunnelRefused};
use crate::http::response_body::{MAX_ERROR_BODY_BYTES, MAX_ERROR_BODY_TIME};
use crate::http::response_headers::ResponseHeaders;
use crate::http::socket::{Socket, Wrote};
use crate::http::unreadable::{MAX_HEAD, refused_head, too_long_head};
use crate::text::decimal;

/// The port of the tunnels that proxies allow by default.
const HTTPS_PORT: u16 = 443;

/// Asks the proxy at the other end of `socket` for a tunnel to the service.
pub(crate) fn open(call: &CallInFlight, socket: &Socket, proxy: &Proxy, to: &Endpoint) -> Result<(), Cause> {
    write(call, socket, &request(call, proxy, to)).map_err(named)?;
    let (head, rest) = read_head(call, socket).map_err(named)?;
    if !head.status().is_success() {
        let (body, cut) = read_body(call, socket, &head, rest);
        return Err(Cause::TunnelRefused(Box::new(TunnelRefused {
            status: head.status().as_u16(),
            headers: ResponseHeaders::new(head.into_parts().0.headers),
            body,
            cut,
            with_credentials: proxy.credentials.is_some(),
            for_https: to.https && to.port == HTTPS_PORT,
        })));
    }
    if rest.is_empty() { Ok(()) } else { Err(surplus()) }
}

/// There are more bytes than the proxy's response before the request is written. A service sends nothing then, so they are not its own.
/// Over TLS they break the handshake.
pub(crate) fn surplus() -> Cause {
    Cause::Proxy("sent more than a response".to_owned())
}

/// A failure on the way to the proxy, not to the service.
fn named(cause: Cause) -> Cause {
    match cause {
        Cause::Lost(why) => Cause::Proxy(format!("closed the connection ({why})")),
        Cause::ConnectTimeout => silent("did not respond in time (connect_timeout)"),
        Cause::Timeout => silent("did not respond in time (timeout)"),
        other => other,
    }
}

fn silent(why: &str) -> Cause {
    Cause::ProxyTimeout { why: why.to_owned(), is_reached: true }
}

fn request(call: &CallInFlight, proxy: &Proxy, to: &Endpoint) -> Zeroizing<Vec<u8>> {
    let host = if to.host.contains(':') { format!("[{}]", to.host) } else { to.host.clone() };
    let authority = format!("{host}:{}", to.port);
    let login = proxy.credentials.as_ref().map(|it| ["Proxy-Authorization: Basic ", it.login(), "\r\n"]);
    let first = ["CONNECT ", &authority, " HTTP/1.1\r\nHost: ", &authority, "\r\n"];
    let last = ["User-Agent: ", call.user_agent(), "\r\n\r\n"];
    let parts: Vec<&str> = first.into_iter().chain(login.into_iter().flatten()).chain(last).collect();
    // Allocated once: a string that grows leaves copies behind that are not wiped.
    Zeroizing::new(parts.concat().into_bytes())
}

fn write(call: &CallInFlight, socket: &Socket, mut request: &[u8]) -> Result<(), Cause> {
    while !request.is_empty() {
        match socket.write(call, request)? {
            Wrote::Some(n) => request = &request[n..],
            // Its response may say why.
            Wrote::Broken | Wrote::ResponseWaiting => break,
        }
    }
    Ok(())
}

/// The final head of the response, and what came behind it.
fn read_head(call: &CallInFlight, socket: &Socket) -> Result<(Response<()>, Vec<u8>), Cause> {
    let garbled = |why: String| Cause::Proxy(format!("sent a response that is not valid ({why})"));
    let mut input = Vec::new();
    loop {
        let head = try_parse_response::<MAX_RESPONSE_HEADERS>(&input).map_err(|error| garbled(refused_head(&error)))?;
        if let Some((end, head)) = head {
            input.drain(..end);
            if !head.status().is_informational() || head.status() == StatusCode::SWITCHING_PROTOCOLS {
                return Ok((head, input));
            }
        } else {
            if input.len() >= MAX_HEAD {
                return Err(garbled(too_long_head()));
            }
            let piece = read(call, socket)?;
            if piece.is_empty() {
                return Err(Cause::Proxy("closed the connection without a response".to_owned()));
            }
            input.extend_from_slice(&piece);
        }
    }
}

/// The body of a refusal, as much of it as is read of any error's, and whether its end is missing. Chunks are not worth a decoder here.
fn read_body(call: &CallInFlight, socket: &Socket, head: &Response<()>, mut body: Vec<u8>) -> (Vec<u8>, bool) {
    if head.headers().contains_key(header::TRANSFER_ENCODING) {
        return (Vec::new(), true);
    }
    let length = head.headers().get(header::CONTENT_LENGTH).and_then(|value| decimal(value.as_bytes()));
    let limit = length.unwrap_or(usize::MAX).min(MAX_ERROR_BODY_BYTES);
    call.limit_phase(MAX_ERROR_BODY_TIME);
    let mut closed = false;
    while body.len() < limit && !closed {
        match read(call, socket) {
            Ok(piece) => {
                closed = piece.is_empty();
                body.extend_from_slice(&piece);
            }
            Err(_) => break,
        }
    }
    let cut = length.map_or(!closed, |length| body.len().min(limit) < length);
    body.truncate(limit);
    (body, cut)
}

/// Some bytes; none if the proxy closed.
fn read(call: &CallInFlight, socket: &Socket) -> Result<Vec<u8>, Cause> {
    let mut piece = vec![0; 4096];
    let n = socket.read(call, &mut piece)?;
    piece.truncate(n);
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{Shutdown, TcpStream};

    use super::*;
    use crate::http::socket::{Idle, pair};

    /// A socket whose proxy has sent this.
    fn after(sent: &str) -> (Socket, TcpStream) {
        let (client, mut proxy) = pair();
        proxy.write_all(sent.as_bytes()).unwrap();
        (Socket::new(client).unwrap(), proxy)
    }

    #[test]
    fn a_head_is_read_up_to_64_kib() {
        let head = |length: usize| format!("HTTP/1.1 200 OK\r\nVia: {}\r\n\r\n", "x".repeat(length - 26));
        for (length, is_read) in [(MAX_HEAD, true), (MAX_HEAD + 4096, false), (2 * MAX_HEAD + 1, false)] {
            let (socket, mut proxy) = after("");
            let head = head(length);
            let read = std::thread::scope(|scope| {
                // The client closes before the end of one that is too long.
                scope.spawn(move || drop(proxy.write_all(head.as_bytes())));
                let read = read_head(&CallInFlight::for_test(), &socket);
                drop(socket);
                read
            });
            match read {
                Ok(_) => assert!(is_read, "{length}"),
                Err(cause) => {
                    assert!(!is_read, "{length}");
                    let why = "sent a response that is not valid (its head is longer than 64 KiB)";
                    assert_eq!(cause, Cause::Proxy(why.to_owned()));
                }
            }
        }
    }

    #[test]
    fn a_refusals_body_is_read_to_its_length_or_to_the_end() {
        let large = (MAX_ERROR_BODY_BYTES + 1).to_string();
        // The length, what came with the head, what comes behind it, and whether the proxy closes; then the body, and whether it is cut.
        for (length, with_head, behind, closes, body, cut) in [
            (Some("6"), "abc", "def", false, "abcdef", false),
            (Some("6"), "abc", "de", true, "abcde", true),
            (Some("6"), "abc", "de", false, "abcde", true),
            (Some("3"), "abcdef", "", false, "abc", false),
            (Some("0"), "", "", false, "", false),
            (Some(&*large), "", "", true, "", true),
            (None, "abc", "def", true, "abcdef", false),
            (None, "abc", "def", false, "abcdef", true),
            (None, "", "", true, "", false),
        ] {
            let (socket, proxy) = after(behind);
            if closes {
                proxy.shutdown(Shutdown::Write).unwrap();
            }
            let head =
                length.into_iter().fold(Response::builder(), |head, length| head.header("content-length", length));
            let call = CallInFlight::for_test();
            // What has arrived counts, even if the machine stands still until the time for a body has passed.
            call.note_sent_some();
            let read = read_body(&call, &socket, &head.body(()).unwrap(), with_head.as_bytes().to_vec());
            assert_eq!(read, (body.as_bytes().to_vec(), cut), "{length:?}, {with_head:?}, {behind:?}, {closes}");
        }
    }

    #[test]
    fn nothing_is_read_behind_a_refusals_body() {
        let (socket, _proxy) = after("more");
        let head = Response::builder().header("content-length", "3").body(()).unwrap();
        let call = CallInFlight::for_test();
        while socket.idle() == Idle::Quiet {
            call.check().unwrap();
        }
        assert_eq!(read_body(&call, &socket, &head, b"abc".to_vec()), (b"abc".to_vec(), false));
        assert_eq!(socket.idle(), Idle::Readable);
    }
}
