//! Where a response's body ends (RFC 9112 section 6.3), and whether the connection can be used again after it.

use crate::http::field_value::{decimal, list, trim};
use crate::http::keep_alive::KeepAlive;
use crate::text::escape;

/// The longest list of codings that an error quotes, in bytes.
const MAX_QUOTED: usize = 100;

/// Where the body ends (RFC 9112 section 6.3).
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is no body.
    Empty,
    /// After this many bytes.
    Length(u64),
    /// After the last chunk.
    Chunked,
    /// When the connection ends.
    UntilClose,
    /// The body cannot be read; this clause says why.
    Unreadable(String),
}

/// What the header fields declare about the body and the connection.
#[derive(Default)]
pub(crate) struct Declared {
    /// The Content-Length; an error if it is not a single number.
    length: Option<Result<u64, ()>>,
    /// The transfer codings, in one list.
    codings: Option<String>,
    persistent: bool,
    close: bool,
    keep_alive: KeepAlive,
}

/// What follows from a whole head.
pub(crate) struct Decided {
    pub(crate) framing: Framing,
    /// Whether the connection may carry another request after this response.
    pub(crate) reusable: bool,
    /// After how many idle seconds the service closes the connection, if it says so.
    pub(crate) idle_timeout: Option<u64>,
}

impl Declared {
    /// Nothing declared yet. HTTP/1.1 keeps a connection by default, HTTP/1.0 does not.
    pub(crate) fn new(minor_version: u8) -> Declared {
        Declared { persistent: minor_version > 0, ..Declared::default() }
    }

    /// Takes in one field, and returns whether it was one of those that count here.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name.len() {
            10 if name.eq_ignore_ascii_case(b"connection") => {
                let mut options = list(value);
                self.close |= options.clone().any(|option| option.eq_ignore_ascii_case(b"close"));
                self.persistent |= options.any(|option| option.eq_ignore_ascii_case(b"keep-alive"));
            }
            10 if name.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive.take(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                // Several times the same number is one number; anything else is an error (RFC 9112 6.3).
                for number in value.split(|byte| *byte == b',').map(|element| decimal(trim(element))) {
                    let agreed = self.length.is_none_or(|before| before == number);
                    self.length = Some(number.and_then(|number| if agreed { Ok(number) } else { Err(()) }));
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                let codings = self.codings.get_or_insert_default();
                codings.push_str(if codings.is_empty() { "" } else { ", " });
                codings.push_str(&String::from_utf8_lossy(value));
            }
            _ => return false,
        }
        true
    }

    /// Decides, once the head is complete.
    ///
    /// # Errors
    /// The response must be discarded, as a clause.
    pub(crate) fn decide(self, status: u16, minor_version: u8) -> Result<Decided, String> {
        let reusable = self.persistent && !self.close && !self.keep_alive.is_over();
        let idle_timeout = self.keep_alive.timeout;
        let decided = |framing, reusable| Ok(Decided { framing, reusable, idle_timeout });
        if matches!(status, 100..=199 | 204 | 304) {
            // These have no body, whatever they declare; but a service that declares one may also send it.
            let declares_a_body = self.codings.is_some() || !matches!(self.length, None | Some(Ok(0)));
            return decided(Framing::Empty, reusable && status != 101 && !declares_a_body);
        }
        match (self.codings, self.length) {
            (Some(codings), length) => {
                let mut elements = list(codings.as_bytes());
                let chunked = elements.next().is_some_and(|first| first.eq_ignore_ascii_case(b"chunked"));
                if minor_version == 0 || !chunked || elements.next().is_some() {
                    // Quoted whole or not at all: of a secret that is cut, the rest would not be recognised.
                    let quoted = Some(&codings).filter(|codings| codings.len() <= MAX_QUOTED);
                    let quoted = quoted.map_or_else(String::new, |codings| format!(" ({})", escape(codings)));
                    let why = format!("its Transfer-Encoding is not supported{quoted}");
                    return decided(Framing::Unreadable(why), false);
                }
                // A response that declares both may be smuggled (RFC 9112 6.3): do not trust the rest of the connection.
                decided(Framing::Chunked, reusable && length.is_none())
            }
            (None, Some(Ok(length))) => decided(Framing::Length(length), reusable),
            // RFC 9112 6.3: "discard the received response".
            (None, Some(Err(()))) => Err("its Content-Length is not a single number".to_owned()),
            (None, None) => decided(Framing::UntilClose, false),
        }
    }
}
