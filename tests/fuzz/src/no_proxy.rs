//! `NO_PROXY`, behind a line with a base URL: each entry by itself, against the `ipnet` crate and the standard library's addresses, and
//! the list against its entries.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use crate::is_word;
use agentjob_core::fuzzing;
use ipnet::IpNet;

pub fn check(data: &[u8]) {
    let Some((url, list)) = std::str::from_utf8(data).ok().and_then(|text| text.split_once('\n')) else { return };
    // The target `base_url` compares what is read of the URL itself.
    let Ok((_, host, port, _)) = fuzzing::base_url(url, true) else { return };
    let is_exempt = |list: &str| fuzzing::is_exempt(url, list).expect("the URL was taken");
    let mut any = false;
    for entry in list.split(|char: char| char == ',' || char.is_whitespace()) {
        let ours = is_exempt(entry);
        if let Some(expected) = names(entry, host.trim_end_matches('.'), port) {
            assert_eq!(ours, expected, "{entry:?} for {url:?}");
        }
        any |= ours;
    }
    assert_eq!(is_exempt(list), any, "{list:?} for {url:?}");
}

/// Whether the entry names the host. `None` if none of the other readers knows.
fn names(entry: &str, host: &str, port: u16) -> Option<bool> {
    if entry == "*" {
        return Some(true);
    }
    let Ok(address) = IpAddr::from_str(host) else { return names_a_name(entry, host, port) };
    if let Ok(one) = IpAddr::from_str(entry) {
        return Some(one == address);
    }
    // The standard library would forget the zone of `fe80::1%2`.
    if let (Ok(one), false) = (SocketAddr::from_str(entry), entry.contains('%')) {
        return Some((one.ip(), one.port()) == (address, port));
    }
    if let Some(block) = block_of(entry) {
        return Some(block.contains(&address));
    }
    // A word is no address, and neither is a block with one.
    if entry.split('/').all(is_word) || entry.split_once("/+").is_some_and(|(_, bits)| is_word(bits)) {
        return Some(false);
    }
    let (place, last) = entry.rsplit_once(':')?;
    if IpAddr::from_str(place).is_ok_and(|it| it.is_ipv4()) {
        return Some(false);
    }
    // An IPv6 block has brackets before a port, and an IPv4 block has none.
    let block = match place.strip_prefix('[').and_then(|place| place.strip_suffix(']')) {
        Some(inner) => block_of(inner).filter(|block| block.addr().is_ipv6()),
        None => block_of(place).filter(|block| block.addr().is_ipv4()),
    };
    Some(block?.contains(&address) && number(last) == Some(port))
}

/// Of words with dots, perhaps with a port: the same name, or one below it.
fn names_a_name(entry: &str, host: &str, port: u16) -> Option<bool> {
    let (written, wanted) = match entry.split_once(':') {
        Some((written, last)) => (written, number(last) == Some(port)),
        None => (entry, true),
    };
    let written = written.strip_prefix('.').unwrap_or(written);
    if !written.split('.').all(is_word) {
        return None;
    }
    let (below, written) = (format!(".{}", host.to_ascii_lowercase()), format!(".{}", written.to_ascii_lowercase()));
    Some(wanted && below.ends_with(&written))
}

/// `ipnet` itself would read an address with leading zeros, which others take for octal.
fn block_of(text: &str) -> Option<IpNet> {
    let (address, bits) = text.split_once('/')?;
    IpNet::new(address.parse().ok()?, number(bits)?).ok()
}

/// The standard library would take a sign, too.
fn number<T: FromStr>(digits: &str) -> Option<T> {
    digits.parse().ok().filter(|_| !digits.starts_with('+'))
}
