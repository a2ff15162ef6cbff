//! What the fuzzers (tests/fuzz) reach in addition to the public functions. It exists only with the feature `fuzzing`, which nothing that
//! ships enables.

use std::time::{Duration, SystemTime};

use crate::batch::journal::digest::checksum;
use crate::call::error_body::{bounded_text, service_message};
use crate::call::retry_after::parse_retry_after;
use crate::config::endpoint::Endpoint;
use crate::config::no_proxy;
use crate::config::proxy::Proxy;
use crate::error::Error;
use crate::http::interim::{Begins, begins};
use crate::job::Job;
use crate::redact::{Redactor, Secrets};

/// What ureq gets of a response that arrives in these pieces: all that follows the interim responses. `None` before that.
pub fn final_response<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<Vec<u8>> {
    let (mut input, mut began) = (Vec::new(), false);
    for piece in pieces {
        input.extend_from_slice(piece);
        while !began {
            match begins(&input) {
                Begins::Unclear => break,
                Begins::Interim(length) => drop(input.drain(..length)),
                Begins::Final => began = true,
            }
        }
    }
    began.then_some(input)
}

/// Reads a job's record; what is wrong with it, as a clause.
pub fn record(json: &[u8]) -> Result<Job, String> {
    Job::read(json.to_vec())
}

/// What is kept of an error's body: its text, and the service's message in it.
pub fn error_body(body: &[u8], cut: bool, secret: &str) -> [Option<String>; 2] {
    struct One<'a>(&'a str);
    impl Secrets for One<'_> {
        fn secrets(&self) -> Vec<&[u8]> {
            vec![self.0.as_bytes()]
        }
    }
    let secrets = One(secret);
    let redactor = Redactor::new(&secrets);
    [bounded_text(body, cut, &redactor), service_message(body, cut, &redactor)]
}

/// Reads `Retry-After`.
pub fn retry_after(value: &str, date: Option<&str>, now: SystemTime) -> Option<Duration> {
    parse_retry_after(value, date, now)
}

/// Where a base URL leads: whether it is https, its host, its port, and the URL that paths are appended to.
pub fn base_url(text: &str, allow_plaintext: bool) -> Result<(bool, String, u16, String), Error> {
    Endpoint::parse(text, allow_plaintext).map(|it| (it.https, it.host, it.port, it.url))
}

/// A proxy's host, its port, and its `user:password`.
pub fn proxy(text: &str) -> Result<(String, u16, Option<Vec<u8>>), Error> {
    Proxy::parse("proxy", text)
        .map(|it| (it.host, it.port, it.credentials.map(|credentials| credentials.pair().to_vec())))
}

/// Whether a URL's host is reached without a proxy, by the list that `NO_PROXY` has.
pub fn is_exempt(url: &str, list: &str) -> Result<bool, Error> {
    Endpoint::parse(url, true).map(|endpoint| no_proxy::is_exempt(list, &endpoint))
}

/// A journal's checksum of a line: of the text before it.
pub fn journal_checksum(text: &[u8]) -> String {
    String::from_utf8_lossy(&checksum(text)).into_owned()
}
