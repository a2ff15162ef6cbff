//! The header lines of a client's requests, except the key's, built once.
//!
//! Our transport adds them to each request. So ureq never sees a secret and cannot log or keep it, and it does no work for lines that
//! never change.

use std::fmt;

use zeroize::Zeroizing;

use crate::config::headers::Headers;
use crate::error::Error;

/// The header lines of a GET and of a POST, the caller's own first. They are wiped when the last client and call drop them.
pub(crate) struct RequestHead {
    user_agent: String,
    headers: Headers,
    /// How long the caller's own lines are: they may have secrets.
    secret: usize,
    get: Zeroizing<Vec<u8>>,
    post: Zeroizing<Vec<u8>>,
}

impl RequestHead {
    pub(crate) fn new(user_agent: String, headers: Headers) -> RequestHead {
        let secret = headers.lines().flatten().map(str::len).sum();
        let block = |more: &str| {
            // "identity": a compressed response could unpack to any size.
            let ours =
                ["User-Agent: ", &user_agent, "\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n", more];
            let length = secret + ours.iter().map(|part| part.len()).sum::<usize>();
            // Allocated once: a vector that grows leaves copies behind that are not wiped.
            let mut block = Zeroizing::new(Vec::with_capacity(length));
            headers.lines().flatten().chain(ours).for_each(|part| block.extend_from_slice(part.as_bytes()));
            block
        };
        let (get, post) = (block(""), block("Content-Type: application/json\r\n"));
        RequestHead { user_agent, headers, secret, get, post }
    }

    /// The same with more headers, which win over those of the same name.
    ///
    /// # Errors
    /// They are too many, or too long.
    pub(crate) fn with_headers(&self, headers: &Headers) -> Result<RequestHead, Error> {
        Ok(RequestHead::new(self.user_agent.clone(), self.headers.merged(headers)?))
    }

    /// The `User-Agent`, which a proxy gets, too.
    pub(crate) fn user_agent(&self) -> &str {
        &self.user_agent
    }

    /// The caller's own headers.
    pub(crate) fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Where in the lines the caller's own end.
    pub(crate) fn secret_end(&self) -> usize {
        self.secret
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
    fn the_lines_are_those_of_the_contract_after_the_callers_own() {
        let headers = Headers::new().with("X-Tenant", "marker").unwrap();
        let ours = "User-Agent: agentjob/1\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n";
        for (headers, lines) in [(Headers::new(), ""), (headers, "X-Tenant: marker\r\n")] {
            let head = RequestHead::new("agentjob/1".to_owned(), headers);
            assert_eq!(head.get_lines(), format!("{lines}{ours}").as_bytes());
            assert_eq!(head.post_lines(), format!("{lines}{ours}Content-Type: application/json\r\n").as_bytes());
            assert_eq!(head.secret_end(), lines.len());
            assert!(!format!("{head:?}").contains("marker"));
        }
    }
}
