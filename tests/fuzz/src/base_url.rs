//! A base URL, against the `url` crate: what we accept leads to the same place, without a user, a query or a fragment, and every plain one
//! is accepted.

use std::net::Ipv4Addr;

use crate::is_word;
use agentjob_core::fuzzing;
use url::{Host, ParseError, Url};

pub fn check(data: &[u8]) {
    let Some((flags, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let allow_plaintext = flags & 1 == 1;
    let (https, host, port, url) = match fuzzing::base_url(text, allow_plaintext) {
        Ok(read) => read,
        Err(why) => return assert!(!is_plain(text), "{text:?}: {why}"),
    };
    let Some(theirs) = their(text) else { return };
    assert_eq!(theirs.scheme(), if https { "https" } else { "http" }, "{text:?}");
    same_host(text, &theirs, &host);
    assert_eq!(theirs.port_or_known_default(), Some(port), "{text:?}");
    assert_eq!(
        (theirs.username(), theirs.password(), theirs.query(), theirs.fragment()),
        ("", None, None, None),
        "{text:?}"
    );
    // A path is appended to the URL, so it must stay below the path that was given.
    let job = Url::parse(&format!("{url}/v2/x")).unwrap_or_else(|error| panic!("{url:?} is no URL: {error}"));
    let below = format!("{}/v2/x", theirs.path().trim_end_matches('/'));
    assert_eq!((job.host(), job.port(), job.path()), (theirs.host(), theirs.port(), &*below), "{text:?}");
    // Theirs resolves "." and "..", which would lead elsewhere; then it has fewer segments.
    let ours = url.splitn(4, '/').nth(3).map_or(0, |path| path.split('/').count());
    assert_eq!(below.matches('/').count(), ours + 2, "{text:?}");
    if !https && !allow_plaintext {
        let loopback = match theirs.host() {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        };
        assert!(loopback, "{text:?} is plain http to another machine");
    }
}

/// Whether it must be accepted: https, a host of words, perhaps a port, and a path of words, as theirs writes it, too.
fn is_plain(text: &str) -> bool {
    let Ok(theirs) = Url::parse(text) else { return false };
    let (host, path) = (
        theirs.host_str().unwrap_or_default(),
        theirs.path().strip_prefix('/').unwrap_or_default().trim_end_matches('/'),
    );
    theirs.as_str().trim_end_matches('/') == text.trim_end_matches('/')
        && theirs.scheme() == "https"
        && theirs.port() != Some(0)
        && theirs.query().or(theirs.fragment()).is_none()
        && (theirs.username(), theirs.password()) == ("", None)
        && host.split('.').all(is_word)
        && (path.is_empty() || path.split('/').all(is_word))
        && text.len() < 200
}

/// Their URL. `None` if theirs knows that a host cannot exist that is well-formed: 10.0.0.999, or a wrong international name.
pub fn their(text: &str) -> Option<Url> {
    match Url::parse(text) {
        Ok(url) => Some(url),
        Err(ParseError::InvalidIpv4Address | ParseError::IdnaError) => None,
        Err(error) => panic!("{text:?} is no URL: {error}"),
    }
}

/// Whether both name the same host; theirs is in lower case, and an address in its usual form.
pub fn same_host(text: &str, theirs: &Url, ours: &str) {
    match theirs.host().expect("an http URL has a host") {
        Host::Domain(name) => assert_eq!(name, ours.to_ascii_lowercase(), "{text:?}"),
        // Theirs reads 0x7f.1 as an address, too; to us it is a name, which the system looks up, or a certificate doesn't have.
        Host::Ipv4(ip) => assert!(ours.parse().is_ok_and(|ours: Ipv4Addr| ours == ip) || is_number(ours), "{text:?}"),
        Host::Ipv6(ip) => assert_eq!(Ok(ip), ours.parse(), "{text:?}"),
    }
}

/// Whether a host's last label is a number, but the host is no address as RFC 6943 3.1.1 has it.
fn is_number(host: &str) -> bool {
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    last.starts_with(|first: char| first.is_ascii_digit()) && host.parse::<Ipv4Addr>().is_err()
}
