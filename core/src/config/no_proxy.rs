//! `NO_PROXY`: which hosts are reached without a proxy.

use std::net::IpAddr;
use std::str::FromStr;

use crate::config::endpoint::Endpoint;

/// Whether the list names the endpoint: names (which cover their subdomains), addresses, CIDR blocks, or `*`, split by commas or
/// white space. Each may end in a port; an IPv6 address needs brackets then.
pub(crate) fn is_exempt(list: &str, endpoint: &Endpoint) -> bool {
    let host = endpoint.host.trim_end_matches('.');
    let address = host.parse::<IpAddr>().ok();
    list.split(|char: char| char == ',' || char.is_whitespace()).filter(|entry| !entry.is_empty()).any(|entry| {
        let (place, port) = split_port(entry);
        let covers = || address.map_or_else(|| covers_name(place, host), |address| covers_address(place, address));
        entry == "*" || (port.is_none_or(|port| decimal(port) == Some(endpoint.port)) && covers())
    })
}

/// An entry without its port, if it has one.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    if let Some((address, rest)) = entry.strip_prefix('[').and_then(|entry| entry.split_once(']')) {
        // Anything but a port behind the brackets is no port that could match.
        return (address, (!rest.is_empty()).then(|| rest.strip_prefix(':').unwrap_or_default()));
    }
    match entry.split_once(':') {
        // With more colons it is an IPv6 address, and they are all its own.
        Some((place, port)) if !port.contains(':') => (place, Some(port)),
        _ => (entry, None),
    }
}

fn covers_name(name: &str, host: &str) -> bool {
    let name = name.trim_start_matches('.').trim_end_matches('.');
    let tail = host.len().checked_sub(name.len()).and_then(|at| host.get(at..).map(|tail| (at, tail)));
    tail.is_some_and(|(at, tail)| {
        tail.eq_ignore_ascii_case(name) && (at == 0 || host.as_bytes()[at - 1] == b'.') && !name.is_empty()
    })
}

