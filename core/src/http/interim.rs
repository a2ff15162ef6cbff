//! Interim responses (1xx), which precede the final one and are skipped (pure). ureq skips most of them itself, but not a `100 Continue`
//! with fields, which gateways do send, and not while it writes the request.

use memchr::memchr_iter;

/// The beginning of every head.
const VERSION: &[u8] = b"HTTP/1.";
/// As long as `HTTP/1.1 200`.
const STATUS_END: usize = 12;

/// What a connection's input begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// With too few bytes to say, or with a part of an interim response.
    Unclear,
    /// With an interim response of this many bytes.
    Interim(usize),
    /// With the final response, or with something that is none: ureq reads it.
    Final,
}

/// Recognises the beginning. A 101 is final: we requested no other protocol, so what follows it is not HTTP.
pub(crate) fn begins(input: &[u8]) -> Begins {
    // Empty lines before the status line are ignored (RFC 9112 2.2).
    let blank = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let head = &input[blank..];
    match head.get(..STATUS_END) {
        None if VERSION.starts_with(&head[..head.len().min(VERSION.len())]) => Begins::Unclear,
        Some([b'H', b'T', b'T', b'P', b'/', b'1', b'.', _, b' ', b'1', b'0'..=b'9', b'0'..=b'9'])
            if !head[9..].starts_with(b"101") && matches!(head.get(STATUS_END), None | Some(b' ' | b'\r' | b'\n')) =>
        {
            let mut lines = memchr_iter(b'\n', head);
            let end = lines.find_map(|at| match head[at + 1..] {
                [b'\n', ..] => Some(at + 2),
                [b'\r', b'\n', ..] => Some(at + 3),
                _ => None,
            });
            end.map_or(Begins::Unclear, |end| Begins::Interim(blank + end))
        }
        _ => Begins::Final,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interim_response_is_recognised_and_measured_however_much_has_come() {
        for (interim, rest) in [
            ("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
            ("HTTP/1.1 100 Continue\r\nServer: nginx\r\n\r\n", ""),
            ("HTTP/1.1 103 Early Hints\nLink: </a>\n\n", "\r\n"),
            ("\r\nHTTP/1.0 102\r\n\r\n", "HTTP/1.1 102\r\n\r\n"),
        ] {
            let whole = format!("{interim}{rest}");
            for length in 0..whole.len() {
                let expected = if length < interim.len() { Begins::Unclear } else { Begins::Interim(interim.len()) };
                assert_eq!(begins(&whole.as_bytes()[..length]), expected, "{length} of {whole:?}");
            }
        }
    }

    #[test]
    fn what_is_no_interim_response_is_left_to_ureq_at_once() {
        for input in [
            "HTTP/1.1 200",
            "HTTP/1.1 101",
            "HTTP/1.1 1xx",
            "HTTP/1.1 100&Continue\r\n\r\n",
            "HTTP/1.1 1000 Continue\r\n\r\n",
            "\r\n\nHTTP/1.1 500 x",
            "HTTP/2 100 Continue\r\n\r\n",
            "SSH-2.0-x",
            "H2",
            "{",
            "\r\n{",
        ] {
            assert_eq!(begins(input.as_bytes()), Begins::Final, "{input:?}");
        }
    }
}
