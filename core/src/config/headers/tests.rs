use super::*;

fn error_of(name: &str, value: &str) -> String {
    Headers::new().with(name, value).unwrap_err().message().to_owned()
}

#[test]
fn headers_that_are_not_the_callers_are_refused_by_name() {
    for name in [
        "Authorization",
        "HOST",
        "Content-Type",
        "content-length",
        "Content-Anything",
        "Connection",
        "Keep-Alive",
        "Transfer-Encoding",
        "TE",
        "Trailer",
        "Upgrade",
        "HTTP2-Settings",
        "Proxy-Authorization",
        "Proxy-Connection",
        "Expect",
        "Accept",
        "Accept-Encoding",
        "User-Agent",
        "Range",
        "If-None-Match",
        "X-HTTP-Method-Override",
    ] {
        let error = Headers::new().with(name, "marker").unwrap_err();
        assert!(error.message().starts_with(&format!("header {name} cannot be set: ")), "{error}");
        assert_eq!(error.message().matches(". ").count(), 0, "one sentence: {error}");
        assert!(!error.message().contains("marker"));
    }
    for name in ["traceparent", "X-Tenant", "Cookie", "X-Api-Key", "Accept-Language", "Ifs", "X-Content-Type", "Hosts"]
    {
        assert!(Headers::new().with(name, "v").is_ok(), "{name}");
    }
}

#[test]
fn a_name_is_a_token_and_a_value_is_visible_ascii() {
    for byte in 0..=255u8 {
        let text = |around: [&str; 2]| format!("{}{}{}", around[0], char::from(byte), around[1]);
        let token = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let visible = byte.is_ascii_graphic();
        for around in [["X", "y"], ["X", ""], ["", "y"]] {
            assert_eq!(Headers::new().with(&text(around), "v").is_ok(), token, "name with {byte:#x}");
            let inside = matches!(byte, b' ' | b'\t') && !around.contains(&"");
            assert_eq!(Headers::new().with("X", &text(around)).is_ok(), visible || inside, "value with {byte:#x}");
        }
    }
    for (name, value, text) in [
        ("", "v", "a header's name is empty. Use letters, digits and hyphens."),
        (
            "X Y",
            "v",
            "a header's name contains a character that is not allowed there. Use letters, digits and hyphens.",
        ),
        ("X", "", "the value of header X is empty"),
        ("X", "a\r\nHost: b", "the value of header X contains a line break"),
        ("X", "a\0", "the value of header X contains a control character"),
        ("X", "ä", "the value of header X contains a non-ASCII character"),
        ("X", " a", "the value of header X begins or ends with a space"),
    ] {
        assert_eq!(error_of(name, value), text);
    }
    assert!(error_of(&"x".repeat(257), "v").contains("longer than 256 bytes"));
}

#[test]
fn number_and_size_are_bounded() {
    let mut headers = Headers::new();
    for n in 0..MAX_HEADERS {
        headers.set(&format!("x-{n}"), "v").unwrap();
    }
    headers.set("X-0", "again").unwrap();
    assert!(headers.clone().with("one-more", "v").unwrap_err().message().contains("more than 64 headers"));
    let more = Headers::new().with("one-more", "v").unwrap();
    assert!(headers.merged(&more).is_err(), "a call's headers count with the client's");
    let fits = MAX_HEADERS_BYTES - "X: \r\n".len();
    assert!(Headers::new().with("X", &"v".repeat(fits)).is_ok());
    assert!(error_of("X", &"v".repeat(fits + 1)).contains("longer than 16384 bytes together"));
}

fn text_of(headers: &Headers) -> String {
    headers.lines().flatten().collect()
}

#[test]
fn the_last_one_of_a_name_wins_whatever_its_case() {
    let client = Headers::new().with("X-Tenant", "a").unwrap().with("Trace", "t").unwrap();
    let client = client.with("x-tenant", "b").unwrap();
    assert_eq!(text_of(&client), "Trace: t\r\nx-tenant: b\r\n");
    let call = Headers::new().with("TRACE", "u").unwrap();
    assert_eq!(text_of(&client.merged(&call).unwrap()), "x-tenant: b\r\nTRACE: u\r\n");
    assert_eq!(text_of(&client), "Trace: t\r\nx-tenant: b\r\n");
}

#[test]
fn lines_are_read_as_curl_reads_them() {
    let read = Headers::parse("AGENTJOB_HEADERS", "# a comment\r\nX-Tenant: acme\r\n\n  \nB:c: d\t\n").unwrap();
    assert_eq!(text_of(&read), "X-Tenant: acme\r\nB: c: d\r\n");
    let read = Headers::parse("F", "\u{feff}X-Tenant: a\nB: \u{feff}").unwrap_err();
    assert!(read.message().starts_with("line 2 of F: the value of header B "), "{read}");
    assert_eq!(text_of(&Headers::parse("F", "\u{feff}X-Tenant: a\n").unwrap()), "X-Tenant: a\r\n");
    assert!(Headers::parse("F", "").unwrap().is_empty());
    for (text, sentence) in [
        ("marker9", "F: a header has no colon. Write it as Name: value."),
        ("A: 1\na: marker9", "line 2 of F: header a is given twice"),
        ("\nHost: marker9", "line 2 of F: header Host cannot be set: it comes from base_url"),
        ("A:", "F: the value of header A is empty"),
        (
            "A : marker9",
            "F: a header's name contains a character that is not allowed there. Use letters, digits and hyphens.",
        ),
    ] {
        assert_eq!(Headers::parse("F", text).unwrap_err().message(), sentence);
    }
}

#[test]
fn no_value_is_shown() {
    let headers = Headers::new().with("X-Secret", "marker9").unwrap().with("X-Short", "abc").unwrap();
    assert_eq!(format!("{headers:?}"), r#"{"X-Secret": (not shown), "X-Short": (not shown)}"#);
    assert_eq!(headers.secrets().collect::<Vec<_>>(), [b"marker9"], "a short value would remove words");
}
