//! Which proxy a client uses: decided once, reading the environment as curl does.

use std::fmt;
use std::net::IpAddr;

use zeroize::Zeroizing;

use crate::config::endpoint::{Endpoint, is_loopback};
use crate::config::environment::Environment;
use crate::error::Error;

/// An HTTP proxy, for CONNECT tunnels.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// `user:password`, percent-decoded, for `Proxy-Authorization: Basic`.
    pub(crate) credentials: Option<Zeroizing<Vec<u8>>>,
}

impl Proxy {
    /// `name` is the argument or variable, for the error. The text is not quoted: it may contain a password.
    ///
    /// # Errors
    /// It is not an HTTP proxy that can be used.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Proxy, Error> {
        let wrong = |what: &str| {
            Error::invalid(format!("{name} {what}")).with_hint("Give a URL like http://proxy.example.com:3128.")
        };
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "socks" | "socks4" | "socks4a" | "socks5" | "socks5h" => {
                return Err(wrong("names a SOCKS proxy, which agentjob does not support and never bypasses"));
            }
            "https" => return Err(wrong("names a proxy to be reached over TLS, which agentjob does not support")),
            _ => return Err(wrong("has a scheme that agentjob does not know")),
        }
        let (user, authority) = match rest.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, rest),
        };
        let authority = authority.trim_end_matches('/');
        // An endpoint without a path is exactly a host and a port.
        let endpoint =
            Endpoint::parse(&format!("http://{authority}"), true).map_err(|_| wrong("has no valid host or port"))?;
        if endpoint.url.len() != "http://".len() + authority.len() || authority.contains('/') {
            return Err(wrong("has a path"));
        }
        let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| !port.is_empty() && !port.ends_with(']'));
        Ok(Proxy {
            host: endpoint.host,
            // curl's default for a proxy that names no port.
            port: if has_port { endpoint.port } else { 1080 },
            credentials: user.map(percent_decoded),
        })
    }

    /// The password; empty if the proxy has none.
    pub(crate) fn password(&self) -> &[u8] {
        let credentials = self.credentials.as_ref().map_or(&[][..], |credentials| credentials);
        credentials.iter().position(|byte| *byte == b':').map_or(b"", |colon| &credentials[colon + 1..])
    }

    /// Checks that this proxy may be used for this endpoint.
    ///
    /// # Errors
    /// A proxy on another machine would see a plain http request, and the key in it.
    pub(crate) fn checked_for(self, endpoint: &Endpoint) -> Result<Proxy, Error> {
        if endpoint.loopback_only && !is_loopback(&self.host) {
            return Err(Error::invalid("proxy would carry plain http, and the key in it, through another machine")
                .with_hint("Use https, or set allow_plaintext if that is intended."));
        }
        Ok(self)
    }

    /// The proxy for this endpoint, from the variables that curl reads; none for a loopback endpoint, whose plain http must not
    /// leave this machine.
    pub(crate) fn from_environment(environment: &Environment, endpoint: &Endpoint) -> Result<Option<Proxy>, Error> {
        if endpoint.is_loopback() {
            return Ok(None);
        }
        let mut names = if endpoint.https { vec!["https_proxy", "HTTPS_PROXY"] } else { vec!["http_proxy"] };
        // In a CGI program HTTP_PROXY is set from the remote client's "Proxy:" header (CVE-2016-5385).
        if !endpoint.https && environment.get("REQUEST_METHOD")?.is_none() {
            names.push("HTTP_PROXY");
        }
        names.extend(["all_proxy", "ALL_PROXY"]);
        for name in names {
            if let Some(text) = environment.get(name)? {
                let exempt = match environment.get("no_proxy")? {
                    Some(list) => Some(list),
                    None => environment.get("NO_PROXY")?,
                };
                if exempt.is_some_and(|list| is_exempt(&list, endpoint)) {
                    return Ok(None);
                }
                return Proxy::parse(name, &text).map(Some);
            }
        }
        Ok(None)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({}:{}, credentials: {})", self.host, self.port, self.credentials.is_some())
    }
}

/// `NO_PROXY`: names (which cover their subdomains), addresses, CIDR blocks, or `*`, split by commas or spaces.
fn is_exempt(list: &str, endpoint: &Endpoint) -> bool {
    let host = endpoint.host.trim_end_matches('.');
    let address = host.parse::<IpAddr>().ok();
    list.split([',', ' ', '\t']).filter(|entry| !entry.is_empty()).any(|entry| {
        if entry == "*" {
            return true;
        }
        if let Some(address) = address {
            let entry = entry.trim_start_matches('[').trim_end_matches(']');
            return match entry.split_once('/') {
                Some((network, bits)) => is_in_block(address, network, bits),
                None => entry.parse() == Ok(address),
            };
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (entry, None),
        };
        if port.is_some_and(|port| port.parse() != Ok(endpoint.port)) {
            return false;
        }
        let name = name.trim_start_matches('.').trim_end_matches('.');
        let tail = host.len().checked_sub(name.len()).and_then(|at| host.get(at..).map(|tail| (at, tail)));
        tail.is_some_and(|(at, tail)| {
            tail.eq_ignore_ascii_case(name) && (at == 0 || host.as_bytes()[at - 1] == b'.') && !name.is_empty()
        })
    })
}

