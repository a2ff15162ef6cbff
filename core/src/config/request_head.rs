//! The header lines that every request of a client has, built once.
//!
//! Our transport adds them to each request. So ureq never sees the key and cannot log or keep it, and it does no work for lines
//! that never change.

use std::fmt;

use zeroize::Zeroizing;

use crate::config::secret::Secret;

const BEARER: &[u8] = b"Authorization: Bearer ";

/// The header lines of a GET and of a POST. They are wiped when the last client and call drop them.
pub(crate) struct RequestHead {
    key_length: usize,
    get: Zeroizing<Vec<u8>>,
    post: Zeroizing<Vec<u8>>,
}

impl RequestHead {
    pub(crate) fn new(secret: &Secret, user_agent: &str) -> RequestHead {
        let block = |more: &[u8]| {
            let parts = [
                BEARER,
                secret.key(),
                b"\r\nUser-Agent: ",
                user_agent.as_bytes(),
                // "identity": a compressed response could unpack to any size.
                b"\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n",
                more,
            ];
            // Allocated once: a vector that grows leaves copies behind that are not wiped.
            let mut block = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
            parts.iter().for_each(|part| block.extend_from_slice(part));
            block
        };
        RequestHead {
            key_length: secret.key().len(),
            get: block(b""),
            post: block(b"Content-Type: application/json\r\n"),
        }
    }

    /// The API key.
    pub(crate) fn key(&self) -> &[u8] {
        &self.get[BEARER.len()..self.key_end()]
    }

    /// Where in the lines the key ends.
    pub(crate) fn key_end(&self) -> usize {
        BEARER.len() + self.key_length
    }

    /// The lines of a GET, each with its CRLF.
    pub(crate) fn get_lines(&self) -> &[u8] {
        &self.get
    }

    /// The lines of a POST, each with its CRLF.
    pub(crate) fn post_lines(&self) -> &[u8] {
        &self.post
    }
}

impl fmt::Debug for RequestHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestHead(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_those_of_the_contract() {
        let head = RequestHead::new(&Secret::new("api_key", "adm_marker").unwrap(), "agentjob/1");
        let get = "Authorization: Bearer adm_marker\r\nUser-Agent: agentjob/1\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n";
        assert_eq!(head.get_lines(), get.as_bytes());
        assert_eq!(head.post_lines(), format!("{get}Content-Type: application/json\r\n").as_bytes());
        assert!(!format!("{head:?}").contains("marker"));
    }
}
