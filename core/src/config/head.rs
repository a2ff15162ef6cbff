//! The header lines that every request of a client has, made once.
//!
//! The transport puts them into each request itself: so the HTTP library below never sees the key, can neither log nor
//! keep it, and has nothing to do for lines that never change.

use std::fmt;

use zeroize::Zeroizing;

use super::secret::Secret;

const BEARER: &[u8] = b"Authorization: Bearer ";
/// A shorter "key" stands in many a text by chance, and is no secret.
const MIN_SCRUBBED: usize = 8;

/// One block for reads, one for messages. Wiped when the last client and call let go.
pub(crate) struct Head {
    key_length: usize,
    get: Zeroizing<Vec<u8>>,
    post: Zeroizing<Vec<u8>>,
}

impl Head {
    pub(crate) fn new(secret: &Secret, user_agent: &str) -> Head {
        let block = |more: &[u8]| {
            let parts = [
                BEARER,
                secret.key(),
                b"\r\nUser-Agent: ",
                user_agent.as_bytes(),
                // "identity": an answer is read as it is, so nothing can unpack to more than it weighs.
                b"\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n",
                more,
            ];
            // Made in one piece: a vector that grows leaves copies behind that nobody wipes.
            let mut block = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
            parts.iter().for_each(|part| block.extend_from_slice(part));
            block
        };
        Head { key_length: secret.key().len(), get: block(b""), post: block(b"Content-Type: application/json\r\n") }
    }

    /// An error's body without the key: a service may quote what it was sent.
    pub(crate) fn scrubbed(&self, body: Vec<u8>) -> Vec<u8> {
        let key = self.key();
        if key.len() < MIN_SCRUBBED || !body.windows(key.len()).any(|window| window == key) {
            return body;
        }
        let mut out = Vec::with_capacity(body.len());
        let mut rest = body.as_slice();
        while let Some(at) = rest.windows(key.len()).position(|window| window == key) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(b"***");
            rest = &rest[at + key.len()..];
        }
        out.extend_from_slice(rest);
        out
    }

    /// Whether a header field's value quotes the key.
    pub(crate) fn is_quoted_in(&self, text: &str) -> bool {
        self.key().len() >= MIN_SCRUBBED && text.as_bytes().windows(self.key().len()).any(|window| window == self.key())
    }

    fn key(&self) -> &[u8] {
        &self.get[BEARER.len()..self.key_end()]
    }

    /// How far into the lines the key reaches.
    pub(crate) fn key_end(&self) -> usize {
        BEARER.len() + self.key_length
    }

    /// The lines, each with its end.
    pub(crate) fn lines(&self, posts: bool) -> &[u8] {
        if posts { &self.post } else { &self.get }
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Head(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_the_contracts() {
        let head = Head::new(&Secret::new("api_key", "adm_marker").unwrap(), "agentjob/1");
        let get = "Authorization: Bearer adm_marker\r\nUser-Agent: agentjob/1\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n";
        assert_eq!(head.lines(false), get.as_bytes());
        assert_eq!(head.lines(true), format!("{get}Content-Type: application/json\r\n").as_bytes());
        assert!(!format!("{head:?}").contains("marker"));
    }

    #[test]
    fn a_service_that_quotes_the_key_does_not_get_it_shown() {
        let head = Head::new(&Secret::new("api_key", "adm_marker").unwrap(), "agentjob/1");
        let scrubbed = |text: &str| String::from_utf8(head.scrubbed(text.into())).unwrap();
        assert_eq!(scrubbed("bad key adm_marker, adm_marker!"), "bad key ***, ***!");
        assert_eq!(scrubbed("nothing"), "nothing");
        assert!(head.is_quoted_in("x adm_marker") && !head.is_quoted_in("adm_marke"));
        let short = Head::new(&Secret::new("api_key", "k").unwrap(), "agentjob/1");
        assert_eq!(String::from_utf8(short.scrubbed("k".into())).unwrap(), "k");
    }
}