fn is_in_block(address: IpAddr, network: &str, bits: &str) -> bool {
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    match (address, network) {
        (IpAddr::V4(a), IpAddr::V4(n)) if bits <= 32 => {
            (u32::from(a) ^ u32::from(n)).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(n)) if bits <= 128 => {
            (u128::from(a) ^ u128::from(n)).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

fn percent_decoded(text: &str) -> Zeroizing<Vec<u8>> {
    let mut out = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut bytes = text.as_bytes();
    while let Some((&first, rest)) = bytes.split_first() {
        let hex = rest.get(..2).filter(|_| first == b'%').and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                bytes = &rest[2..];
            }
            None => {
                out.push(first);
                bytes = rest;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(url: &str, variables: &[(&str, &str)]) -> Result<Option<String>, Error> {
        let endpoint = Endpoint::parse(url, true).unwrap();
        let proxy = Proxy::from_environment(&Environment::of(variables), &endpoint)?;
        Ok(proxy.map(|proxy| format!("{}:{}", proxy.host, proxy.port)))
    }

    #[test]
    fn the_environment_is_read_as_curl_does() {
        let api = "https://api.example.com";
        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], Option<&'a str>);
        let rows: &[Row<'_>] = &[
            (api, &[], None),
            (api, &[("HTTPS_PROXY", "http://p:1")], Some("p:1")),
            (api, &[("https_proxy", "p:2"), ("HTTPS_PROXY", "http://p:1")], Some("p:2")),
            (api, &[("HTTP_PROXY", "http://p:1")], None),
            (api, &[("ALL_PROXY", "http://p")], Some("p:1080")),
            (api, &[("HTTPS_PROXY", ""), ("ALL_PROXY", "http://q:3")], Some("q:3")),
            ("http://10.0.0.1", &[("HTTP_PROXY", "http://p:1")], Some("p:1")),
            ("http://10.0.0.1", &[("HTTP_PROXY", "http://p:1"), ("REQUEST_METHOD", "GET")], None),
            ("http://10.0.0.1", &[("http_proxy", "http://p:1"), ("REQUEST_METHOD", "GET")], Some("p:1")),
            ("http://127.0.0.1:1", &[("http_proxy", "http://p:1"), ("ALL_PROXY", "http://p:1")], None),
        ];
        for (url, variables, proxy) in rows {
            assert_eq!(chosen(url, variables).unwrap().as_deref(), *proxy, "{url} {variables:?}");
        }
    }

    #[test]
    fn no_proxy_entries_cover_the_same_hosts_as_in_curl() {
        for (url, list, exempt) in [
            ("https://api.example.com", "*", true),
            ("https://api.example.com", "other.com, example.com", true),
            ("https://api.example.com", ".example.com", true),
            ("https://api.example.com", "API.EXAMPLE.COM.", true),
            ("https://api.example.com", "ample.com", false),
            ("https://api.example.com", "api.example.com:443", true),
            ("https://api.example.com", "api.example.com:8443", false),
            ("https://example.com", "api.example.com", false),
            ("https://10.1.2.3", "10.0.0.0/8", true),
            ("https://10.1.2.3", "11.0.0.0/8", false),
            ("https://10.1.2.3", "0.0.0.0/0", true),
            ("https://10.1.2.3", "10.1.2.3", true),
            ("https://[2001:db8::1]", "2001:db8::/32", true),
            ("https://[2001:db8::1]", "[2001:db8::1]", true),
        ] {
            let proxy = chosen(url, &[("ALL_PROXY", "http://p:1"), ("NO_PROXY", list)]).unwrap();
            assert_eq!(proxy.is_none(), exempt, "{url} against {list}");
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_and_never_bypassed() {
        for text in
            ["socks5://p:1", "socks5h://p:1", "https://p:1", "ftp://p:1", "http://", "http://p:1/x", "http://u:pw@"]
        {
            let error = chosen("https://a.example", &[("ALL_PROXY", text)]).unwrap_err();
            assert!(error.message().starts_with("ALL_PROXY "), "{error}");
            assert!(!error.message().contains("pw"), "{error}");
        }
        // An exempt host needs no proxy, so an unusable one does not matter.
        assert_eq!(chosen("https://a.example", &[("ALL_PROXY", "socks5://p:1"), ("NO_PROXY", "*")]).unwrap(), None);
    }

    #[test]
    fn plain_http_to_this_machine_is_not_sent_through_another() {
        let endpoint = Endpoint::parse("http://localhost:9", false).unwrap();
        assert!(Proxy::parse("proxy", "http://p:1").unwrap().checked_for(&endpoint).is_err());
        assert!(Proxy::parse("proxy", "http://127.0.0.1:1").unwrap().checked_for(&endpoint).is_ok());
        let meant = Endpoint::parse("http://localhost:9", true).unwrap();
        assert!(Proxy::parse("proxy", "http://p:1").unwrap().checked_for(&meant).is_ok());
    }

    #[test]
    fn credentials_are_decoded_and_not_shown() {
        let proxy = Proxy::parse("proxy", "http://us%40er:p%3Aw@h:8").unwrap();
        assert_eq!(proxy.credentials.as_deref().map(Vec::as_slice), Some(b"us@er:p:w".as_slice()));
        assert_eq!(format!("{proxy:?}"), "Proxy(h:8, credentials: true)");
    }
}
