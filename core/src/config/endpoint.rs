//! The base URL: parsed once, and refused unless it names exactly one host that may get the key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ureq::http::Uri;

use crate::error::Error;
use crate::text::describe;

const MAX_BASE_URL_BYTES: usize = 2048;

/// Where the service is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) https: bool,
    /// A name or an address; IPv6 without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// Scheme, authority and path, without a slash at the end.
    pub(crate) url: String,
    /// The path part of `url`.
    pub(crate) path: String,
    /// Plain http is allowed only because the host is this machine, so only loopback addresses may be used.
    pub(crate) loopback_only: bool,
}

impl Endpoint {
    pub(crate) fn parse(text: &str, allow_plaintext: bool) -> Result<Endpoint, Error> {
        let wrong = |what: &str| {
            Error::invalid(format!("base_url {}{what}", quoted(text)))
                .with_hint("Give a URL like https://api.example.com.")
        };
        if text.len() > MAX_BASE_URL_BYTES {
            return Err(Error::invalid(format!("base_url is longer than {MAX_BASE_URL_BYTES} bytes")));
        }
        if text.bytes().any(|b| !b.is_ascii_graphic()) {
            return Err(wrong(" contains a space, a control character or a non-ASCII character"));
        }
        // The parser below silently drops a fragment, and a query would end up in the middle of a path.
        if text.contains('#') || text.contains('?') {
            return Err(wrong(" has a query or a fragment"));
        }
        if text.contains('\\') {
            return Err(wrong(" contains a backslash"));
        }
        let uri: Uri = text.parse().map_err(|_| wrong(" is not a URL"))?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong(" does not begin with https:// (or http:// for this machine)")),
        };
        let authority = uri.authority().ok_or_else(|| wrong(" has no host"))?;
        if authority.as_str().contains('@') {
            // The text is not quoted: before the @ there may be a password.
            return Err(Error::invalid("base_url has a user name or password before an @").with_hint("Remove it."));
        }
        let host = authority.host();
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() || (host != bare && bare.parse::<Ipv6Addr>().is_err()) || (host == bare && !is_name(bare)) {
            return Err(wrong(" has no valid host"));
        }
        let after_host = &authority.as_str()[host.len()..];
        let port = match (after_host, after_host.strip_prefix(':').map(str::parse::<u16>)) {
            ("", _) => [80, 443][usize::from(https)],
            (text, Some(Ok(port))) if port > 0 && text[1..].bytes().all(|b| b.is_ascii_digit()) => port,
            _ => return Err(wrong(" has no valid port")),
        };
        let path = uri.path().trim_end_matches('/');
        // A percent-encoded dot counts as a dot.
        let segments = path.to_ascii_lowercase().replace("%2e", ".");
        if segments.split('/').skip(1).any(|segment| matches!(segment, "" | "." | "..")) {
            return Err(wrong(" has an empty, \".\" or \"..\" segment in its path"));
        }
        let loopback = is_loopback(bare);
        if !https && !loopback && !allow_plaintext {
            return Err(Error::invalid(format!(
                "base_url {} is plain http to another machine, which would expose the key to the network",
                quoted(text)
            ))
            .with_hint("Use https, or set allow_plaintext if that is intended."));
        }
        Ok(Endpoint {
            https,
            host: bare.to_owned(),
            port,
            url: format!("{}://{}{path}", if https { "https" } else { "http" }, authority.as_str()),
            path: path.to_owned(),
            loopback_only: !https && !allow_plaintext,
        })
    }

    /// Whether the host is this machine, judged by its spelling alone.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || host.parse::<IpAddr>().is_ok_and(|ip| ip == IpAddr::V6(Ipv6Addr::LOCALHOST))
}

fn is_name(host: &str) -> bool {
    host.len() <= 253 && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
}

fn quoted(text: &str) -> String {
    // Before an @ there may be a user name and password: never repeat them.
    if text.contains('@') { "(not shown)".to_owned() } else { format!("\"{}\"", describe(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_urls_lead_to_the_host_that_they_name() {
        for (text, https, host, port, url) in [
            ("https://api.example.com", true, "api.example.com", 443, "https://api.example.com"),
            ("https://api.example.com/", true, "api.example.com", 443, "https://api.example.com"),
            ("https://api.example.com:8443/a/b/", true, "api.example.com", 8443, "https://api.example.com:8443/a/b"),
            ("http://127.0.0.1:80", false, "127.0.0.1", 80, "http://127.0.0.1:80"),
            ("http://127.9.9.9", false, "127.9.9.9", 80, "http://127.9.9.9"),
            ("http://localhost:1", false, "localhost", 1, "http://localhost:1"),
            ("http://[::1]:8080", false, "::1", 8080, "http://[::1]:8080"),
            ("https://[2001:db8::1]/x", true, "2001:db8::1", 443, "https://[2001:db8::1]/x"),
        ] {
            let endpoint = Endpoint::parse(text, false).expect(text);
            assert_eq!(
                (endpoint.https, endpoint.host.as_str(), endpoint.port, endpoint.url.as_str()),
                (https, host, port, url),
                "{text}"
            );
        }
    }

    #[test]
    fn urls_that_could_lead_the_key_astray_are_refused() {
        for text in [
            "",
            "api.example.com",
            "ftp://api.example.com",
            "https://",
            "https:///v2",
            "https://user:hunter2@api.example.com",
            "https://api.example.com?x=1",
            "https://api.example.com/#f",
            "https://api.example.com/a b",
            "https://api.example.com/\r\nx: y",
            "https://exämple.com",
            "https://api.example.com/../up",
            "https://api.example.com/a//b",
            "https://api.example.com\\@evil.example",
            "https://api.example.com:0",
            "https://api.example.com:65536",
            "https://api.example.com:+443",
            "https://a%2eb.example",
            "https://[::1",
            "http://[::1]x:43210",
            "https://api.example.com/%2E%2e/x",
            "https://[1.2.3.4]",
            "http://api.example.com",
            "http://127.0.0.1.evil.example",
            "http://[::ffff:127.0.0.1]",
            "http://2130706433",
            "http://0177.0.0.1",
            "http://10.0.0.1",
        ] {
            let error = Endpoint::parse(text, false).expect_err(text);
            assert!(error.message().starts_with("base_url "), "{text}: {error}");
            assert!(!error.message().contains("hunter2"), "{text}: {error}");
        }
        assert!(Endpoint::parse("http://10.0.0.1", true).is_ok());
    }
}
