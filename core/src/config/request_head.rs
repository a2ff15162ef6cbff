//! The header lines that every request of a client has, made once.
//!
//! The transport puts them into each request itself: so the HTTP library below never sees the key, can neither log nor
//! keep it, and has nothing to do for lines that never change.

use std::fmt;

use zeroize::Zeroizing;

use crate::config::secret::Secret;

const BEARER: &[u8] = b"Authorization: Bearer ";

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

    /// The key itself.
    pub(crate) fn key(&self) -> &[u8] {
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
}
