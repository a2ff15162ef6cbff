use crate::http::framing::Framing;
use crate::http::response_head::*;

fn read(text: &str) -> Result<ResponseHead, String> {
    let mut search = Search::default();
    // Byte by byte, as from a slow service.
    let end = (1..=text.len()).find_map(|n| search.end(&text.as_bytes()[..n]).transpose());
    let whole = Search::default().end(text.as_bytes());
    match end.transpose()? {
        Some(end) => {
            assert_eq!(whole, Ok(Some(end)), "{text:.60?}");
            parse(&text.as_bytes()[..end])
        }
        None => Err("no end".to_owned()),
    }
}

#[test]
fn the_services_idle_timeout_counts_if_the_connection_is_reusable_otherwise() {
    for (lines, idle_timeout, reusable) in [
        ("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\n", Some(5), true),
        ("HTTP/1.1 200 OK\r\nkeep-alive:timeout=5,\r\n max=99\r\nKEEP-ALIVE: timeout=3\r\n", Some(3), true),
        ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=soon\r\n", None, true),
        ("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0\r\n", Some(0), false),
        ("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=0\r\n", Some(5), false),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nKeep-Alive: timeout=5\r\n", Some(5), false),
        ("HTTP/1.0 200 OK\r\nKeep-Alive: timeout=5\r\n", Some(5), false),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n", Some(5), true),
        ("HTTP/1.1 200 OK\r\nX-Alive-On: timeout=5\r\n", None, true),
    ] {
        let text = format!("{lines}Content-Length: 0\r\n\r\n");
        let head = read(&text).unwrap_or_else(|why| panic!("{text:?}: {why}"));
        assert_eq!((head.idle_timeout, head.reusable), (idle_timeout, reusable), "{text:?}");
    }
}

#[test]
fn the_framing_follows_rfc_9112() {
    use Framing::*;
    let unreadable = |codings: &str| Unreadable(format!("its Transfer-Encoding is not supported ({codings})"));
    for (lines, framing, reusable) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", Length(5), true),
        ("HTTP/1.1 200\nCONTENT-LENGTH:5\n", Length(5), true),
        ("\r\n\r\nHTTP/1.1 200 \r\ncontent-length : 005\r\n", Length(5), true),
        ("HTTP/1.9 200 a b\r\nContent-Length: 5, 5\r\nContent-Length: 5\r\n", Length(5), true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n", Length(u64::MAX), true),
        ("HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n", Length(5), true),
        ("HTTP/1.1 200 OK\r\n folded\r\nContent-Length: 5\r\n", Length(5), true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: x, Close\r\n", Length(5), false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n", Length(5), false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: Keep-Alive\r\n", Length(5), true),
        ("HTTP/1.1 200 OK\r\n", UntilClose, false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", Chunked, true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: , CHUNKED ,\r\n", Chunked, true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\tchunked\r\n", Chunked, true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", Chunked, false),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\nTransfer-Encoding: chunked\r\n", Chunked, false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n", unreadable("gzip, chunked"), false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n", unreadable("chunked, chunked"), false),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            unreadable("chunked, identity"),
            false,
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n", unreadable("identity"), false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked;q=1\r\n", unreadable("chunked;q=1"), false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n", unreadable("xchunked"), false),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n", unreadable(""), false),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n", unreadable("chunked"), false),
        ("HTTP/1.1 204 No Content\r\n", Empty, true),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n", Empty, true),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n", Empty, false),
        ("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: gzip\r\n", Empty, false),
        ("HTTP/1.1 100 Continue\r\nServer: x\r\n", Empty, true),
        ("HTTP/1.1 101 Switching Protocols\r\n", Empty, false),
    ] {
        let text = format!("{lines}\r\n");
        let head = read(&text).unwrap_or_else(|why| panic!("{text:?}: {why}"));
        assert_eq!((&head.framing, head.reusable), (&framing, reusable), "{text:?}");
        let canonical = head.canonical();
        assert!(canonical.bytes().len() <= text.len(), "{text:?}");
        let again = parse(canonical.bytes()).unwrap();
        assert_eq!(again.status, head.status);
        match framing {
            Unreadable(_) => assert_eq!(again.framing, Length(0)),
            framing => assert_eq!(again.framing, framing),
        }
    }
}