fn covers_address(block: &str, address: IpAddr) -> bool {
    let Some((network, bits)) = block.split_once('/') else { return block.parse() == Ok(address) };
    let (Ok(network), Some(bits)) = (network.parse::<IpAddr>(), decimal::<u32>(bits)) else {
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

/// A number of digits alone: `parse` would accept a sign.
fn decimal<T: FromStr>(digits: &str) -> Option<T> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most are rows of curl's own unit test 1614.
    #[test]
    fn no_proxy_entries_cover_the_same_hosts_as_in_curl() {
        for (host, list, exempt) in [
            ("api.example.com", "*", true),
            ("api.example.com", "api.example.com", true),
            ("www.example.com", "localhost,.example.com,.example.de", true),
            ("www.example.com.", "localhost,.example.com,.example.de", true),
            ("example.com", "localhost,.example.com,.example.de", true),
            ("example.com.", "localhost,.example.com,.example.de", true),
            ("www.example.com", "localhost,.example.com.,.example.de", true),
            ("www.example.com", "localhost,www.example.com.,.example.de", true),
            ("example.com", "localhost,example.com,.example.de", true),
            ("nexample.com", "localhost,example.com,.example.de", false),
            ("www.example.com", "localhost,example.com,.example.de", true),
            ("api.example.com", "ample.com", false),
            ("example.com", "api.example.com", false),
            ("foobar", "barfoo", false),
            ("BAr", "foo,,,,,              bar, ::1/64", true),
            ("www.example.com", "www2.example.com, .example.net", false),
            ("192.168.0.1", "192.168.0.1,localhost,", true),
            ("192.168.0.1", "localhost,192.168.0.1", true),
            ("192.168.0.1", "foobar", false),
            ("192.168.0.1", "192.168.0.0/16", true),
            ("192.168.0.1", "192.168.0.0/16a", false),
            ("192.168.0.1", "192.168.0.0/16 ", true),
            ("192.168.0.1", "192.168.0.0/a16", false),
            ("192.168.0.1", "192.168.0.0/+16", false),
            ("192.168.0.1", "192.168.0.0/", false),
            ("192.168.0.1", "192.168.0.0/ 16", false),
            ("192.168.0.1", "192.168.0.0/32", false),
            ("192.168.0.1", "192.168.0.1/32", true),
            ("192.168.0.1", "192.168.0.1/33", false),
            ("192.168.0.1", "192.168.0.0", false),
            ("192.168.1.1", "192.168.0.0/24", false),
            ("192.168.1.1", "foo, bar, 192.168.0.0/16", true),
            ("[2001:db8::1]", "foo, bar, 192.168.0.0/16", false),
            ("[2001:db8::1]", "foo, bar, 2001:db8::1/64", true),
            ("[2001:db8::1]", "2001:db8:0::1", true),
            ("[2001:db8::1]", "2001:db8::1/128", true),
            ("[2001:db8::1]", "2001:db8::1/129", false),
            ("[2001:db8::1]", "2001:db8::1/a127", false),
            ("[2001:db8::1]", "2001:db8::1/127a", false),
            ("[2001:db8::1]", "2001:db8::/65", true),
            ("[2001:db8:8000::1]", "2001:db8::/65", false),
        ] {
            assert_eq!(is_exempted(&format!("https://{host}"), list), exempt, "{host} against {list}");
        }
    }

    /// Where we differ from curl: its lists have neither ports nor brackets, `*` stands alone, and only commas separate.
    #[test]
    fn no_proxy_entries_that_curl_does_not_know_are_read_as_others_do() {
        for (url, list, exempt) in [
            // Ports, as in Go and Python, for names and for addresses.
            ("https://api.example.com", "api.example.com:443", true),
            ("https://api.example.com", "example.com:443", true),
            ("https://api.example.com", "api.example.com:8443", false),
            ("https://api.example.com", "api.example.com:+443", false),
            ("https://api.example.com", "api.example.com:", false),
            ("https://10.1.2.3:8443", "10.1.2.3:8443", true),
            ("https://10.1.2.3", "10.1.2.3:443", true),
            ("http://10.1.2.3", "10.1.2.3:80", true),
            ("https://10.1.2.3", "10.1.2.3:8443", false),
            ("https://10.1.2.3:8443", "10.1.2.3:443, 10.1.2.4:8443", false),
            ("https://[2001:db8::1]:8443", "[2001:db8::1]:8443", true),
            ("https://[2001:db8::1]:8443", "[2001:db8:0::1]:8443", true),
            ("https://[2001:db8::1]:443", "[2001:db8::1]:8443", false),
            ("https://[2001:db8::1]:8443", "[2001:db8::1]8443", false),
            // Without brackets the last colon belongs to the address.
            ("https://[2001:db8::1]:8443", "2001:db8::1:8443", false),
            ("https://[2001:db8::1:8443]", "2001:db8::1:8443", true),
            ("https://[2001:db8::1]:8443", "2001:db8::1", true),
            // Brackets, as in a URL.
            ("https://[2001:db8::1]", "[2001:db8::1]", true),
            ("https://[2001:db8::1]:8443", "[2001:db8::1]", true),
            ("https://[2001:db8::1]", "[2001:db8::1", false),
            ("https://10.1.2.3:8443", "10.0.0.0/8", true),
            ("https://10.1.2.3:8443", "10.0.0.0/8:8443", true),
            ("https://10.1.2.3:8443", "10.0.0.0/8:443", false),
            // curl takes /0 for "this address alone", Go for every address of the family.
            ("https://10.1.2.3", "0.0.0.0/0", true),
            ("https://[2001:db8::1]", "::/0", true),
            ("https://[2001:db8::1]", "0.0.0.0/0", false),
            // Go has `*` anywhere, and curl had spaces between entries until 2024.
            ("https://api.example.com", "localhost, *", true),
            ("https://api.example.com", "localhost .example.com", true),
            // Any other white space separates entries, too: a list in a file of settings may have a line for each one. Go and
            // Python ignore it beside a comma.
            ("https://api.example.com", "localhost,\n  .example.com\n", true),
            ("https://api.example.com", "localhost\r\napi.example.com\r\n10.0.0.0/8", true),
            ("https://10.1.2.3", "localhost\r\napi.example.com\r\n10.0.0.0/8", true),
            ("https://api.example.com", "\n*\n", true),
            ("https://api.example.com", "localhost\u{b}\u{c}\u{a0}api.example.com", true),
            ("https://api.example.com", "api.\nexample.org", false),
        ] {
            assert_eq!(is_exempted(url, list), exempt, "{url} against {list}");
        }
    }

    fn is_exempted(url: &str, list: &str) -> bool {
        is_exempt(list, &Endpoint::parse(url, true).unwrap())
    }
}
