//! Which proxy a client uses: decided once, reading the environment as curl does.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use zeroize::Zeroizing;

use crate::config::endpoint::{Endpoint, is_loopback};
use crate::config::environment::Environment;
use crate::config::no_proxy::is_exempt;
use crate::error::Error;

/// An HTTP proxy, for CONNECT tunnels.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) credentials: Option<Credentials>,
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
        if text.trim() != text {
            return Err(wrong("begins or ends with white space"));
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "socks" | "socks4" | "socks4a" | "socks5" | "socks5h" => {
                return Err(wrong("names a SOCKS proxy, which agentjob does not support and never bypasses"));
            }
            "https" => return Err(wrong("names an https:// proxy, which agentjob does not support")),
            _ => return Err(wrong("has a scheme that agentjob does not know")),
        }
        let (user, authority) = match rest.rsplit_once('@') {
            Some((user, authority)) => (Some(user), authority),
            None => (None, rest),
        };
        // They end the host and the port (RFC 3986 3.2), so this user name or password may be the path of another host.
        if user.is_some_and(|user| user.contains(['/', '?', '#'])) {
            let error = Error::invalid(format!("{name} has a \"/\", \"?\" or \"#\" before an \"@\""));
            return Err(error.with_hint("In a user name or a password write %2F, %3F or %23 for it."));
        }
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
            credentials: user.and_then(Credentials::parse),
        })
    }

    /// What a text must not have: the secret; and the login, in which a secret that is too short to be looked for in every encoding
    /// would not be recognised.
    pub(crate) fn secrets(&self) -> [&[u8]; 2] {
        [self.secret(), self.credentials.as_ref().map_or(b"", |it| it.login().as_bytes())]
    }

    /// The password, or else the user name, which is a token then; empty if there are no credentials.
    fn secret(&self) -> &[u8] {
        let Some(Credentials { pair, colon, .. }) = &self.credentials else { return b"" };
        match &pair[colon + 1..] {
            b"" => &pair[..*colon],
            password => password,
        }
    }

    /// Checks that this proxy may be used for this endpoint.
    ///
    /// # Errors
    /// A proxy on another machine would see a plain http request, and the key in it.
    pub(crate) fn checked_for(self, endpoint: &Endpoint) -> Result<Proxy, Error> {
        if endpoint.loopback_only && !is_loopback(&self.host) {
            return Err(Error::invalid(
                "proxy is another machine, which would see the key, because base_url is plain http",
            )
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

/// What a proxy gets as `Proxy-Authorization: Basic`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    /// `user:password`, percent-decoded.
    pair: Zeroizing<Vec<u8>>,
    /// Where the user name ends and the colon is.
    colon: usize,
    /// The pair in base64.
    login: Zeroizing<String>,
}

impl Credentials {
    /// Of the part of a URL before the `@`; `None` if that is empty. A malformed escape stays as it is.
    fn parse(userinfo: &str) -> Option<Credentials> {
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        // Allocated once: a vector that grows leaves copies behind that are not wiped.
        let mut pair = Zeroizing::new(Vec::with_capacity(userinfo.len() + 1));
        pair.extend(percent_decode_str(user));
        let colon = pair.len();
        // RFC 7617 2: also without a password.
        pair.push(b':');
        pair.extend(percent_decode_str(password));
        let login = Zeroizing::new(BASE64_STANDARD.encode(&pair));
        (!userinfo.is_empty()).then_some(Credentials { pair, colon, login })
    }

    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn pair(&self) -> &[u8] {
        &self.pair
    }

    /// What the header has behind `Basic`.
    pub(crate) fn login(&self) -> &str {
        &self.login
    }
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
    fn a_proxy_that_cannot_be_used_is_an_error_and_never_bypassed() {
        for text in
            ["socks5://p:1", "socks5h://p:1", "https://p:1", "ftp://p:1", "http://", "http://p:1/x", "http://u:pw@"]
        {
            let error = chosen("https://a.example", &[("ALL_PROXY", text)]).unwrap_err();
            assert!(error.message().starts_with("ALL_PROXY "), "{error}");
            assert!(!error.message().contains("pw"), "{error}");
        }
        for text in [" http://p:1", "http://p:1 ", "p:1\n"] {
            let error = chosen("https://a.example", &[("ALL_PROXY", text)]).unwrap_err();
            assert!(error.message().starts_with("ALL_PROXY begins or ends with white space."), "{error}");
        }
        // An exempt host needs no proxy, so an unusable one does not matter.
        assert_eq!(chosen("https://a.example", &[("ALL_PROXY", "socks5://p:1"), ("NO_PROXY", "*")]).unwrap(), None);
    }

    #[test]
    fn what_ends_the_host_of_a_url_is_not_read_as_a_part_of_the_password() {
        for text in [
            "http://host/path@x:80",
            "http://u:hunter2/@h:1",
            "http://u:hunt/er2@h:1",
            "http://u:hunt?er2@h:1",
            "http://u:hunt#er2@h:1",
            "u:hunt/er2@h:1",
            "http://h:1/hunter2@",
            "http://h:1?hunter2@x",
        ] {
            let error = chosen("https://a.example", &[("ALL_PROXY", text)]).unwrap_err();
            assert_eq!(
                error.message(),
                "ALL_PROXY has a \"/\", \"?\" or \"#\" before an \"@\". In a user name or a password write %2F, %3F or %23 for it.",
                "{text}"
            );
        }
        let proxy = Proxy::parse("proxy", "http://u:%2F%3F%23@h:8").unwrap();
        assert_eq!(proxy.credentials.unwrap().pair(), b"u:/?#");
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
    fn credentials_are_a_pair_of_which_malformed_escapes_stay_as_they_are() {
        for (userinfo, pair) in [
            ("us%40er:p%3Aw", Some("us@er:p:w")),
            ("user:p:w", Some("user:p:w")),
            ("user:p@w", Some("user:p@w")),
            // RFC 7617 2: the pair always has its colon.
            ("token", Some("token:")),
            ("token:", Some("token:")),
            (":pw", Some(":pw")),
            ("", None),
            ("u:%zz%+f%-1% 1%", Some("u:%zz%+f%-1% 1%")),
            ("u:100%", Some("u:100%")),
            ("u:%4", Some("u:%4")),
            ("%7E%7e:%25zz", Some("~~:%zz")),
        ] {
            let proxy = Proxy::parse("proxy", &format!("http://{userinfo}@h:8")).unwrap();
            let found = proxy.credentials.as_ref().map(|it| String::from_utf8(it.pair().to_vec()).unwrap());
            assert_eq!(found.as_deref(), pair, "{userinfo}");
        }
    }

    #[test]
    fn without_a_password_the_user_name_is_the_secret() {
        for (userinfo, secret) in [
            ("user:hunter2", "hunter2"),
            ("user:a:b", "a:b"),
            ("us%3Aer:hunter2", "hunter2"),
            ("tok%65n", "token"),
            ("token:", "token"),
            (":pw", "pw"),
            (":", ""),
            ("", ""),
        ] {
            let proxy = Proxy::parse("proxy", &format!("http://{userinfo}@h:8")).unwrap();
            assert_eq!(proxy.secret(), secret.as_bytes(), "{userinfo}");
            let shown = format!("{proxy:?}");
            assert!(shown.starts_with("Proxy(h:8, credentials: ") && !shown.contains("hunter2"), "{shown}");
            assert!(!shown.contains("token"), "{shown}");
        }
    }
}