#[test]
fn a_tunnel_has_no_body_whatever_its_head_declares() {
    for lines in ["Content-Length: 5\r\n", "Content-Length: x\n", "Transfer-Encoding: gzip\r\n", ""] {
        for status in [200, 204, 299] {
            let head = parse_for_connect(format!("HTTP/1.1 {status}\n{lines}\n").as_bytes()).unwrap();
            assert_eq!((head.status, head.framing), (status, Framing::Empty), "{lines:?}");
        }
    }
    let refused = parse_for_connect(b"HTTP/1.1 403\nContent-Length: 5\n\n").unwrap();
    assert_eq!(refused.framing, Framing::Length(5));
    assert!(parse_for_connect(b"HTTP/1.1 403\nContent-Length: x\n\n").is_err());
}

#[test]
fn the_canonical_head_is_never_longer_than_the_original() {
    for text in [
        "HTTP/1.1 200\n\n",
        "HTTP/1.1 204\n\n",
        "HTTP/1.1 200\nContent-Length:0\n\n",
        "HTTP/1.1 200\nTransfer-Encoding:chunked\n\n",
        "HTTP/1.1 200\nTransfer-Encoding:\n\n",
    ] {
        assert!(read(text).unwrap().canonical().bytes().len() <= text.len(), "{text:?}");
    }
}

#[test]
fn a_head_that_violates_the_grammar_is_refused() {
    for text in [
        "HTTP/1.1 99 x\r\n\r\n",
        "HTTP/1.1 2000 x\r\n\r\n",
        "HTTP/1.1 20 x\r\n\r\n",
        "HTTP/1.1 200OK\r\n\r\n",
        "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 +20 OK\r\n\r\n",
        "HTTP/1.1 000 OK\r\n\r\n",
        "HTTP/1.1 200 O\0K\r\n\r\n",
        "HTTP/1.1 200 O\rK\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "HTTP/11 200 OK\r\n\r\n",
        "http/1.1 200 OK\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
        " HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\na b: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\na\u{e9}: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: x\0y\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: x\ry: z\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: x\r\r\n\r\n",
        "HTTP/1.1 200 OK\r\na: x\r\n y\0z\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 6, 5, 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5.0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
    ] {
        assert!(read(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_server_of_another_protocol_is_recognised_at_its_first_bytes() {
    for text in ["SSH-2.0-OpenSSH_9.2", "H2", "\x15\x03\x03", "<html>", "{", "HTTP/2", "\rx"] {
        let mut search = Search::default();
        assert!((1..=text.len()).any(|n| search.end(&text.as_bytes()[..n]).is_err()), "{text:?}");
    }
    // A whole line may come in one piece.
    for text in ["SSH-2.0-OpenSSH_9.2\r\n", "220 mail.example.com ESMTP\r\n", "HT\r\n", "\r\nHTTP\n"] {
        assert!(Search::default().end(text.as_bytes()).is_err(), "{text:?}");
    }
    for text in ["", "\r", "\r\n", "\r\n\r", "H", "HTTP/1.", "HTTP/1.1 2"] {
        assert_eq!(Search::default().end(text.as_bytes()), Ok(None), "{text:?}");
    }
}

#[test]
fn a_head_may_have_512_lines_and_64_kib() {
    let lines = |n: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(n));
    assert!(read(&lines(511)).is_ok());
    assert_eq!(read(&lines(512)), Err("its head has more than 512 lines".to_owned()));
    let bytes = |n: usize| format!("HTTP/1.1 200 OK\r\na: {}\r\n\r\n", "x".repeat(n - 24));
    assert_eq!(bytes(100).len(), 100);
    assert!(read(&bytes(MAX_BYTES)).is_ok());
    assert_eq!(read(&bytes(MAX_BYTES + 1)), Err("its head is longer than 64 KiB".to_owned()));
    assert!(read(&"\r\n".repeat(MAX_BYTES)).is_err(), "empty lines are limited, too");
}

#[test]
fn known_fields_are_kept_and_folds_are_joined_by_one_space() {
    let head = read(
        "HTTP/1.1 429 x\r\nRETRY-AFTER: 5\r\nX-Other: y\r\nDate: Fri,\r\n \t 20 Nov 2026\r\n\t10:00:00 GMT \r\nX-Request-Id:\ta\u{e9} \r\nretry-after: 60\r\n\r\n",
    )
    .unwrap();
    let kept: Vec<_> = head.fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let date = ("date", "Fri, 20 Nov 2026 10:00:00 GMT");
    assert_eq!(kept, [("retry-after", "5"), date, ("x-request-id", "a\u{e9}"), ("retry-after", "60")]);
}
