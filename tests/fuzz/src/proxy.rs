//! A proxy setting, against the `url` crate: the same host, port and credentials, and no error quotes the password.

use crate::base_url::{same_host, their};
use crate::is_word;
use agentjob_core::fuzzing;

pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok((host, port, credentials)) = fuzzing::proxy(text) else {
        no_error_has_a_password(text);
        return assert!(!is_plain(text), "{text:?}");
    };
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    // Theirs refuses or cuts passwords with characters that curl, and we, accept; then only the part behind the @ is compared.
    let (_, authority) = full.rsplit_once('@').unwrap_or_else(|| full.split_once("://").expect("it has a scheme"));
    let Some(theirs) = their(&format!("http://{authority}")) else { return };
    same_host(text, &theirs, &host);
    // curl's default port for a proxy is 1080; theirs forgets a port that is the scheme's.
    let written = authority.trim_end_matches('/').rsplit(':').next().is_some_and(|last| last.parse() == Ok(port));
    assert!(theirs.port() == Some(port) || written || port == 1080, "{text:?}: {port}");
    assert!(theirs.port().is_none_or(|theirs| theirs == port), "{text:?}: {port}");
    let path = theirs.path().trim_matches('/');
    assert_eq!((path, theirs.query(), theirs.fragment()), ("", None, None), "{text:?}");
    let userinfo = full.rsplit_once('@').map(|(before, _)| before.split_once("://").expect("it has a scheme").1);
    assert_eq!(credentials.is_some(), userinfo.is_some_and(|userinfo| !userinfo.is_empty()), "{text:?}");
    let Some((pair, userinfo)) = credentials.zip(userinfo) else { return };
    assert!(pair.contains(&b':'), "{text:?}");
    let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
    if is_word(user) && password.split('_').all(|part| part.is_empty() || is_word(part)) {
        assert_eq!(pair, format!("{user}:{password}").into_bytes(), "{text:?}");
    }
}

/// Whether it must be taken: `http://host:port`, with a host of words.
fn is_plain(text: &str) -> bool {
    let Some((host, port)) = text.strip_prefix("http://").and_then(|rest| rest.split_once(':')) else { return false };
    host.len() < 200 && host.split('.').all(is_word) && is_word(port) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

fn no_error_has_a_password(text: &str) {
    const PASSWORD: &str = "hunter2hunter2";
    for scheme in ["http://", "https://", "socks5://", ""] {
        let Err(error) = fuzzing::proxy(&format!("{scheme}user:{PASSWORD}@{text}")) else { continue };
        assert!(!error.to_string().contains(PASSWORD), "{error}");
    }
}
